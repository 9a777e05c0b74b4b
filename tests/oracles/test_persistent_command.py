"""A process that stays, asked over its standard input and output: real processes, good and bad."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.vocabulary.errors import InputError, OracleError, ReleaseError
from harness.vocabulary.oracle import Ask
from oracles.clients.local import Local
from oracles.clients.persistent_command import PersistentCommand
from oracles.wire.messages import Refused
from tests.oracles.filters import dataset, decades, noisy, travelled

ROOT = Path(__file__).parents[2]
KIT = """
import os, sys, time
sys.path.insert(0, {root!r})
from oracles.clients.local import Local
from oracles.serve import stdio
from oracles.serve.handler import Limits
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


def kit(function="decades", before="", limits=""):
    """A process that serves with the kit."""
    return [sys.executable, "-c", KIT.format(root=str(ROOT), function=function, before=before, limits=limits)]


def by_hand(after="", *, keeps=False, major=1):
    """A process that describes itself well, and then does as it is told."""
    return [sys.executable, "-c", BY_HAND.format(root=str(ROOT), after=after, keeps=keeps, major=major)]


@pytest.fixture
def framed():
    opened = []

    def make(command, **options):
        opened.append(PersistentCommand(command, **options))
        return opened[-1]

    yield make
    for oracle in opened:
        oracle.close()


def digests(oracle, ask):
    return [release.digest for release in oracle.answer(ask)]


def failure(oracle, ask=None):
    with pytest.raises(OracleError) as caught:
        list(oracle.answer(ask or Ask(dataset())))
    return caught.value


def pid_of(oracle):
    return oracle._all[0]._pipes.running.process.pid


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z" if Path("/proc").exists() else True


@pytest.mark.parametrize("function", [decades, noisy])
def test_a_process_answers_as_the_callable_does_here(framed, function):
    data = dataset()
    there, here = framed(kit(function.__name__)), Local(function)
    for ask in (Ask(data, seed=3), Ask(data, drop=(5,), draws=3, seed=3), Ask(data.without((5,)), draws=3, seed=3)):
        assert digests(there, ask) == digests(here, ask)
    assert there.card.seedable == here.card.seedable
    assert not there.card.in_process


def test_one_process_answers_many_questions(framed):
    there, data = framed(kit()), dataset()
    before = pid_of(there)
    for index in range(50):
        list(there.answer(Ask(data, drop=(index % 24,))))
    assert pid_of(there) == before
    body = len(there._all[0].pack(data))
    assert body < there.traffic[0] < body + 51 * 100  # the data went once
    assert there.traffic[1] > 50 * 100


def test_what_the_anonymizer_prints_does_no_harm(framed):
    before = "def chatty(frame):\n    print('on my way'); os.system('echo and so am I')\n    return decades(frame)"
    assert digests(framed(kit("chatty", before)), Ask(dataset())) == digests(Local(decades), Ask(dataset()))


def test_several_threads_share_several_processes(framed):
    before = "def slow(frame):\n    time.sleep(0.4)\n    return frame.assign(sex=str(os.getpid()))"
    there = framed(kit("slow", before), processes=2)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: next(iter(there.answer(Ask(dataset())))), range(4)))
    assert len({table.column("sex").palette[0] for table in answers}) == 2


def test_large_data_and_large_releases_travel_in_pieces(framed):
    before = "import pandas as pd\ndef wide(frame):\n    frame = pd.concat([frame] * 40)\n"
    before += "    return frame.assign(id=range(len(frame)))"
    data = dataset(20_000)
    there = framed(kit("wide", before, "request_bytes=10_000"))
    (table,) = there.answer(Ask(data))
    assert table.rows == 800_000
    assert table.column("id").codes[-1] == 799_999


def test_a_process_that_died_is_started_again(framed):
    there = framed(kit())
    first = digests(there, Ask(dataset(), drop=(1,)))
    dead = pid_of(there)
    os.kill(dead, signal.SIGKILL)
    time.sleep(0.1)
    assert digests(there, Ask(dataset(), drop=(1,))) == first
    assert pid_of(there) != dead


