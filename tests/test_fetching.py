"""`harness data`: complete records under the names of UCI, and a clear error without a network."""

import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd

from harness.cli.fetching import complete_records
from tests.command_line import ENVIRONMENT
from tests.waiting import PATIENCE


def test_records_with_gaps_are_left_out_and_columns_have_the_names_of_uci() -> None:
    fetched = pd.DataFrame({"age": [20, 30, 40], "workclass": ["a", None, "b"], "class": ["<=50K", ">50K", ">50K"]})
    records = complete_records(fetched)
    assert list(records.columns) == ["age", "workclass", "income"]
    assert records["age"].tolist() == [20, 40]


def test_without_a_network_the_command_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "harness.cli", "data", "adult", "--attempts", "1"]
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody listens there
        nowhere = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environment = {**ENVIRONMENT, "https_proxy": nowhere, "http_proxy": nowhere, "SCIKIT_LEARN_DATA": str(tmp_path)}
        run = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    assert run.returncode == 2
    assert "error E233" in run.stderr
    assert "cannot be fetched from openml.org" in run.stderr
    assert not (tmp_path / "adult.csv").exists()
