"""A journal that was written anew, with a whole chain, is refused where no audit of its plan could have written it."""

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harness
from harness.auditing.verify import prove
from oracles import as_oracle
from oracles.reference import Laplace, Mondrian
from tests.anonymizers import chunks, jittered
from tests.command_line import run_harness
from tests.edited_journals import lines_of_journal, write_anew
from tests.small_audits import audit, table

Lines = list[dict[str, Any]]
Forge = Callable[[Lines], Any]


def refused(journal: bytes, folder: Path, forge: Forge) -> str:
    """Why a forged copy of a journal is refused, after the true one was accepted."""
    path = folder / "journal.jsonl"
    path.write_bytes(journal)
    prove(path)
    lines = lines_of_journal(path)
    forge(lines)
    write_anew(path, lines)
    with pytest.raises(harness.JournalError) as error:
        prove(path)
    assert str(path) in str(error.value)
    return str(error.value)


def place_of(lines: Lines, kind: str, number: int = 0) -> int:
    """Where the event of a kind stands: the first one, or another of them."""
    return [place for place, line in enumerate(lines) if kind in line][number]


def content_of(lines: Lines, kind: str, number: int = 0) -> dict[str, Any]:
    content: dict[str, Any] = lines[place_of(lines, kind, number)][kind]
    return content


def setting(kind: str, number: int = 0, **values: Any) -> Forge:
    return lambda lines: content_of(lines, kind, number).update(values)


def setting_look(place: int, **values: Any) -> Forge:
    return lambda lines: content_of(lines, "selected")["looks"][place].update(values)


def without(kind: str, number: int = 0) -> Forge:
    return lambda lines: lines.pop(place_of(lines, kind, number))


def twice(kind: str) -> Forge:
    return lambda lines: lines.insert(place_of(lines, kind) + 1, copy.deepcopy(lines[place_of(lines, kind)]))


def adding_a_failure(person: int, look: int) -> Forge:
    failed = {"person": person, "look": look, "reason": "f raised KeyError", "detail": ""}
    return lambda lines: lines.insert(place_of(lines, "examined", -1) + 1, {"failed": failed})


