"""What a worker process does. Knows a pipe to its parent, and nothing of the other workers."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import threading
import time
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from harness.executors.calls import share_calls
from harness.executors.mapper import Answer, perform, unpack
from harness.vocabulary.errors import HarnessError, WorkerError

GRACE = 0.5  # seconds for a worker that is told to end

Received = queue.SimpleQueue[tuple[Any, ...]]  # the function, then numbers and items one by one, then nothing


def work(pipe: Connection, began: Any) -> None:
    """Says that it is up, receives the function, then numbered items, until the pipe ends; answers each as it is done.

    `began` is the shared double in which the parent reads since when f is called.
    """
    share_calls(began)
    os.setpgid(0, 0)  # a group of its own: Ctrl-C is the parent's business, and what a worker starts ends with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    received: Received = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, received), daemon=True).start()
    with suppress(OSError):  # the parent is gone
        pipe.send(None)
        if packed := received.get():
            function = perform(unpack, *packed)
            if function.error is not None:
                pipe.send_bytes(_pack_answer(None, function))
            while task := received.get():
                number, item = task
                pipe.send_bytes(_pack_answer(number, perform(function.value, item)))


def _receive(pipe: Connection, received: Received) -> None:
    """Takes at once what the parent sends, so that neither waits for the other; without a parent, ends the worker."""
    try:
        received.put((pipe.recv_bytes(),))
        while True:
            tasks = pipe.recv()
            if tasks is None:
                _forget(received)
            for task in tasks or ():
                received.put(task)
    except (EOFError, OSError):
        received.put(())  # an idle worker leaves by itself
    finally:
        time.sleep(GRACE)
        os.killpg(os.getpgrp(), signal.SIGKILL)


def _forget(received: Received) -> None:
    """Drop the items that wait: another worker has them now."""
    with suppress(queue.Empty):
        while True:
            received.get_nowait()


def _pack_answer(number: int | None, answer: Answer) -> bytes:
    """The number of an item and its answer as bytes: an error with its traceback, as text if it cannot be pickled."""
    if answer.error is not None and not isinstance(answer.error, HarnessError):
        answer.error.add_note("in a worker process:\n" + "".join(traceback.format_exception(answer.error)))
    try:
        packed = pickle.dumps((number, answer))
        if answer.error is not None:
            pickle.loads(packed)  # noqa: S301  (many an exception fails only on arrival)
        return packed
    except Exception as error:
        wrong = answer.error or error
        told = Answer(None, WorkerError(f"{type(wrong).__name__}: {wrong}"), answer.seconds)
        return pickle.dumps((number, told))
