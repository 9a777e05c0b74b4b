"""Where a server listens and how it ends: addresses, the token they need, signals. Knows no transport."""

from __future__ import annotations

import ipaddress
import signal
import socket
from contextlib import suppress
from typing import Protocol

from harness.vocabulary.errors import InputError


class Running(Protocol):
    """A server under way."""

    @property
    def address(self) -> str: ...

    def stop(self, grace: float = ...) -> None:
        """Take no more questions, give those under way `grace` seconds, end."""


def host_and_port(address: str) -> tuple[str, int]:
    """Host and port of an address such as `127.0.0.1:8080` or `[::1]:0`; port 0 is any that is free."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"{address!r} is no address to listen on; expected HOST:PORT as in 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def require_token(host: str, token: str | None) -> None:
    """Raises an InputError if a server that other machines can reach has no token."""
    if token == "":
        raise InputError("the token is empty; set it to something that cannot be guessed")
    if token is None and not is_loopback(host):
        raise InputError(
            f"listening on {host} needs a token: set an environment variable to it and name that with --token-env "
            "NAME (in Python: token=…), or listen on 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def until_stopped(server: Running, grace: float = 30.0) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP, then drain; to be called by the main thread.

    SIGINT counts also where it was ignored: a shell has it ignored by whatever it starts in the background, but
    whoever sends it to a server wants that to end. SIGHUP stays ignored where it was: that is what nohup is for.
    """
    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    here, there = socket.socketpair()
    there.setblocking(False)
    with here, there:
        # The signal itself writes its number, in whatever thread: a lock or an event would miss one that comes
        # while this thread is about to wait.
        signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, lambda *_: None)
        while here.recv(1)[0] not in numbers:
            pass
        signal.set_wakeup_fd(-1)
    server.stop(grace)
