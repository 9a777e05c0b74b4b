"""How much a server accepts, keeps and does at once, and how that is shared out of one bound on its memory."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from harness.vocabulary.errors import InputError
from oracles.wire import messages

MIB: Final = 2**20
SMALLEST: Final = 64 * MIB  # of memory for questions and data, beside what the server needs anyway
SPARE: Final = 0.3  # of the memory: what an allocator cannot give back at once
GLIBC: Final = ((-8, 2), (-3, 1 << 17), (-1, 1 << 17))  # M_ARENA_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD: malloc.h


@dataclass(frozen=True)
class Limits:
    """How much a server accepts, keeps and does at once. All sizes are in bytes."""

    request_bytes: int = 64 * MIB  # one question with its data
    dataset_bytes: int = 64 * MIB  # one dataset that is put
    received_bytes: int = 256 * MIB  # requests that are being received or wait to be read, together
    work_bytes: int = 2048 * MIB  # what reading and answering questions needs at once
    kept_bytes: int = 1024 * MIB  # all datasets together, as they are in memory; the longest unused make room
    kept_seconds: float = 3600.0  # since it was last used
    concurrency: int = 1  # questions worked on at once; more only for anonymizers that can be called by threads
    patience: float = 5.0  # seconds that a question waits for its turn; then its client is asked to come again
    question_seconds: float = 3600.0  # that one question may take from its turn to the last byte of its reply
    draws: int = 1_000_000  # per question

    @property
    def message_bytes(self) -> int:
        """The largest message of any verb: a question with its envelope, or a piece of a dataset."""
        return max(self.request_bytes, messages.MESSAGE_BYTES) + 2**16

    def of_messages(self, most: int) -> Limits:
        """The same limits where a whole question is one message, and no message is larger than this."""
        return replace(self, request_bytes=min(self.request_bytes, most))

    def within(self, memory: int, used: int | None = None) -> Limits:
        """The same limits, as small as they must be for the process to stay below so many bytes.

        `used` are the bytes that it takes already: all that is imported, and the anonymizer.
        """
        used = resident_bytes() if used is None else used
        free = int((memory - used) * (1 - SPARE))
        if free < SMALLEST:
            least = -(-int(used + SMALLEST / (1 - SPARE)) // MIB)
            raise InputError(f"{memory // MIB} MiB of memory are too few: the server needs at least {least} MiB")
        received = min(self.received_bytes, free // 5)
        most = received // 2
        return replace(
            self,
            request_bytes=min(self.request_bytes, most),
            dataset_bytes=min(self.dataset_bytes, most),
            received_bytes=received,
            work_bytes=min(self.work_bytes, free // 2),
            kept_bytes=min(self.kept_bytes, free - received - free // 2),
        )


def give_freed_memory_back() -> None:
    """Has the C library return what is freed to the system at once, where it can be told so: glibc.

    Otherwise it keeps up to 64 MiB in each of a dozen pools, one for every few threads.
    """
    with suppress(OSError, AttributeError):
        for option, value in GLIBC:
            ctypes.CDLL(None).mallopt(option, value)


def resident_bytes() -> int:
    """Bytes of memory that this process takes now, where the system tells: on Linux."""
    try:
        words = Path("/proc/self/status").read_text(encoding="ascii").split("VmRSS:")[1].split()
        return 1024 * int(words[0])
    except (OSError, IndexError, ValueError):
        return 128 * MIB
