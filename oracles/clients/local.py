"""An anonymizer in this process: any callable f(df), f(df, seed) or f(df, rng)."""

from __future__ import annotations

import inspect
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, RaisedError, ReleaseError, did_you_mean
from harness.vocabulary.oracle import Ask, Card
from harness.vocabulary.release import as_table
from harness.vocabulary.table import Table
from oracles.remembering import Remembered
from oracles.untrusted import readable_notes

CALL_SECONDS = 300.0


class Local:
    """A callable as an oracle. It is given a fresh copy of the data each time, since it may change its argument.

    `call_seconds` is how long one call may take; who calls it in a process that can be ended keeps to that.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: Mapping[str, Any] | None = None,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self.function, self.call_seconds = function, call_seconds
        self.options = dict(options or {})
        self.randomness = _randomness(function, self.options)
        seeded = True if self.randomness else None
        self.card = Card(_name(function), randomized=seeded, seedable=bool(seeded))

    def spec(self) -> dict[str, Any]:
        """What tells this anonymizer from another."""
        return {"function": self.function, "options": self.options}

    def answer(self, ask: Ask) -> Iterator[Table]:
        frame = _frame_of(ask)  # made for this question: the last draw may have it as it is
        for draw, seed in enumerate(ask.seeds(), start=1):
            returned = self._call(frame if draw == ask.draws else frame.copy(), seed)
            yield _with_notes(as_table(returned), returned)

    def _call(self, frame: pd.DataFrame, seed: int) -> Any:
        """One release; an exception of the callable is quoted with its last line, not with its traceback."""
        randomness: dict[str, Any] = {}
        if self.randomness:
            randomness = {self.randomness: seed if self.randomness == "seed" else np.random.default_rng(seed)}
        try:
            return self.function(frame, **randomness, **self.options)
        except BaseException as error:  # sys.exit(), CancelledError and a panic of Rust end one question, too
            if _is_interruption(error):
                raise
            raise RaisedError(error, _where(error)) from error

    def close(self) -> None:
        """Nothing is held open."""


def _complete_frame(data: Dataset) -> pd.DataFrame | None:
    """D as a DataFrame; None if it has gaps: without the row of a gap its column may have another type."""
    table = data.table
    return None if any((cells.codes < 0).any() for cells in table.columns) else table.to_frame()


_whole = Remembered(_complete_frame)


def _frame_of(ask: Ask) -> pd.DataFrame:
    """`ask.table` as a DataFrame: what stands between the rows left out, joined, is much quicker than a new frame."""
    whole = _whole(ask.data) if ask.drop else None
    if whole is None or len(ask.drop) == len(whole):
        return ask.table.to_frame()
    rows = sorted(set(ask.drop))
    starts, ends = [0, *(row + 1 for row in rows)], [*rows, len(whole)]
    kept = [whole.iloc[start:end] for start, end in zip(starts, ends, strict=True) if start < end]
    return pd.concat(kept, ignore_index=True)


def _is_interruption(error: BaseException) -> bool:
    """Whether this may be a Ctrl-C or another signal, rather than an exception of f's own.

    Python raises those in the main thread alone, and worker processes ignore them: the process that started them acts.
    """
    is_told_here = threading.current_thread() is threading.main_thread()
    return (
        isinstance(error, KeyboardInterrupt) and is_told_here and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    )


def _with_notes(released: Table, returned: Any) -> Table:
    """The release with what `attrs["notes"]` of a DataFrame says about it: a text or a list of texts."""
    notes = returned.attrs.get("notes") if isinstance(returned, pd.DataFrame) else None
    if not notes:
        return released
    texts = [notes] if isinstance(notes, str) else notes
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise ReleaseError(
            f'attrs["notes"] of the release is a {type(notes).__name__}; expected a text, or a list of texts'
        )
    return replace(released, notes=readable_notes(texts))


def _where(error: BaseException) -> str:
    """The line of the anonymizer's own file that was being run, not the depths of a library."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is ours
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name})" if own else ""


def _name(function: Callable[..., Any]) -> str:
    plain = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{getattr(function, '__module__', None) or '?'}:{plain}"


def _randomness(function: Callable[..., Any], options: Mapping[str, Any]) -> str | None:
    """Which keyword the callable takes its randomness from, after checking that the options fit it too."""
    if inspect.iscoroutinefunction(function):
        raise InputError(f"the anonymizer {_name(function)} is async; wrap it in a plain function that awaits it")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # builtins without a signature take the data and nothing else
        return None
    randomness = next((name for name in ("seed", "rng") if name in signature.parameters and name not in options), None)
    keywords = {**options, **({randomness: None} if randomness else {})}
    try:
        signature.bind(None, **keywords)
    except TypeError as error:
        raise InputError(
            f"the anonymizer {_name(function)}{signature} cannot be called as f(df{_arguments(keywords)}): {error}"
            f"{_nearest(options, signature)}"
        ) from None
    return randomness


def _nearest(options: Mapping[str, Any], signature: inspect.Signature) -> str:
    """The parameter that an unknown option may have meant, as the tail of a sentence."""
    known = list(signature.parameters)[1:]
    unknown = next((name for name in options if name not in known), None)
    return f"; {did_you_mean(unknown, known)}" if unknown is not None and known else ""


def _arguments(keywords: Mapping[str, Any]) -> str:
    return "".join(f", {name}=…" for name in keywords)
