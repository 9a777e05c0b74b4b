"""A process that stays, asked over its standard input and output: real processes, good and bad."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask
from oracles.clients import persistent_command
from oracles.clients.command import Running
from oracles.clients.local import Local
from oracles.clients.persistent_command import PersistentCommand
from oracles.wire.messages import Refused
from tests.oracles.asking import digests, failure, leave_after_one_release, tables
from tests.oracles.filters import dataset, decades, noisy, travelled
from tests.oracles.gate import Gate
from tests.waiting import PATIENCE, text_of, wait_for_end, wait_until

ROOT = Path(__file__).parents[2]
KIT = """
import os, sys, time
sys.path.insert(0, {root!r})
from oracles.clients.local import Local
from oracles.serve import stdio
from oracles.serve.limits import Limits
from tests.oracles.filters import decades, noisy
{before}
stdio.serve(Local({function}), limits=Limits({limits}))
"""
BY_HAND = """
import os, sys, time
sys.path.insert(0, {root!r})
from harness.vocabulary.oracle import Card
from oracles.wire import messages
from oracles.wire._pb import oracle_pb2 as pb
from oracles.wire.messages import Description
def send(**kind):
    os.write(1, messages.frame(pb.Reply(**kind)))
def receive():
    return messages.read_frame(sys.stdin.buffer.read, pb.Request, 2**30)
receive()
send(described=messages.pack_description(Description(Card("by hand", keeps_data={keeps}), protocol=({major}, 0))))
{after}
"""


Opening = Callable[..., PersistentCommand]


def kit(function: str = "decades", before: str = "", limits: str = "") -> list[str]:
    """A process that serves with the kit."""
    return [sys.executable, "-c", KIT.format(root=str(ROOT), function=function, before=before, limits=limits)]


def by_hand(after: str = "", *, keeps: bool = False, major: int = 1) -> list[str]:
    """A process that describes itself well, and then runs these lines."""
    return [sys.executable, "-c", BY_HAND.format(root=str(ROOT), after=after, keeps=keeps, major=major)]


@pytest.fixture
def framed() -> Iterator[Opening]:
    """Opens commands, and closes them after the test."""
    opened: list[PersistentCommand] = []

    def make(command: list[str], **options: Any) -> PersistentCommand:
        opened.append(PersistentCommand(command, **options))
        return opened[-1]

    yield make
    for oracle in opened:
        oracle.close()


def pid_of(oracle: PersistentCommand) -> int:
    pipes = oracle._all[0]._pipes
    assert pipes is not None
    return pipes.running.process.pid


def with_deadline(oracle: PersistentCommand, seconds: float) -> PersistentCommand:
    """Only answers are waited for so shortly: the process has had the time that it needed to start."""
    for talk in oracle._all:
        talk.timeout = seconds
    return oracle


@pytest.mark.parametrize("function", [decades, noisy])
def test_a_process_answers_as_the_callable_does_here(framed: Opening, function: Callable[..., pd.DataFrame]) -> None:
    data = dataset()
    there, here = framed(kit(function.__name__)), Local(function)
    for ask in (Ask(data, seed=3), Ask(data, drop=(5,), draws=3, seed=3), Ask(data.without((5,)), draws=3, seed=3)):
        assert digests(there, ask) == digests(here, ask)
    assert there.card.seedable == here.card.seedable
    assert not there.card.in_process


def test_one_process_answers_many_questions(framed: Opening) -> None:
    there, data = framed(kit()), dataset()
    before = pid_of(there)
    for index in range(50):
        list(there.answer(Ask(data, drop=(index % 24,))))
    assert pid_of(there) == before
    body = len(there._all[0].pack(data))
    assert body < there.traffic[0] < body + 51 * 100  # the data went once
    assert there.traffic[1] > 50 * 100


def test_what_the_anonymizer_prints_does_no_harm(framed: Opening) -> None:
    before = "def chatty(frame):\n    print('on my way'); os.system('echo and so am I')\n    return decades(frame)"
    assert digests(framed(kit("chatty", before)), Ask(dataset())) == digests(Local(decades), Ask(dataset()))


def test_several_threads_share_several_processes(framed: Opening, tmp_path: Path) -> None:
    before = f"""
def meeting(frame):
    open(os.path.join({str(tmp_path)!r}, str(os.getpid())), "w").close()
    while len(os.listdir({str(tmp_path)!r})) < 2:  # until another process is asked at the same time
        time.sleep(0.01)
    return frame.assign(sex=str(os.getpid()))
