"""Commands as oracles: what goes in, what comes out, and that nothing is left running."""

import os
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import oracles
from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.table import Table
from harness.vocabulary.values.atoms import cell_text
from oracles.addresses import program_name
from oracles.clients.command import Command
from tests.oracles.asking import failure, tables
from tests.oracles.filters import dataset, travelled
from tests.waiting import text_of, wait_for_end

ECHO = "import sys; sys.stdout.write(sys.stdin.read())"


def python(source: str, *words: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", source, *words]


def release(command: Oracle, draws: int = 1, seed: int = 0) -> list[Table]:
    return tables(command, Ask(dataset(), draws=draws, seed=seed))


def test_a_filter_that_echoes_gives_every_cell_back() -> None:
    (released,) = release(Command(python(ECHO)))
    table = dataset().table
    assert released.names == table.names
    for name in table.names:
        sent = [cell_text(cell) for cell in table.column(name).values().tolist()]
        assert released.column(name).values().tolist() == sent


def test_an_address_is_split_into_words_and_never_seen_by_a_shell(tmp_path: Path) -> None:
    source = "import sys; print('illness'); print(sys.argv[1])"
    command = Command(f"{shlex.quote(sys.executable)} -c {shlex.quote(source)} '$(touch {tmp_path}/x); *'")
    (released,) = release(command)
    assert released.column("illness").values().tolist() == [f"$(touch {tmp_path}/x); *"]
    assert not (tmp_path / "x").exists()


def test_files_in_a_private_folder_replace_the_streams_and_are_gone_afterwards(tmp_path: Path) -> None:
    source = (
        "import os, shutil, stat, sys; shutil.copy(sys.argv[1], sys.argv[2]); print('chatter is fine here');"
        "open(sys.argv[3], 'w').write(sys.argv[1] + ' ' + oct(os.stat(os.path.dirname(sys.argv[1])).st_mode))"
    )
    (released,) = release(Command(python(source, "{input}", "{output}", str(tmp_path / "seen"))))
    assert released.rows == 24
    path, mode = (tmp_path / "seen").read_text().split()
    assert mode.endswith("700")
    assert not os.path.exists(path)


def test_each_draw_gets_the_seed_it_would_have_alone() -> None:
    command = Command(python("import sys; print('age'); print(sys.argv[1])", "--seed={seed}"))
    seeds = [table.column("age").values()[0] for table in release(command, draws=3, seed=2**63 - 2)]
    assert seeds == [f"--seed={2**63 - 2}", f"--seed={2**63 - 1}", "--seed=0"]


def test_a_command_is_seedable_exactly_if_it_mentions_the_seed() -> None:
    with_seed, without = Command(["cat", "{seed}"]).card, Command(["cat"]).card
    assert (with_seed.seedable, with_seed.randomized) == (True, True)
    assert (without.seedable, without.randomized) == (False, None)
    assert Command(["cat"], randomized=False).card.randomized is False
    assert not without.in_process


def test_a_command_that_fails_is_quoted_with_its_last_words() -> None:
    source = "import sys; sys.stderr.write('a\\n' * 9000 + 'loading\\n\\x1b[31mno such column: ague\\n'); sys.exit(3)"
    with pytest.raises(OracleError, match=r"status 3 .*loading / \\x1b\[31mno such column: ague") as caught:
        release(Command(python(source)))
    assert len(str(caught.value)) < 500


def test_a_command_that_is_killed_says_by_which_signal() -> None:
    with pytest.raises(OracleError, match="signal 9"):
        release(Command(python("import os; os.kill(os.getpid(), 9)")))


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("pass", "wrote nothing on standard output"),
        ("print('\\n\\n')", "wrote nothing on standard output"),
        ("print('Loading model…'); print('age,sex,weight kg,illness'); print('1,2,3,4')", "header is on line 2"),
        ("print('<!DOCTYPE html><html>')", "web page"),
        ("print('28,M')", "expected a header line with 'age', 'sex'"),
        ("print('age,sex\\n1,2\\n1,2,3')", "row 1 of the reply has 3 cells, its header has 2"),
        ("print('age,age\\n1,2')", "twice"),
        ("import sys; sys.stdout.buffer.write(b'age,sex\\n\\xff,1\\n')", "not UTF-8"),
    ],
)
def test_a_reply_that_is_no_csv_is_explained(source: str, complaint: str) -> None:
    with pytest.raises(ReleaseError, match=complaint):
        release(Command([sys.executable, "-X", "utf8", "-c", source]))


