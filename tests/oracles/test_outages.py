"""An oracle that goes away for a while: the audit waits for it, and ends as if nothing had happened."""

import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harness
import oracles
from harness.vocabulary.durations import in_words, seconds_in
from harness.vocabulary.errors import AwayError, InputError
from oracles.clients.local import Local
from oracles.serve import grpc as grpc_kit
from oracles.serve import http as http_kit
from tests.oracles.failing import QUASI, failing, people, whole
from tests.waiting import wait_until

LEAVES_AFTER = 16  # questions: probes, f(D) and some records


def audit(oracle: Any, **options: Any) -> harness.Report:
    return harness.audit(oracle, people(), quasi=QUASI, sensitive="ill", epsilon=1.99, **options)


class Leaving:
    """An anonymizer that has something done after some questions, once."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self.asked, self.leave = 0, leave

    def __call__(self, data: pd.DataFrame) -> pd.DataFrame:
        self.asked += 1
        if self.asked == LEAVES_AFTER:
            self.leave()
        return whole(data)


@contextmanager
def served(kit: Any) -> Iterator[tuple[str, Callable[[], None], threading.Event]]:
    """A server that stops after some questions; with its address, what starts it again, and whether it has stopped."""
    gone = threading.Event()
    running: list[Any] = []

    def stop() -> None:
        running[-1].stop(5.0)
        gone.set()

    def leave() -> None:
        threading.Thread(target=stop, daemon=True).start()

    function = Leaving(leave)
    running.append(kit.serve(Local(function), "127.0.0.1:0"))
    address = running[0].address
    place = address.rpartition("/")[2]
    try:
        yield address, lambda: running.append(kit.serve(Local(function), place)), gone
    finally:
        running[-1].stop(5.0)


def back_when_missed(oracle: Any, gone: threading.Event, come_back: Callable[[], None]) -> threading.Thread:
    """Starts a server again once the client has found it away."""

    def watch() -> None:
        gone.wait(60.0)
        wait_until(lambda: oracle.waiting[0] > 0)
        come_back()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def comparable(report: harness.Report) -> Any:
    return [(one.person, one.distance, one.failure) for one in report.findings], report.verdict.outcome


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kit", [http_kit, grpc_kit], ids=["http", "grpc"])
def test_a_server_that_comes_back_costs_nothing(kit: Any, workers: int) -> None:
    with served(kit) as (address, come_back, gone):
        oracle = oracles.open(address, patience="60s")
        thread = back_when_missed(oracle, gone, come_back)
        report = audit(oracle, workers=workers)
        thread.join(60.0)
        assert gone.is_set()
    assert comparable(report) == comparable(audit(whole))


@pytest.mark.parametrize("kit", [http_kit, grpc_kit], ids=["http", "grpc"])
def test_after_the_patience_all_is_kept_and_a_later_run_goes_on(kit: Any, tmp_path: Path) -> None:
    with served(kit) as (address, come_back, gone):
        with pytest.raises(harness.HarnessError, match=r"f\(D\) is not answered any more either") as caught:
            audit(oracles.open(address, patience=0.5), out=tmp_path)
        assert caught.value.exit_code == 3
        assert gone.wait(60.0)
        assert '"failed"' not in (tmp_path / "journal.jsonl").read_text()
        come_back()
        report = audit(oracles.open(address), out=tmp_path)
    assert comparable(report) == comparable(audit(whole))


PROGRAM = """#!{python} -S
import os, sys
count = {count!r}
with open(count, "a") as file:
    file.write("x")
if os.path.getsize(count) == {leaves_after}:
    os.rename(__file__, __file__ + ".away")
for number, line in enumerate(sys.stdin):
    age, _, illness = line.partition(",")
    start = int(age) // 4 * 4 if number else 0
    print(f'"[{{start}}, {{start + 3}}]",{{illness}}' if number else line, end="")
"""


def test_a_program_that_cannot_be_started_for_a_while_is_waited_for(tmp_path: Path) -> None:
    program, aside = tmp_path / "program", tmp_path / "program.away"
    program.write_text(PROGRAM.format(python=sys.executable, count=str(tmp_path / "count"), leaves_after=LEAVES_AFTER))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    oracle = oracles.open(f"cmd:{program}", patience="60s")

    def come_back() -> None:
        wait_until(lambda: oracle.waiting[0] > 0)  # type: ignore[attr-defined]
        aside.rename(program)

    thread = threading.Thread(target=come_back, daemon=True)
    thread.start()
    report = audit(oracle)
    thread.join(60.0)
    assert comparable(report) == comparable(audit(whole))


def test_a_question_that_is_never_answered_fails_alone_where_the_server_answers_others() -> None:
    """Status 503 for one record for ever: after the patience she failed, f(D) is answered, and the audit goes on."""

    class Picky:
        card = harness.Card("picky", randomized=False)

        def answer(self, ask: Any) -> Any:
            frame = ask.table.to_frame()
            if len(frame) == 11 and 23 not in list(frame["age"]):
                raise AwayError("status 503")
            yield failing(frame, {})

        def close(self) -> None:
            pass

    report = audit(Picky())
    assert [(one.person, one.failure) for one in report.findings if one.failure] == [(3, "the oracle was not reached")]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(90, 90.0), ("90", 90.0), ("90s", 90.0), ("10m", 600.0), ("1.5 h", 5400.0), ("2min", 120.0), ("1d", 86400.0)],
)
def test_a_patience_is_written_in_seconds_minutes_or_hours(written: Any, seconds: float) -> None:
    assert seconds_in(written, "patience") == seconds


@pytest.mark.parametrize("written", ["", "soon", "-1s", "10 m 3", True, None, -1, float("nan"), float("inf"), "1e9h"])
def test_what_is_no_time_is_refused(written: Any) -> None:
    with pytest.raises(InputError, match='patience must be a time such as "90s", "10m" or "2h"'):
        seconds_in(written, "patience")


def test_a_time_is_said_in_words() -> None:
    assert [in_words(seconds) for seconds in (0.4, 40, 60, 125, 7500)] == [
        "0 s",
        "40 s",
        "1 min",
        "2 min 5 s",
        "2 h 5 min",
    ]
