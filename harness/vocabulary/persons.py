"""How a person is called in messages and reports: by the rows of the source, as whoever opens the source finds them.

A CSV file names its rows by lines (the header is line 1), Parquet by their numbers from 0, a DataFrame by the labels
of its index. Knows names of rows and numbers of persons only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

RowName = int | str
MOST_ROWS = 5  # of a person that are listed in a message


@dataclass(frozen=True)
class RowNames:
    """What the names of rows are: lines of a file, numbers of rows, or labels of an index."""

    kind: Literal["line", "row", "row label"] = "row label"
    file: str | None = None  # its name without folders
    first: int = 0  # the name of the first row, where each further row is one more

    def plain(self) -> dict[str, str | int | None]:
        """The same as plain data, for report.json."""
        return {"kind": self.kind, "file": self.file, "first": self.first}

    def in_words(self, rows: Sequence[RowName]) -> str:
        """`line 6`, `lines 6, 7`, `row 5, counted from 0`, `row label 'p17'`: where to look, without the file."""
        return f"{self._listed(rows)}{self._counted}"

    def in_source(self, rows: Sequence[RowName]) -> str:
        """The same with the file: `line 6 of people.csv`."""
        return self._listed(rows) + (f" of {self.file}" if self.file is not None else "") + self._counted

    def _listed(self, rows: Sequence[RowName]) -> str:
        shown = ", ".join(repr(row) if self.kind == "row label" else str(row) for row in rows[:MOST_ROWS])
        more = f" and {len(rows) - MOST_ROWS} more" if len(rows) > MOST_ROWS else ""
        return f"{self.kind}{'' if len(rows) == 1 else 's'} {shown}{more}"

    @property
    def _counted(self) -> str:
        return f", counted from {self.first}" if self.kind == "row" else ""


LABELS = RowNames()  # of a DataFrame; without an index of its own its labels are 0, 1, 2, …


def person_in_words(person: int, rows: Sequence[RowName], names: RowNames, *, is_record: bool) -> str:
    """`the record on line 6 of people.csv` where every row is a person, else `person 0 (lines 6, 7 of people.csv)`."""
    if not rows:
        return f"{'record' if is_record else 'person'} {person}"
    if not is_record:
        return f"person {person} ({names.in_source(rows)})"
    joined = {"line": "on", "row": "in", "row label": "with"}[names.kind]
    return f"the record {joined} {names.in_source(rows)}"
