"""What an auditor entrusts to an oracle (headers, fields, queries, environment) is in no file, and is recognised."""

import functools
import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oracles
from harness.auditing.keyed_digests import holds_seal, sealed, unsealed_part
from harness.auditing.oracle_identity import oracle_identity
from harness.cli import main
from harness.testing.kept_cases import Case, keep, read_case
from harness.vocabulary.errors import JournalError
from tests.oracles.servers import Request, Server, serving
from tests.small_audits import audit, table

SECRETS = ("hush-header", "hush-other", "hush-field", "hush-query", "hush-env", "hush-word")
WEB = """
address = "{address}"
[oracle.options]
headers = {{ X-Key = "{header}", Authorization = "Bearer hush-other" }}
record = "answers.jsonl"
[oracle.options.plain]
path = "/f?key=hush-query"
field = "table"
fields = {{ pin = "hush-field" }}
headers = {{ X-Pin = "hush-header" }}
"""
COMMAND = """
address = "cmd:sh -c cat hush-word"
options = {{ env = {{ KEY = "{header}" }}, record = "answers.jsonl" }}
"""


def copy_of_the_table(request: Request) -> tuple[int, dict[str, str], bytes]:
    body = request.body[request.body.index(b"age,") :]
    frame = pd.read_csv(io.BytesIO(body[: body.index(b"\r\n--")]))
    return 200, {"Content-Type": "text/csv"}, frame.to_csv(index=False).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(copy_of_the_table) as running:
        yield running


def write_audit(folder: Path, kind: str, server: Server, header: str = "hush-env") -> Path:
    table(12).to_csv(folder / "people.csv", index=False)
    oracle = (WEB if kind == "web" else COMMAND).format(address=server.address, header=header)
    path = folder / "audit.toml"
    path.write_text(
        '[data]\npath = "people.csv"\nsensitive = "ill"\nquasi = { age = "number", sex = "category" }\n'
        f"[claim]\nepsilon = 0.1\n[run]\nrecords = 3\n[oracle]\n{oracle}"
    )
    return path


def everything_in(folder: Path) -> str:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "audit.toml"]
    return "\n".join(path.read_bytes().decode("latin-1") for path in files)


