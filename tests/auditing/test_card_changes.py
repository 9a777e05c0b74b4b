"""An audit goes on only with an oracle that says of itself what it said before, unless that is accepted."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.auditing.card_changes import CardAccepted, card_differences
from harness.auditing.events import from_entry, to_entry
from harness.cli import main
from harness.vocabulary.errors import OtherOracleError
from oracles.serve.http import serve
from tests.anonymizers import chunks
from tests.small_audits import audit, table

CARD = harness.Card("box", "1", randomized=False, noise_epsilon=1.0)
CHANGES: list[dict[str, Any]] = [
    {"name": "another"}, {"version": "2"}, {"version": "\x1b[31m2"}, {"seedable": True}, {"keeps_data": True},
    {"row_order_invariant": True}, {"max_draws": 3}, {"noise_epsilon": 2.0}, {"noise_epsilon": None},
    {"noise_delta": 1e-5}, {"randomized": None},
]  # fmt: skip


class Box:
    """A deterministic anonymizer with any card; it fails on request, so that an audit stops in the middle."""

    def __init__(self, card: harness.Card, answers: int = 10**6) -> None:
        self.card, self.answers = card, answers

    def answer(self, ask: harness.Ask) -> Iterator[harness.Table]:
        self.answers -= 1
        if self.answers < 0:
            raise KeyboardInterrupt
        for _ in range(ask.draws):
            yield harness.Table.from_frame(chunks(ask.table.to_frame()))

    def close(self) -> None:
        """Nothing is open."""

    def spec(self) -> dict[str, Any]:
        return {}


def interrupted(out: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        audit(Box(CARD, answers=20), out=out)


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_another_card_refuses_to_go_on_and_says_what_differs(change: dict[str, Any], tmp_path: Path) -> None:
    interrupted(tmp_path)
    before = (tmp_path / "journal.jsonl").read_bytes()
    with pytest.raises(OtherOracleError, match=f"{next(iter(change))}: .* before, .* now.*--accept-card") as caught:
        audit(Box(replace(CARD, **change)), out=tmp_path)
    assert str(caught.value).isprintable()
    assert (tmp_path / "journal.jsonl").read_bytes() == before


def test_an_accepted_card_is_in_the_report_and_is_the_one_to_find_from_then_on(tmp_path: Path) -> None:
    interrupted(tmp_path)
    second, third = replace(CARD, version="2"), replace(CARD, version="3")
    report = audit(Box(second), out=tmp_path, accept_card=True)
    words = "the auditor accepted it: version: '1' before, '2' now"
    assert any(words in note for note in report.plain["notes"])
    assert words in (tmp_path / "report.json").read_text()
    assert main(["verify", str(tmp_path)]) == 0
    for _ in range(2):  # accepted once, it is not asked about again, and nothing is written
        kept = (tmp_path / "journal.jsonl").read_bytes()
        audit(Box(second), out=tmp_path)
        assert (tmp_path / "journal.jsonl").read_bytes() == kept
    for card in (CARD, third):
        with pytest.raises(OtherOracleError, match="version: '2' before"):
            audit(Box(card), out=tmp_path)
    assert len(audit(Box(third), out=tmp_path, accept_card=True).plain["notes"]) == len(report.plain["notes"]) + 1


def test_accepting_changes_nothing_where_nothing_changed(tmp_path: Path) -> None:
    interrupted(tmp_path / "a")
    went_on = audit(Box(CARD), out=tmp_path / "a", accept_card=True)
    assert went_on.to_json() == audit(Box(CARD), out=tmp_path / "b").to_json()


def test_an_oracle_that_now_releases_something_else_is_never_accepted(tmp_path: Path) -> None:
    interrupted(tmp_path)
    with pytest.raises(OtherOracleError, match="Begin anew with another --out$"):
        audit(Box(replace(CARD, releases="predictions")), out=tmp_path, accept_card=True)


def test_where_an_oracle_is_does_not_matter_to_its_card() -> None:
    assert card_differences(CARD, replace(CARD, in_process=False)) == []


def test_the_event_is_read_back_as_it_was() -> None:
    event = CardAccepted(CARD, replace(CARD, version="2"))
    assert from_entry(json.loads(json.dumps(to_entry(event)))) == event


def test_a_server_of_another_version_is_refused_and_accepted_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(12).to_csv(tmp_path / "people.csv", index=False)
    box = Box(CARD)
    server = serve(box, "127.0.0.1:0")
    (tmp_path / "audit.toml").write_text(
        '[data]\npath = "people.csv"\nsensitive = "ill"\nquasi = { age = "number", sex = "category" }\n'
        f'[claim]\nepsilon = 0.1\n[run]\nrecords = 2\n[oracle]\naddress = "{server.address}"\n'
    )
    words = ["run", str(tmp_path / "audit.toml"), "--out", str(tmp_path / "out"), "--quiet"]
    try:
        first = main(words)
        assert first in (0, 1, 4)
        box.card = replace(CARD, version="2")
        capsys.readouterr()
        assert main(words) == OtherOracleError.exit_code
        assert "version: '1' before, '2' now" in capsys.readouterr().err
        assert main([*words, "--accept-card"]) == first
    finally:
        server.stop(0.1)
    assert "version: '1' before, '2' now" in (tmp_path / "out" / "summary.txt").read_text()
