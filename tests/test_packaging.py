"""What a wheel holds: everything that an installed harness, and a vendor who reads the protocol, will look for."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
DISTRIBUTIONS = {  # where the name to import is not the name to install
    "google": "protobuf",
    "grpc": "grpcio",
    "grpc_health": "grpcio-health-checking",
    "grpc_reflection": "grpcio-reflection",
    "grpc_tools": "grpcio-tools",
    "sklearn": "scikit-learn",
}
NOT_CODE = shutil.ignore_patterns("__pycache__", "*.pyc")


@pytest.fixture(scope="module")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that is built from a copy of the sources: a build leaves folders beside them."""
    copy, target = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheel")
    for name in ("harness", "oracles", "proto"):
        shutil.copytree(ROOT / name, copy / name, ignore=NOT_CODE)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    command = [sys.executable, "-c", BUILD, str(target)]
    built = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stderr
    (path,) = target.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel(wheel_file: Path) -> set[str]:
    """The names in the wheel."""
    with zipfile.ZipFile(wheel_file) as archive:
        return set(archive.namelist())


@pytest.mark.slow
def test_the_wheel_runs_in_an_environment_of_its_own_far_from_the_sources(wheel_file: Path, tmp_path: Path) -> None:
    """Its dependencies are those of this environment: to install them again would take minutes and a network."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*words: object) -> str:
        done = subprocess.run(
            list(map(str, words)),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(sys.executable, "-m", "venv", "own")
    python = tmp_path / "own" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel_file)
    (own,) = (tmp_path / "own" / "lib").glob("python*/site-packages")
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")  # behind its own packages
    where = run(python, "-c", "import harness, oracles; print(harness.__file__, oracles.__file__)").split()
    assert all(Path(path).is_relative_to(own) for path in where)
    assert (own / "harness" / "py.typed").is_file()
    assert (own / "oracles" / "py.typed").is_file()
    assert "HOLDS" in run(tmp_path / "own" / "bin" / "harness", "demo", "--people", 60)


@pytest.mark.parametrize("package", ["harness", "oracles"])
def test_every_module_and_its_types_are_in_the_wheel(wheel: set[str], package: str) -> None:
    kinds = ("*.py", "*.pyi", "*.json", "*.css", "*.js", "py.typed")
    expected = {str(path.relative_to(ROOT)) for kind in kinds for path in (ROOT / package).rglob(kind)}
    assert f"{package}/py.typed" in expected
    assert {name for name in wheel if name.startswith(f"{package}/")} == expected


@pytest.mark.parametrize("file", ["PROTOCOL.md", "oracle/v1/oracle.proto"])
def test_the_protocol_is_in_the_wheel(wheel: set[str], file: str) -> None:
    assert (ROOT / "proto" / file).exists()
    assert any(name.endswith(f".data/data/share/anonymizer-harness/proto/{file}") for name in wheel)


def test_no_test_and_no_example_is_in_the_wheel(wheel: set[str]) -> None:
    tops = {name.split("/")[0] for name in wheel}
    assert {top for top in tops if ".dist-info" not in top and ".data" not in top} == {"harness", "oracles"}


def test_every_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [requirement for extra in project["optional-dependencies"].values() for requirement in extra]
    declared = {re.split(r"[\[<>=!~ ]", requirement)[0] for requirement in [*project["dependencies"], *extras]}
    for path in [*(ROOT / "harness").rglob("*.py"), *(ROOT / "oracles").rglob("*.py")]:
        foreign = imported(path) - set(sys.stdlib_module_names) - {"harness", "oracles"}
        assert {DISTRIBUTIONS.get(name, name) for name in foreign} <= declared, path


def test_the_citation_names_the_version_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "docs" / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {project['version']}\n" in citation
    assert f"\nlicense: {project['license']}\n" in citation


def test_ci_runs_the_test_command_of_the_readme_and_then_the_slow_tests() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    (command,) = [line for line in lines if line.startswith("python3 -m venv")]
    assert lines.index(".venv/bin/python -m pytest -m slow") > lines.index(command)
    assert command.endswith("-m pytest")
    assert f"\n{command}\n" in (ROOT / "README.md").read_text()


def imported(path: Path) -> set[str]:
    """The packages that a file imports anywhere in it; what it imports by a text is not seen."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name.split(".")[0] for name in names}
