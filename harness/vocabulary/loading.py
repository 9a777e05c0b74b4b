"""Objects of a user's own modules, by name: `package.module:name`. Knows nothing of what they are for."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Mapping
from typing import Any

from harness.vocabulary.errors import InputError, did_you_mean, message_of

# One colon between a dotted module and a dotted name, as in entry points.
_IMPORTABLE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_importable_name(text: str) -> bool:
    """Whether a text has the form `package.module:name`."""
    return _IMPORTABLE.fullmatch(text) is not None


def load_object(text: str, parameters: Mapping[str, Any] | None = None) -> Any:
    """The object that `package.module:name` names; a class is called, with `parameters` as keyword arguments."""
    loaded, name = find_object(text), text.partition(":")[2]
    if inspect.isclass(loaded):
        return constructed(loaded, parameters or {}, text)
    if parameters:
        raise InputError(f"{text}: only a class takes parameters, and {name} is a {type(loaded).__name__}")
    return loaded


def find_object(text: str, where: str | None = None) -> Any:
    """The object that `package.module:name` names, as it is; `where` is how messages call it."""
    where = text if where is None else where
    if not is_importable_name(text):
        raise InputError(f"{where!r} does not name an object; expected package.module:name")
    module, _, name = text.partition(":")
    return attribute_of(_imported(module, where), name, where)


def _imported(module: str, where: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        without_py = f"; write it without .py: {module.removesuffix('.py')}" if module.endswith(".py") else ""
        raise InputError(
            f"{where}: module {module!r} cannot be imported: {error}{without_py}; it is looked for in the "
            "current folder, beside the audit.toml where there is one, and among the installed packages"
        ) from (None if _is_absent(module, error) else error)
    except Exception as error:  # whatever a user's module does when it is imported
        raise InputError(f"{where}: importing {module!r} raised {type(error).__name__}: {message_of(error)}") from error


def _is_absent(module: str, error: ImportError) -> bool:
    """Whether the module itself is not there: then nothing of it was run that a traceback could show."""
    return isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}.")


def attribute_of(owner: Any, name: str, where: str) -> Any:
    """The attribute of a dotted name, or an InputError with the nearest public name."""
    for part in name.split("."):
        if not hasattr(owner, part):
            raise InputError(f"{where}: there is no {part!r}; {did_you_mean(part, _public(owner))}")
        owner = getattr(owner, part)
    return owner


def _public(owner: Any) -> list[str]:
    """The names to offer: what a module lists or defines itself, without what it imports."""
    names = [name for name in getattr(owner, "__all__", dir(owner)) if not name.startswith("_")]
    found = {name: getattr(owner, name, None) for name in names}
    if not inspect.ismodule(owner) or hasattr(owner, "__all__"):
        return [name for name, value in found.items() if not inspect.ismodule(value)]
    own = [name for name, value in found.items() if getattr(value, "__module__", None) == owner.__name__]
    return own or [name for name, value in found.items() if not inspect.ismodule(value)]


def constructed(kind: type, parameters: Mapping[str, Any], where: str) -> Any:
    """An object of this class; a parameter that it does not have is named together with those it has."""
    try:
        known = inspect.signature(kind).parameters
    except ValueError:  # a class written in C: it says itself what it lacks
        known = None
    if known is not None and not any(one.kind is one.VAR_KEYWORD for one in known.values()):
        unknown = next((name for name in parameters if name not in known), None)
        if unknown is not None:
            raise InputError(f"{where}: unknown parameter {unknown!r}; {did_you_mean(unknown, known)}")
    try:
        return kind(**parameters)
    except InputError as error:
        raise error.within(where) from None
    except Exception as error:  # whatever a user's constructor does
        raise InputError(f"{where}: cannot be made: {type(error).__name__}: {error}") from error
