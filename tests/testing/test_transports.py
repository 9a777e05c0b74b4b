"""A correct anonymizer keeps its laws whatever lies between it and the check."""

import shutil
from pathlib import Path

import pytest

from harness.testing import CheckReport, check
from oracles import as_oracle
from oracles.serve import grpc as grpc_kit
from tests.testing.boxes import SCHEMA, correct

HIDING = """
BEGIN { FS = OFS = "," }
NR == 1 { header = $0; next }
{ rows[NR] = "*" OFS "*" OFS $3 }
END {
    if (NR < 4) { print "fewer than 3 rows" > "/dev/stderr"; exit 1 }
    print header
    for (row = 2; row <= NR; row++) print rows[row]
}
"""


def checked(address: str) -> CheckReport:
    return check(address, SCHEMA, {"k": 3}, budget_calls=110, max_time=600)


def test_over_grpc() -> None:
    server = grpc_kit.serve(as_oracle(correct))
    try:
        report = checked(server.address)
    finally:
        server.stop(1.0)
    report.require()
    assert not report.by_outcome("inconclusive")


@pytest.mark.skipif(shutil.which("awk") is None, reason="needs awk")
def test_as_a_command(tmp_path: Path) -> None:
    (tmp_path / "hiding.awk").write_text(HIDING, encoding="utf-8")
    report = checked(f"cmd:awk -f {tmp_path / 'hiding.awk'}")
    report.require()
    assert not report.by_outcome("inconclusive")
