"""How the reference page shows Python objects: signatures, docstrings, fields with their comments. Knows markdown."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import io
import textwrap
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

WIDTH = 100  # characters of a line of a signature or a help text
HOMES = ("collections.abc.", "pathlib.", "typing.")  # left out of annotations


def declaration_of(thing: Any) -> str:
    """How something is called; nothing for what is not called, or whose fields say it."""
    if inspect.isfunction(thing):
        return code(signature_of(thing.__name__, thing))
    if issubclass(thing, enum.Enum):
        return code("\n".join(f"{member.name} = {member.value!r}" for member in thing))
    if issubclass(thing, Exception):
        return code(f"class {thing.__name__}({thing.__bases__[0].__name__})")
    return code(signature_of(thing.__name__, thing)) if _has_own_constructor(thing) else ""


def _has_own_constructor(kind: type) -> bool:
    """Whether a class writes out its constructor, instead of fields that make one."""
    return any(isinstance(node, ast.FunctionDef) and node.name == "__init__" for node in _parsed(kind).body)


def _parsed(kind: type) -> ast.ClassDef:
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(node, ast.ClassDef)
    return node


def signature_of(name: str, thing: Any) -> str:
    """The call in one line, or with one argument on each."""
    signature = inspect.signature(thing)
    arguments: list[str] = []
    for each in signature.parameters.values():
        if each.kind is each.KEYWORD_ONLY and "*" not in arguments:
            arguments.append("*")
        if each.name not in ("self", "cls"):
            arguments.append(_argument(each))
    returned = _annotation(signature.return_annotation)
    result = "" if returned in ("", "None") else f" -> {returned}"
    line = f"{name}({', '.join(arguments)}){result}"
    return (
        line if len(line) <= WIDTH else "\n".join([f"{name}(", *(f"    {each}," for each in arguments), f"){result}"])
    )


def _argument(parameter: inspect.Parameter) -> str:
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    given = "" if parameter.default is parameter.empty else f" = {_shown_default(parameter)}"
    return f"{stars}{parameter.name}: {_annotation(parameter.annotation)}{given}"


def _shown_default(parameter: inspect.Parameter) -> str:
    return "Path()" if parameter.default == Path() else repr(parameter.default)


def _annotation(annotation: Any) -> str:
    """An annotation as the source has it, whether Python evaluated it or not."""
    if annotation is inspect.Signature.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    for home in HOMES:
        text = text.replace(home, "")
    return text.strip("'\"")


def documentation_of(thing: Any) -> str:
    """The docstring as paragraphs."""
    text = inspect.cleandoc(thing.__doc__ or "")
    return f"{text}\n" if text else ""


def first_line_of(thing: Any) -> str:
    """The first line of the docstring of a class, or of an object's class."""
    kind = thing if inspect.isclass(thing) else type(thing)
    return inspect.cleandoc(kind.__doc__ or "").splitlines()[0]


def indented_lines_of(module: Any) -> str:
    """The indented lines of a module's docstring, which list what people may write."""
    lines = inspect.cleandoc(module.__doc__).splitlines()
    return textwrap.dedent("\n".join(line for line in lines if line.startswith("    ")))


def fields_of(thing: Any) -> str:
    """The public fields of a dataclass as a table, with their comments; nothing for anything else."""
    if not dataclasses.is_dataclass(thing) or _has_own_constructor(kind := cast(type, thing)):
        return ""
    comments = comments_of(kind)
    rows = [
        (quoted(name), quoted(ast.unparse(node.annotation)), _default(node), comments.get(name, ""))
        for name, node in _assigned(kind)
    ]
    return table(("field", "type", "default", ""), rows) if rows else ""


def _assigned(kind: type) -> Iterator[tuple[str, ast.AnnAssign]]:
    for node in _parsed(kind).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id[0] != "_":
            yield node.target.id, node


def _default(node: ast.AnnAssign) -> str:
    written = "" if node.value is None else ast.unparse(node.value)
    return quoted(written) if written and not written.startswith("field(") else ""


def comments_of(kind: type) -> dict[str, str]:
    """The comment behind each field of a class that has one."""
    source = textwrap.dedent(inspect.getsource(kind))
    by_line = _comments_by_line(source)
    return {name: by_line[node.lineno] for name, node in _assigned(kind) if node.lineno in by_line}


def parameters_of(thing: Any, explained: Mapping[str, str] | None = None) -> str:
    """The parameters of a function or class as a table, each with the comment beside it in the source.

    One that has neither a comment nor an entry in `explained` is refused: nobody could know what it is for.
    """
    notes = {**parameter_comments(thing), **(explained or {})}
    rows = []
    for each in inspect.signature(thing).parameters.values():
        if each.name not in notes:
            raise SystemExit(f"{thing.__name__}: the parameter {each.name!r} has no comment beside it that explains it")
        default = "" if each.default is each.empty else quoted(_shown_default(each))
        name = f"**{each.name}" if each.kind is each.VAR_KEYWORD else each.name
        rows.append((quoted(name), quoted(_annotation(each.annotation)), default, notes[each.name]))
    return table(("parameter", "type", "default", ""), rows) if rows else ""


def parameter_comments(thing: Any) -> dict[str, str]:
    """The comment beside each parameter of a function, or of a class by its constructor or fields."""
    if inspect.isclass(thing) and not _has_own_constructor(thing):
        return comments_of(thing)
    source = textwrap.dedent(inspect.getsource(thing))
    (node,) = ast.parse(source).body
    if isinstance(node, ast.ClassDef):
        (node,) = (part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__")
    assert isinstance(node, ast.FunctionDef)
    arguments = [*node.args.args, *node.args.kwonlyargs, *([node.args.kwarg] if node.args.kwarg else [])]
    comments = _comments_by_line(source)
    return {each.arg: comments[each.lineno] for each in arguments if each.lineno in comments}


def _comments_by_line(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
    return {line: comment.partition("# noqa")[0].strip("# ") for line, comment in comments.items()}


def method_of(owner: str, name: str, thing: Any) -> str:
    """One method or property of a class."""
    is_property = isinstance(thing, property) or hasattr(thing, "func")  # `func`: of a cached_property
    function = getattr(thing, "__func__", None) or getattr(thing, "fget", None) or getattr(thing, "func", None) or thing
    called = name if is_property else signature_of(name, function)
    text = " ".join(inspect.cleandoc(function.__doc__ or "").split())
    if "\n" in called:
        return f"{code(f'{owner}.{called}')}\n{text}\n"
    return f"**`{owner}.{called}`**{f': {text}' if text else ''}\n"


def generated(title: str, introduction: str) -> str:
    """The head of a generated page."""
    note = "<!-- Written from the code by `python docs/generate.py`; a test fails when this page is out of date. -->"
    return f"{note}\n\n# {title}\n\n{introduction}\n"


def require_explained(what: str, names: Iterable[str], explained: Mapping[str, str]) -> None:
    """Refuse an option that the manual would only name."""
    for name in names:
        if not explained.get(name):
            raise SystemExit(f"{what}: the option {name!r} has no explanation")


def quoted(text: str) -> str:
    """A text in code style."""
    return f"`{text}`"


def listed(words: Iterable[str]) -> str:
    """Texts in code style with commas between them."""
    return ", ".join(quoted(word) for word in words)


def code(text: str) -> str:
    """A block of lines that stay as they are."""
    return f"```text\n{text}\n```\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with one line per row."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(map(_in_a_cell, line))} |\n" for line in lines)


def _in_a_cell(text: str) -> str:
    return text.replace("|", "\\|")
