"""What a newcomer types wrong: each ends in one sentence and exit code 2 or 3, never in a traceback."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import oracles
from harness.cli import main
from harness.vocabulary.errors import InputError

SECTIONS = {
    "data": 'path = "people.csv"\nsensitive = "ill"',
    "data.quasi": 'age = "number"\nzip = "category"\nsex = "category"',
    "oracle": 'address = "reference:identity"',
    "oracle.options": "",
    "claim": "epsilon = 0.1",
    "inference": "",
    "run": "",
}
PEOPLE = "age,zip,sex,ill\n" + "".join(f"{20 + i % 7},{1000 + i % 3},{'MF'[i % 2]},{'ab'[i % 2]}\n" for i in range(12))
DATA = SECTIONS["data"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path


def error_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code and the sentence; beside it only how to learn more may be said, and nothing on standard output."""
    code = main(words)
    out, err = capsys.readouterr()
    sentence, explained = err.splitlines()
    kind, _, message = sentence.removeprefix("harness: error ").partition(": ")
    assert explained == f"harness: what {kind} means: harness explain {kind}"
    assert out == ""
    return code, message


def audit_with(**changed: str) -> str:
    return "\n".join(f"[{name}]\n{changed.get(name, text)}" for name, text in SECTIONS.items()) + "\n"