def test_a_process_that_dies_over_a_question_is_told_with_its_last_words(framed):
    before = "def dying(frame):\n    print('out of luck', file=sys.stderr, flush=True); os._exit(7)"
    there = framed(kit("dying", before))
    for _ in range(2):
        error = failure(there)
        assert "ended with status 7" in str(error)
        assert "out of luck" in str(error)
        assert error.retryable


def test_a_failure_of_the_anonymizer_leaves_the_process_alone(framed):
    there = framed(kit("failing", "def failing(frame):\n    raise KeyError('no such column')"))
    before = pid_of(there)
    error = failure(there)
    assert isinstance(error, Refused)
    assert "KeyError" in str(error)
    assert not error.retryable
    assert pid_of(there) == before


def test_a_process_that_hangs_is_ended_at_the_deadline_with_its_children(framed, tmp_path):
    note = tmp_path / "child"
    before = f"""
import subprocess
def hanging(frame):
    child = subprocess.Popen(["sleep", "60"])
    open({str(note)!r}, "w").write(str(child.pid))
    time.sleep(60)
"""
    there = framed(kit("hanging", before), timeout=3.0)
    leader = pid_of(there)
    began = time.monotonic()
    error = failure(there)
    assert 2.5 < time.monotonic() - began < 8
    assert "did not answer in time" in str(error)
    time.sleep(0.2)
    assert not alive(leader)
    assert not alive(int(note.read_text()))


def test_a_child_left_behind_by_a_dead_process_is_ended_too(framed, tmp_path):
    note = tmp_path / "child"
    after = f"""
import subprocess
child = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
open({str(note)!r}, "w").write(str(child.pid))
receive()
sys.exit(1)
"""
    assert "ended with status 1" in str(failure(framed(by_hand(after))))
    time.sleep(0.2)
    assert not alive(int(note.read_text()))


def test_a_process_that_ends_is_noticed_although_its_child_holds_its_streams(framed):
    there = framed(by_hand("import subprocess\nsubprocess.Popen(['sleep', '60'])\nreceive()\nsys.exit(3)"))
    began = time.monotonic()
    error = failure(there)
    assert time.monotonic() - began < 5
    assert "ended with status 3" in str(error)
    assert error.retryable


def test_a_process_that_never_introduces_itself_is_not_waited_for_as_long_as_an_answer(monkeypatch):
    monkeypatch.setattr("oracles.clients.persistent_command.STARTING", 0.3)
    began = time.monotonic()
    with pytest.raises(OracleError, match="did not answer in time"):
        PersistentCommand([sys.executable, "-c", "import time; time.sleep(60)"])
    assert time.monotonic() - began < 5


def test_what_it_says_on_standard_error_does_not_reach_the_terminal_raw(framed):
    error = failure(framed(by_hand("receive(); os.write(2, b'\\x1b[2Jgone\\nfor ever'); sys.exit(1)")))
    assert "\\x1b[2Jgone / for ever" in str(error)
    assert str(error).isprintable()


