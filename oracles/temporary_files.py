"""Files for a short time that hold confidential rows: only their owner reads them, and none is left behind.

One folder per process, `harness-private-…` in the temporary folder, with a lock that the process holds while it lives.
It is removed when the process ends. What a process that was killed left is swept by the next one of the same user: the
folders whose lock nobody holds, and the processes that carry their name as a mark (`process_marks`).
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.vocabulary.errors import NotWrittenError
from harness.vocabulary.private_files import open_private
from oracles.process_marks import end_marked

PREFIX, LOCK = "harness-private-", "lock"

_lock = threading.Lock()
_roots: dict[int, Path] = {}  # of this process, by its number: a forked one makes its own


def root_folder() -> Path:
    """The folder of this process; what others left is swept before it is made."""
    with _lock:
        root = _roots.get(os.getpid())
        if root is None or not root.is_dir():
            sweep_leftovers()
            try:
                root = _roots[os.getpid()] = _locked_folder()
            except OSError as error:
                raise _not_made(error) from None
            atexit.register(_remove, root, os.getpid())
        return root


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder of one's own, removed afterwards with all that is in it."""
    try:
        folder = Path(tempfile.mkdtemp(dir=root_folder()))
    except OSError as error:
        raise _not_made(error) from None
    try:
        yield folder
    finally:
        _remove(folder)


def write_input(path: Path, content: bytes) -> None:
    """A new file that only its owner reads, whatever the umask."""
    try:
        with open(open_private(path, os.O_WRONLY | os.O_EXCL), "wb") as file:
            file.write(content)
    except OSError as error:
        raise _not_made(error) from None


def _not_made(error: OSError) -> NotWrittenError:
    place, why = tempfile.gettempdir(), error.strerror or error
    return NotWrittenError(f"{place}: the temporary folder takes no file: {why}; make room there, or set TMPDIR")


def sweep_leftovers() -> None:
    """Ends the processes and removes the folders that killed processes of this user left."""
    with suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            with suppress(OSError):
                _sweep(folder)


def _sweep(folder: Path) -> None:
    status = folder.lstat()
    if status.st_uid != os.getuid() or folder.is_symlink() or not folder.is_dir():
        return
    with open(os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW), "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: its process lives
        end_marked(lambda mark: mark.startswith(f"{folder.name}:"))
        _remove(folder)


def _locked_folder() -> Path:
    """A new folder whose lock this process holds; one that is swept before that is made again."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)  # held until the process ends
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / LOCK).exists():
            return folder
        os.close(lock)


def _remove(folder: Path, process: int | None = None) -> None:
    """Removes a folder, also one that an anonymizer made hard to remove; of another process none."""
    if process not in (None, os.getpid()):
        return
    if process is not None:
        _roots.pop(process, None)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.is_dir():
        for path in [folder, *folder.rglob("*")]:
            with suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)