@pytest.mark.parametrize(
    ("section", "text", "sentence"),
    [
        ("data", 'path = "nope.csv"\nsensitive = "ill"', "nope.csv: cannot be read: No such file or directory"),
        ("data", 'path = "."\nsensitive = "ill"', ".: cannot be read: Is a directory"),
        ("data", 'path = ""\nsensitive = "ill"', "[data] path is an empty text"),
        ("data", 'path = "a.json"\nsensitive = "ill"', "a.json: .json files are not read; save the table as CSV"),
        ("data", 'path = "people.csv"\nsensitive = "Ill"', "the header has no column 'Ill'; did you mean 'ill'?"),
        ("data", 'path = "people.csv"\nsensitive = 3', "[data] sensitive must be a text, a table with a name"),
        ("data", 'path = "a\\u0000.csv"\nsensitive = "ill"', "is no name of a file: it holds a null character"),
        ("data", 'path = "people.csv"\nsensitive = {}', "no sensitive column is declared; name at least one"),
        ("data", 'path = "people.csv"\nsensitive = { ill = 3 }', "column 'ill': expected a kind such as"),
        (
            "data",
            'path = "people.csv"\nsensitive = { ill = { kind = "number", bins = 2 } }',
            "expected a number, found",
        ),
        ("data.quasi", 'age = { kind = "number", bins = 10000000000 }', "bins must be a whole number from 1 to 10,000"),
        ("data", 'path = "people.csv"\nsensitive = "age"', "column 'age' is declared twice; a column is quasi or"),
        ("data", 'path = "people.csv"\nsensitive = []', "no sensitive column is declared; name at least one"),
        ("data", f'{DATA}\nperson = "pid"', "the header has no column 'pid'; known: age, ill, sex, zip"),
        ("data", f'{DATA}\nperson = "ill"', "person names 'ill', a sensitive column; expected one that says"),
        ("data", f'{DATA}\nweight = "ill"', "weight names 'ill', a column of the data; expected one that releases"),
        ("data", f'{DATA}\nmissing = "ignore"', "missing = 'ignore' is not known; known: drop, error, keep"),
        ("data", f'{DATA}\njoint = "yes"', "[data] joint must be true or false, not 'yes'"),
        ("data.quasi", "", "no quasi-identifier is declared; name at least one column and its kind under quasi"),
        ("data.quasi", 'age = "int"', "column 'age': kind 'int' is not known; known: category, date, number"),
        ("data.quasi", 'age = ["number"]', "column 'age': expected a kind such as \"number\" or a table"),
        ("data.quasi", 'age = { kind = "number", bin = 3 }', "column 'age': unknown key 'bin'; did you mean 'bins'?"),
        ("data.quasi", 'sex = { kind = "category", hierarchy = "." }', "the hierarchy cannot be read: Is a directory"),
        ("data.quasi", 'sex = { kind = "ordered", order = ["M"] }', "raw value 'F' is not in its declared order"),
        ("data.quasi", 'age = "date"', "column 'age': line 2: '20': not a date; correct it, or declare a pattern"),
        ("data.quasi", 'age = { kind = "date", notation = "%Q" }', "notation '%Q' is no pattern for dates"),
        ("oracle", 'address = ""', "[oracle] address is an empty text"),
        ("oracle", 'address = "f.py"', "has no known scheme; expected one such as python:module:function or https"),
        ("oracle", 'address = "python:f"', "python:f does not name a callable; expected python:package.module:name"),
        ("oracle", 'address = "python:./f.py:f"', "expected python:package.module:name (a module's name, without"),
        ("oracle", 'address = "htp://host"', "has no known scheme; did you mean 'http'?"),
        ("oracle", 'address = "http://host:99999"', "is no address of a web service; expected https://host/path"),
        ("oracle", 'address = "grpc://host"', "is no gRPC address; expected grpc://host:port or grpcs://host:port"),
        ("oracle", 'address = "cmd:"', 'cmd: names no command; expected one as in "cmd:python anonymize.py"'),
        ("oracle", 'address = "cmd:no-such-program"', "cmd:no-such-program: no such program; give its path"),
        ("oracle", 'address = "reference:mondrain"', "no reference oracle is called 'mondrain'; did you mean 'mondr"),
        ("oracle.options", "k = 3", "reference:identity: the options do not fit: got an unexpected keyword argument"),
        ("claim", "epsilon = 0", "epsilon must be a positive number, not 0"),
        ("claim", "epsilon = nan", "epsilon must be a positive number, not nan"),
        ("claim", "eps = 0.1", "[claim] unknown key 'eps'; did you mean 'epsilon'?"),
        ("claim", "epsilon = 0.1\nconfidence = 95", "confidence must be a probability from 0.5 to below 1, not 95"),
        ("claim", "epsilon = 0.1\nprivacy = { eps = 1 }", "privacy: unknown key 'eps'; did you mean 'epsilon'?"),
        ("inference", 'encoder = "tf-xx"', "encoding 'tf-xx' is not known; did you mean 'tf-tf'?"),
        ("inference", "encoder = {}", 'the encoding has no name; give one, such as name = "tf-tf"'),
        ("inference", 'model = "bayes"', "model 'bayes' is not known; known: bernoulli, categorical"),
        ("inference", 'model = { name = "tree", depth = 3 }', "unknown parameter 'depth'; did you mean 'max_depth'?"),
        ("inference", 'model = "sklearn:nothing.At"', "cannot be loaded: No module named 'nothing'; expected sklearn:"),
        ("inference", 'prior = "flat"', "prior 'flat' is not known; known: fitted"),
        ("inference", 'distance = "l3"', "no distance is called 'l3'; known: emd, half"),
        ("inference", 'distance = "emd"', 'distance "emd" needs a ground distance between the values'),
        ("inference", 'panel = "big"', "panel 'big' is not known; known: standard"),
        ("run", "records = 0", 'records must be "all" or a whole number from 1 to 12, not 0'),
        ("run", "record = 3", "[run] unknown key 'record'; did you mean 'records'?"),
        ("run", "draws = 0", "draws must be a whole number of at least 1, not 0"),
        ("run", "seed = -1", "seed must be a whole number from 0 to 2**63 - 1, not -1"),
        ("run", 'workers = "many"', 'workers must be a whole number of at least 1, or an address such as "local:4"'),
        ("run", "records = 3\nbudget = 5", "give either a budget or a number of records"),
        ("run", "budget = 1", "a budget of 1 calls buys no record; this audit needs at least"),
    ],
)
def test_a_wrong_line_of_the_file(section: str, text: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("audit.toml").write_text(audit_with(**{section: text}))
    code, error = error_of(["run", "audit.toml", "--out", "out", "--quiet"], capsys)
    assert code == 2
    assert sentence in error


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "audit.toml: [data] path is missing; it must be a text"),
        ("[data]\npath = 'a'\npath = 'b'\n", "audit.toml: not a TOML file: Cannot overwrite a value (at line 3"),
        ("data = [1]\n", "audit.toml: data must be a section [data], not [1]"),
        ("a = " + "[" * 5000, "audit.toml: not a TOML file: its lists or tables lie too deep in one another"),
        ("[claim]\nepsilon = " + "9" * 5000, "audit.toml: not a TOML file: Exceeds the limit"),
        ("data:\n  path: x\n", "audit.toml: not a TOML file: Expected '=' after a key"),
        (
            audit_with() + "[adversary]\nmodel = 'tree'\n",
            "adversary must be a list of tables, each headed [[adversary]]",
        ),
        (audit_with() + "[[adversary]]\nmodle = 'tree'\n", "[[adversary]] unknown key 'modle'; did you mean 'model'?"),
    ],
)
def test_a_wrong_file(text: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("audit.toml").write_text(text)
    code, error = error_of(["run", "audit.toml"], capsys)
    assert code == 2
    assert sentence in error


@pytest.mark.parametrize(
    ("option", "sentence"),
    [("headers", "headers must be a table of texts, not a int"), ("plain", "plain must be")],
)
def test_a_wrong_option_of_a_server(option: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        oracles.open("http://127.0.0.1:9", **{option: 1})


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (PEOPLE.encode("utf-16-le"), "this is UTF-16 text, or no text at all; save it as CSV in UTF-8"),
        (PEOPLE.replace("age", "\u0430ge").encode(), "'\u0430' is CYRILLIC SMALL LETTER A (U+0430)"),
        (PEOPLE.replace("age,zip", "age,age").encode(), "more than one column 'age'"),
    ],
)
def test_a_wrong_table(content: bytes, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("people.csv").write_bytes(content)
    Path("audit.toml").write_text(audit_with())
    code, error = error_of(["plan", "audit.toml"], capsys)
    assert code == 2
    assert sentence in error


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("run nope.toml", "nope.toml: cannot be read: No such file or directory"),
        ("run .", ".: cannot be read: Is a directory"),
        ("run audit.toml --out people.csv", "people.csv: not a folder; choose another --out"),
        ("run audit.toml --workers two", "workers must be a whole number of at least 1"),
        ("plan nope.toml", "nope.toml: cannot be read: No such file or directory"),
        ("verify nowhere", "nowhere/journal.jsonl: cannot be read: No such file or directory"),
        ("report people.csv", "people.csv/report.json: cannot be read: Not a directory"),
        ("demo --people 3", "--people must be at least 20"),
        ("init people.csv -o new.toml --sensitive nope", "the data has no column 'nope'; known: age, ill, sex, zip"),
        ("init people.csv -o .", ". exists; give --force to overwrite it, or another name with -o"),
        ("init people.csv -o new.toml --oracle cmd:cat --option k", "--option 'k': expected NAME=VALUE, such as k=5"),
        ("serve reference:identity --http localhost", "'localhost' is no address to listen on; expected HOST:PORT"),
        (
            "serve reference:identity --http 0.0.0.0:0",
            "needs a token: set an environment variable to it and name",
        ),
        ("serve reference:identity --http 127.0.0.1:BUSY", "cannot listen on 127.0.0.1:BUSY: Address already in use"),
        ("serve reference:identity --http 127.0.0.1:0 --option k", "--option 'k': expected NAME=VALUE, such as k=5"),
        ("serve reference:identity --http 127.0.0.1:0 --cert a --key b", "--cert a: the certificate or its key cannot"),
        (
            "serve reference:identity --grpc 127.0.0.1:0 --cert a --key b",
            "a: the certificate or its key cannot be read",
        ),
        ("serve reference:identity --grpc 127.0.0.1:0 --cert a", "--cert needs --key, the key of that certificate"),
    ],
)
def test_wrong_words(words: str, sentence: str, busy_port: int, capsys: pytest.CaptureFixture[str]) -> None:
    Path("audit.toml").write_text(audit_with())
    code, error = error_of(words.replace("BUSY", str(busy_port)).split(), capsys)
    assert code == 2
    assert sentence.replace("BUSY", str(busy_port)) in error


@pytest.mark.parametrize(
    ("address", "options", "sentence"),
    [
        ("cmd:false", "", "oracle 'cmd:false', asked for f(D): the command ended with status 1"),
        ("cmd:true", "", "the command wrote nothing on standard output; expected a CSV table with a header"),
        ("cmd:echo hi", "", "the reply is not the CSV of a release: expected a header line with 'age', 'zip'"),
        ("cmd:sleep 60", "timeout = 0.2", "the command did not end within 0.2 s"),
        ("http://127.0.0.1:9", "attempts = 1", "http://127.0.0.1:9: Connection refused"),
        ("grpc://127.0.0.1:9", "attempts = 1", "Connection refused"),
    ],
)
def test_an_anonymizer_that_does_not_answer(
    address: str, options: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("audit.toml").write_text(audit_with(oracle=f'address = "{address}"', **{"oracle.options": options}))
    code, error = error_of(["run", "audit.toml", "--quiet"], capsys)
    assert code == 3
    assert sentence in error
