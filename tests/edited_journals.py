"""Journals that somebody edited and gave a whole chain of hashes again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.auditing.journal import Journal, entries

Edit = Callable[[dict[str, Any]], None]


def rewrite(path: Path, edit: Edit) -> None:
    """The same journal with every measurement edited and every hash made anew."""
    lines = lines_of_journal(path)
    for measurement in measurements_in(lines):
        edit(measurement)
    write_anew(path, lines)


def lines_of_journal(path: Path) -> list[dict[str, Any]]:
    """All entries of a journal, to be edited."""
    lines: list[dict[str, Any]] = json.loads(json.dumps(list(entries(path))))
    return lines


def measurements_in(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The measurements of all persons, in their order."""
    return [one for line in lines for one in line.get("examined", {}).get("measurements", ())]


def write_anew(path: Path, lines: list[dict[str, Any]]) -> None:
    """A journal of these entries, with a whole chain."""
    path.unlink(missing_ok=True)
    with Journal(path, lines[0]) as journal:
        for line in lines[1:]:
            journal.append(line)