@pytest.fixture(scope="module")
def adaptive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Several looks, and several rounds of persons who go on."""
    folder = tmp_path_factory.mktemp("adaptive")
    audit(jittered, table(12), out=folder, draws=60, adaptive=True, epsilon=0.5, keep_predictions=0)
    journal = (folder / "journal.jsonl").read_bytes()
    assert journal.count(b'"chosen"') > 1
    return journal


@pytest.mark.parametrize(
    ("forge", "named"),
    [
        (setting("selected", wager=0.9), "level of bets ('wager')"),
        (setting_look(0, alpha=0.3), "'alpha' of look 1"),
        (setting_look(-1, alpha=0.3), "'alpha' of look"),
        (setting_look(1, own_alpha=0.3), "'own_alpha' of look 2"),
        (setting_look(0, draws=21), "'draws' of look 1"),
        (setting_look(1, number=3), "'number' of look 2"),
        (setting("selected", shared_by=1), "error shared by 1"),
        (setting("selected", random=5), "5 at random"),
        (setting("selected", persons=11, random=11, shared_by=11), "11 persons"),
        (setting("selected", persons=[*range(11), 10]), "different ones of 12"),
        (setting("selected", persons=[*range(11), 12]), "different ones of 12"),
        (setting("selected", exact=[True]), "'exact'"),
        (setting("selected", adversaries=["nobody"]), "adversaries of the selection"),
        (setting("selected", duplicates=[[0, 1], *([each] for each in range(2, 12))]), "equal persons"),
        (setting("probed", coupled=False), "'coupled' of the probe"),
        (without("chosen"), "was not chosen for look 2"),
        (lambda lines: content_of(lines, "chosen", -1)["persons"].pop(), "chosen for look"),
        (lambda lines: content_of(lines, "chosen")["persons"].reverse(), "are chosen for look 2"),
        (without("examined", -1), "was not examined"),
        (adding_a_failure(0, 9), "person 0 was not chosen for look 9"),
        (twice("selected"), "persons are selected again"),
    ],
)
def test_looks_levels_and_who_goes_on_follow_from_the_plan(
    adaptive: bytes, tmp_path: Path, forge: Forge, named: str
) -> None:
    assert named in refused(adaptive, tmp_path, forge)


def without_further_looks(lines: Lines) -> None:
    """As if nobody had had to go on."""
    lines[:] = [
        line for line in lines
        if "chosen" not in line and line.get("examined", {}).get("look", 1) == 1
        and line.get("drawn", {}).get("purpose", "look 1") == "look 1"
    ]  # fmt: skip


def test_an_audit_that_stopped_before_its_last_look_is_not_finished(adaptive: bytes, tmp_path: Path) -> None:
    assert "the audit is closed, but" in refused(adaptive, tmp_path, without_further_looks)


def failing(data: pd.DataFrame) -> pd.DataFrame:
    """Fails without one or the other person of the table."""
    missing = set(map(tuple, table().to_numpy().tolist())) - set(map(tuple, data.to_numpy().tolist()))
    if missing & {tuple(table().to_numpy().tolist()[person]) for person in (4, 9)}:
        raise KeyError("without her")
    return chunks(data)


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("exact")
    audit(failing, out=folder)
    journal = (folder / "journal.jsonl").read_bytes()
    assert b'"failed"' in journal
    return journal


def replaced_by_a_failure(lines: Lines) -> None:
    """The witness, who is asked about again, was not measured."""
    person = content_of(lines, "confirmed")["persons"][0]
    place = next(at for at, line in enumerate(lines) if line.get("examined", {}).get("person") == person)
    lines[place] = {"failed": {"person": person, "look": 1, "reason": "f raised KeyError", "detail": ""}}


@pytest.mark.parametrize(
    ("forge", "named"),
    [
        (twice("failed"), "failed twice in one run"),
        (setting("failed", look=2), "not chosen for look 2"),
        (setting("failed", look=0), "not chosen for look 0"),
        (setting("failed", person=-1), "person -1 was not chosen"),
        (setting("failed", person=30), "person 30 was not chosen"),
        (adding_a_failure(0, 1), "person 0 failed at look 1, but was examined at look 1"),
        (without("failed"), "not all selected persons were examined"),
        (replaced_by_a_failure, "were asked about again"),
        (setting("confirmed", persons=[0]), "(0,) were asked about again"),
        (setting("confirmed", repeated=0), "0 questions were asked again"),
        *((without(kind), "") for kind in ("probed", "selected", "drawn", "described", "baselines", "class_sizes")),
        (without("confirmed"), "no question was asked again"),
        (setting("closed", doubts=["all is well"]), "doubts at the end"),
        *((twice(kind), "twice") for kind in ("probed", "drawn", "described", "baselines", "class_sizes", "confirmed")),
        (twice("closed"), "closed twice"),
        (setting("drawn", purpose="look 7"), "which this audit does not need"),
        (
            lambda lines: content_of(lines, "baselines")["known"].pop(),
            "baselines of an adversary and a secret are missing",
        ),
        (setting("class_sizes", persons=[0], covering=[1.0], rarest=[1]), "class sizes of too few persons"),
        (lambda lines: content_of(lines, "probed")["card"].update(randomized=True), "'coupled' of the probe"),
        (lambda lines: content_of(lines, "probed")["card"].update(noise_epsilon=1.0), "(noise_epsilon)"),
    ],
)
def test_every_event_of_an_audit_stands_where_it_belongs_and_once(
    exact: bytes, tmp_path: Path, forge: Forge, named: str
) -> None:
    assert named in refused(exact, tmp_path, forge)


def test_persons_at_random_are_those_that_the_seed_draws(tmp_path: Path) -> None:
    audit(chunks, out=tmp_path / "audit", records=4, seed=3)
    journal = (tmp_path / "audit" / "journal.jsonl").read_bytes()

    def others(lines: Lines) -> None:
        selected = content_of(lines, "selected")
        selected.update(persons=[0, 1, 2, 3], random=4)

    assert "persons at random of the selection" in refused(journal, tmp_path, others)


def test_numbers_of_persons_of_a_budget_follow_from_it(tmp_path: Path) -> None:
    audit(Mondrian(5), table(60), out=tmp_path / "audit", budget=45)
    journal = (tmp_path / "audit" / "journal.jsonl").read_bytes()
    for forge in (
        setting("selected", shared_by=1),
        lambda lines: content_of(lines, "selected")["random"].pop(),
        lambda lines: content_of(lines, "selected")["persons"].pop(),
    ):
        refused(journal, tmp_path, forge)


def test_doubts_that_draws_of_f_give_cannot_be_removed(tmp_path: Path) -> None:
    """f drifts: it says more about everybody once it was asked often."""
    asked = [0]

    def drifting(data: pd.DataFrame) -> pd.DataFrame:
        asked[0] += 1
        return data if asked[0] > 200 else data.assign(age="*", sex="*")

    oracle = as_oracle(drifting)
    audit(oracle, table(10), out=tmp_path / "audit", draws=40, randomized=True, pairs="independent", records=4)
    journal = (tmp_path / "audit" / "journal.jsonl").read_bytes()
    assert b"drift" in journal
    assert "doubts at the end" in refused(journal, tmp_path, setting("closed", doubts=[]))
    assert "which would show a drift" in refused(journal, tmp_path, without("watched", -1))


def test_more_draws_later_and_predictions_are_accepted(tmp_path: Path) -> None:
    for draws in (60, 120):
        audit(Laplace(1.0), table(8), out=tmp_path, draws=draws, adaptive=True, epsilon=0.7)
        prove(tmp_path / "journal.jsonl")
    journal = (tmp_path / "journal.jsonl").read_bytes()
    assert journal.count(b'"selected"') == 2
    assert "'alpha' of look" in refused(journal, tmp_path, lambda lines: content_of(lines, "selected", -1)["looks"][
        -1].update(alpha=0.9))  # fmt: skip
    assert "another 'wager'" in refused(journal, tmp_path, setting("selected", -1, wager=0.5))


UNREADABLE: list[tuple[str, Forge]] = [
    ("a plan is missing", lambda lines: lines[0].pop("plan")),
    ("an event of another version", lambda lines: lines.insert(3, {"weighed": {}})),
    ("a field of another version", setting("probed", weighed=True)),
    ("no event but a number", lambda lines: lines[place_of(lines, "described")].update(described=-5)),
    ("a failure that is a number", lambda lines: lines.insert(5, {"failed": -5})),
    ("draws without a purpose", lambda lines: content_of(lines, "drawn").pop("purpose")),
    ("an adversary without a name", setting("selected", adversaries=[None])),
    ("a reason that is no text", lambda lines: lines.insert(5, {"failed": {"person": 1, "look": 1, "reason": {}}})),
    ("a person without a number", setting("examined", person="x")),
    ("metrics without their parts", lambda lines: content_of(lines, "described").pop("secrets")),
]


# Of another plan, and of shards whose lines are only put together.
WITHOUT_A_LINE = {("run", "a plan is missing"), ("merge", "a person without a number")}

AUDIT = """
[data]
path = "people.csv"
sensitive = "ill"
[data.quasi]
age = "number"
sex = "category"
[oracle]
address = "reference:mondrian"
[oracle.options]
k = 5
[claim]
epsilon = 0.5
"""


@pytest.fixture(scope="module")
def by_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished audit of an audit.toml, and a finished shard of it."""
    folder = tmp_path_factory.mktemp("by_file")
    table(12).to_csv(folder / "people.csv", index=False)
    (folder / "audit.toml").write_text(AUDIT)
    for words in (("--out", "out"), ("--shard", "1/1", "--out", "shard")):
        run = run_harness("run", "audit.toml", *words, "--quiet", cwd=folder)
        assert run.returncode in (0, 1, 4), run.stderr
    return folder


@pytest.mark.parametrize(("what", "forge"), UNREADABLE, ids=[what for what, _ in UNREADABLE])
def test_content_that_this_version_cannot_read_is_an_error_with_place_and_remedy(
    by_file: Path, tmp_path: Path, what: str, forge: Forge
) -> None:
    shutil.copytree(by_file, tmp_path, dirs_exist_ok=True)
    (tmp_path / "out" / "report.json").unlink()  # so that `report` reads the journal
    for folder in ("out", "shard"):
        lines = lines_of_journal(tmp_path / folder / "journal.jsonl")
        forge(lines)
        write_anew(tmp_path / folder / "journal.jsonl", lines)
    for words in (
        ("verify", "out"), ("report", "out"), ("run", "audit.toml", "--out", "out"), ("merge", "shard", "--out", "new")
    ):  # fmt: skip
        run = run_harness(*words, cwd=tmp_path)
        assert run.returncode == 2, (words, run.stderr)
        (error,) = [line for line in run.stderr.splitlines() if ": error E4" in line]
        assert "journal.jsonl" in error, words
        assert "another --out" in error or "cannot be trusted" in error, words
        assert ", line " in error or (words[0], what) in WITHOUT_A_LINE, words
