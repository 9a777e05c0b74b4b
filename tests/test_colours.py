"""Colours are for terminals: never in a file, a pipe or JSON, and never where NO_COLOR is set."""

import io
import sys
from pathlib import Path

import pytest

from harness.cli import main
from harness.cli.colours import coloured
from tests.command_line import allow_answers, write_pausing_audit

COLOUR = "\x1b["


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_on_a_terminal_a_verdict_has_its_colour_and_the_text_is_the_same() -> None:
    text = "VIOLATED: x\n\nWhat it means: y\nNext: z"
    shown = coloured(text, Terminal())
    assert shown.startswith("\x1b[1;31mVIOLATED\x1b[0m: x")
    for code in ("1;31", "1", "0"):
        shown = shown.replace(f"\x1b[{code}m", "")
    assert shown == text


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_who_wants_no_colours_gets_none(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert coloured("HOLDS: x", Terminal()) == "HOLDS: x"


def test_a_pipe_gets_none() -> None:
    assert coloured("HOLDS: x", io.StringIO()) == "HOLDS: x"


def test_what_is_kept_and_what_programs_read_has_no_colour_even_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pausing_audit(tmp_path, 6)
    allow_answers(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["run", "audit.toml", "--quiet", "--out", "out"]) == 1
    assert COLOUR in terminal.getvalue()
    assert COLOUR not in (tmp_path / "out" / "summary.txt").read_text()
    monkeypatch.setattr(sys, "stdout", json := Terminal())
    assert main(["run", "audit.toml", "--quiet", "--json", "--out", "out"]) == 1
    assert main(["report", "out", "--format", "json"]) == 0
    assert COLOUR not in json.getvalue()
