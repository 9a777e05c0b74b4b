"""Runs the commands of the tutorials and puts what they print into the page, so that a page cannot drift from the code.

Each page is one session of bash in a temporary folder, which holds a copy of examples/. In a page

- a block whose first line is a comment naming a file (`# audit.toml`, `# anonymizer.py`) is that file;
- in a ```console block, a line that begins with `$ ` is a command, and the lines below it are what it printed, on
  standard output and standard error. A command that ends with ` &` is a server; it is stopped when the page ends.

What differs from run to run (seconds) is compared as if it were equal: `comparable`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SESSIONS = (*sorted((ROOT / "docs" / "tutorials").glob("*.md")), ROOT / "docs" / "how-to" / "measure-a-release.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# ([\w.-]+\.(?:py|toml))")
MARK = "--- next command ---"
PORT = "8080"  # on the pages; a free one while they run
PATIENCE = 600.0  # seconds for a page
# What a reader types is this interpreter's command, whatever else is on the PATH.
PROGRAMS = {"harness": "-m harness.cli", "python": "", "pytest": "-m pytest -p no:cacheprovider"}
SETTINGS = {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1", "PYTEST_ADDOPTS": ""}
OF_CI = ("CI", "BUILD_NUMBER")  # where one of these is set, pytest prints longer lines
PROGRESS = re.compile(  # lines that are printed only where a run takes long
    r"^harness: (\d+ of \d+ records \(|.* so far; no record was examined yet).*\n", re.MULTILINE
)
TIME = re.compile(r"\d[\d.]*(e-\d+)? ?(s|ms|µs|seconds?|minutes?|hours?)\b( \(\d+:\d\d:\d\d\))?")
# A server prints one line when it is ready.
WAIT_FOR_SERVER = "{command} > server.log 2>&1 &\nuntil [ -s server.log ]; do sleep 0.1; done; cat server.log"


def with_output(page: Path) -> str:
    """The text of a page with what its commands print now."""
    text = page.read_text(encoding="utf-8")
    outputs = iter(_outputs(text))
    return BLOCK.sub(lambda block: _console(block[2], outputs) if block[1] == "console" else block[0], text)


def comparable(text: str) -> str:
    """A page without what differs from run to run."""
    return TIME.sub("TIME", text)


def _console(content: str, outputs: Iterator[str]) -> str:
    commands = [line for line in content.splitlines() if line.startswith("$ ")]
    printed = "\n".join(f"{command}\n{next(outputs)}".rstrip("\n") for command in commands)
    return f"```console\n{printed}\n```"


def _outputs(text: str) -> list[str]:
    """What each command of a page prints."""
    port = _free_port()
    blocks = [(language, content.replace(PORT, port)) for language, content in BLOCK.findall(text)]
    lines = [line for language, content in blocks if language == "console" for line in content.splitlines()]
    commands = [_command(line.removeprefix("$ ")) for line in lines if line.startswith("$ ")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        for _, content in blocks:
            if named := FILE.fullmatch(content.partition("\n")[0]):
                (folder / named[1]).write_text(content, encoding="utf-8")
        return _run(commands, folder).replace(port, PORT).split(f"{MARK}\n")[:-1]


def _command(words: str) -> str:
    if words.endswith(" &"):
        words = WAIT_FOR_SERVER.format(command=words.removesuffix(" &"))
    return f'{words}\nstatus=$?; echo "{MARK}"; (exit $status)'


def _run(commands: list[str], folder: Path) -> str:
    """What a session of bash prints."""
    with tempfile.TemporaryDirectory() as programs:
        for name, words in PROGRAMS.items():
            program = Path(programs, name)
            program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -u {words} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
        inherited = {name: value for name, value in os.environ.items() if name not in OF_CI}
        environment = {**inherited, **SETTINGS, "PYTHONPATH": str(ROOT), "PATH": f"{programs}:{os.environ['PATH']}"}
        script = "\n".join(["trap 'kill $(jobs -p) 2> /dev/null' EXIT", *commands])
        done = subprocess.run(
            ["bash", "-c", script], cwd=folder, env=environment, timeout=PATIENCE, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
    if "Traceback" in done.stdout:
        raise SystemExit(f"a command of a page failed:\n{done.stdout}")
    return PROGRESS.sub("", done.stdout)


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])
