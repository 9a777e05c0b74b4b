"""A `python:` anonymizer in a process of its own: it may print, hang or crash; what it says is what it says here."""

import os
import pickle
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import oracles
from harness.auditing.oracle_identity import oracle_identity
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError, OracleError, RaisedError
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.schema import Schema
from oracles.clients import isolated
from oracles.clients.isolated import ChildSettings, Isolated, Opening
from oracles.clients.local import Local
from tests.anonymizers import chunks, jittered
from tests.oracles.asking import digests
from tests.waiting import wait_until

FRAME = pd.DataFrame({"age": [20, 21, 22, 23, 24, 25], "ill": ["flu", "ulcer", "flu", "flu", "ulcer", "flu"]})
DATA = Dataset.from_frame(FRAME, Schema({"age": "number"}, "ill"))
CRASHING = "python:tests.oracles.crashing"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "made" / "oracle.log"


def opened(name: str, log: Path, **options: Any) -> Any:
    return closing(oracles.open_with(f"{CRASHING}:{name}", {"attempts": 1, **options}, ChildSettings(log)))


def error_of(name: str, log: Path, **options: Any) -> OracleError:
    with opened(name, log, **options) as oracle, pytest.raises(OracleError) as caught:
        list(oracle.answer(Ask(DATA)))
    return caught.value


@pytest.mark.parametrize("function", [chunks, jittered])
def test_releases_are_those_of_the_same_callable_in_this_process(function: Any) -> None:
    asks = [Ask(DATA), Ask(DATA, (2,), draws=2, seed=7), Ask(DATA.without((1, 3))), Ask(DATA, (0, 5), seed=7)]
    here = Local(function)
    with closing(oracles.open(f"python:tests.anonymizers:{function.__name__}")) as there:
        assert there.card == here.card
        assert [digests(there, ask) for ask in asks * 2] == [digests(here, ask) for ask in asks * 2]
        assert oracle_identity(there) == oracle_identity(here)


def test_more_datasets_than_a_process_keeps_are_sent_again() -> None:
    several = [DATA.without((row,)) for row in range(6)]
    here = Local(chunks)
    with closing(oracles.open("python:tests.anonymizers:chunks")) as there:
        for data in several * 2:
            assert digests(there, Ask(data)) == digests(here, Ask(data))


def test_two_questions_may_be_under_way_at_once() -> None:
    with closing(oracles.open("python:tests.anonymizers:jittered")) as oracle:
        one, other = (iter(oracle.answer(Ask(DATA, seed=seed, draws=2))) for seed in (1, 2))
        mixed = [next(one), next(other), next(one), next(other)]
        (rest,) = [[*one, *other]]
        assert not rest
        assert [table.digest for table in mixed[::2]] == digests(oracle, Ask(DATA, seed=1, draws=2))


def test_an_answer_that_is_not_read_to_its_end_does_no_harm() -> None:
    with closing(oracles.open("python:tests.anonymizers:jittered")) as oracle:
        begun = oracle.answer(Ask(DATA, draws=3))
        next(iter(begun))
        begun.close()  # type: ignore[attr-defined]
        assert digests(oracle, Ask(DATA)) == digests(Local(jittered), Ask(DATA))


def test_it_travels_to_workers_and_opens_no_process_before_it_is_asked(log: Path) -> None:
    with opened("same", log) as oracle:
        copy: Oracle = pickle.loads(pickle.dumps(oracle))  # noqa: S301  (our own)
        with closing(copy):
            assert copy.card == oracle.card
            assert digests(copy, Ask(DATA)) == digests(oracle, Ask(DATA))


def test_whatever_it_prints_goes_to_a_log_that_only_its_owner_reads(log: Path, capfd: Any) -> None:
    with opened("printing", log) as oracle:
        list(oracle.answer(Ask(DATA, draws=1)))
    assert log.read_text().splitlines() == [
        "printed at import", "printed to stdout", "printed to stderr", "written to descriptor 1",
        "echoed by a child",
    ]  # fmt: skip
    assert log.stat().st_mode & 0o777 == 0o600
    assert capfd.readouterr() == ("", "")


