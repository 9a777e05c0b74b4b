"""What the process of a `python:` anonymizer does. Knows a pipe to its parent; its standard output is the log."""

from __future__ import annotations

import faulthandler
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

import numpy as np

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import HarnessError, RaisedError
from harness.vocabulary.oracle import Ask, Oracle, Release
from harness.vocabulary.origin import is_ours
from harness.vocabulary.release import as_release
from harness.vocabulary.table import Cells, Table
from oracles.clients.isolated import DATASETS, GRACE, Opening

Requests = queue.SimpleQueue[Any]  # an Opening, then requests, then None


def main(number: int) -> None:
    """Answers what comes through the pipe of this number, until it ends."""
    os.set_inheritable(number, False)  # what the anonymizer starts must not keep it open
    pipe = Connection(number)
    _print_at_once()
    requests: Requests = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, requests), daemon=True).start()
    opening = requests.get()
    if opening is not None and (oracle := _opened(pipe, opening)) is not None:
        serve = _Conversation(pipe, oracle)
        while (request := requests.get()) is not None:
            serve.reply(request)


def _print_at_once() -> None:
    """What was printed is in the log when the process dies, and where it died in C; no letter is refused."""
    faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]


def _receive(pipe: Connection, requests: Requests) -> None:
    """Takes what the parent sends; when that has ended, ends the process, also in the middle of a call."""
    try:
        while True:
            requests.put(pipe.recv())
    except (EOFError, OSError):
        requests.put(None)  # an idle process leaves by itself
    finally:
        time.sleep(GRACE)
        os.killpg(os.getpgrp(), signal.SIGKILL)


def _opened(pipe: Connection, opening: Opening) -> Oracle | None:
    from oracles import python_oracle

    try:
        oracle = python_oracle(opening.target, opening.arguments, opening.taken)
    except BaseException as error:  # whatever a module does when it is imported
        _send_error(pipe, error, f"opening python:{opening.target}")
        return None
    pipe.send(("done", None))
    return oracle


class _Conversation:
    """One oracle, and the datasets that it was sent."""

    def __init__(self, pipe: Connection, oracle: Oracle) -> None:
        self._pipe, self._oracle = pipe, oracle
        self._datasets: list[Dataset] = []

    def reply(self, request: tuple[Any, ...]) -> None:
        verb, *words = request
        question = "asked what it is"
        try:
            if verb == "answer":
                ask = self._ask(*words)
                question = _in_words(ask)
                for release in self._releases(ask):
                    self._pipe.send(("release", release))
            else:
                (function,) = words
                self._pipe.send(("result", function(self._oracle)))
            self._pipe.send(("done", None))
        except BaseException as error:  # sys.exit() and KeyboardInterrupt too: nobody but the anonymizer raises them
            _send_error(self._pipe, error, question)

    def _ask(self, data: Dataset | int, question: tuple[Any, ...]) -> Ask:
        if not isinstance(data, int):
            del self._datasets[: max(0, len(self._datasets) + 1 - DATASETS)]
            self._datasets.append(data)
        drop, about, draws, seed = question
        return Ask(data if isinstance(data, Dataset) else self._datasets[data], drop, about, draws, seed)

    def _releases(self, ask: Ask) -> Iterator[Release]:
        for answer in self._oracle.answer(ask):
            release = as_release(answer)
            yield _plain(release) if isinstance(release, Table) else release


def _plain(table: Table) -> Table:
    """The same table; texts of a class of the anonymizer's own are plain texts, which anybody can unpickle."""
    return replace(table, columns=tuple(map(_plain_cells, table.columns)))


def _plain_cells(cells: Cells) -> Cells:
    if cells.palette.dtype != object or all(type(cell) is str for cell in cells.palette):
        return cells
    palette = np.array([str.__str__(cell) if isinstance(cell, str) else cell for cell in cells.palette], dtype=object)
    return Cells(palette, cells.codes)


def _in_words(ask: Ask) -> str:
    rows = ", ".join(map(str, ask.drop[:10])) + (", …" if len(ask.drop) > 10 else "")
    without = f"D without its rows {rows} (counted from 0)" if ask.drop else f"D ({ask.table.rows} rows)"
    return f"asked for {ask.draws} releases of {without}, seed {ask.seed}"


def _send_error(pipe: Connection, error: BaseException, question: str) -> None:
    """Tells the parent, with the anonymizer's own traceback as a note, and the log."""
    is_told = isinstance(error, HarnessError) and is_ours(type(error))
    told = error if is_told else RaisedError(error)
    cause = error.__cause__ if is_told else error
    if cause is not None:
        lines = "".join(traceback.format_exception(type(cause), cause, _own_part(cause.__traceback__)))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        print(f"{now} {question}:\n{lines}", file=sys.stderr, flush=True)
        told.add_note(f"in the anonymizer's process:\n{lines}")
    pipe.send(("error", told))


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without our own calls at its beginning; all of it if there are no others."""
    own = trace
    while own is not None and own.tb_frame.f_globals.get("__name__", "").startswith(("harness.", "oracles.")):
        own = own.tb_next
    return own or trace
