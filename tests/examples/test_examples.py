"""Every example runs as its reader would run it."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=600, env=ENVIRONMENT, check=False)


def test_the_auditors_example_plans_runs_and_verifies(tmp_path: Path) -> None:
    folder = ROOT / "examples" / "auditor"
    command = [sys.executable, "-m", "harness.cli"]
    assert "120 to examine" in run(*command, "plan", "audit.toml", cwd=folder).stdout
    audited = run(*command, "run", "audit.toml", "--out", str(tmp_path / "evidence"), "--json", cwd=folder)
    assert json.loads(audited.stdout)["verdict"]["outcome"] == "violated"
    assert audited.returncode == 1
    assert run(*command, "verify", str(tmp_path / "evidence"), cwd=folder).returncode == 0


@pytest.mark.slow
def test_the_notebook_runs_from_its_first_cell_to_its_last() -> None:
    notebook = json.loads((ROOT / "examples" / "notebook" / "audit.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    program = "\n".join(cells)  # cells are statements of one namespace; a last expression would only be shown
    ast.parse(program)
    ran = run(sys.executable, "-c", program, cwd=ROOT / "examples" / "notebook")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("VIOLATED")


def test_the_notebook_holds_no_output_that_could_be_out_of_date() -> None:
    notebook = json.loads((ROOT / "examples" / "notebook" / "audit.ipynb").read_text(encoding="utf-8"))
    assert all(cell["outputs"] == [] for cell in notebook["cells"] if cell["cell_type"] == "code")


def test_the_regression_example_passes_under_pytest() -> None:
    folder = ROOT / "examples" / "regression"
    tested = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", ".", cwd=folder)
    assert "2 passed" in tested.stdout, tested.stdout
