"""An anonymizer in another process that says when it was asked, and answers when the test lets it."""

from dataclasses import dataclass
from pathlib import Path

from tests.waiting import text_of


@dataclass(frozen=True)
class Gate:
    """A folder with two notes: "begun" is written by the anonymizer, "open" by the test."""

    folder: Path

    @property
    def source(self) -> str:
        """Python that defines the anonymizer, `held`."""
        return f"""
import os, time
def held(frame):
    with open({str(self.folder / "begun")!r}, "w") as note:
        note.write("yes")
    while not os.path.exists({str(self.folder / "open")!r}):
        time.sleep(0.01)
    return frame
"""

    def wait_for_question(self) -> None:
        text_of(self.folder / "begun")

    def open(self) -> None:
        (self.folder / "open").touch()
