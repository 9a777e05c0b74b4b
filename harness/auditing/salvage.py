"""What is left of a damaged journal, in a new folder from which the same audit goes on. Asks nobody.

The lines before the first one that is not as it was written prove themselves by their chain of hashes. They are copied
byte for byte, with the draws of f(D), and an event behind them says what was lost: the report will say it, too. The
damaged folder stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

from harness.auditing.events import Salvaged, to_entry
from harness.auditing.folder import JOURNAL
from harness.auditing.journal import Journal, good_lines, not_written
from harness.vocabulary.errors import InputError, JournalError
from harness.vocabulary.private_files import make_private_folder, write_private


def salvage(folder: Path, into: Path) -> tuple[int, Salvaged]:
    """Keep in a new folder what is intact; how many lines that are, and what was lost."""
    path = folder / JOURNAL
    content = _content(path)
    good = list(good_lines(content))
    if not good:
        raise JournalError(f"{path}: its first line is damaged, and nothing behind it can be trusted; measure again")
    lines, end = content.count(b"\n"), good[-1][2]
    if len(good) == lines:
        raise InputError(f"{path}: nothing is damaged; run the audit itself to continue it")
    if os.path.lexists(into):
        raise InputError(f"{into} exists already; choose another folder with --out")
    lost = Salvaged(lines - len(good), len(content) - end, hashlib.sha256(content).hexdigest())
    try:
        make_private_folder(into)
        write_private(into / JOURNAL, content[:end])
        for draws in sorted(folder.glob("present-*.npz")):
            shutil.copyfile(draws, into / draws.name)
            (into / draws.name).chmod(0o600)
    except OSError as error:
        raise not_written(into, error) from None
    with Journal(into / JOURNAL, json.loads(good[0][0])) as journal:
        journal.append(to_entry(lost))
    return len(good), lost


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None
