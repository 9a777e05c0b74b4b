"""Past one machine: a Dask cluster, with the extra `cluster`. Dask is imported when it is used."""

from __future__ import annotations

import asyncio
import atexit
import importlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from harness.executors.mapper import KEPT, Answer, Function, Item, Pace, Result, pack, perform, unpack
from harness.executors.processes import worker_settings
from harness.executors.worker import GRACE
from harness.vocabulary.errors import PROCESS_ENDED, InputError, OracleError, WorkerError, message_of

BATCH = 1.0  # seconds of work that travel together: a task costs Dask about 1 ms
MOST = 256  # items that travel together: quick ones at the beginning must not give one worker all the others
WINDOW = 2  # batches under way per thread of the cluster: its scheduler knows few tasks, however many items there are
LOOK_AGAIN = 5.0  # seconds, for workers that have joined or left
TIMEOUT = 20.0  # seconds, for a scheduler to answer and a first worker to join


@dataclass(frozen=True)
class Cluster:
    """The cluster of the Dask scheduler at `tcp://host:8786`; or `local:N`, N processes started here by Dask.

    Dask replaces workers that die and asks their items again; others may join at any time. They need the same
    packages installed, and the anonymizer's module.
    """

    address: str

    def __post_init__(self) -> None:
        scheme, _, rest = self.address.partition(":")
        good = rest.isdigit() and int(rest) > 0 if scheme == "local" else rest.startswith("//")
        if not good:
            raise InputError(
                f"cluster {self.address!r} is no address; expected that of a Dask scheduler, such as "
                "tcp://scheduler:8786, or local: and a number of processes"
            )

    @property
    def workers(self) -> int:
        """How many work at once, as far as the address says it."""
        return int(self.address.partition(":")[2]) if self.address.startswith("local:") else 1

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        waiting = iter(items)
        first = list(islice(waiting, 1))
        if not first:
            return
        with _connected(self.address) as client, _plain_errors(self.address):
            yield from _results(client, function, chain(first, waiting))


def _dask() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise InputError("a cluster needs Dask: pip install 'anonymizer-harness[cluster]'") from None


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client of the cluster, which for `local:` is started and ended with it."""
    dask = _dask()
    for name in ("distributed", "distributed.client"):  # what they log of a lost scheduler, our error says
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        if address.startswith("local:"):
            count = int(address.removeprefix("local:"))
            with worker_settings():
                local = dask.LocalCluster(
                    n_workers=count, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
                )
            address = stack.enter_context(local).scheduler_address
            stack.callback(local.sync, _end_workers, local)
        try:
            client = dask.Client(address, timeout=TIMEOUT, set_as_default=False)
        except OSError as error:
            raise InputError(f"no Dask scheduler answers at {address}: {error}") from None
        stack.enter_context(client)
        # For whoever never closes the iterator: at exit, while Dask's own threads still run and can be asked to end.
        atexit.register(stack.close)
        stack.callback(atexit.unregister, stack.close)
        yield client


async def _end_workers(local: Any) -> None:
    """Dask would give a worker that computes four seconds to finish, and nobody waits for its result."""
    await asyncio.gather(*(nanny.close(timeout=GRACE) for nanny in local.workers.values()))


@contextmanager
def _plain_errors(address: str) -> Iterator[None]:
    dask = _dask()
    try:
        yield
    except (dask.CancelledError, dask.comm.CommClosedError, OSError, TimeoutError) as error:
        raise WorkerError(f"the cluster at {address} is no longer reachable ({message_of(error)}); {KEPT}") from None


def _results(client: Any, function: Function, items: Iterator[Any]) -> Iterator[Any]:
    """Small items travel in batches; the function travels once, and is a task that Dask can repeat elsewhere."""
    dask = _dask()
    work = client.submit(unpack, pack(function, dask.protocol.pickle.dumps), pure=False)
    running = dask.as_completed(loop=client.loop, with_results=True, raise_errors=False)
    pace, size = Pace(MOST), _Size(client)
    alone: deque[Any] = deque()  # items over one of which workers ended: each is asked by itself
    under_way: dict[str, list[Any]] = {}
    while True:
        for _ in range(WINDOW * size.threads() - len(under_way)):
            batch = [alone.popleft()] if alone else list(islice(items, pace.items_for(BATCH)))
            if not batch:
                break
            future = client.submit(_perform_all, work, batch, pure=False)
            under_way[future.key] = batch
            running.add(future)
        if not under_way:
            return
        future, answers = next(running)
        batch = under_way.pop(future.key)
        if future.status == "finished":
            for answer in answers:
                pace.add(answer)
                yield answer.result()
            continue
        error = _error_of(answers)
        if not isinstance(error, dask.KilledWorker):
            raise error
        parts = batch if len(batch) > 1 else _parts(function, batch[0])
        if len(parts) > 1:
            alone.extend(parts)
        else:
            yield _crashed(function, batch[0])


def _error_of(told: Any) -> BaseException:
    """The error of a task: Dask tells it as itself, or as a triple of class, error and traceback."""
    error = told[1] if isinstance(told, tuple) else told
    return error if isinstance(error, BaseException) else WorkerError(f"a task of the cluster failed: {error!r:.200}")


def _parts(function: Any, item: Any) -> list[Any]:
    return list(function.parts(item)) if hasattr(function, "parts") else [item]


def _crashed(function: Any, item: Any) -> Any:
    """What becomes of an item over which several workers ended."""
    words = "several workers of the cluster ended when they examined the same item"
    if not hasattr(function, "crashed"):
        raise OracleError(f"{words}; {KEPT}", reason=PROCESS_ENDED)
    return function.crashed(item, PROCESS_ENDED, words)


def _perform_all(function: Function, batch: list[Any]) -> list[Answer]:
    """In a worker: the answers up to the first error, which ends the work."""
    answers: list[Answer] = []
    for item in batch:
        answers.append(perform(function, item))
        if answers[-1].error is not None:
            break
    return answers


class _Size:
    """How many items the cluster performs at once; it may grow or shrink meanwhile."""

    def __init__(self, client: Any) -> None:
        self._client = client
        try:
            client.wait_for_workers(1, timeout=TIMEOUT)
        except TimeoutError:
            raise WorkerError(f"the scheduler has no workers, and none joined it in {TIMEOUT:.0f} seconds") from None
        self._threads, self._looked = 1, -LOOK_AGAIN

    def threads(self) -> int:
        if time.monotonic() - self._looked > LOOK_AGAIN:
            self._threads, self._looked = max(1, sum(self._client.nthreads().values())), time.monotonic()
        return self._threads
