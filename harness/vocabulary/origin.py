"""Whose code something is: this project's, where an error is a defect of ours, or somebody else's."""

from __future__ import annotations

from typing import Any

OWN = ("harness", "oracles")


def top_package(thing: Any) -> str:
    """The first word of the module that a class, a function or the class of an object comes from."""
    return str(getattr(thing, "__module__", "")).partition(".")[0]


def is_ours(thing: Any) -> bool:
    """Whether a class, a function or the class of an object is part of this project."""
    return top_package(thing) in OWN
