"""`harness explain`, `harness completion` and `harness --version`: what the command says about itself."""

import argparse
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from harness.cli import arguments
from harness.cli.completing import script
from harness.cli.explaining import explanation, overview
from harness.glossary import TERMS, find_term
from harness.vocabulary.error_codes import ERROR_CODES
from harness.vocabulary.errors import InputError
from tests.command_line import run_harness

ROOT = Path(__file__).parent.parent


def test_the_version_is_that_of_the_project(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    run = run_harness("--version", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (0, f"harness {project['version']}\n")


@pytest.mark.parametrize("words", ["epsilon", "ε", "delta", "witness", "look", "looks", "coupled", "noise floor",
                                   "noise-floor", "certificate", "holds", "at most", "E202", "e202"])  # fmt: skip
def test_the_terms_of_the_output_and_codes_are_explained(words: str) -> None:
    assert len(explanation(words).splitlines()) >= 2


def test_no_two_terms_share_a_name() -> None:
    names = [name.casefold() for term in TERMS for name in {term.name.casefold(), *term.aliases}]
    assert len(names) == len(set(names))
    slugs = [term.slug for term in TERMS]
    assert len(slugs) == len(set(slugs))
    assert all(find_term(term.slug) is term for term in TERMS)


def test_pages_that_terms_refer_to_exist() -> None:
    for term in TERMS:
        assert not term.see or (ROOT / "docs" / term.see).is_file(), term.name


def test_without_a_name_everything_that_can_be_explained_is_listed(tmp_path: Path) -> None:
    run = run_harness("explain", cwd=tmp_path)
    assert run.returncode == 0
    for word in [*(known.code for known in ERROR_CODES), *(term.name.split()[0] for term in TERMS)]:
        assert word in run.stdout
    assert run.stdout == overview() + "\n"


def test_an_unknown_term_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match="did you mean 'witness'"):
        explanation("witnes")


def commands() -> dict[str, argparse.ArgumentParser]:
    (parsers,) = (each for each in arguments.parser()._actions if isinstance(each, argparse._SubParsersAction))
    return dict(parsers.choices)


@pytest.mark.parametrize("shell", arguments.SHELLS)
def test_every_command_and_option_is_completed(shell: str) -> None:
    text = script(shell)
    for name, parser in commands().items():
        assert re.search(rf"\b{name}\b", text)
        shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
        for names in ([word for word in action.option_strings if word[:2] == "--"] for action in shown):
            for option in names[:1]:  # others are older names: understood, but not offered
                assert option in text or f"-l {option[2:]} " in text, (name, option)
            assert not any(option in text for option in names[1:])


@pytest.mark.parametrize("shell", arguments.SHELLS)
def test_the_shell_accepts_its_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "completion"
    file.write_text(script(shell) + "\n", encoding="utf-8")
    subprocess.run([shell, "-n", str(file)], check=True, timeout=60)


@pytest.mark.parametrize(
    ("line", "expected"),
    [("harness ver", ["verify"]), ("harness report --f", ["--format"]), ("harness explain witn", ["witness"]),
     ("harness completion z", ["zsh"]), ("harness run --out ", [])],
)  # fmt: skip
def test_bash_completes_what_was_begun(line: str, expected: list[str]) -> None:
    words = line.split(" ")
    ask = (
        f'{script("bash")}\nCOMP_WORDS=({" ".join(words[:-1])} "{words[-1]}"); COMP_CWORD={len(words) - 1}\n_harness\n'
    )
    answer = subprocess.run(
        ["bash"], input=ask + 'printf "%s\\n" "${COMPREPLY[@]}"', capture_output=True, text=True, check=True, timeout=60
    )
    assert answer.stdout.split() == expected


@pytest.mark.parametrize("words", ["foo", "laplace", "anonymous", "E30", "dog"])
def test_a_far_off_word_gets_no_suggestion(words: str) -> None:
    with pytest.raises(InputError) as caught:
        explanation(words)
    assert "did you mean" not in str(caught.value)
