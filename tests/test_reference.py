"""Every option found in the code is in the reference, and the reference has no other."""

import argparse
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import oracles
from harness.auditing.config import sections
from harness.auditing.options import ADVERSARY_KEYS
from harness.cli import arguments
from harness.glossary import TERMS
from harness.vocabulary.error_codes import ERROR_CODES
from harness.vocabulary.loading import find_object
from oracles.reference import REFERENCE

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "reference"


def chapters(page: str) -> dict[str, str]:
    """The text below each heading of the second level."""
    parts = re.split(r"^## (.+)$", (PAGES / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def first_cells(text: str) -> list[str]:
    """What the rows of tables begin with, where that is code."""
    return re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE)


@pytest.mark.parametrize("section", list(sections()))
def test_the_keys_of_a_section_of_audit_toml_are_those_of_the_code(section: str) -> None:
    assert first_cells(chapters("audit-toml.md")[f"[{section}]"]) == list(sections()[section])


def test_every_section_of_audit_toml_is_in_the_reference() -> None:
    found = chapters("audit-toml.md")
    assert set(found) == {*(f"[{section}]" for section in sections()), "[[adversary]]", "Columns"}
    assert first_cells(found["[[adversary]]"]) == list(ADVERSARY_KEYS)


def parsers() -> dict[str, argparse.ArgumentParser]:
    return dict(arguments.all_parsers(arguments.parser(), "harness"))


def test_every_command_is_in_the_reference() -> None:
    assert set(chapters("commands.md")) == {*parsers(), "Exit codes"}


@pytest.mark.parametrize("command", list(parsers()))
def test_the_options_of_a_command_are_those_of_the_code(command: str) -> None:
    text = chapters("commands.md")[command]
    shown = [action for action in parsers()[command]._actions if action.help != argparse.SUPPRESS]
    known = {word for action in shown for word in action.option_strings}
    listed = [option for line in re.findall(r"^  (-.+?)(?:  |$)", text, re.MULTILINE) for option in line.split(", ")]
    assert {option.split()[0] for option in listed} == known


def transports() -> dict[str, tuple[Any, ...]]:
    forms = {address: names for one in oracles.SCHEMES.values() for address, names in one.forms.items()}
    return {address: tuple(map(find_object, names)) for address, names in forms.items()}


@pytest.mark.parametrize("address", list(transports()))
def test_the_options_of_a_transport_are_those_of_the_code(address: str) -> None:
    expected = [
        f"**{each.name}" if each.kind is each.VAR_KEYWORD else each.name
        for kind in transports()[address]
        for each in inspect.signature(kind).parameters.values()
    ]
    assert first_cells(chapters("oracles.md")[f"`{address}`"]) == expected


def test_every_transport_and_every_reference_anonymizer_is_in_the_reference() -> None:
    found = chapters("oracles.md")
    special = {"`reference:name`", "`python:package.module:name`"}
    assert set(found) == {*(f"`{address}`" for address in transports()), *special}
    named = re.findall(r"^\*\*`reference:(.+?)`\*\*$", found["`reference:name`"], re.MULTILINE)
    assert named == list(REFERENCE)
    introduction = (PAGES / "oracles.md").read_text(encoding="utf-8").partition("\n## ")[0]
    assert first_cells(introduction) == list(oracles.WRAPPER_OPTIONS)
    assert first_cells(found["`python:package.module:name`"]) == list(oracles.PYTHON_OPTIONS)


def test_every_key_of_report_json_is_in_the_reference() -> None:
    schema = json.loads((ROOT / "harness" / "report.schema.json").read_text(encoding="utf-8"))
    parts = {name: part for name, part in schema["$defs"].items() if "properties" in part}
    found = chapters("report-json.md")
    assert set(found) == set(parts)
    for name, part in parts.items():
        assert {key.partition(".")[0] for key in first_cells(found[name])} == set(part["properties"])
    top = (PAGES / "report-json.md").read_text(encoding="utf-8").partition("\n## ")[0]
    assert {key.partition(".")[0] for key in first_cells(top)} == set(schema["properties"])


def test_every_error_code_and_every_term_is_in_the_reference() -> None:
    assert list(chapters("errors.md")) == [known.code for known in ERROR_CODES]
    assert list(chapters("glossary.md")) == [term.name for term in TERMS]
