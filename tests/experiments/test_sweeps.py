"""Sweeps: each cell is the audit it would be alone, whatever is shared, fails or is killed."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.experiments.sweeps import SweepRun, run_sweep
from harness.vocabulary.errors import InputError, JournalError
from tests.command_line import AUDIT, allow_answers, asked, end, run_harness, start_harness, write_pausing_audit
from tests.small_audits import table
from tests.waiting import wait_until

HEAD = """
[data]
path = "people.csv"
sensitive = "ill"
quasi = { age = "number", sex = "category" }
[oracle]
address = "reference:mondrian"
[claim]
epsilon = 0.3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table(24).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def sweep(folder: Path, text: str, head: str = HEAD) -> Path:
    path = folder / "sweep.toml"
    path.write_text(head + text)
    return path


def rows(path: Path, out: str = "out", **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run_sweep(path, path.parent / out, **options)[0]["cells"]
    return found


def test_a_cell_is_the_audit_that_it_would_be_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (row, _) = rows(sweep(folder, "[sweep]\noracle.options.k = [2, 4]\n"))
    (folder / "audit.toml").write_text(f"{HEAD}[oracle.options]\nk = 2\n")
    main(["run", str(folder / "audit.toml"), "--out", str(folder / "alone"), "--quiet"])
    alone = (folder / "alone" / "report.json").read_bytes()
    assert (folder / "out" / "cells" / row["cell"] / "report.json").read_bytes() == alone
    report = json.loads(alone)
    statistics = report["results"][0]["statistics"]
    assert row["parameters"] == {"oracle.options.k": 2}
    assert row["verdict"] == report["verdict"]["outcome"]
    for name in ("largest", "mean", "share_at_or_above", "share_of_changed_predictions"):
        assert row[name] == statistics[name]
    capsys.readouterr()
    main(["plan", str(folder / "audit.toml")])
    assert f"calls      {row['calls']} of the anonymizer" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[sweep]\noracle.options.kk = [2, 4]\n", r"cell kk=2: .*unexpected keyword argument 'kk'; did you mean 'k'"),
        ("[sweep]\noracle.options.k = [2, -1]\n", "cell k=-1: "),
    ],
)
def test_a_wrong_option_of_an_oracle_is_refused_once_and_before_the_first_cell(
    folder: Path, text: str, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        rows(sweep(folder, text))
    assert not (folder / "out").exists()


def test_an_oracle_that_cannot_be_reached_fails_its_cells_and_not_the_others(folder: Path) -> None:
    away = "[[sweep]]\noracle.address = 'http://127.0.0.1:9'\noracle.options.attempts = 1\n"
    here = "[[sweep]]\noracle.options.k = 3\n"
    dead, alive = rows(sweep(folder, away + here))
    assert (dead["status"], alive["status"]) == ("failed", "finished")


def test_one_failed_cell_does_not_lose_the_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(
        "def f(df, width=1):\n"
        "    if width == 0:\n        raise ValueError('no width')\n"
        "    return df.assign(age=df['age'] // width * width)\n"
    )
    points = HEAD.replace('age = "number"', 'age = { kind = "number", points = true }')
    text = "[sweep]\noracle.options.width = [10, 0, 20]\n"
    path = sweep(folder, text, points.replace("reference:mondrian", "python:mine:f"))
    assert main(["sweep", str(path), "--out", str(folder / "out"), "--quiet"]) == 3
    assert "cell width=0 failed" in capsys.readouterr().err
    cells = json.loads((folder / "out" / "sweep.json").read_text())["cells"]
    assert [cell["status"] for cell in cells] == ["finished", "failed", "finished"]
    assert cells[1]["error"].startswith("E3")


def test_cells_that_ask_the_same_share_the_answers_and_leave_none_behind(folder: Path) -> None:
    """Four adversaries and distances: f is asked about each person once, and what is repeated as a check is asked."""
    allow_answers(folder)
    write_pausing_audit(folder, 30)
    allow_answers(folder)
    head = AUDIT.format(workers=1)
    text = '[sweep]\n"inference.model" = ["bernoulli", "conditional"]\n"inference.distance" = ["sum", "half"]\n'
    path = sweep(folder, text, head)
    assert run_harness("sweep", "sweep.toml", "--out", "out", "--quiet", cwd=folder).returncode == 0
    together = len(asked(folder))
    shared = {cell["cell"]: cell for cell in json.loads((folder / "out" / "sweep.json").read_text())["cells"]}
    assert len(shared) == 4
    assert together == sum(cell["calls"] for cell in shared.values()) - 3 * (30 + 1), "30 persons and f(D), once"
    assert not (folder / "out" / "answers").exists()
    name = next(iter(shared))
    (folder / "audit.toml").write_text(
        head.replace("[run]", '[inference]\nmodel = "bernoulli"\ndistance = "sum"\n[run]')
    )
    run_harness("run", "audit.toml", "--out", "alone", cwd=folder)
    alone = (folder / "alone" / "report.json").read_bytes()
    assert (path.parent / "out" / "cells" / name / "report.json").read_bytes() == alone


def test_a_secret_cannot_be_guessed_from_the_names_of_a_sweep(folder: Path) -> None:
    """Whoever sees all names and sweep.json tries codes of four digits; only the key of the folder confirms one."""
    head = HEAD.replace('"reference:mondrian"', '"cmd:cat"\noptions = { env = { PIN = "4711" } }\n')
    head = head.replace('age = "number"', 'age = { kind = "number", points = true }')
    swept = '[sweep]\n"inference.distance" = ["sum", "half"]\n[run]\nrecords = 2\n'

    def names(pin: str, out: Path) -> set[str]:
        path = sweep(folder, swept, head.replace("4711", pin))
        return {cell.folder for cell in SweepRun.of(path, out).cells}

    found = rows(sweep(folder, swept, head))
    on_disk = {path.name for path in (folder / "out" / "cells").iterdir()}
    assert on_disk == {row["cell"] for row in found}
    assert [pin for pin in map(str, range(4709, 4714)) if names(pin, folder / "out") == on_disk] == ["4711"]
    assert not any(names(pin, folder / "elsewhere") & on_disk for pin in map(str, range(4709, 4714)))
    journals = {path: path.read_bytes() for path in folder.glob("out/cells/*/journal.jsonl")}
    assert rows(sweep(folder, swept, head)) == found
    assert {path: path.read_bytes() for path in folder.glob("out/cells/*/journal.jsonl")} == journals, (
        "it was continued"
    )
    (folder / "out" / "identity.key").unlink()
    with pytest.raises(JournalError, match="the key that recognises headers"):
        rows(sweep(folder, swept, head))


def test_a_swept_secret_is_not_shown_and_its_cells_are_apart(folder: Path) -> None:
    head = HEAD.replace('"reference:mondrian"', '"cmd:cat"').replace(
        'age = "number"', 'age = { kind = "number", points = true }'
    )
    first, second = rows(sweep(folder, '[sweep]\noracle.env.PIN = ["hush-1", "hush-2"]\n[run]\nrecords = 2\n', head))
    assert first["cell"] != second["cell"]
    assert first["label"] == second["label"] == "PIN=(not shown)"
    assert "hush" not in (folder / "out" / "sweep.json").read_text()
    assert not any("hush" in str(path) for path in (folder / "out").rglob("*"))


def test_equal_cells_are_audited_once(folder: Path) -> None:
    text = '[[sweep]]\nname = "a"\noracle.k = [2]\n[[sweep]]\nname = "b"\noracle.k = [2]\n'
    first, second = rows(sweep(folder, text))
    assert (first["series"], second["series"]) == ("a", "b")
    assert first["cell"] == second["cell"]


def test_an_infinite_parameter_and_a_random_anonymizer_have_their_row_and_figures(folder: Path) -> None:
    head = HEAD.replace("mondrian", "laplace") + "[run]\ndraws = 30\n"
    path = sweep(folder, "[sweep]\noracle.noise_epsilon = [0.5, 1.0, inf]\n", head)
    assert main(["sweep", str(path), "--out", str(folder / "out"), "--quiet"]) == 0
    cells = json.loads((folder / "out" / "sweep.json").read_text())["cells"]
    assert [cell["parameters"]["oracle.noise_epsilon"] for cell in cells] == [0.5, 1.0, "inf"]
    assert cells[0]["at_least"] < cells[0]["at_most"]
    assert cells[2]["exact"]
    page = (folder / "out" / "sweep.html").read_text()
    assert "Largest distance against noise_epsilon" in page
    assert "Share of persons at or below each distance" in page


@pytest.mark.slow
def test_cells_side_by_side_are_those_one_after_the_other(folder: Path) -> None:
    """Two processes with a cell each, and a failing cell among them: the same bytes as in one process."""
    path = sweep(folder, "[sweep]\noracle.options.k = [2, 99, 4]\n")
    rows(path, "in-turn", workers=1, tell=[].append)
    told: list[str] = []
    beside = rows(path, "beside", workers=2, tell=told.append)
    assert [cell["status"] for cell in beside] == ["finished", "failed", "finished"]
    assert told[0].startswith("cell k=99 failed: ")
    for name in ("sweep.json", *(f"cells/{cell['cell']}/report.json" for cell in beside[::2])):
        assert (folder / "beside" / name).read_bytes() == (folder / "in-turn" / name).read_bytes()


@pytest.mark.slow
def test_a_sweep_that_is_killed_with_its_workers_at_work_goes_on_at_once(folder: Path) -> None:
    table(400).to_csv(folder / "people.csv", index=False)
    sweep(folder, "[sweep]\noracle.options.k = [2, 3, 4, 5]\n")
    words = ("sweep", "sweep.toml", "--workers", "2", "--quiet", "--out")
    running = start_harness(*words, "cut", cwd=folder)
    try:
        wait_until(lambda: sum(path.stat().st_size for path in folder.glob("cut/cells/*/journal.jsonl")) > 40_000)
        os.kill(running.pid, signal.SIGKILL)
        for out in ("cut", "whole"):
            assert run_harness(*words, out, cwd=folder).returncode == 0
    finally:
        end(running)
    assert (folder / "cut" / "sweep.json").read_bytes() == (folder / "whole" / "sweep.json").read_bytes()


def test_a_mistake_in_any_cell_is_refused_before_the_first_question(folder: Path) -> None:
    path = sweep(folder, "[sweep]\nclaim.epsilon = [0.1, -1.0]\n")
    assert main(["sweep", str(path), "--out", str(folder / "out")]) == 2
    assert not (folder / "out").exists()


@pytest.fixture
def killed(folder: Path) -> Iterator[Path]:
    """A sweep of two cells that was killed in its first, after some persons."""
    write_pausing_audit(folder, 30)
    sweep(
        folder,
        "[sweep]\nclaim.epsilon = [0.1, 0.2]\n",
        AUDIT.format(workers=1).replace("epsilon = 0.1", "epsilon = 1.0"),
    )
    allow_answers(folder, 22)
    running = start_harness("sweep", "sweep.toml", "--out", "cut", cwd=folder)
    try:
        wait_until(lambda: len(asked(folder)) > 22)  # this question is never answered
        os.kill(running.pid, signal.SIGKILL)
        yield folder
    finally:
        end(running)


def test_a_killed_sweep_goes_on_and_ends_in_the_same_bytes(killed: Path) -> None:
    allow_answers(killed)
    for out in ("cut", "whole"):
        assert run_harness("sweep", "sweep.toml", "--out", out, "--quiet", cwd=killed).returncode == 0
    names = ["sweep.json", *(f"cells/{cell.name}/report.json" for cell in (killed / "whole" / "cells").iterdir())]
    assert len(names) == 3
    for name in names:
        assert (killed / "cut" / name).read_bytes() == (killed / "whole" / name).read_bytes()
