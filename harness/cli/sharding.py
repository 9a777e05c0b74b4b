"""The command that puts shards of an audit together: merge."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from harness.auditing.folder import SHARD
from harness.auditing.merge import merge as merge_journals
from harness.cli import tell
from harness.cli.audits import complete
from harness.render.text import counted
from harness.vocabulary.errors import InputError


def merge(chosen: argparse.Namespace) -> int:
    """Put all shards together and bring the audit to its end; the exit code is the outcome."""
    file = chosen.file or _file_of(chosen.folders)
    merged = merge_journals(chosen.folders, chosen.out)
    if not chosen.quiet:
        tell(f"{counted(len(merged.heads), 'shard')} put together in {chosen.out}; root digest, to keep: {merged.root}")
    return complete(chosen, file, chosen.out)


def _file_of(folders: Sequence[Path]) -> Path:
    """The audit.toml that shards were run with, where this machine has it."""
    for folder in folders:
        try:
            path = Path(json.loads((folder / SHARD).read_text(encoding="utf-8"))["file"])
        except (OSError, ValueError, LookupError, TypeError):
            continue
        if path.is_file():
            return path
    raise InputError(
        "the audit.toml that the shards were run with is not on this machine; name it with --file: the last questions "
        "of the audit are asked here"
    )
