"""Each bad audit.toml ends in one paragraph: where, what, what was expected. The texts are in tests/golden."""

import re
from pathlib import Path

import pytest

from tests.command_line import run_harness

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.stem for path in GOLDEN.glob("*.toml") if path.stem != "good")


def exit_code_and_message(case: str, out: Path) -> tuple[int, str]:
    """The exit code and the message, with the folder's path and the out folder left out."""
    run = run_harness("run", f"{case}.toml", "--out", str(out), cwd=GOLDEN)
    assert run.stdout == ""
    return run.returncode, re.sub(r"\s*kept in .*?\. ", " kept. ", run.stderr.replace(str(out), "OUT"))


@pytest.mark.parametrize("case", CASES)
def test_a_bad_audit_is_explained_in_one_paragraph(case: str, tmp_path: Path) -> None:
    code, message = exit_code_and_message(case, tmp_path / "out")
    expected = (GOLDEN / f"{case}.txt").read_text(encoding="utf-8")
    assert f"exit code {code}\n{message}" == expected
    assert "Traceback" not in message
    assert code in (2, 3)


if __name__ == "__main__":  # python -m tests.test_golden_errors writes the texts anew; read them before you commit
    import tempfile

    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            code, message = exit_code_and_message(case, Path(folder) / "out")
        (GOLDEN / f"{case}.txt").write_text(f"exit code {code}\n{message}", encoding="utf-8")
        print(f"--- {case}: exit code {code}\n{message}")