"""
    there = framed(kit("meeting", before), processes=2)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: tables(there, Ask(dataset())), range(4)))
    assert len({table.column("sex").palette[0] for (table,) in answers}) == 2


def test_large_data_and_large_releases_travel_in_pieces(framed: Opening) -> None:
    before = "import pandas as pd\ndef wide(frame):\n    frame = pd.concat([frame] * 40)\n"
    before += "    return frame.assign(id=range(len(frame)))"
    data = dataset(20_000)
    there = framed(kit("wide", before, "request_bytes=10_000"), max_rows=10**6)
    (table,) = tables(there, Ask(data))
    assert table.rows == 800_000
    assert table.column("id").codes[-1] == 799_999


def test_a_process_that_died_is_started_again(framed: Opening) -> None:
    there = framed(kit())
    first = digests(there, Ask(dataset(), drop=(1,)))
    dead = pid_of(there)
    os.kill(dead, signal.SIGKILL)
    wait_for_end(dead)
    assert digests(there, Ask(dataset(), drop=(1,))) == first
    assert pid_of(there) != dead


def test_a_process_that_dies_over_a_question_is_told_with_its_last_words(framed: Opening) -> None:
    before = "def dying(frame):\n    print('out of luck', file=sys.stderr, flush=True); os._exit(7)"
    there = framed(kit("dying", before))
    for _ in range(2):
        error = failure(there)
        assert "ended with status 7" in str(error)
        assert "out of luck" in str(error)
        assert error.retryable


def test_a_failure_of_the_anonymizer_leaves_the_process_alone(framed: Opening) -> None:
    there = framed(kit("failing", "def failing(frame):\n    raise KeyError('no such column')"))
    before = pid_of(there)
    error = failure(there)
    assert isinstance(error, Refused)
    assert "KeyError" in str(error)
    assert not error.retryable
    assert pid_of(there) == before


def test_a_process_that_hangs_is_ended_at_the_deadline_with_its_children(framed: Opening, tmp_path: Path) -> None:
    note = tmp_path / "child"
    before = f"""
import subprocess
child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
open({str(note)!r}, "w").write(str(child.pid))
def hanging(frame):
    time.sleep(600)
"""
    there = framed(kit("hanging", before))
    leader = pid_of(there)
    assert "did not answer in time" in str(failure(with_deadline(there, 0.5)))
    wait_for_end(leader)
    wait_for_end(int(text_of(note)))


def test_a_child_left_behind_by_a_dead_process_is_ended_too(framed: Opening, tmp_path: Path) -> None:
    note = tmp_path / "child"
    after = f"""
import subprocess
child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
open({str(note)!r}, "w").write(str(child.pid))
receive()
sys.exit(1)
"""
    assert "ended with status 1" in str(failure(framed(by_hand(after))))
    wait_for_end(int(text_of(note)))


def test_a_process_that_ends_is_noticed_although_its_child_holds_its_streams(framed: Opening) -> None:
    there = framed(by_hand("import subprocess\nsubprocess.Popen(['sleep', '600'])\nreceive()\nsys.exit(3)"))
    error = failure(there)
    assert "ended with status 3" in str(error)
    assert error.retryable


def test_a_process_that_never_introduces_itself_is_not_waited_for_as_long_as_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("oracles.clients.persistent_command.STARTING", 0.3)
    began = time.monotonic()
    with pytest.raises(OracleError, match="did not answer in time"):
        PersistentCommand([sys.executable, "-c", "import time; time.sleep(600)"], timeout=300.0)
    assert time.monotonic() - began < 200


def test_what_it_says_on_standard_error_does_not_reach_the_terminal_raw(framed: Opening) -> None:
    error = failure(framed(by_hand("receive(); os.write(2, b'\\x1b[2Jgone\\nfor ever'); sys.exit(1)")))
    assert "\\x1b[2Jgone / for ever" in str(error)
    assert str(error).isprintable()


def test_one_byte_at_a_time_does_not_outlast_the_deadline(framed: Opening) -> None:
    announced = "receive(); os.write(1, (10_000).to_bytes(4, 'big'))"  # a frame of so many bytes
    there = framed(by_hand(f"{announced}\nfor _ in range(600):\n    os.write(1, b'x'); time.sleep(0.1)"))
    assert "did not answer in time" in str(failure(with_deadline(there, 0.5)))


@pytest.mark.parametrize(
    ("after", "match"),
    [
        ("receive(); print('Hello, world', flush=True); time.sleep(600)", "is something else written to this stream"),
        ("receive(); os.write(1, b'\\0\\0\\0\\5\\xff\\xff\\xff\\xff\\xff'); time.sleep(600)", "no Reply message"),
        ("receive(); os.write(1, b'\\0\\0\\1\\0abc'); sys.exit(0)", "ended after 3 of a frame's 256 bytes"),
        ("receive(); send(kept=pb.PutReply())", "replied kept where part or done was expected"),
        ("receive(); send()", "replied something unknown"),
        ("receive(); send(part=pb.Part(more=True, table=pb.Table())); send(done=pb.Done())", "broke off in the middle"),
        ("receive(); send(part=pb.Part(table=pb.Table())); send(done=pb.Done(releases=7))", "it sent 7 releases"),
        (
            "receive(); os.write(1, messages.frame(pb.Reply(part=pb.Part(table=pb.Table()))) "
            "+ messages.frame(pb.Reply(done=pb.Done(releases=1))) + b'junk'); time.sleep(600)",
            "it was done, and sent something more",
        ),
        ("os.close(1); time.sleep(600)", "ended its output in the middle"),
    ],
)
def test_a_process_that_does_not_keep_to_the_protocol_is_told(framed: Opening, after: str, match: str) -> None:
    assert match in str(failure(framed(by_hand(after))))


def test_a_reply_beyond_its_limit_is_refused(framed: Opening) -> None:
    after = """
