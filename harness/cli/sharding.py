"""The command that puts shards of an audit together: merge."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from harness.api import open_oracle
from harness.auditing.config import load
from harness.auditing.folder import LOG, SHARD
from harness.auditing.merge import merge as merge_journals
from harness.auditing.merge import require_same_audit
from harness.auditing.oracle_identity import oracle_identity
from harness.cli import allow_imports_beside, tell
from harness.cli.audits import finish
from harness.render.text import counted
from harness.vocabulary.errors import InputError


def merge(chosen: argparse.Namespace) -> int:
    """Put all shards together and bring the audit to its end; the exit code is the outcome."""
    path = chosen.file or _file_of(chosen.folders)
    allow_imports_beside(path)
    file = load(path)
    oracle, source = open_oracle(file, chosen.out / LOG)
    try:
        require_same_audit(chosen.folders, file.plan.spec(), oracle_identity(oracle, source))
        merged = merge_journals(chosen.folders, chosen.out)
    except BaseException:
        oracle.close()
        raise
    if not chosen.quiet:
        tell(f"{counted(len(merged.heads), 'shard')} put together in {chosen.out}; root digest, to keep: {merged.root}")
    return finish(chosen, file, oracle, source, chosen.out)


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
