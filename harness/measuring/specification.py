"""The identity of any part of an audit, as plain JSON data with every parameter. Knows no part in particular.

Two objects with equal specifications give equal numbers. What identifies an object is, first rule that fits:

    plain data                itself; infinite and undefined floats as text
    arrays, Series, frames    shape, type and SHA-256
    functions of a module     module and name, and the SHA-256 of their source or the version of their library
    an object with `spec()`   its class and what `spec()` says
    scikit-learn's objects    their class, the library's version and `get_params(deep=False)`
    dataclasses               their class and fields

A class of this package is known by its name, one of Python, scikit-learn, numpy, scipy or pandas by name and version,
any other by its name, the SHA-256 of its source and of that of its bases, and its library's version if it has one.
Functions that such a class calls are not looked at. What cannot be identified (lambdas, random number generators,
what `__main__` or a function's body defines) becomes {"unidentified": reason}, and `unidentified` lists all of them: an
audit with one of them cannot be resumed.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import hashlib
import inspect
import json
import math
import platform
import sys
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd

from harness.vocabulary.origin import OWN, is_ours, top_package

LIBRARIES = {"sklearn", "numpy", "scipy", "pandas"}  # of which the version says all
WITHOUT_EFFECT = {"n_jobs", "verbose"}  # parameters of estimators that change no result


def specification(thing: Any) -> Any:
    """What identifies an object, as plain JSON data."""
    try:
        return _identity(thing)
    except RecursionError:
        return _unknown(thing, "it contains itself")


def unidentified(spec: Any) -> list[str]:
    """Every part of a specification that could not be identified: where it stands, and why."""
    return [f"{path}: {reason}" if path else reason for path, reason in _gaps(spec, "")]


def _gaps(spec: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(spec, Mapping):
        if "unidentified" in spec:
            yield path, str(spec["unidentified"])
            return
        for name, part in spec.items():
            yield from _gaps(part, f"{path}.{name}" if path else str(name))
    elif isinstance(spec, list):
        for position, part in enumerate(spec):
            yield from _gaps(part, f"{path}[{position}]")


def _unknown(thing: Any, why: str) -> dict[str, str]:
    shown = getattr(thing, "__qualname__", None) or type(thing).__qualname__
    return {"unidentified": f"{shown}: {why}"}


def _identity(thing: Any) -> Any:
    for rule in (_plain, _container, _array, _callable, _object):
        spec = rule(thing)
        if spec is not NotImplemented:
            return spec
    return _unknown(thing, "it has no spec() with its parameters, and is no dataclass and no scikit-learn object")


def _plain(thing: Any) -> Any:
    if isinstance(thing, enum.Enum):
        return {**_class_identity(type(thing)), "member": thing.name}
    if isinstance(thing, np.generic):
        thing = thing.item()
    if thing is None or isinstance(thing, bool | int | str):
        return thing
    if isinstance(thing, float):
        return thing if math.isfinite(thing) else str(thing)
    if isinstance(thing, bytes):
        return {"bytes": _digest(thing)}
    if isinstance(thing, datetime.date):
        return {"date": thing.isoformat()}
    return {"path": thing.as_posix()} if isinstance(thing, PurePath) else NotImplemented


def _container(thing: Any) -> Any:
    if isinstance(thing, list | tuple):
        return [_identity(part) for part in thing]
    if isinstance(thing, set | frozenset):
        return {"set": sorted((_identity(part) for part in thing), key=_text)}
    if not isinstance(thing, Mapping):
        return NotImplemented
    if all(isinstance(name, str) for name in thing):
        return {name: _identity(part) for name, part in thing.items()}
    return {"items": [[_identity(name), _identity(part)] for name, part in thing.items()]}


def _array(thing: Any) -> Any:
    if isinstance(thing, np.ndarray):
        return {"array": list(thing.shape), "dtype": thing.dtype.str, **_content(thing)}
    if isinstance(thing, pd.Series):
        return {"series": _identity(thing.name), **_identity(thing.to_numpy()), "index": _index(thing.index)}
    if isinstance(thing, pd.DataFrame):
        columns = [[_identity(name), _identity(column.to_numpy())] for name, column in thing.items()]
        return {"frame": columns, "index": _index(thing.index)}
    return NotImplemented


def _content(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    if array.dtype != object:
        return {"sha256": _digest(np.ascontiguousarray(array).tobytes())}
    values = [_identity(value) for value in array.ravel().tolist()]
    gap = next(iter(unidentified(values)), None)
    return {"sha256": _digest(_text(values).encode())} if gap is None else {"values": {"unidentified": gap}}


def _index(index: pd.Index[Any]) -> Any:
    return len(index) if isinstance(index, pd.RangeIndex) else _identity(index.to_numpy())


def _callable(thing: Any) -> Any:
    if isinstance(thing, np.ufunc):
        return {"function": f"numpy:{thing.__name__}", **_version("numpy")}
    if isinstance(thing, functools.partial):
        parts = (thing.func, thing.args, thing.keywords)
        return dict(zip(("partial", "arguments", "keywords"), map(_identity, parts), strict=True))
    if inspect.ismethod(thing):
        return {"method": thing.__name__, "of": _identity(thing.__self__)}
    if inspect.isclass(thing):
        return _class_identity(thing)
    return _named("function", thing, [thing]) if inspect.isroutine(thing) else NotImplemented


def _object(thing: Any) -> Any:
    kind = type(thing)
    if isinstance(thing, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return _unknown(thing, "a random number generator changes with every use; give a whole number instead")
    if callable(getattr(thing, "spec", None)):
        return _described(kind, "spec", thing.spec())
    if callable(getattr(thing, "get_params", None)):
        parameters = thing.get_params(deep=False)
        return _described(kind, "parameters", {k: v for k, v in parameters.items() if k not in WITHOUT_EFFECT})
    if kind.__module__.startswith("sklearn."):  # its splitters, for example
        return _described(kind, "parameters", vars(thing))
    if dataclasses.is_dataclass(thing):
        kept = [one.name for one in dataclasses.fields(thing) if one.init or one.compare]  # others are caches
        return _described(kind, "fields", {name: getattr(thing, name) for name in kept})
    return NotImplemented


def _described(kind: type, what: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    identity = _class_identity(kind)
    return identity if "unidentified" in identity else {**identity, what: _identity(parameters)}


def _class_identity(kind: type) -> dict[str, Any]:
    sources = [base for base in kind.__mro__ if top_package(base) not in {*OWN, *LIBRARIES, *sys.stdlib_module_names}]
    return _named("class", kind, sources or [kind])


def _named(what: str, thing: Any, sources: list[Any]) -> dict[str, Any]:
    """Module and name of a class or function, and what tells its code from another's of that name."""
    module, name = getattr(thing, "__module__", None), thing.__qualname__
    if "<lambda>" in name:
        return _unknown(thing, "a lambda has no name; define it as a function of a module")
    if "<locals>" in name:
        return _unknown(thing, "it is defined inside a function; define it in a module")
    if module is None or module == "__main__":
        return _unknown(thing, "it belongs to no module that can be imported; define it in a module of its own")
    identity = {what: f"{module}:{name}"}
    top = top_package(thing)
    if is_ours(thing):
        return identity
    if top in LIBRARIES or top in sys.stdlib_module_names:
        return {**identity, **_version(top)}
    try:
        source = _digest("\n".join(inspect.getsource(part) for part in sources).encode())
        return {**identity, "source": source, **_version(top)}
    except (OSError, TypeError):
        return _unknown(thing, "its source cannot be read")


def _version(top: str) -> dict[str, str]:
    """The version of a library, of Python for what comes with it, and nothing for modules that have none."""
    if top in sys.stdlib_module_names:
        return {"library": "python", "version": platform.python_version()}
    version = getattr(sys.modules.get(top), "__version__", None)
    return {"library": top, "version": version} if isinstance(version, str) else {}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _text(spec: Any) -> str:
    return json.dumps(spec, sort_keys=True)
