"""Where the work is done: a function and items in, results as they finish. Knows nothing of audits.

All executors keep one law: the same results, whoever computes them, even if workers die; items are taken as they are
needed; and once the caller stops iterating the work ends, with every process that was started for it.
"""

from collections.abc import Callable

from harness.executors.cluster import Cluster
from harness.executors.in_process import Serial, Threads
from harness.executors.mapper import Mapper
from harness.executors.processes import Processes
from harness.vocabulary.errors import InputError, did_you_mean

__all__ = ["Cluster", "Mapper", "Processes", "Serial", "Threads", "choose_executor", "workers_at_once"]


# What an address may begin with, and what does the work then.
SCHEMES: dict[str, Callable[[str], Mapper]] = {
    "local": Cluster,
    **dict.fromkeys(("tcp", "tls", "ucx", "ws", "wss"), Cluster),  # schedulers of Dask
}
EXPECTED = 'a whole number of at least 1, or an address such as "local:4" or "tcp://scheduler:8786"'


def choose_executor(workers: int | str, *, in_process: bool, call_seconds: float | None = None) -> Mapper:
    """The executor for so many workers, or at an address.

    A number means processes for an oracle that computes in this process, and threads for one that is waited for.
    `call_seconds` limits calls of f in processes.
    """
    if isinstance(workers, str) and ":" in workers:
        return _at_address(workers)
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise InputError(f"workers must be {EXPECTED}, not {workers!r}")
    if workers == 1:
        return Serial()
    return Processes(workers, call_seconds) if in_process else Threads(workers)


def _at_address(address: str) -> Mapper:
    scheme = address.partition(":")[0]
    if scheme not in SCHEMES:
        raise InputError(f"workers {address!r}: no executor has such an address; {did_you_mean(scheme, SCHEMES)}")
    return SCHEMES[scheme](address)


def workers_at_once(executor: Mapper) -> int:
    """How many items are worked on at once; 1 where only the other side knows."""
    return int(getattr(executor, "workers", 1))
