"""Every process that an oracle started, found again: also those that left its group, session and parents behind.

A process inherits its environment. So each command gets a mark there, and on Linux /proc shows whoever has it: a
grandchild that `setsid` or `nohup` detached, or one whose parents were killed together with the harness. A mark is
`root:owner:number`: the temporary folder of this process, the oracle, the run. A process that clears its environment
and leaves its group as well is out of reach, and so are all detached ones where there is no /proc.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

VARIABLE = "HARNESS_STARTED_BY"  # marks, with spaces between them: a harness may be started by another
PROCESSES = Path("/proc")
EVERY = 0.5  # seconds between two looks at all processes, where nothing failed
ROUNDS = 200  # a process may start others while they are ended
PAUSE = 0.01  # seconds between two rounds

_owners = itertools.count(1)


class ProcessMarks:
    """The marks of one oracle. May be used by several threads."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._prefix = f"{root}:{os.getpid()}.{next(_owners)}:"
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self._looked = time.monotonic()

    def begin(self) -> str:
        """A new mark, for a process that is about to be started."""
        with self._lock:
            mark = f"{self._prefix}{next(self._numbers)}"
            self._running.add(mark)
            return mark

    def finish(self, mark: str, *, failed: bool = False) -> None:
        """The run with this mark is over: ends what it left behind; at once if it failed, else every now and then."""
        with self._lock:
            self._running.discard(mark)
            if not failed and time.monotonic() - self._looked < EVERY:
                return
            self._looked = time.monotonic()
            running = set(self._running)
        end_marked(lambda each: each.startswith(self._prefix) and each not in running)

    def end_all(self) -> None:
        """Ends every process of this oracle."""
        end_marked(lambda each: each.startswith(self._prefix))


def marked(environment: Mapping[str, str], mark: str) -> dict[str, str]:
    """The environment with one mark more."""
    known = environment.get(VARIABLE, "")
    return {**environment, VARIABLE: f"{known} {mark}".strip()}


def end_marked(is_meant: Callable[[str], bool]) -> int:
    """Ends all processes of this user with such a mark; how many there were."""
    ended: set[int] = set()
    for _ in range(ROUNDS):
        found = [pid for pid in _marked_processes(is_meant) if _killed(pid, is_meant)]
        if not found:
            break
        ended.update(found)
        time.sleep(PAUSE)
    return len(ended)


def _marked_processes(is_meant: Callable[[str], bool]) -> Iterator[int]:
    """Their numbers, without this process itself."""
    try:
        numbers = [int(name) for name in os.listdir(PROCESSES) if name.isdigit()]
    except OSError:  # not Linux
        return
    for number in numbers:
        if number != os.getpid() and any(map(is_meant, _marks_of(number))):
            yield number


def _marks_of(number: int) -> list[str]:
    """The marks of a process; none of one that is another user's, or has ended."""
    with suppress(OSError):
        content = b"\0" + (PROCESSES / str(number) / "environ").read_bytes()
        _, found, rest = content.partition(f"\0{VARIABLE}=".encode())
        return rest.partition(b"\0")[0].decode("utf-8", "replace").split() if found else []
    return []


def _killed(number: int, is_meant: Callable[[str], bool]) -> bool:
    """Whether a process was killed; its number may have become another's since it was found."""
    try:
        handle = os.pidfd_open(number)
    except (OSError, AttributeError):
        return False
    try:
        if not any(map(is_meant, _marks_of(number))):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
