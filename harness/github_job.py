"""What a command or a test run shows in a job of GitHub Actions; elsewhere it shows what it always does.

Annotations go to standard error, which the runner reads too, so that standard output stays what it is. Knows the
environment variables of such a job.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from harness.render.github import annotation, annotations_of, inert, inert_json, is_github, step_summary
from harness.render.outcomes import OutcomeList

SUMMARY = "GITHUB_STEP_SUMMARY"  # the file of Markdown that is shown on the page of the job


def print_result(text: str, *, is_json: bool = False) -> None:
    """Print a result, none of whose lines the runner may take for a command."""
    if is_github(os.environ):
        text = inert_json(text) if is_json else inert(text)
    print(text, end="")


def show_outcomes(outcomes: OutcomeList) -> None:
    """Annotations for what did not pass, and a table in the summary of the step, where there are such things."""
    if is_github(os.environ):
        for line in annotations_of(outcomes):
            print(line, file=sys.stderr)
    if path := os.environ.get(SUMMARY):
        add_to_summary(Path(path), step_summary(outcomes))


def add_to_summary(path: Path, text: str) -> None:
    """Append to the summary of the step; what is there is kept. A file that cannot be written is no failed audit."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        print(f"harness: {path}: the summary of the step cannot be written: {error.strerror}", file=sys.stderr)


def show_error(title: str, message: str) -> None:
    """An error of a command as an annotation, where there are such things."""
    if is_github(os.environ):
        print(annotation("error", title, message), file=sys.stderr)
