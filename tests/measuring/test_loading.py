"""Objects of a user's modules by name, and what is said when they cannot be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.vocabulary.errors import InputError
from harness.vocabulary.loading import is_importable_name, load_object

READY = {"made": "already"}


class Part:
    def __init__(self, alpha: float = 1.0) -> None:
        if alpha < 0:
            raise InputError("alpha must not be negative")
        self.alpha = 1 / alpha


def test_an_object_is_handed_over_as_it_is_and_a_class_is_called() -> None:
    assert load_object(f"{__name__}:READY") is READY
    assert load_object(f"{__name__}:test_the_form_of_a_name") is test_the_form_of_a_name
    assert load_object(f"{__name__}:Part").alpha == 1
    assert load_object(f"{__name__}:Part", {"alpha": 4}).alpha == 0.25


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("a.b:C", True),
        ("a:b.c", True),
        ("a.b", False),
        ("a:b:c", False),
        ("https://x", False),
        (":x", False),
        ("1:x", False),
    ],
)
def test_the_form_of_a_name(text: str, form: bool) -> None:
    assert is_importable_name(text) is form


@pytest.mark.parametrize(
    ("text", "parameters", "message"),
    [
        ("no colon", {}, "expected package.module:name"),
        ("nowhere.at_all:x", {}, "module 'nowhere.at_all' cannot be imported"),
        (f"{__name__}:Parts", {}, "there is no 'Parts'; did you mean 'Part'"),
        (f"{__name__}:Part", {"alfa": 1}, "unknown parameter 'alfa'; did you mean 'alpha'"),
        (f"{__name__}:Part", {"alpha": -1}, ":Part: alpha must not be negative"),
        (f"{__name__}:Part", {"alpha": 0}, "cannot be made: ZeroDivisionError"),
        (f"{__name__}:READY", {"alpha": 1}, "only a class takes parameters, and READY is a dict"),
    ],
)
def test_what_cannot_be_loaded_is_refused_with_the_reason(text: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_object(text, parameters)


def test_what_a_users_module_raises_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_part.py").write_text("1 / 0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match="importing 'broken_part' raised ZeroDivisionError"):
        load_object("broken_part:x")
