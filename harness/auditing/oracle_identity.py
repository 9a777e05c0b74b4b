"""Which anonymizer an audit asks, as plain data for the journal: another one must not go on with it. Calls nothing.

    a function          module, name, a digest of its code, the texts in it, what it closes over, and its defaults
    functools.partial   the function and its arguments
    a method            its name, and the object it belongs to
    an object           what its `spec()` says; without one its class, a digest of the class's code, and its attributes

State that changes with use says nothing about who somebody is. Lists, dicts and sets that a function closes over or
an object holds are therefore left out, and so are names that the code itself assigns again. Texts, bytes and arrays may
be secret: they are Secrets here, also where the code itself spells them, and a journal keeps keyed digests of them.
What cannot be told here (global variables, what stands behind an address) is left to the first question, which is asked
once more before an audit goes on.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pandas as pd

from harness.measuring.specification import LIBRARIES, specification
from harness.vocabulary.oracle import Oracle
from harness.vocabulary.origin import is_ours, top_package
from harness.vocabulary.secret import Secret

CHANGES = "not compared"  # what stands for state that may change with use
DEEPEST = 8  # parts of parts of parts
OPEN_PACKAGE = "oracles.reference."  # our own anonymizers: no text in their parameters is secret


def oracle_identity(oracle: Oracle, source: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a journal says of its oracle; `source` is its address with its options, where it was opened by one.

    What the oracle says of itself is compared too, but by `card_changes`: that may change, and be accepted.
    """
    said = dict(source or {})
    return {**said, "identity": _identity_inside(oracle)} if source is None or oracle.card.in_process else said


def _identity_inside(oracle: Any) -> Any:
    """The identity of an oracle that may be held by another process, and then looked at there."""
    inner = oracle
    while hasattr(inner, "inner"):
        inner = inner.inner
    return inner.inspect_inside(identity) if hasattr(inner, "inspect_inside") else identity(oracle)


def identity(thing: Any) -> Any:
    """What identifies an anonymizer, or a part of one."""
    return _identity(thing, ())


def _identity(thing: Any, around: tuple[int, ...]) -> Any:
    """`around` are the objects that this one was reached through; one of them again says nothing new."""
    if id(thing) in around:
        return "itself"
    if len(around) == DEEPEST:
        return CHANGES
    inner = (*around, id(thing))
    if isinstance(thing, functools.partial):
        parts = (thing.func, thing.args, thing.keywords)
        return dict(zip(("partial", "arguments", "keywords"), (_given(part, inner) for part in parts), strict=True))
    if inspect.ismethod(thing):
        return {"method": thing.__name__, "of": _identity(thing.__self__, inner)}
    if isinstance(thing, FunctionType):
        return _function(thing, inner)
    if inspect.isclass(thing):
        return _class(thing)
    if inspect.isroutine(thing):
        return {"function": _full_name(thing)}
    return _object(thing, inner)


def _function(function: FunctionType, around: tuple[int, ...]) -> dict[str, Any]:
    code, cells = function.__code__, function.__closure__ or ()
    assigned = _assigned(code, "STORE_DEREF")
    closure = {
        name: _kept(_content(cell), around)
        for name, cell in zip(code.co_freevars, cells, strict=True)
        if name not in assigned
    }
    by_place = {str(place): value for place, value in enumerate(function.__defaults__ or ())}
    defaults = {**by_place, **(function.__kwdefaults__ or {})}
    return {
        "function": _full_name(function),
        **_code([code]),
        "closure": closure,
        "defaults": {name: _kept(value, around) for name, value in defaults.items()},
    }


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _object(thing: Any, around: tuple[int, ...]) -> dict[str, Any]:
    kind = type(thing)
    if callable(getattr(thing, "spec", None)):
        return {**_class(kind), "spec": _given(thing.spec(), around)}
    changing = {name for _, function in _own_functions(kind) for name in _assigned(function.__code__, "STORE_ATTR")}
    held = getattr(thing, "__dict__", {})
    state = {name: _kept(value, around) for name, value in held.items() if name not in changing}
    return {**_class(kind), "state": _shown(state) if kind.__module__.startswith(OPEN_PACKAGE) else state}