receive()
column = pb.Column(name="a", texts={}, codes=b"\\xff" * 900_000)
while True:
    send(part=pb.Part(more=True, table=pb.Table(rows=900_000, columns=[column])))
"""
    error = failure(framed(by_hand(after), max_reply_bytes=20_000_000))
    assert isinstance(error, ReleaseError)
    assert "more than 20000000 bytes" in str(error)


def test_a_process_has_no_more_memory_than_it_is_given(framed: Opening) -> None:
    before = "def greedy(frame):\n    return bytearray(4 * 2**30)"
    error = failure(framed(kit("greedy", before), memory=3 * 2**30))
    assert "MemoryError" in str(error)


def test_an_asker_who_leaves_early_leaves_no_rest_behind(framed: Opening) -> None:
    there = framed(kit("noisy"))
    before = pid_of(there)
    next(iter(there.answer(Ask(dataset()))))  # with the last release
    assert pid_of(there) == before
    leave_after_one_release(there, Ask(dataset(), draws=3))
    assert digests(there, Ask(dataset(), seed=1)) == digests(Local(noisy), Ask(dataset(), seed=1))


def test_a_process_of_another_major_version_is_refused() -> None:
    with pytest.raises(Refused, match="speaks version 2"):
        PersistentCommand(by_hand("time.sleep(600)", major=2))


@pytest.mark.parametrize(
    ("command", "kind", "match"),
    [
        ([sys.executable, "-c", "import sys; sys.exit('no licence')"], OracleError, "no licence.*ended with status 1"),
        ([sys.executable, "-c", "print('a,b\\n1,2')"], OracleError, "begins with b'a,b"),
        (["no-such-program"], InputError, "no such program"),
        ("", InputError, "names no command"),
    ],
)
def test_a_command_that_does_not_serve_is_told_at_once(
    command: str | list[str], kind: type[Exception], match: str
) -> None:
    with pytest.raises(kind, match=match):
        PersistentCommand(command)


def test_closing_ends_the_process_also_under_a_thread_that_waits(framed: Opening, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    there = framed(kit("held", gate.source))
    pid = pid_of(there)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(failure, there)
        gate.wait_for_question()
        there.close()
        assert waiting.result().retryable
    wait_for_end(pid)
    assert "was closed" in str(failure(there))


def test_closing_while_a_process_is_being_started_leaves_none_behind(
    framed: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = framed(kit())
    pid = pid_of(there)
    os.kill(pid, signal.SIGKILL)  # so that the next question starts another
    wait_for_end(pid)
    starting, may_start, started = threading.Event(), threading.Event(), list[Running]()

    def start(*arguments: Any) -> Running:
        starting.set()
        assert may_start.wait(PATIENCE)
        started.append(Running(*arguments))
        return started[0]

    monkeypatch.setattr(persistent_command, "Running", start)
    with ThreadPoolExecutor(2) as pool:
        asking = pool.submit(lambda: list(there.answer(Ask(dataset()))))
        assert starting.wait(PATIENCE)
        closing = pool.submit(there.close)
        wait_until(lambda: there._closed)
        with contextlib.suppress(TimeoutError):
            closing.result(0.2)  # it waits for the process that is being started; one that did not would be done
        may_start.set()
        closing.result()
        assert isinstance(asking.exception(), OracleError)
    wait_for_end(started[0].process.pid)


def test_an_oracle_can_be_sent_to_another_process(framed: Opening) -> None:
    there = framed(kit())
    copy = travelled(there)
    assert digests(copy, Ask(dataset())) == digests(there, Ask(dataset()))
    copy.close()


def test_sigterm_lets_the_question_under_way_be_answered(framed: Opening, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    there = framed(kit("held", gate.source))
    pid = pid_of(there)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(digests, there, Ask(dataset()))
        gate.wait_for_question()
        os.kill(pid, signal.SIGTERM)
        gate.open()
        assert answer.result() == [dataset().digest]
    wait_for_end(pid)
