"""Numerical libraries compute with one thread while an audit runs, unless the environment says otherwise."""

import pytest
import sklearn.neighbors  # noqa: F401  (brings the libraries whose threads are counted)
from threadpoolctl import threadpool_info

from harness.measuring.one_thread import VARIABLES, one_thread


def threads() -> set[int]:
    """How many threads each loaded library would use."""
    return {library["num_threads"] for library in threadpool_info()}


def test_one_thread_is_used_inside_and_as_many_as_before_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    before = threads()
    with one_thread(), one_thread():
        assert threads() == {1}
    assert threads() == before


def test_the_environment_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLES[0], "2")
    before = threads()
    with one_thread():
        assert threads() == before
