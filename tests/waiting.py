"""Waiting for a condition instead of for a time: what is true soon on an idle machine is true late on a busy one."""

import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

Value = TypeVar("Value")

PATIENCE = 120.0  # seconds that no test needs, not even at a load of twenty
POLL = 0.01  # seconds between two looks


def wait_until(condition: Callable[[], Value], seconds: float = PATIENCE) -> Value:
    """What the condition gives once it gives something true; the test fails if that takes longer than `seconds`."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"after {seconds:g} s the condition still gives {value!r}"
        time.sleep(POLL)
    return value


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process whose output is read; it is killed in the end, unless it has ended by itself."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def first_line(process: subprocess.Popen[str]) -> str:
    """The first line that a process prints; the test fails if it prints none."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    assert ready, f"it printed nothing in {PATIENCE:g} s"
    return process.stdout.readline().rstrip("\n")


def text_of(path: Path) -> str:
    """What another process writes into a file, once it has."""
    return wait_until(lambda: path.exists() and path.read_text()) or ""


def is_running(pid: int) -> bool:
    """Whether any thread of a process computes or waits; a process that ended and was not reaped has state Z."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def wait_for_end(pid: int) -> None:
    wait_until(lambda: not is_running(pid))
