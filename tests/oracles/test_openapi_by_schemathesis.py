"""The server does what its OpenAPI document says: schemathesis asks all operations all that it allows, and forbids."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracles.filters import noisy
from tests.oracles.http_kit import running

COMMAND = Path(sys.executable).with_name("schemathesis")
# Not for the operation `answer`: JSON Schema cannot say that codes are positions in their palette, nor that a table has
# the columns of its schema, so most questions that fit the schemas are refused.
ACCEPTS_WHAT_FITS = "positive_data_acceptance"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not COMMAND.exists(), reason="schemathesis is not installed"),
]


DOES_WHAT_IT_SAYS = ("--checks", "all", "--exclude-checks", ACCEPTS_WHAT_FITS)
ACCEPTS = ("--checks", ACCEPTS_WHAT_FITS, "--mode", "positive", "--exclude-operation-id", "answer")


@pytest.mark.parametrize(
    ("words", "token"),
    [(DOES_WHAT_IT_SAYS, None), (DOES_WHAT_IT_SAYS, "sesame"), (ACCEPTS, "sesame")],
    ids=["what it says", "what it says with a token", "what it accepts with a token"],
)
def test_the_server_does_what_its_document_says(words: tuple[str, ...], token: str | None, tmp_path: Path) -> None:
    with running(noisy, token=token) as server:
        address = f"{server.address}/v1/openapi.json"
        fixed = ("-n", "30", "--seed", "1", "--generation-database", "none", "--suppress-health-check", "all")
        headers = () if token is None else ("-H", f"Authorization: Bearer {token}")
        run = subprocess.run(
            [COMMAND, "run", address, *fixed, *words, *headers], cwd=tmp_path, capture_output=True, text=True
        )
    assert run.returncode == 0, run.stdout
    assert " passed" in run.stdout
