"""Somebody's own divergence behind the interface: whatever it raises, or returns that is none, is an error of its own.

`guarded` is for single calls, `Foreign` for a whole divergence. What the interface does not name is passed on.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from harness.measuring.divergence.interface import Divergence, Proof, upper_of
from harness.measuring.samples import Floats, Samples
from harness.vocabulary.errors import HarnessError, InputError, did_you_mean, message_of


@contextmanager
def guarded(name: str) -> Iterator[None]:
    """Inside, an exception of the distance of this name becomes an InputError that says so."""
    try:
        yield
    except HarnessError:
        raise
    except Exception as error:
        raise InputError(f"distance {name!r} raised {type(error).__name__}: {message_of(error)}") from error


@dataclass(frozen=True, eq=False)
class Foreign:
    """A divergence of a class that is not ours."""

    name: str
    own: Any

    @property
    def describes(self) -> str:
        with guarded(self.name):
            return str(self.own.describes)

    @property
    def largest(self) -> float:
        with guarded(self.name):
            return float(self.own.largest)

    @property
    def proves(self) -> Proof:
        with guarded(self.name):
            proof: Proof = self.own.proves
            if proof not in get_args(Proof):
                hint = did_you_mean(str(proof), get_args(Proof))
                raise InputError(f"distance {self.name!r}: it proves {proof!r}, which is not known; {hint}")
            return proof

    def between(self, p: Floats, q: Floats) -> float:
        with guarded(self.name):
            return float(self.own.between(p, q))

    def paired(self, x: Samples, y: Samples) -> Floats:
        with guarded(self.name):
            return _numbers(self.own.paired(x, y))

    def per_value(self, x: Samples, y: Samples) -> Floats:
        with guarded(self.name):
            return _numbers(self.own.per_value(x, y))

    def upper(self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool) -> float:
        with guarded(self.name):
            return float(upper_of(self.own, x, y, plug_in, alpha, coupled=coupled))

    def interval(
        self, x: Samples, y: Samples, plug_in: float, alpha: float, *, coupled: bool, lower_from: float
    ) -> tuple[float, float]:
        with guarded(self.name):
            low, high = self.own.interval(x, y, plug_in, alpha, coupled=coupled, lower_from=lower_from)
            return float(low), float(high)

    def spec(self) -> dict[str, Any]:
        with guarded(self.name):
            return dict(self.own.spec())

    def __getattr__(self, attribute: str) -> Any:
        """Further parts; one that the own object does not have at all is missing here too."""
        if attribute in ("name", "own") or attribute.startswith("__"):  # asked for while a copy is being made
            raise AttributeError(attribute)
        if inspect.getattr_static(self.own, attribute, None) is None:
            raise AttributeError(f"distance {self.name!r} has no {attribute!r}")
        with guarded(self.name):
            part = getattr(self.own, attribute)
        return _Guarded(self.name, part) if callable(part) else part


@dataclass(frozen=True, eq=False)
class _Guarded:
    """A method of somebody's own divergence."""

    name: str
    method: Any

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        with guarded(self.name):
            return self.method(*arguments, **keywords)


def _numbers(content: Any) -> Floats:
    return np.atleast_1d(np.asarray(content, dtype=np.float64))


def own_object(divergence: Divergence) -> Any:
    """The object that somebody gave, or the divergence itself: what identifies it."""
    return divergence.own if isinstance(divergence, Foreign) else divergence
