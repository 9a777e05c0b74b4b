"""Progress on standard error: a bar for a terminal, lines for a log, the pace of this run alone."""

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import progress
from harness.auditing.events import Event, Examined, Selected
from harness.auditing.measurement import Measurement
from harness.progress import Lines, Progress, with_progress
from tests.anonymizers import chunks
from tests.command_line import allow_answers, harness_process, write_pausing_audit
from tests.small_audits import audit
from tests.waiting import PATIENCE, wait_until


class Terminal(io.StringIO):
    """Standard error that is looked at."""

    def isatty(self) -> bool:
        return True


def selected(count: int) -> Selected:
    persons = tuple(range(count))
    return Selected(persons, persons, (), None, (), (), (), 0.0, len(persons))


def examined(person: int, look: int = 1) -> Examined:
    return Examined(person, look, ())


def underway(total: int, before: int, now: int, seconds: float) -> tuple[Progress, float]:
    """An audit of which some records were examined before, and more in so many seconds of this run."""
    under_way = Progress(started=100.0)
    under_way.add(selected(total), is_new=False)
    for event in map(examined, range(before)):
        under_way.add(event, is_new=False)
    under_way.since = 100.0
    for event in map(examined, range(before, before + now)):
        under_way.add(event, is_new=True)
    return under_way, 100.0 + seconds


def test_on_a_terminal_a_bar_counts_the_records_and_shows_the_largest_distance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    report = audit(chunks)
    last = terminal.getvalue().rpartition("\r")[2]
    assert re.search(r"100% \|.*\| 30/30 records \[", last)
    assert f"largest distance {report.verdict.epsilon:.4g}]" in last
    assert re.search(r", [\d.]+ records/s, largest", last)


@pytest.mark.parametrize(
    ("total", "before", "now", "seconds", "line"),
    [
        (1000, 0, 250, 50, "250 of 1,000 records (25%), 5 records/s, about 2 min 30 s left, largest distance 0"),
        (1000, 900, 10, 52, "910 of 1,000 records (91%), 5.2 s each, about 7 min 48 s left, largest distance 0"),
        (1000, 900, 0, 40, "900 of 1,000 records (90%), largest distance 0"),
        (10, 5, 5, 2, "10 of 10 records (100%), 2.5 records/s, largest distance 0"),
        (90_000, 0, 10, 10, "10 of 90,000 records (0%), 1 record/s, about 24 h 59 min left, largest distance 0"),
    ],
)
def test_pace_and_time_left_are_those_of_this_run(total: int, before: int, now: int, seconds: float, line: str) -> None:
    under_way, at = underway(total, before, now, seconds)
    assert under_way.line(at) == line


def test_where_chance_plays_a_part_the_largest_distance_is_what_is_proven() -> None:
    under_way, at = underway(10, 0, 2, 2)
    under_way.add(Examined(7, 1, (Measurement(0, 0, 0, distance=0.4, lower=0.1, upper=0.7, draws=50),)), is_new=True)
    assert under_way.line(at).endswith("largest distance proven to be at least 0.1")


@pytest.mark.parametrize(
    ("fresh", "heard", "now", "told"),
    [
        (10, 10.0, 25.0, "about 30 s left"),  # not long yet
        (10, 10.0, 55.0, "no answer for 45 s"),
        (2, 60.0, 140.0, "about 14 min left"),  # every record takes half a minute
        (2, 60.0, 150.0, "no answer for 1 min 30 s"),
        (0, 0.0, 45.0, "no answer for 45 s"),
    ],
)
def test_while_no_answer_comes_that_is_told_instead_of_a_growing_time_left(
    fresh: int, heard: float, now: float, told: str
) -> None:
    waiting = Progress(started=0.0, since=0.0, heard=heard, total=fresh + 12)
    waiting.seen = set(range(fresh))
    assert told in waiting.line(now)


def test_on_a_terminal_the_wait_for_an_answer_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(progress, "NO_ANSWER_SECONDS", 0.0)
    events = with_progress(_one_then_silence(terminal))
    assert len(list(events)) == 2


def _one_then_silence(terminal: Terminal) -> Iterator[Event]:
    wait_until(lambda: "f is asked how it behaves" in terminal.getvalue())
    yield selected(2)
    wait_until(lambda: "0/2 records" in terminal.getvalue() and "no answer for 0 s" in terminal.getvalue())
    yield examined(0)


def test_a_resumed_bar_begins_where_the_earlier_run_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    earlier: list[Event] = [selected(1000), *map(examined, range(900))]
    list(with_progress([*earlier, examined(900)], len(earlier)))
    first = terminal.getvalue().strip("\r").split("\r")[0]
    assert "901/1000" in terminal.getvalue()
    assert "/s" not in first


def test_another_look_at_a_record_is_not_another_record() -> None:
    under_way, at = underway(10, 0, 4, 2.0)
    under_way.add(examined(3, look=2), is_new=True)
    assert under_way.line(at).startswith("4 of 10 records (40%)")
    assert under_way.line(at).endswith(", look 2")


def test_without_a_terminal_lines_come_after_a_share_of_the_records(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "STEP_SECONDS", 0.0)
    list(with_progress([selected(100), *map(examined, range(100))]))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 20
    assert lines[0].startswith("harness: 5 of 100 records (5%)")


def test_a_short_audit_writes_no_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Shorter than the time between lines, also where the machine is busy."""
    monkeypatch.setattr(progress, "STEP_SECONDS", PATIENCE)
    monkeypatch.setattr(progress, "QUIET_SECONDS", PATIENCE)
    audit(chunks, progress=True)
    assert capsys.readouterr() == ("", "")


def test_silence_is_broken_while_the_first_answer_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.02)
    lines: list[str] = []
    with Lines(Progress()):
        wait_until(lambda: _read_into(lines, capsys) > 1)
    assert lines[0] == "harness: 0 s so far; no record was examined yet, f is asked how it behaves"


def _read_into(lines: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    lines.extend(capsys.readouterr().err.splitlines())
    return len(lines)


def test_json_stays_alone_on_standard_output_and_quiet_is_quiet(tmp_path: Path) -> None:
    write_pausing_audit(tmp_path, 6)
    allow_answers(tmp_path)
    run = harness_process("run", "audit.toml", "--json", "--quiet", cwd=tmp_path)
    assert run.returncode == 1
    assert run.stdout.startswith('{"format"')
    assert run.stderr == ""
