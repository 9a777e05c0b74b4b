"""The command `harness`, in this process or in one of its own, and an anonymizer that stops where a test wants it to.

A process of its own costs two seconds of computing before it does anything, because it imports pandas and
scikit-learn. So `run_harness` calls the command in this process; a test that is about processes (signals, limits,
standard streams, what an import costs) starts one with `harness_process` or `start_harness`.
"""

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from harness.cli import main
from tests.waiting import PATIENCE

ROOT = Path(__file__).parent.parent
ENDLESS = 10**6  # more answers than any run asks for
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}

# A shell starts what runs in the background with SIGINT ignored, and a process inherits that. This restores the default
# and then becomes the command; preexec_fn would do so between fork and exec, which is not safe with threads.
INTERRUPTIBLE = (
    "import os, signal, sys;"
    "signal.signal(signal.SIGINT, signal.SIG_DFL);"
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)

PAUSING = '''
import hashlib
import time
from pathlib import Path

def f(df):
    """The table as it is; every question is logged, and those beyond the allowed number wait for their answer."""
    with open("asked.log", "a") as log:
        log.write(hashlib.sha256(df.to_csv().encode()).hexdigest() + "\\n")
    while len(Path("asked.log").read_text().split()) > int(Path("allowed").read_text() or 0):
        time.sleep(0.01)
    return df
'''


def run_harness(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command in this process, as if it had been given in that folder; what it imports from there is forgotten."""
    output, errors = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with (
        chdir(cwd),
        redirect_stdout(output),
        redirect_stderr(errors),
        _imports_forgotten(),
        patch.dict(os.environ, ENVIRONMENT),
    ):
        try:
            code = main(words)
        except SystemExit as end:  # of argparse
            code = end.code if isinstance(end.code, int) else 1
    return subprocess.CompletedProcess(words, code, _text(output), _text(errors))


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


@contextmanager
def _imports_forgotten() -> Iterator[None]:
    """Afterwards the folders where modules are found, and the modules found outside of them, are those of before."""
    folders, modules = list(sys.path), set(sys.modules)
    try:
        yield
    finally:
        added = {folder for folder in sys.path if folder not in folders}
        sys.path[:] = folders
        for name in set(sys.modules) - modules:
            origin = getattr(sys.modules[name], "__file__", None)
            if origin is not None and str(Path(origin).parent) in added:
                del sys.modules[name]


def harness_process(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "harness.cli", *words]
    return subprocess.run(
        command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def start_harness(*words: str, cwd: Path) -> subprocess.Popen[str]:
    """The command under way in a session of its own, with the default reaction to SIGINT."""
    return subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "-m", "harness.cli", *words],
        cwd=cwd,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str]) -> None:
    """Kills a process, unless it has ended, and waits for its end."""
    with process:
        process.kill()


def allow_answers(folder: Path, count: int = ENDLESS) -> None:
    """Says how many questions the pausing anonymizer answers, counted from the beginning of its log."""
    (folder / "allowed").write_text(str(count))


def asked(folder: Path) -> list[str]:
    """The digest of every table that the pausing anonymizer was asked about, in order."""
    log = folder / "asked.log"
    return log.read_text().split() if log.exists() else []


def processes_of_session(leader: int) -> list[int]:
    """The processes that a process and its descendants started in its session and that have not ended."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _session(entry) == leader]


def _session(process: Path) -> int | None:
    try:
        state, _, _, session = (process / "stat").read_text().rpartition(")")[2].split()[:4]
        return int(session) if state != "Z" else None
    except OSError:
        return None


AUDIT = """
[data]
path = "people.csv"
sensitive = "ill"
[data.quasi]
age = "number"
[oracle]
address = "python:pausing:f"
[claim]
epsilon = 0.1
[run]
workers = {workers}
"""


def write_pausing_audit(folder: Path, records: int, workers: int = 1) -> None:
    """An audit.toml, its data and the anonymizer that stops answering at a chosen number."""
    rows = ["age,ill", *(f"{20 + index},{'flu' if index % 3 else 'ulcer'}" for index in range(records))]
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    (folder / "pausing.py").write_text(PAUSING)
    (folder / "audit.toml").write_text(AUDIT.format(workers=workers))