def test_a_log_that_stays_empty_is_removed_with_the_folder_made_for_it(log: Path) -> None:
    with closing(oracles.open_with("python:tests.anonymizers:chunks", {}, ChildSettings(log))) as oracle:
        list(oracle.answer(Ask(DATA)))
        assert log.exists()
    assert not log.parent.exists()


def test_an_error_names_the_log_only_if_something_was_printed_in_this_run(tmp_path: Path) -> None:
    old = tmp_path / "oracle.log"
    old.write_text("printed long ago\n")
    assert error_of("interrupting", old).log == old
    with closing(oracles.open_with("python:builtins:len", {}, ChildSettings(old))) as oracle:
        with pytest.raises(OracleError, match="returned a int") as silent:
            list(oracle.answer(Ask(DATA)))
        assert silent.value.log is None


def test_a_log_whose_folder_another_machine_lacks_is_given_up_there(tmp_path: Path, log: Path) -> None:
    there = Isolated(Opening("tests.oracles.crashing:same"), settings=ChildSettings(log))
    with closing(there):
        packed = pickle.dumps(there)
    shutil.rmtree(log.parent)
    assert pickle.loads(packed).settings.log is None  # noqa: S301  (our own)


def test_a_log_grows_only_so_far(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "LOG_BYTES", 100)
    with opened("printing", log) as oracle:
        for _ in range(9):
            list(oracle.answer(Ask(DATA)))
    assert log.stat().st_size < 400


def test_a_log_that_cannot_be_written_is_the_auditors_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: not a folder; choose another --out"):
        oracles.open_with(f"{CRASHING}:same", {}, ChildSettings(tmp_path / "file" / "oracle.log"))


@pytest.mark.parametrize(
    ("name", "what"),
    [("exiting", "ended with exit code 7"), ("reading_nothing", "was ended by signal SIGSEGV")],
)
def test_the_end_of_its_process_is_an_error_that_says_how_it_ended(name: str, what: str, log: Path) -> None:
    error = error_of(name, log)
    assert str(error) == f"the process of the anonymizer {what} while anonymizing"
    assert error.exit_code == 3
    assert error.log == log
    assert ("printed last" if name == "exiting" else "in reading_nothing") in log.read_text()


def test_a_process_that_ends_is_replaced_and_asked_again(tmp_path: Path, log: Path) -> None:
    options = {"mark": str(tmp_path / "mark"), "attempts": 2}
    with opened("exiting_once", log, **options) as oracle:
        assert digests(oracle, Ask(DATA)) == [DATA.digest]


