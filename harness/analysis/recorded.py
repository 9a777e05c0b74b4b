"""What a baseline is recorded with: date, commit, machine and versions. Asks git, and nothing over a network."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

COMMITS = ("GITHUB_SHA", "CI_COMMIT_SHA")  # where a CI server says which commit it checked out
SECONDS = 10  # for git to answer


def recorded_now(
    versions: Mapping[str, str], folder: Path, environment: Mapping[str, str] = os.environ
) -> dict[str, Any]:
    """Of this moment; `folder` is in the repository whose commit is meant. The name of the machine is not in it."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(folder) or next((environment[name] for name in COMMITS if environment.get(name)), None),
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        "versions": dict(versions),
    }


def _commit(folder: Path) -> str | None:
    """The commit that is checked out, marked where files differ from it."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    return commit + (" with changes" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")


def _git(folder: Path, *words: str) -> str | None:
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):  # no git here, which is no fault
        return None
    return done.stdout.strip() if done.returncode == 0 else None