def test_one_byte_at_a_time_does_not_outlast_the_deadline(framed):
    there = framed(by_hand("receive()\nwhile True:\n    os.write(1, b'\\0'); time.sleep(0.1)"), timeout=3.0)
    there._all[0].timeout = 0.5
    began = time.monotonic()
    failure(there)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("after", "match"),
    [
        ("receive(); print('Hello, world', flush=True); time.sleep(9)", "is something else written to this stream"),
        ("receive(); os.write(1, b'\\0\\0\\0\\5\\xff\\xff\\xff\\xff\\xff'); time.sleep(9)", "no Reply message"),
        ("receive(); os.write(1, b'\\0\\0\\1\\0abc'); sys.exit(0)", "ended after 3 of a frame's 256 bytes"),
        ("receive(); send(kept=pb.PutReply())", "replied kept where part or done was expected"),
        ("receive(); send()", "replied something unknown"),
        ("receive(); send(part=pb.Part(more=True, table=pb.Table())); send(done=pb.Done())", "broke off in the middle"),
        ("receive(); send(part=pb.Part(table=pb.Table())); send(done=pb.Done(releases=7))", "it sent 7 releases"),
        (
            "receive(); os.write(1, messages.frame(pb.Reply(part=pb.Part(table=pb.Table()))) "
            "+ messages.frame(pb.Reply(done=pb.Done(releases=1))) + b'junk'); time.sleep(9)",
            "it was done, and sent something more",
        ),
        ("os.close(1); time.sleep(9)", "ended its output in the middle"),
    ],
)
def test_a_process_that_does_not_keep_to_the_protocol_is_told(framed, after, match):
    assert match in str(failure(framed(by_hand(after))))


def test_a_reply_beyond_its_limit_is_refused(framed):
    after = """
receive()
column = pb.Column(name="a", texts={}, codes=b"\\xff" * 900_000)
while True:
    send(part=pb.Part(more=True, table=pb.Table(rows=900_000, columns=[column])))
"""
    error = failure(framed(by_hand(after), max_reply_bytes=20_000_000))
    assert isinstance(error, ReleaseError)
    assert "more than 20000000 bytes" in str(error)


def test_a_process_has_no_more_memory_than_it_is_given(framed):
    before = "def greedy(frame):\n    return bytearray(4 * 2**30)"
    error = failure(framed(kit("greedy", before), memory=3 * 2**30))
    assert "MemoryError" in str(error)


def test_an_asker_who_leaves_early_leaves_no_rest_behind(framed):
    there = framed(kit("noisy"))
    before = pid_of(there)
    next(iter(there.answer(Ask(dataset()))))  # with the last release
    assert pid_of(there) == before
    answer = there.answer(Ask(dataset(), draws=3))
    next(answer)
    answer.close()
    assert digests(there, Ask(dataset(), seed=1)) == digests(Local(noisy), Ask(dataset(), seed=1))


def test_a_process_of_another_major_version_is_refused():
    with pytest.raises(Refused, match="speaks version 2"):
        PersistentCommand(by_hand("time.sleep(9)", major=2))


@pytest.mark.parametrize(
    ("command", "kind", "match"),
    [
        ([sys.executable, "-c", "import sys; sys.exit('no licence')"], OracleError, "no licence.*ended with status 1"),
        ([sys.executable, "-c", "print('a,b\\n1,2')"], OracleError, "begins with b'a,b"),
        (["no-such-program"], InputError, "no such program"),
        ("", InputError, "names no command"),
    ],
)
def test_a_command_that_does_not_serve_is_told_at_once(command, kind, match):
    with pytest.raises(kind, match=match):
        PersistentCommand(command)


def test_closing_ends_the_process_also_under_a_thread_that_waits(framed):
    there = framed(kit("slow", "def slow(frame):\n    time.sleep(30)"))
    pid = pid_of(there)
    threading.Timer(0.3, there.close).start()
    began = time.monotonic()
    failure(there)
    assert time.monotonic() - began < 5
    assert not alive(pid)
    assert "was closed" in str(failure(there))


def test_an_oracle_can_be_sent_to_another_process(framed):
    there = framed(kit())
    copy = travelled(there)
    assert digests(copy, Ask(dataset())) == digests(there, Ask(dataset()))
    copy.close()


def test_sigterm_lets_the_question_under_way_be_answered(framed):
    there = framed(kit("slow", "def slow(frame):\n    time.sleep(0.6)\n    return frame"))
    pid = pid_of(there)
    threading.Timer(0.2, os.kill, [pid, signal.SIGTERM]).start()
    assert digests(there, Ask(dataset())) == [dataset().digest]
    time.sleep(0.3)
    assert not alive(pid)
