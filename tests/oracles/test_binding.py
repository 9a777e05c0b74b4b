"""How a server ends, and where it may listen without a token."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.vocabulary.errors import InputError
from oracles.serve.binding import host_and_port, is_loopback, require_token
from tests.waiting import first_line, started

ROOT = Path(__file__).parents[2]
SERVER = """
import signal, threading, time
from oracles.serve.binding import until_stopped

class Server:
    address = "nowhere"

    def stop(self, grace):
        print("drained", grace, flush=True)

def say_when_signals_are_handled():
    while signal.getsignal(signal.SIGHUP) is signal.SIG_DFL or signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        time.sleep(0.01)
    print("ready", flush=True)

threading.Thread(target=say_when_signals_are_handled).start()
until_stopped(Server(), 7.0)
"""


@contextmanager
def serving(ignored: str) -> Iterator[subprocess.Popen[str]]:
    """A server whose shell has this signal ignored, as it does with INT for what runs in the background."""
    command = ["sh", "-c", f'trap \'\' {ignored}; exec "$0" -c "$1"', sys.executable, SERVER]
    with started(command, cwd=ROOT) as server:
        assert first_line(server) == "ready"
        yield server


@pytest.mark.parametrize("ignored", ["INT", "USR1"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_server_that_is_told_to_stop_drains_also_in_the_background(number: signal.Signals, ignored: str) -> None:
    with serving(ignored) as server:
        server.send_signal(number)
        assert server.communicate(timeout=120)[0] == "drained 7.0\n"
        assert server.returncode == 0


def test_a_server_under_nohup_outlives_its_terminal() -> None:
    with serving("HUP") as server:
        ignored = Path(f"/proc/{server.pid}/status").read_text().split("SigIgn:")[1].split()[0]
        assert int(ignored, 16) & 1 << signal.SIGHUP - 1
        server.send_signal(signal.SIGTERM)
        assert server.communicate(timeout=120)[0] == "drained 7.0\n"


def test_signals_that_come_together_are_one() -> None:
    with serving("USR1") as server:
        for number in [signal.SIGTERM, signal.SIGINT] * 20:
            server.send_signal(number)
        assert server.communicate(timeout=120)[0] == "drained 7.0\n"


@pytest.mark.parametrize(
    ("address", "expected"),
    [("127.0.0.1:80", ("127.0.0.1", 80)), ("[::1]:0", ("::1", 0)), ("localhost:65535", ("localhost", 65535))],
)
def test_an_address_is_a_host_and_a_port(address: str, expected: tuple[str, int]) -> None:
    assert host_and_port(address) == expected


@pytest.mark.parametrize("address", ["", "80", ":80", "host", "host:", "host:x", "host:65536", "host:-1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="expected HOST:PORT"):
        host_and_port(address)


def test_only_this_machine_needs_no_token() -> None:
    for host in ("localhost", "127.0.0.1", "127.9.9.9", "::1"):
        assert is_loopback(host)
        require_token(host, None)
    for host in ("0.0.0.0", "::", "192.0.2.1", "vendor.example"):
        assert not is_loopback(host)
        with pytest.raises(InputError, match="needs a token"):
            require_token(host, None)
        require_token(host, "sesame")
    with pytest.raises(InputError, match="the token is empty"):
        require_token("localhost", "")
