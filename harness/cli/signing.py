"""The command of an auditor who vouches for an audit: sign."""

from __future__ import annotations

import argparse
import os

from harness.auditing.folder import ATTESTATION, write_text
from harness.cli import tell
from harness.cli.evidence import check_folder
from harness.signing.envelope import sealed
from harness.signing.keys import load_signing_key, passphrase_from
from harness.signing.statement import serialized, statement_of
from harness.vocabulary.errors import InputError


def sign(chosen: argparse.Namespace) -> int:
    """Check the folder of an audit as `verify` does, then sign what is in it."""
    key = load_signing_key(chosen.key, passphrase_from(chosen.passphrase_env))
    path = chosen.folder / ATTESTATION
    if os.path.lexists(path):
        raise InputError(f"{path}: the audit is signed already; remove this file to sign anew")
    evidence = check_folder(chosen.folder)
    if evidence.report is None:
        raise InputError(f"{chosen.folder}: {evidence.conclusion}; sign that audit")
    statement = statement_of(chosen.folder, evidence.report.plain)
    write_text(path, sealed(serialized(statement), key))
    print("\n".join([*evidence.lines, evidence.conclusion]))
    tell(f"signed as {statement['predicate']['result']}: {path}, by the key {key.id}")
    return 0