def test_a_missing_output_file_is_explained() -> None:
    with pytest.raises(ReleaseError, match="did not write its file"):
        release(Command(python("pass", "{output}")))


def test_a_reply_without_a_header_is_read_with_the_names_given() -> None:
    command = Command(python("print('28|M||flu')"), columns=["age", "sex", "weight kg", "illness"])
    (released,) = release(command)
    assert [cells.values().tolist() for cells in released.columns] == [["28"], ["M"], [None], ["flu"]]


def test_a_hanging_command_ends_with_everything_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    source = 'sleep 600 & echo $! > "$0"; sleep 600'  # a shell needs a thousandth of the time that it gets to start
    with pytest.raises(OracleError, match="did not end within 2 s"):
        release(Command(["sh", "-c", source, str(note)], timeout=2.0))
    wait_for_end(int(text_of(note)))


def test_a_child_left_behind_neither_holds_the_answer_up_nor_lives_on(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    source = (
        "import subprocess, sys; child = subprocess.Popen(['sleep', '600']);"
        "open(sys.argv[1], 'w').write(str(child.pid)); sys.stdout.write(sys.stdin.read())"
    )
    (released,) = release(Command(python(source, str(note)), timeout=300))
    assert released.rows == 24
    wait_for_end(int(text_of(note)))


@pytest.mark.parametrize("where", ["stdout", "file"])
def test_too_much_output_ends_the_command(where: str) -> None:
    target = "sys.stdout" if where == "stdout" else "open(sys.argv[1], 'w')"
    endless = f"import sys; out = {target}\nwhile 1: out.write('x' * 65536)"
    words = ["{output}"] if where == "file" else []
    with pytest.raises(ReleaseError, match="more than 1000000 bytes"):
        release(Command(python(endless, *words), max_reply_bytes=1_000_000))


def test_memory_is_bounded() -> None:
    source = "x = bytearray(2_000_000_000); print('age')"
    with pytest.raises(OracleError, match="MemoryError"):
        release(Command(python(source), memory=500_000_000))


def test_a_command_that_does_not_read_its_input_is_no_problem() -> None:
    data = dataset(20_000)
    (released,) = tables(Command(python("print('age'); print(1)")), Ask(data))
    assert released.rows == 1


def test_the_environment_is_added_to() -> None:
    source = "import os; print('age'); print(os.environ['MARK'] + str('PATH' in os.environ))"
    (released,) = release(Command(python(source), env={"MARK": "7"}))
    assert released.column("age").values()[0] == "7True"


def test_closing_ends_what_other_threads_wait_for(tmp_path: Path) -> None:
    note = tmp_path / "begun"
    source = "import sys, time; open(sys.argv[1], 'w').write('yes'); time.sleep(600)"
    command = Command(python(source, str(note)), timeout=600)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(failure, command)
        text_of(note)
        command.close()
        assert "signal 9" in str(waiting.result())


def test_a_command_travels_by_recipe() -> None:
    command = travelled(Command(python(ECHO), name="echo", timeout=77.0))
    assert isinstance(command, Command)
    assert (command.card.name, command.timeout) == ("echo", 77.0)
    assert release(command)[0].rows == 24


@pytest.mark.parametrize(
    ("command", "complaint"),
    [("", "names no command"), ("'", "cannot be split"), ("no-such-program-x", "no such program")],
)
def test_a_command_that_cannot_be_is_refused_at_birth(command: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Command(command)


def test_options_that_do_not_fit_are_refused_at_birth() -> None:
    with pytest.raises(InputError, match="delimiter must be one character"):
        Command("cat", delimiter="::")
    with pytest.raises(InputError, match="timeout must be a positive number"):
        oracles.open("cmd:cat", timeout="5")
    with pytest.raises(InputError, match="did you mean 'delimiter'"):
        oracles.open("cmd:cat", delimeter=";")


def test_the_words_may_stand_in_the_options() -> None:
    (released,) = release(oracles.open("cmd:", command=python(ECHO)))
    assert released.rows == 24


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("python a.py", "python a.py"),
        ("/usr/bin/python -u tools/b.py --key=secret", "python b.py"),
        ("python -m vendor.tool --token secret", "python -m vendor.tool"),
        ("java -Xmx1g -jar arx.jar secret", "java arx.jar"),
        ("./anonymize --password secret", "anonymize"),
        ("curl -H 'Authorization: secret' https://vendor.example/api?key=secret", "curl"),
        ("python -c 'print(1)'", "python"),
    ],
)
def test_a_command_is_named_by_its_program_and_script_and_by_nothing_secret(words: str, name: str) -> None:
    assert program_name(shlex.split(words)) == name
