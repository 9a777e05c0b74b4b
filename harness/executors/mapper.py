"""What all executors share: what they promise, how an item is performed, and how a function travels."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from harness.vocabulary.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")
Function = Callable[[Any], Any]
KEPT = "what was measured is kept; run the same command again to continue"
REMEDY = "define the anonymizer as a function of a module, or use workers = 1"


class Mapper(Protocol):
    """An executor: results come in any order, the caller must not depend on it."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]: ...


@dataclass(frozen=True)
class Answer:
    """What became of one item: a value or an error, and how long it took."""

    value: Any
    error: BaseException | None
    seconds: float

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


def perform(function: Function, item: Any) -> Answer:
    """The answer for one item; even sys.exit() in an anonymizer is an error of that item, not the end of its worker."""
    start = time.perf_counter()
    try:
        return Answer(function(item), None, time.perf_counter() - start)
    except BaseException as error:
        return Answer(None, error, time.perf_counter() - start)


class Pace:
    """How many items make up some seconds of work, judged by the latest answers; one while there are none."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seconds: float | None = None

    def add(self, answer: Answer) -> None:
        before = answer.seconds if self._seconds is None else self._seconds
        self._seconds = 0.8 * before + 0.2 * answer.seconds

    def items_for(self, seconds: float) -> int:
        """How many items take about so many seconds, from 1 to the most."""
        if self._seconds is None or self._seconds >= seconds:
            return 1
        return self._most if self._seconds * self._most <= seconds else round(seconds / self._seconds)


def pack(function: Function, dumps: Callable[[Any], bytes] = pickle.dumps) -> bytes:
    """The function as bytes for worker processes, or an InputError that says what to do instead."""
    try:
        return dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(f"the work cannot be sent to worker processes ({error}); {REMEDY}") from None


def unpack(packed: bytes) -> Function:
    """The function that a worker performs, from the bytes that it received."""
    try:
        function: Function = pickle.loads(packed)  # noqa: S301  (from our own parent process)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"worker processes cannot receive the work ({reason}); {REMEDY}") from None
    return function
