"""What an oracle works out once per dataset, and forgets when the dataset is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from harness.vocabulary.dataset import Dataset

T = TypeVar("T")


class Remembered(Generic[T]):
    """`build(data)`, once per Dataset object however many threads ask; it does not keep the dataset alive."""

    def __init__(self, build: Callable[[Dataset], T]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._known: WeakKeyDictionary[Dataset, T] = WeakKeyDictionary()

    def __call__(self, data: Dataset) -> T:
        with self._lock:
            if data not in self._known:
                self._known[data] = self._build(data)
            return self._known[data]
