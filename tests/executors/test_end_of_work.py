"""A whole program, its workers and their end: whether it is interrupted, is killed, or forgets them."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.waiting import first_line, is_running, wait_until

ROOT = Path(__file__).parents[2]
PROGRAM = """
    import os, signal, sys, time
    from harness.executors import Cluster, Processes

    def slow(number):
        with open(os.path.join({folder!r}, str(os.getpid())), "w"):
            pass
        end = time.monotonic() + 600 * (number > 3)
        while time.monotonic() < end:  # computes: holds the interpreter, hears no signal while in C
            sum(range(10_000))
        return number

    if __name__ == "__main__":
        # A shell starts what runs in the background with SIGINT ignored, and tests may run there.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        results = {executor}.map(slow, range(1000))
        for _ in range(3):
            next(results)
        print("going", flush=True)
        {then}
"""


class Program:
    """A script under way in a session of its own, and the pids of the workers that it started."""

    def __init__(self, folder: Path, then: str) -> None:
        file, self._pids = folder / "program.py", folder / "pids"
        self._pids.mkdir()
        source = textwrap.dedent(PROGRAM).format(folder=str(self._pids), executor="Processes(2)", then=then)
        file.write_text(source)
        self.process = subprocess.Popen(
            [sys.executable, str(file)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def errors(self) -> str:
        """What it wrote to standard error until it ended; it ends long before its work is done."""
        return self.process.communicate(timeout=120)[1]

    def running_workers(self) -> list[int]:
        return [pid for pid in (int(entry.name) for entry in self._pids.iterdir()) if is_running(pid)]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Starts the program, and gives it back when its first results have come."""
    started: list[Program] = []

    def begin(then: str = "next(results); next(results)") -> Program:
        program = Program(tmp_path, then)
        started.append(program)
        assert first_line(program.process) == "going"
        return program

    yield begin
    for program in started:
        for pid in [program.process.pid, *program.running_workers()]:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        program.process.communicate()


def test_ctrl_c_ends_all_without_a_word_from_the_workers(start: Callable[..., Program]) -> None:
    program = start()
    os.killpg(program.process.pid, signal.SIGINT)  # as a terminal does: to everybody in the foreground
    errors = program.errors()
    assert errors.count("Traceback") == 1  # the program's own
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert not program.running_workers()


def test_workers_end_when_their_parent_is_killed(start: Callable[..., Program]) -> None:
    program = start()
    program.process.kill()
    program.errors()
    wait_until(lambda: not program.running_workers())


def test_a_program_that_forgets_its_results_ends_all_the_same(start: Callable[..., Program]) -> None:
    program = start(then="sys.exit(7)")
    assert (program.errors(), program.process.returncode) == ("", 7)
    assert not program.running_workers()


def test_an_error_in_the_program_ends_the_workers(start: Callable[..., Program]) -> None:
    program = start(then="raise ValueError('mine')")
    assert program.errors().rstrip().endswith("ValueError: mine")
    assert not program.running_workers()


def test_a_script_without_a_guard_is_told_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "unguarded.py"
    file.write_text("from harness.executors import Processes\nprint(list(Processes(1).map(abs, range(3))))\n")
    ended = subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 1
    assert 'must do its work under if __name__ == "__main__", or use workers = 1' in ended.stderr
