"""Every error that the code raises has a code that the manual explains, and no code is explained that nobody raises."""

import ast
import copy
import pickle
import re
from pathlib import Path

import pytest

from harness.vocabulary import errors
from harness.vocabulary.error_codes import ERROR_CODES, code_for, code_of
from harness.vocabulary.errors import HarnessError, InputError, OracleError
from harness.vocabulary.hierarchy import Hierarchy
from tests.command_line import run_harness

ROOT = Path(__file__).parent.parent
KINDS = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, HarnessError)}


def raised() -> set[tuple[str, str]]:
    """Every kind of error with the module that makes one; subclasses elsewhere count as the kind they extend."""
    found = set()
    for package in ("harness", "oracles"):
        for path in (ROOT / package).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = (
                    [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
                )
                found |= {(name.id, module) for name in names if isinstance(name, ast.Name) and name.id in KINDS}
    return {(name, module) for name, module in found if module != errors.__name__}


def test_every_error_that_is_raised_has_a_code_and_every_code_is_raised() -> None:
    for_other_packages = {"E200", "E300"}  # for plugins, and for modules that have no code of their own yet
    codes = {code_for(KINDS[name], module) for name, module in raised()}
    assert codes | for_other_packages == {known.code for known in ERROR_CODES}


def test_codes_are_unique_and_say_whose_matter_it_is() -> None:
    codes = [known.code for known in ERROR_CODES]
    assert codes == sorted(set(codes))
    for known in ERROR_CODES:
        assert re.fullmatch(r"E[2345]\d\d", known.code)
        assert (known.code[1] == "3") == issubclass(known.kind, OracleError)
        assert known.meaning.endswith(".")
        assert known.remedy.endswith(".")


def test_modules_that_a_code_names_exist() -> None:
    for module in (module for known in ERROR_CODES for module in known.modules if module):
        path = ROOT.joinpath(*module.split("."))
        assert path.is_dir() or path.with_suffix(".py").exists(), module


def test_an_error_keeps_its_code_when_it_is_placed_copied_or_sent_to_another_process() -> None:
    with pytest.raises(InputError) as caught:
        Hierarchy.from_nested({})
    error = caught.value
    assert code_of(error) == "E204"
    for same in (error.within("audit.toml"), copy.copy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301
        assert code_of(same) == "E204"


def test_an_error_of_somebody_elses_module_has_the_code_of_its_kind() -> None:
    assert code_of(InputError("no")) == "E200"
    assert code_of(OracleError("no")) == "E300"


def test_the_command_prints_the_code_and_how_to_read_about_it(tmp_path: Path) -> None:
    run = run_harness("plan", "nothing.toml", cwd=tmp_path)
    assert run.returncode == 2
    assert run.stderr.startswith("harness: error E201: nothing.toml")
    assert run.stderr.endswith("harness: what E201 means: harness explain E201\n")