def test_a_call_that_takes_too_long_ends_with_its_process(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    error = error_of("hanging", log, timeout=0.5)
    assert str(error).startswith("the anonymizer was still anonymizing after 0.5 s, and its process was ended; raise")
    child = int((tmp_path / "child").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_its_exception_is_told_with_its_own_traceback_beside_it(log: Path) -> None:
    error = error_of("raising", log)
    assert isinstance(error, RaisedError)
    assert error.kind == "ValueError"
    assert str(error).startswith("the anonymizer raised ValueError: no use for the age 20 (crashing.py, line ")
    (note,) = error.within("somewhere").__notes__
    assert "in raising" in note
    assert "oracles/clients" not in note
    assert "asked for 1 releases of D (6 rows), seed 0:\nTraceback" in log.read_text()


def test_an_interruption_that_nobody_but_the_anonymizer_raised_is_its_failure(log: Path) -> None:
    assert str(error_of("interrupting", log)) == "the anonymizer raised KeyboardInterrupt"


def test_there_is_nobody_to_type_something(log: Path) -> None:
    assert "raised EOFError" in str(error_of("asking_for_input", log))


def test_an_oracle_class_that_raises_is_an_oracle_that_failed(log: Path) -> None:
    assert str(error_of("Failing", log, depth=3)) == "the anonymizer raised LookupError: nothing at depth 3"


def test_texts_of_a_class_of_its_own_arrive_as_texts(log: Path) -> None:
    with opened("tagging", log) as oracle:
        (table,) = oracle.answer(Ask(DATA))
    assert {type(cell) for cell in table.column("ill").palette} == {str}


def test_the_folders_of_this_process_are_searched_for_its_module(tmp_path: Path, log: Path) -> None:
    (tmp_path / "beside.py").write_text("def f(df):\n    return df\n")
    sys.path.insert(0, str(tmp_path))
    try:
        with closing(oracles.open_with("python:beside:f", {}, ChildSettings(log))) as oracle:
            assert digests(oracle, Ask(DATA)) == [DATA.digest]
    finally:
        sys.path.remove(str(tmp_path))
    assert "beside" not in sys.modules


def test_a_module_that_ends_the_process_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "quitting.py").write_text("import os\nos._exit(0)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(OracleError, match="ended with exit code 0 while importing its module"):
        oracles.open("python:quitting:f")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("same", {"kk": 3}, "'kk'; did you mean 'k'\\? known: k \\(options of python: itself: timeout, attempts"),
        ("same", {"timeout": "soon"}, "timeout must be a positive number of seconds, not 'soon'"),
        ("same", {"timeout": True}, "timeout must be a positive number of seconds, not True"),
        ("same", {"attempts": 0}, "attempts must be a whole number of at least 1, not 0"),
        ("same", {"arguments": 3}, "arguments must be a table of keyword arguments, not 3"),
        ("same", {"k": 3, "arguments": {"k": 3}}, "'k' is given twice"),
        ("same", {"per_second": 3}, "per_second is an option of commands and servers"),
        ("taking_anything", {"concurrency": 3}, "concurrency is an option of commands and servers"),
        ("timed", {"timeout": 9}, "timeout may be an option of python: or the anonymizer's own parameter; write"),
        ("Failing", {"deep": 3}, "did you mean 'depth'"),
        ("nothing", {}, "there is no 'nothing'; did you mean 'printing'\\? known: Failing, Tag, asking"),
    ],
)
def test_wrong_options_are_refused_with_the_right_ones(name: str, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        oracles.open(f"{CRASHING}:{name}", **options).close()


def test_a_parameter_with_the_name_of_an_option_is_given_under_arguments(log: Path) -> None:
    for arguments, ages in (({"timeout": 9}, {9}), ({}, {3})):
        with opened("timed", log, timeout=60, arguments=arguments) as oracle:
            (table,) = oracle.answer(Ask(DATA))
        assert set(table.column("age").palette.tolist()) == ages


def test_answers_are_recorded_and_replayed_without_the_module(tmp_path: Path, log: Path) -> None:
    record = str(tmp_path / "answers")
    with opened("same", log, record=record) as oracle:
        before = digests(oracle, Ask(DATA))
    with closing(oracles.open("python:no.longer.there:f", replay=record)) as replayed:
        assert digests(replayed, Ask(DATA)) == before


@pytest.fixture
def orphan(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The number of a process that hangs in a call, and whose parent has closed its end of the pipe."""
    monkeypatch.chdir(tmp_path)
    oracle = Isolated(Opening("tests.oracles.crashing:hanging"), settings=ChildSettings(log))
    child = oracle._take()
    child._send(("answer", DATA, ((), None, 1, 0)))
    wait_until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text() != "")
    child.pipe.close()
    yield child.process.pid
    child.process.wait()


def test_a_process_whose_parent_is_gone_ends_in_the_middle_of_a_call(orphan: int) -> None:
    wait_until(lambda: os.waitid(os.P_PID, orphan, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None)
