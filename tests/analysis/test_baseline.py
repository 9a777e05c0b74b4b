"""What a baseline holds of an audit, and what it keeps to itself."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.analysis.baseline import MOST_PERSONS, AuditBaseline, baseline_of
from harness.analysis.baseline_file import Acceptance, Baseline, read_baseline, text_of, write_baseline
from harness.analysis.compare import Span, measures_of, spans_of
from harness.analysis.person_digest import LEAST, VARIABLE, DigestKey, create_key, find_key
from harness.analysis.recorded import recorded_now
from harness.analysis.rounding import outwards, plain_span, span_from_plain
from harness.vocabulary.errors import InputError
from tests.small_audits import audit, table

KEY = DigestKey(b"a key of the tests, not a secret")
OTHER = DigestKey(b"another key of the tests, neither")


@cache
def identity() -> harness.Report:
    labelled = table().set_axis([f"alice-{number}@example.org" for number in range(30)])
    return audit(lambda frame: frame, labelled)


@cache
def rounded() -> harness.Report:
    return audit(decades)


def decades(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(age=frame["age"] // 20 * 20)


def test_a_baseline_is_the_same_after_it_was_written_and_read(tmp_path: Path) -> None:
    accepted = Acceptance("audit", "mean-distance/x/y", "known since June", date(2027, 1, 31), 0.25)
    baseline = Baseline({"audit": baseline_of(rounded(), KEY)}, (accepted,), {"date": "2026-01-01"}, KEY.check, 0.01)
    path = tmp_path / "baseline.json"
    write_baseline(baseline, path)
    assert read_baseline(path) == baseline
    assert path.read_text() == text_of(read_baseline(path))


def test_equal_audits_have_equal_texts_and_one_changed_person_is_one_line() -> None:
    one, again = (text_of(Baseline({"audit": baseline_of(audit(decades), KEY)})) for _ in range(2))
    assert one == again
    baseline = baseline_of(rounded(), KEY)
    ((name, pair),) = baseline.results.items()
    digest = next(iter(pair.persons or {}))
    moved = replace(pair, persons={**(pair.persons or {}), digest: Span(1.0, 1.5)})
    later = text_of(Baseline({"audit": replace(baseline, results={name: moved})}))
    assert len(set(later.splitlines()) - set(one.splitlines())) == 1


def test_measures_are_those_of_harness_compare_and_no_narrower() -> None:
    (names,) = rounded().verdicts
    (pair,) = baseline_of(rounded()).results.values()
    spans = [*spans_of(rounded(), names).values()]
    for name, span in measures_of(spans, rounded().claim.epsilon).items():
        kept = pair.measures[name]
        assert kept.lower <= span.lower <= span.upper <= kept.upper
        assert kept.upper - kept.lower <= 1e-5 * max(1.0, span.upper)


def test_no_name_of_a_row_no_raw_value_and_no_unkeyed_digest_is_in_the_file() -> None:
    text = text_of(Baseline({"audit": baseline_of(identity(), KEY)}))
    assert not re.search(r"alice|example\.org|flu|ulcer", text)
    assert identity().plain["plan"]["data"]["digest"][:12] not in text
    assert identity().plain["plan_digest"][:12] not in text
    without = text_of(Baseline({"audit": baseline_of(identity())}))
    assert "persons" not in json.loads(without)["audits"]["audit"]["results"]["bernoulli-on-tf-tf/ill"]
    assert json.loads(without)["audits"]["audit"]["data"]["digest"] is None


def test_digests_of_persons_depend_on_the_key_and_on_nothing_else() -> None:
    def persons(key: DigestKey) -> set[str]:
        (pair,) = baseline_of(identity(), key).results.values()
        return set(pair.persons or {})

    assert len(persons(KEY)) == 30
    assert persons(KEY) == persons(DigestKey(KEY.secret))
    assert not persons(KEY) & persons(OTHER)
    assert KEY.check != OTHER.check
    assert "tests" not in repr(KEY)


def test_of_many_persons_the_worst_are_listed_and_the_others_have_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_PERSONS >= 1000
    monkeypatch.setattr("harness.analysis.baseline.MOST_PERSONS", 5)
    (pair,) = baseline_of(rounded(), KEY).results.values()
    uppers = sorted((finding.upper for finding in rounded().findings), reverse=True)
    assert len(pair.persons or {}) == 5
    assert pair.others_at_most == outwards(Span(uppers[5], uppers[5])).upper


@given(st.floats(0, 1e300), st.floats(0, 1e300))
def test_rounding_never_narrows(one: float, other: float) -> None:
    span = Span(min(one, other), max(one, other))
    wide = outwards(span)
    assert wide.lower <= span.lower * (1 + 1e-11)
    assert wide.upper >= span.upper * (1 - 1e-11)
    assert wide.upper <= span.upper * (1 + 2e-5)
    assert outwards(wide) == wide
    assert span_from_plain(plain_span(wide)) == wide


def test_an_infinite_limit_is_kept() -> None:
    assert span_from_plain(json.loads(json.dumps(plain_span(Span(1.0, math.inf))))) == Span(1.0, math.inf)


def test_the_key_comes_from_a_file_else_from_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "baseline.key"
    create_key(path)
    assert path.stat().st_mode & 0o077 == 0
    key = find_key(path, {VARIABLE: "x" * 40})
    assert key is not None
    assert len(key.secret) >= 64
    assert find_key(None, {VARIABLE: "x" * 40}) == DigestKey(b"x" * 40)
    assert find_key(None, {VARIABLE: ""}) is None  # as a CI server gives a secret that it does not have


def test_a_key_that_can_be_guessed_or_read_from_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"has 5 signs; expected at least {LEAST}"):
        find_key(None, {VARIABLE: "short"})
    with pytest.raises(InputError, match="the key of the baseline cannot be read"):
        find_key(tmp_path / "nothing")
    with pytest.raises(InputError, match="the key cannot be written"):
        create_key(tmp_path / "no" / "folder")


def test_the_digests_of_one_file_have_one_key() -> None:
    keyed = Baseline({"audit": baseline_of(rounded(), KEY)}, key_check=KEY.check)
    keyed.require_same_key(KEY)
    keyed.require_no_other_key(None)
    with pytest.raises(InputError, match="not the one that the digests"):
        keyed.require_no_other_key(OTHER)
    with pytest.raises(InputError, match="their key is not here"):
        keyed.require_same_key(None)
    with pytest.raises(InputError, match="saved without a key"):
        Baseline({"audit": baseline_of(rounded())}).require_same_key(KEY)


EDITS = [
    ('"format": 1', '"format": 9', "a baseline of format 9"),
    ('"holds"', '"fine"', "outcome is 'fine'; expected one of holds, inconclusive, violated"),
    ('"violated"', '"fine"', "outcome is 'fine'"),
    ('"seed"', '"sead"', "'seed' is missing"),
    ('"rows": 30', '"rows": "many"', "malformed"),
    ('"accepted": []', '"accepted": [{}]', "is missing"),
    ('"accepted": []', '"accepted": 3', "malformed"),
    ("{", "[", "not a baseline"),
]


@pytest.mark.parametrize(("text", "instead", "message"), EDITS)
def test_an_edit_that_makes_no_sense_is_told_with_the_file(
    tmp_path: Path, text: str, instead: str, message: str
) -> None:
    whole = text_of(Baseline({"audit": baseline_of(rounded(), KEY)}))
    path = tmp_path / "baseline.json"
    path.write_text(whole.replace(text, instead, 1))
    if text in whole:
        with pytest.raises(InputError, match=f"(?s){re.escape(str(path))}.*{message}"):
            read_baseline(path)
    else:
        assert text in ('"holds"', '"violated"')


def test_an_acceptance_needs_a_reason_and_a_date(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    good = Acceptance("audit", "x", "because", date(2027, 1, 31))
    write_baseline(Baseline(accepted=(good,)), path)
    for text, instead, message in (("because", " ", "needs a reason"), ("2027-01-31", "soon", "Invalid isoformat")):
        write_baseline(Baseline(accepted=(good,)), path)
        path.write_text(path.read_text().replace(text, instead))
        with pytest.raises(InputError, match=message):
            read_baseline(path)


def test_a_baseline_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the baseline cannot be written"):
        write_baseline(Baseline(), tmp_path / "no" / "baseline.json")


def test_a_baseline_says_when_with_what_and_from_which_commit_it_is(tmp_path: Path) -> None:
    recorded = recorded_now({"python": "3.11"}, tmp_path, {"GITHUB_SHA": "abc"})
    assert recorded["commit"] == "abc"  # the folder is in no repository
    assert recorded["versions"] == {"python": "3.11"}
    assert set(recorded["machine"]) == {"system", "processor", "cores"}
    assert recorded_now({}, tmp_path, {})["commit"] is None


def test_plain_data_of_an_entry_reads_back() -> None:
    for report in (rounded(), identity()):
        entry = baseline_of(report, KEY, {"rows": "passed"})
        assert AuditBaseline.from_plain(json.loads(json.dumps(entry.plain()))) == entry
