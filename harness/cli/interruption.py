"""How the command ends when a signal stops it: SIGINT, SIGTERM and SIGHUP become one exception. Knows signals only."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """A signal told the command to stop; the exit code is the one a shell reports for it: 129, 130 or 143."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, SIGINT, SIGTERM and SIGHUP raise Interrupted in the main thread; afterwards they do what they did.

    SIGINT does so also where it was ignored. A shell has it ignored by whatever it starts in the background, so
    that a Ctrl-C is not for it; but an interrupted audit loses nothing, while one that cannot be stopped goes on
    asking a vendor, who may charge for every answer. SIGTERM would end the command before it closes its oracle, and
    would not end it at all as process 1 of a container. SIGHUP stays ignored where it was: that is what nohup is for.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if number != signal.SIGHUP or handler is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)