def _shown(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value.value if isinstance(value, Secret) else value for name, value in state.items()}


def _class(kind: type) -> dict[str, Any]:
    if is_ours(kind):
        return {"class": _full_name(kind)}
    named = dict(_own_functions(kind, constructors=True))
    return {"class": _full_name(kind), **_code([function.__code__ for function in named.values()]), "has": [*named]}


def _own_functions(kind: type, *, constructors: bool = False) -> Iterator[tuple[str, FunctionType]]:
    """The functions of a class and of its bases, without those of Python and of the libraries below us."""
    for base in kind.__mro__:
        if top_package(base) in {*LIBRARIES, *sys.stdlib_module_names}:
            continue
        for name, member in vars(base).items():
            function = inspect.unwrap(member) if isinstance(member, FunctionType) else None
            if isinstance(function, FunctionType) and (constructors or name not in ("__init__", "__post_init__")):
                yield f"{base.__qualname__}.{name}", function


def _given(value: Any, around: tuple[int, ...]) -> Any:
    """An argument that was given on purpose: containers count with all they hold. Secrets stay what they are."""
    if isinstance(value, Secret):
        return value
    if isinstance(value, Mapping):
        return {str(name): _given(part, around) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_given(part, around) for part in value]
    if isinstance(value, set | frozenset):
        if _holds_text(value):
            return Secret(sorted(map(repr, value)))
        return sorted(str(_given(part, around)) for part in value)
    return _kept(value, around)


def _kept(value: Any, around: tuple[int, ...]) -> Any:
    """A value that stays what it is while it is used, or CHANGES."""
    if isinstance(value, str | bytes | np.str_ | np.bytes_ | np.ndarray | pd.Series):
        return Secret(specification(value))
    if isinstance(value, tuple | frozenset):
        return _given(value, around)
    if value is None or isinstance(value, bool | int | float | np.generic):
        return specification(value)
    if callable(value) or hasattr(value, "answer"):
        return _identity(value, around)
    return CHANGES


def _assigned(code: CodeType, operation: str) -> set[str]:
    """The names that code assigns by this operation, the functions inside it included."""
    names = {one.argval for one in dis.get_instructions(code) if one.opname == operation}
    return names.union(*(_assigned(inner, operation) for inner in code.co_consts if isinstance(inner, CodeType)))


def _code(codes: list[CodeType]) -> dict[str, Any]:
    """What code does, in which line numbers and file names play no part, and the texts that it spells."""
    texts = [text for code in codes for text in _texts(code)]
    return {"code": _digest("\n".join(map(_instructions, codes))), **({"texts": Secret(texts)} if texts else {})}


def _instructions(code: CodeType) -> str:
    constants = [_instructions(one) if isinstance(one, CodeType) else _number(one) for one in code.co_consts]
    return repr((code.co_code.hex(), code.co_names, code.co_varnames, constants))


def _number(constant: Any) -> str:
    return "text" if _holds_text(constant) else _written(constant)


def _texts(code: CodeType) -> Iterator[str]:
    """The constants that are or hold texts, those of functions inside this one included."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _texts(one)
        elif _holds_text(one):
            yield _written(one)


def _holds_text(value: Any) -> bool:
    parts = value if isinstance(value, tuple | set | frozenset) else ()
    return isinstance(value, str | bytes) or any(map(_holds_text, parts))


def _written(constant: Any) -> str:
    """The same in every process: sets are sorted."""
    return repr(sorted(map(repr, constant))) if isinstance(constant, frozenset) else repr(constant)


def _full_name(thing: Callable[..., Any]) -> str:
    return f"{getattr(thing, '__module__', None) or '?'}:{getattr(thing, '__qualname__', type(thing).__qualname__)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
