"""Tokens, headers and certificates of this side: what cannot be sent is refused when it is read, and never quoted."""

import os
from pathlib import Path
from typing import Any

import pytest

import oracles
from harness.vocabulary.errors import HarnessError, InputError
from harness.vocabulary.secret import Secret
from oracles.addresses import shown_address, without_secrets
from tests.oracles.servers import Request, serving
from tests.oracles.table_vendors import Reply, asked

PLAIN = {"path": "/anonymize"}
TRANSPORTS: dict[str, dict[str, Any]] = {
    "http://127.0.0.1:1": {}, "http://127.0.0.1:1/": {"plain": PLAIN}, "grpc://127.0.0.1:1": {},
}  # fmt: skip


@pytest.mark.parametrize("address", TRANSPORTS)
@pytest.mark.parametrize(
    ("token", "complaint"),
    [
        ("hush-hush\n", "ends with a line break"),
        ("hush-hush\r\n", "ends with a line break"),
        ("hush\nhush", "holds a control character"),
        ("hush hush", "holds a space"),
        ("hush€hush", "holds a character outside ASCII"),
        ("hush\udcffhush", "holds a character outside ASCII"),
        ("", "holds no token"),
    ],
)
def test_a_token_that_no_header_can_carry_is_refused_and_not_quoted(
    address: str, token: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENDOR_TOKEN", token)
    with pytest.raises(InputError, match=complaint) as caught:
        oracles.open(address, token_env="VENDOR_TOKEN", **TRANSPORTS[address])
    assert "VENDOR_TOKEN" in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "A=hush", "A\0hush", "hush-hush", "hush"])
@pytest.mark.parametrize("address", TRANSPORTS)
def test_a_token_in_the_place_of_the_name_of_its_variable_is_not_quoted(address: str, name: str) -> None:
    with pytest.raises(InputError) as caught:
        oracles.open(address, token_env=name, **TRANSPORTS[address])
    assert "hush" not in str(caught.value)


BAD_SECRETS: dict[str, tuple[str, dict[str, Any]]] = {
    "line break in a header": ("http://127.0.0.1:1", {"headers": {"X-Key": "hush-hush\nX: 1"}}),
    "letters in a header": ("http://127.0.0.1:1", {"headers": {"X-Key": "hush-hush€"}}),
    "a list as header": ("http://127.0.0.1:1", {"headers": {"X-Key": ["hush-hush"]}}),
    "headers as text": ("http://127.0.0.1:1", {"headers": "hush-hush"}),
    "line break in a header of plain": ("http://127.0.0.1:1", {"plain": {"headers": {"X-Key": "hush-hush\n"}}}),
    "fields as text": ("http://127.0.0.1:1", {"plain": {"fields": "hush-hush"}}),
    "plain as text": ("http://127.0.0.1:1", {"plain": "hush-hush"}),
    "null in a header": ("http://127.0.0.1:1", {"headers": {"X-Key": "hush-hush\0"}}),
    "null in the environment": ("cmd:cat", {"env": {"KEY": "hush-hush\0"}}),
    "null in a name of the environment": ("cmd:cat", {"env": {"KEY\0": "hush-hush"}}),
    "null in the query": ("http://127.0.0.1:1", {"plain": {"path": "/a?key=hush-hush\0"}}),
    "null in the address": ("http://127.0.0.1:1/\0?hush-hush", {}),
    "null in a command": ("cmd:cat hush-hush\0", {}),
    "null in a module": ("python:hush\0:f", {"hush-hush": 1}),
    "environment as text": ("cmd:cat", {"env": "hush-hush"}),
    "password in an address": ("http://me:hush-hush@127.0.0.1:1", {}),
    "password in a gRPC address": ("grpc://me:hush-hush@127.0.0.1:1", {}),
    "password in an address without a port": ("grpc://me:hush-hush@127.0.0.1", {}),
    "password under an unknown scheme": ("htps://me:hush-hush@127.0.0.1:1/?hush-hush", {}),
    "query in an address": ("http://127.0.0.1:1/?key=hush-hush", {}),
    "words of a command": ("cmd:'cat hush-hush", {}),
    "options of a command": ("cmd:cat hush-hush", {"odd": 1}),
    "timeout of a command": ("cmd:cat hush-hush", {"timeout": -1}),
}


@pytest.mark.parametrize("case", BAD_SECRETS)
def test_options_that_cannot_be_used_are_refused_without_their_values(case: str) -> None:
    address, options = BAD_SECRETS[case]
    with pytest.raises(InputError) as caught:
        oracles.open(address, **options)
    assert "hush-hush" not in str(caught.value)