@pytest.mark.parametrize("kind", ["web", "command"])
def test_secrets_are_in_no_file_and_no_message_and_are_recognised_elsewhere(
    kind: str, server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    file, out = write_audit(here, kind, server), here / "out"
    assert main(["run", str(file), "--out", str(out)]) in (0, 1, 4)
    shutil.move(out, there)  # as to another machine
    assert main(["run", str(file), "--out", str(there), "--quiet"]) in (0, 1, 4)
    assert main(["verify", str(there)]) == 0
    write_audit(here, kind, server, header="hush-changed")
    assert main(["run", str(file), "--out", str(there)]) == 2
    printed = "".join(capfd.readouterr())
    place = "options.headers.X-Key" if kind == "web" else "options.env.KEY"
    assert f"belongs to another audit ([oracle] {place} (not shown))" in printed
    whole = printed + everything_in(there) + everything_in(here)
    for secret in (*SECRETS, "hush-changed"):
        assert secret not in whole


def test_only_the_key_connects_digests_and_secrets_and_without_it_an_audit_does_not_go_on(
    server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = write_audit(tmp_path, "command", server)
    first, second = tmp_path / "first", tmp_path / "second"
    for out in (first, second):
        assert main(["run", str(file), "--out", str(out), "--quiet"]) in (0, 1, 4)
    heads = [(out / "journal.jsonl").read_text().partition("\n")[0] for out in (first, second)]
    assert heads[0] != heads[1], "equal secrets have other digests under another key"
    assert (first / "report.json").read_bytes() == (second / "report.json").read_bytes()
    key = first / "identity.key"
    assert key.stat().st_mode & 0o777 == 0o600
    shared = [(first / name).read_text() for name in ("report.json", "certificate.json", "journal.jsonl")]
    assert not any(key.read_text().strip() in text for text in shared)
    key.unlink()
    capfd.readouterr()
    assert main(["run", str(file), "--out", str(first)]) == 2
    assert "identity.key: the key that recognises headers" in capfd.readouterr().err
    assert main(["verify", str(first)]) == 0, "which needs no key"


def test_an_audit_without_secrets_has_no_key(tmp_path: Path) -> None:
    table(12).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "audit.toml").write_text(
        '[data]\npath = "people.csv"\nsensitive = "ill"\nquasi = { age = "number" }\n[claim]\nepsilon = 0.1\n'
        '[run]\nrecords = 2\n[oracle]\naddress = "reference:mondrian"\noptions = { k = 2 }\n'
    )
    assert main(["run", str(tmp_path / "audit.toml"), "--out", str(tmp_path / "out"), "--quiet"]) in (0, 1, 4)
    assert not (tmp_path / "out" / "identity.key").exists()


def test_a_kept_case_of_a_check_holds_no_secret_and_says_what_to_give_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.toml").write_text('[data]\nsensitive = "ill"\nquasi = { age = "number" }\n')
    rows = ((20, "flu"), (30, "ulcer"))
    options = {"env": {"KEY": "hush-env"}, "timeout": 5}
    kept = keep(Case("cmd:false", options, "schema.toml", {}, "deterministic", rows, 0), tmp_path / ".harness")
    assert "hush" not in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert read_case(kept).options == {"timeout": 5}
    assert main(["replay", str(kept)]) == 3
    assert "its option env was not kept, because it may be secret; add --option env=…" in capfd.readouterr().out
    main(["replay", str(kept), "--option", 'env={KEY = "hush-env"}'])
    assert "was not kept" not in capfd.readouterr().out


def test_a_server_that_fails_on_some_records_and_repeats_our_secrets_leaks_none(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The raw rows that it repeats, too, stay out of what is shown."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def failing(request: Request) -> tuple[int, dict[str, str], bytes]:
        if request.body.count(b"\n") % 2:  # a whole table has another number of lines than one without a person
            return 400, {"Content-Type": "text/plain"}, f"{request.headers} {request.query} {request.body!r}".encode()
        return copy_of_the_table(request)

    with serving(failing) as running:
        file = write_audit(tmp_path, "web", running)
        lines = (tmp_path / "people.csv").read_text().splitlines()
        for out in ("one", "two"):  # f fails on every whole table, or on every person
            assert main(["run", str(file), "--out", str(tmp_path / out), "--debug"]) in (0, 1, 3, 4)
            (tmp_path / "people.csv").write_text("\n".join(lines[:-1]) + "\n")
    printed = "".join(capfd.readouterr())
    whole = printed + everything_in(tmp_path / "one") + everything_in(tmp_path / "two") + everything_in(temporary)
    assert "(hidden)" in printed, "it did repeat them"
    for secret in (*SECRETS, "hush-env"):
        assert secret not in whole
    shown = [path for path in tmp_path.rglob("*") if path.name in ("report.json", "certificate.json", "summary.txt")]
    for path in shown:
        assert not any(f"{line}\\n" in path.read_text() or line in path.read_text() for line in lines[1:])
    assert list(temporary.rglob("*.csv")) == []


def test_an_oracle_that_was_opened_in_python_has_no_digest_that_can_be_tried_out(tmp_path: Path) -> None:
    for out in ("one", "two"):
        oracle = oracles.open("cmd:sh -c cat hush-word", env={"KEY": "hush-env", "PIN": 4711})
        audit(oracle, table(12), records=2, out=tmp_path / out)
    heads = [(tmp_path / out / "journal.jsonl").read_text().partition("\n")[0] for out in ("one", "two")]
    for secret in ("hush-word", "hush-env", "sh -c cat hush-word", "4711"):
        assert secret not in heads[0]
        assert hashlib.sha256(secret.encode()).hexdigest()[:16] not in heads[0]
    assert heads[0] != heads[1]
    changed = oracles.open("cmd:sh -c cat hush-word", env={"KEY": "hush-changed", "PIN": 4711})
    with pytest.raises(JournalError, match="belongs to another audit"):
        audit(changed, table(12), records=2, out=tmp_path / "one")


class Guarded:
    """An anonymizer that holds a code of four digits in every place where Python code can have one."""

    def __init__(self, pin: str) -> None:
        self.pin = pin
        self.pins = (pin, frozenset([pin]))
        self.ask: Any = functools.partial(print, pin, key=pin, also=[pin], bytes=pin.encode(), array=np.array([pin]))

    def __call__(self, data: pd.DataFrame) -> pd.DataFrame:
        return data.assign(age="*")


def closing_over(pin: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def inner(data: pd.DataFrame, default: str = pin) -> pd.DataFrame:
        return data.assign(age="*" if pin else default)

    return inner


def spelling(pin: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    scope: dict[str, Any] = {"__name__": "vendor"}
    exec(f"def f(data):\n    return data.assign(age='*') if len(data) != {pin!r} else ('x', {pin!r})", scope)
    function: Callable[[pd.DataFrame], pd.DataFrame] = scope["f"]
    return function


@pytest.mark.parametrize("make", [Guarded, closing_over, spelling])
def test_texts_of_python_objects_cannot_be_tried_out_without_the_key(
    make: Callable[[str], Callable[[pd.DataFrame], pd.DataFrame]], tmp_path: Path
) -> None:
    """Whoever has the journal and the anonymizer, but neither its code of four digits nor the key, tries them all."""
    audit(make("4711"), table(12), records=2, out=tmp_path)
    kept = json.loads((tmp_path / "journal.jsonl").read_text().partition("\n")[0])[0]["oracle"]
    assert "4711" not in json.dumps(kept)
    assert holds_seal(kept)

    def guessed(beside: Path) -> list[str]:
        guesses = (f"{pin:04d}" for pin in range(4700, 4720))
        return [pin for pin in guesses if sealed(oracle_identity(oracles.as_oracle(make(pin))), beside) == kept]

    def without_seals(pin: str) -> Any:
        return unsealed_part(sealed(oracle_identity(oracles.as_oracle(make(pin))), tmp_path / "journal.jsonl"))

    assert guessed(tmp_path / "journal.jsonl") == ["4711"], "which recognises it"
    assert guessed(tmp_path / "other" / "journal.jsonl") == []
    assert without_seals("4700") == without_seals("4711") == unsealed_part(kept), "what is not keyed says nothing"


def test_what_is_salvaged_of_an_audit_with_secrets_goes_on(server: Server, tmp_path: Path) -> None:
    file, out, new = write_audit(tmp_path, "command", server), tmp_path / "out", tmp_path / "new"
    assert main(["run", str(file), "--out", str(out), "--quiet"]) in (0, 1, 4)
    journal = out / "journal.jsonl"
    lines = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join([*lines[:4], lines[4].replace(b"0", b"1", 1), *lines[5:]]))
    assert main(["salvage", str(out), "--out", str(new)]) == 0
    assert (new / "identity.key").stat().st_mode & 0o777 == 0o600
    assert main(["run", str(file), "--out", str(new), "--quiet"]) in (0, 1, 4)
