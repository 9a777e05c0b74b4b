"""The draws of predictions that an audit keeps: verify makes every random measurement once more from them."""

import base64
import json
import math
import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.auditing.derived_numbers import Derivation
from harness.auditing.events import Examined, from_entry
from harness.auditing.keyed_digests import KEY
from harness.auditing.measurement import VECTORS, packed_vector, unpacked_vector
from harness.auditing.prediction_draws import digest_of, packed, unpacked
from harness.auditing.prediction_file import FILE, HEAD_SIZE, KeptPredictions
from harness.auditing.state import AuditState
from harness.auditing.verify import prove
from harness.cli import main
from harness.cli.evidence import check_folder
from harness.measuring.divergence import FromFormula
from harness.measuring.samples import Samples
from oracles.reference import Laplace
from tests.anonymizers import chunks, jittered
from tests.edited_journals import lines_of_journal, measurements_in, rewrite, write_anew
from tests.small_audits import audit, table

FOREST = {"name": "sklearn:sklearn.ensemble.RandomForestClassifier", "n_estimators": 3}
PEOPLE = table(10).assign(pid=[number // 2 for number in range(10)], poor=["yes", "no"] * 5)
KINDS: dict[str, dict[str, Any]] = {
    "coupled": {"f": jittered, "draws": 12},
    "tail": {"f": jittered, "draws": 12, "delta": 0.05},
    "independent": {"f": jittered, "draws": 12, "pairs": "independent"},
    "adaptive": {"f": Laplace(1.0), "draws": 200, "adaptive": True, "epsilon": 1.0},
    "adaptive tables": {"f": jittered, "draws": 60, "adaptive": True, "epsilon": 0.6},
    "predictions": {"f": Laplace(1.0), "draws": 20},
    "independent predictions": {"f": Laplace(1.0), "draws": 60, "pairs": "independent"},
    "random adversary": {"f": chunks, "adversaries": [{}, {"model": FOREST}], "draws": 3, "records": 4},
    "several rows": {"f": jittered, "draws": 12, "person": "pid"},
    "several secrets": {"f": jittered, "draws": 12, "sensitive": ["ill", "poor"]},
    "other distance": {"f": jittered, "draws": 12, "distance": "kl", "model": "conditional"},
}
NUMBERS = ("distance", "lower", "upper", "own_upper", "floor", "own_delta_upper", "delta_beyond_noise", "privacy_loss")
NOT_PROVEN = "not proven from draws, only as far as the journal goes"
LISTS = ("confidence", "delta_at_epsilon", "epsilon_at_delta", "exceedances", "placebo", "uncovered", "kept", "broken")


def made(folder: Path, kind: str, **more: Any) -> harness.Report:
    options = {**KINDS[kind], **more}
    return audit(options.pop("f"), PEOPLE, out=folder, **options)


@pytest.fixture(scope="module", params=KINDS)
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished audit of each kind."""
    folder = tmp_path_factory.mktemp("finished")
    made(folder, request.param)
    return folder


def said(folder: Path) -> str:
    return "\n".join(check_folder(folder).lines)


def with_draws(folder: Path) -> list[dict[str, Any]]:
    return [one for one in measurements_in(lines_of_journal(folder / "journal.jsonl")) if "draws_digest" in one]


def test_all_measurements_with_draws_are_made_once_more(finished: Path) -> None:
    number = len(with_draws(finished))
    assert number
    assert f"{number} of {number} measurements with draws follow from their draws in {FILE}, number by number" in said(
        finished
    )
    assert "not proven" not in said(finished)


def other(value: Any) -> Any:
    """Another value of the same kind, hardly more different than other versions of libraries may make it."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float() if math.isfinite(value):
            return value + max(1e-8, 1e-8 * abs(value))
        case float() | "inf":
            return 1.0
        case _:
            raise AssertionError(value)


def edits(measurement: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of each number of a measurement, and the measurement with another one, or without it."""
    for name in ("copied", "unpaired"):
        yield name, {**measurement, name: not measurement.get(name, False)}
    for name in ("draws", "hits", *NUMBERS):
        yield name, {**measurement, name: other(measurement.get(name, 0.25))}
    for name in ("draws_needed", "privacy_loss", "floor"):
        yield name, {**measurement, name: 10 * measurement.get(name, 1) + 5}
    for name in VECTORS:
        vector = unpacked_vector(measurement[name])
        for place, value in enumerate(vector):
            yield name, {**measurement, name: packed_vector([*vector[:place], other(value), *vector[place + 1 :]])}
    for name in LISTS:
        for place, value in enumerate(inner := measurement.get(name, ())):
            if isinstance(value, str) and value != "inf":
                changed: Any = packed_vector([0.5, *unpacked_vector(value)[1:]])
            else:
                changed = other(value)
            yield name, {**measurement, name: [*inner[:place], changed, *inner[place + 1 :]]}
    for name in set(measurement) & {*NUMBERS, *LISTS, *VECTORS, "draws", "hits", "draws_needed", "copied", "unpaired"}:
        yield name, {key: value for key, value in measurement.items() if key != name}


def refusal(derivation: Derivation, state: AuditState, examined: dict[str, Any]) -> str:
    """What verify says of a person when it has read what stands before her."""
    event = from_entry(json.loads(json.dumps({"examined": examined})))
    assert isinstance(event, Examined)
    try:
        derivation.require(state, event)
    except harness.JournalError as error:
        return str(error)
    return ""


def test_every_number_that_is_edited_is_named_with_its_person(finished: Path) -> None:
    """Of the first person, and of the last one, who had the most looks."""
    owner, *lines = lines_of_journal(finished / "journal.jsonl")
    examined = [line["examined"] for line in lines if "examined" in line]
    state = AuditState(owner["plan"])
    with KeptPredictions(finished) as kept:
        derivation = Derivation(owner["plan"], kept)
        for line in lines:
            event = line.get("examined")
            if event is not None and event in (examined[0], examined[-1]):
                measured = event["measurements"]
                at = next(place for place, one in enumerate(measured) if "draws_digest" in one)
                assert not refusal(derivation, state, event)
                for name, bad in edits(measured[at]):
                    edited = {**event, "measurements": [*measured[:at], bad, *measured[at + 1 :]]}
                    named = f"the '{name}' of person {event['person']} is "
                    assert named in refusal(derivation, state, edited), (name, bad)
            state.add(from_entry(line))


def test_bets_of_every_look_are_proven_from_those_before(tmp_path: Path) -> None:
    made(tmp_path, "adaptive")
    looks = [line["examined"]["look"] for line in lines_of_journal(tmp_path / "journal.jsonl") if "examined" in line]
    assert max(looks) > 1, "several looks"
    lines = lines_of_journal(tmp_path / "journal.jsonl")
    last = next(line["examined"] for line in reversed(lines) if "examined" in line)
    first = next(line["examined"] for line in lines if line.get("examined", {}).get("person") == last["person"])
    last["measurements"][0]["kept"] = first["measurements"][0]["kept"]
    write_anew(tmp_path / "journal.jsonl", lines)
    with pytest.raises(harness.JournalError, match=f"the 'kept' of person {last['person']} is "):
        prove(tmp_path / "journal.jsonl")


def test_a_limit_that_was_edited_below_the_claim_is_refused_and_without_its_draws_said_not_to_be_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The edit that turns a verdict: everybody's upper limits below ε."""
    report = made(tmp_path, "coupled", epsilon=0.6)
    assert report.verdict.outcome.value == "inconclusive"

    def without_doubt(one: dict[str, Any]) -> None:
        one.update(upper=0.59, own_upper=0.59)
        one.pop("draws_needed", None)

    rewrite(tmp_path / "journal.jsonl", without_doubt)
    for name in ("report.json", "summary.txt", "certificate.json", "report.html", "run.json"):
        (tmp_path / name).unlink()
    assert main(["verify", str(tmp_path)]) == 2
    assert "the 'upper' of person" in capsys.readouterr().err
    (tmp_path / FILE).unlink()
    assert main(["verify", str(tmp_path)]) == 4
    shown = capsys.readouterr().out
    assert f"10 of 10 measurements with draws are {NOT_PROVEN}: {FILE} is missing" in shown


def test_draws_of_another_person_prove_nothing(tmp_path: Path) -> None:
    made(tmp_path, "coupled")
    lines = lines_of_journal(tmp_path / "journal.jsonl")
    one, another = [line["examined"] for line in lines if "examined" in line][:2]
    one["measurements"] = another["measurements"]
    write_anew(tmp_path / "journal.jsonl", lines)
    with pytest.raises(harness.JournalError, match=rf"of the draws of person {one['person']} is \({another['person']}"):
        prove(tmp_path / "journal.jsonl")


def test_the_report_and_the_journal_do_not_depend_on_what_is_kept(tmp_path: Path) -> None:
    everything = made(tmp_path / "all", "tail")
    whole = (tmp_path / "all" / FILE).stat().st_size
    for most, name in ((0, "nothing"), (whole // 2, "half"), (f"{whole}B", "as much")):
        (tmp_path / name).mkdir()
        shutil.copy(tmp_path / "all" / KEY, tmp_path / name)  # digests of texts in the anonymizer depend on it
        report = made(tmp_path / name, "tail", keep_predictions=most)
        assert report.to_json() == everything.to_json()
        journals = [(tmp_path / each / "journal.jsonl").read_bytes() for each in ("all", name)]
        assert journals[0] == journals[1]
    assert not (tmp_path / "nothing" / FILE).exists()
    assert (tmp_path / "as much" / FILE).read_bytes() == (tmp_path / "all" / FILE).read_bytes()
    assert 0 < (tmp_path / "half" / FILE).stat().st_size <= whole // 2
    proven = prove(tmp_path / "half" / "journal.jsonl")
    assert proven.from_draws
    assert proven.from_draws + proven.without_draws == 10
    half = f"{proven.without_draws} of 10 measurements with draws are {NOT_PROVEN}: their draws were not kept"
    assert half in said(tmp_path / "half")


@pytest.mark.parametrize("most", ["lots", -1, True, 1.5, "1X"])
def test_a_size_that_is_none_is_refused(tmp_path: Path, most: Any) -> None:
    with pytest.raises(harness.InputError, match="keep_predictions = .*: expected a whole number of bytes"):
        made(tmp_path, "coupled", keep_predictions=most)


def test_audits_without_chance_or_without_a_folder_keep_no_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit(chunks, PEOPLE, out=tmp_path / "exact")
    assert not (tmp_path / "exact" / FILE).exists()
    assert "measurements with draws" not in said(tmp_path / "exact")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    audit(jittered, PEOPLE, draws=12)
    assert not list((tmp_path / "here").iterdir())


def test_draws_come_back_from_worker_processes(tmp_path: Path) -> None:
    one, two = made(tmp_path / "one", "tail"), made(tmp_path / "two", "tail", workers=2)
    assert one.to_json() == two.to_json()
    digests = [sorted(one["draws_digest"] for one in with_draws(tmp_path / name)) for name in ("one", "two")]
    assert digests[0] == digests[1]
    assert prove(tmp_path / "two" / "journal.jsonl").from_draws == 10


def test_a_distance_of_your_own_is_said_not_to_be_proven(tmp_path: Path) -> None:
    own = FromFormula("own", "a distance of mine", largest_gap)
    made(tmp_path, "coupled", distance=own)
    assert f"10 of 10 measurements with draws are {NOT_PROVEN}: their distance is an object" in said(tmp_path)


def largest_gap(present: Any, absent: Any) -> float:
    return float(np.abs(present - absent).max())


def test_a_journal_that_names_no_draws_is_said_not_to_be_proven(tmp_path: Path) -> None:
    """As earlier versions wrote it."""
    made(tmp_path, "coupled")
    rewrite(tmp_path / "journal.jsonl", lambda one: one.pop("draws_digest"))
    assert prove(tmp_path / "journal.jsonl").without_draws == 10
    rewrite(tmp_path / "journal.jsonl", lambda one: one.update(draws_digest="no digest"))
    with pytest.raises(harness.JournalError, match="holds what no audit writes"):
        prove(tmp_path / "journal.jsonl")


def flipped(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_a_file_that_was_damaged_or_edited_is_refused(tmp_path: Path) -> None:
    made(tmp_path, "coupled")
    good = (tmp_path / FILE).read_bytes()
    for at, why in (
        (0, f"{FILE}: damaged at byte 0; restore the file from a copy; or remove it"),
        (30, f"{FILE}: damaged at byte 0"),
        (HEAD_SIZE + 20, f"{FILE}: the draws of person .* are not those that the journal names; restore the file"),
        (len(good) - 1, f"{FILE}: the draws of person"),
    ):
        flipped(tmp_path / FILE, at)
        with pytest.raises(harness.JournalError, match=why):
            check_folder(tmp_path)
        (tmp_path / FILE).write_bytes(good)
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    with pytest.raises(harness.JournalError, match=f"{FILE}: cannot be read"):
        check_folder(tmp_path)


@pytest.mark.parametrize("left", [1, HEAD_SIZE - 1, HEAD_SIZE, HEAD_SIZE + 5])
def test_what_a_killed_process_left_of_a_record_is_cut_when_it_goes_on(tmp_path: Path, left: int) -> None:
    whole = made(tmp_path / "whole", "coupled")
    good = (tmp_path / "whole" / FILE).read_bytes()
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    journal = tmp_path / "cut" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    about = [number for number, line in enumerate(lines) if line.startswith(b'[{"x":')]
    journal.write_bytes(b"".join(lines[: about[5]]))  # five persons
    with KeptPredictions(tmp_path / "whole") as kept:
        ends = [place.end for place in kept.places.values()]
    (tmp_path / "cut" / FILE).write_bytes(good[: ends[5] + left])  # the draws of a sixth, and a part of a seventh
    assert (prove(journal).from_draws, prove(journal).without_draws) == (5, 0)
    assert made(tmp_path / "cut", "coupled").to_json() == whole.to_json()
    assert (tmp_path / "cut" / FILE).read_bytes() == good, "nothing is lost, and nothing kept twice"
    assert prove(journal).from_draws == 10


def test_zeros_at_the_end_are_what_a_power_cut_leaves(tmp_path: Path) -> None:
    made(tmp_path, "coupled")
    good = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(good + bytes(5000))
    assert prove(tmp_path / "journal.jsonl").from_draws == 10
    (tmp_path / FILE).write_bytes(good + bytes(5000) + b"x")
    with pytest.raises(harness.JournalError, match=f"damaged at byte {len(good)}"):
        prove(tmp_path / "journal.jsonl")


def test_a_record_that_swells_when_it_is_read_is_no_draws(tmp_path: Path) -> None:
    made(tmp_path, "coupled")
    with KeptPredictions(tmp_path) as kept:
        digest, place = next(iter(kept.places.items()))
    swelling = zlib.compress(bytes(1 << 24))
    head = struct.pack("<24sQ", digest, len(swelling))
    rest = (tmp_path / FILE).read_bytes()[place.end :]
    (tmp_path / FILE).write_bytes(head + struct.pack("<I", zlib.crc32(head)) + swelling + rest)
    with pytest.raises(harness.JournalError, match="are not those that the journal names"):
        prove(tmp_path / "journal.jsonl")


def test_the_journal_names_draws_by_a_short_digest(tmp_path: Path) -> None:
    made(tmp_path, "coupled")
    digests = [one["draws_digest"] for one in with_draws(tmp_path)]
    assert {len(base64.b64decode(digest)) for digest in digests} == {24}
    with KeptPredictions(tmp_path) as kept:
        assert {base64.b64encode(digest).decode() for digest in kept.places} == set(digests)
    assert json.loads((tmp_path / "report.json").read_text())["findings"][0].keys().isdisjoint({"draws_digest"})


def test_draws_that_hardly_get_smaller_are_stored_as_they_are() -> None:
    for content, most in ((bytes(10**6), 10_000), (np.random.default_rng(0).bytes(10**6), 1_000_200)):
        draws = packed(content, digest_of(content))
        assert len(draws.packed) <= most
        assert unpacked(draws, len(content)) == content
        assert unpacked(draws, len(content) - 1) is None


def test_measurements_do_not_depend_on_how_an_array_lies_in_memory() -> None:
    """So that draws which were kept and read again give the same bits."""
    rows = np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], 1000)
    means = [Samples(order).draws.mean(axis=0).tolist() for order in (rows, np.asfortranarray(rows))]
    assert means[0] == means[1]