@pytest.mark.parametrize("address", ["http://h:1/\0", "http://h:1/\n", "grpc://h:1\0", "grpcs://\0", "python:a\0:b"])
def test_an_address_with_a_control_character_is_the_auditors_mistake(address: str) -> None:
    with pytest.raises(InputError, match="cannot be printed|null character"):
        oracles.open(address)


def test_a_server_that_repeats_our_secrets_is_quoted_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_TOKEN", "hush-token")

    def repeating(request: Request) -> Reply:
        said = f"{request.headers} {request.query} {request.body!r}"
        return 403, {"Content-Type": "text/plain"}, said.encode()

    plain = {
        "path": "/a?key=hush-query", "field": "table", "headers": {"X-B": "hush-b"}, "fields": {"pin": "hush-field"},
    }  # fmt: skip
    options = {"plain": plain, "token_env": "VENDOR_TOKEN", "headers": {"X-A": "hush-a"}, "attempts": 1}
    with serving(repeating) as server:
        oracle = oracles.open(server.address, **options)
        with pytest.raises(HarnessError, match="status 403.*hidden") as caught:
            asked(oracle)
    assert "hush" not in str(caught.value)


def test_a_command_that_prints_its_environment_is_quoted_without_it() -> None:
    oracle = oracles.open("cmd:sh -c 'echo $KEY >&2; exit 3'", env={"KEY": "hush-hush"})
    with pytest.raises(HarnessError, match="status 3.*hidden") as caught:
        asked(oracle)
    assert "hush-hush" not in str(caught.value)


def test_what_a_journal_keeps_of_options_is_plain_only_where_nothing_can_be_secret() -> None:
    kept = without_secrets(
        "https://h/x",
        {
            "headers": {"X-Key": "a"}, "token_env": "TOKEN", "ca": "ca.pem", "max_reply_bytes": 5,
            "plain": {
                "path": "/a?key=b", "format": "csv", "headers": {"H": "c"}, "fields": {"pin": 1}, "interval": 2.0,
            },
        },
    )  # fmt: skip
    assert kept == {
        "address": "https://h/x",
        "options": {
            "headers": {"X-Key": Secret("a")}, "token_env": "TOKEN", "ca": "ca.pem", "max_reply_bytes": 5,
            "plain": {
                "path": {"path": "/a", "query": Secret("key=b")}, "format": "csv", "headers": {"H": Secret("c")},
                "fields": {"pin": Secret(1)}, "interval": 2.0,
            },
        },
    }  # fmt: skip
    assert "'a'" not in repr(kept), "a Secret does not show itself"


def test_unknown_code_is_given_texts_as_secrets_and_numbers_as_they_are() -> None:
    kept = without_secrets("python:a:f", {"k": 5, "password": "hush", "arguments": {"words": ["hush"]}})
    assert kept["options"] == {"k": 5, "password": Secret("hush"), "arguments": {"words": [Secret("hush")]}}
    assert without_secrets("reference:mondrian", {"strategy": "x"})["options"] == {"strategy": "x"}
    command = without_secrets("cmd:python f.py --key hush", {})
    assert (command["address"], command["whole_address"]) == ("cmd:python f.py", Secret("cmd:python f.py --key hush"))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://me:pw@host:1/a?b#c", "https://host:1/a"),
        ("grpc://me@host:1", "grpc://host:1"),
        ("cmd:python -m pkg.tool --key x", "cmd:python -m pkg.tool"),
        ("cmd:/usr/bin/tool x", "cmd:tool"),
        ("python:a.b:c", "python:a.b:c"),
        ("/relative?key=x", "/relative"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(address: str, shown: str) -> None:
    assert shown_address(address) == shown


@pytest.mark.parametrize("scheme", ["https", "grpcs"])
@pytest.mark.parametrize("option", ["ca", "cert", "key"])
@pytest.mark.parametrize("fault", ["absent", "folder", "empty", "unreadable", "no PEM"])
def test_a_local_file_that_cannot_be_used_is_the_auditors_mistake(
    scheme: str, option: str, fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "file.pem"
    if fault == "folder":
        path.mkdir()
    elif fault != "absent":
        path.write_text("" if fault == "empty" else "something else")
    if fault == "unreadable":
        path.chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("this user reads everything")
    options = {option: str(path)} if option == "ca" else {"cert": str(path), "key": str(path)}
    with pytest.raises(InputError, match=r"file\.pem|file.pem"):
        oracles.open(f"{scheme}://127.0.0.1:1", **options, attempts=1)
