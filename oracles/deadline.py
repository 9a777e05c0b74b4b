"""A deadline for whole HTTP exchanges. A socket's own timeout begins again with every byte that arrives.

A watch shuts down the socket that its thread uses once the time is over; connections tell it which one that is.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from oracles.complete_heads import CompleteHead

_using = threading.local()  # .watch of the exchange that this thread began last


class Watch:
    """A deadline: shuts down the connection that this thread uses once `seconds` are over."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.late = seconds, False
        self.connection: Any = None
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Watch:
        _using.watch = self
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def uses(self, connection: Any) -> None:
        self.connection = connection
        if self.late:
            raise TimeoutError

    def _cut(self) -> None:
        self.late = True
        sock = getattr(self.connection, "connected", None) or getattr(self.connection, "sock", None)
        if sock is not None:
            with suppress(OSError):  # beneath TLS, whose own shutdown would wait for the other side
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


class _Watched:
    """A connection that tells the thread's watch when it is in use, and takes no half of a reply for a whole one."""

    response_class: Any = CompleteHead

    connected: Any = None  # its socket, also where http.client has let go of it: a body that ends with the connection

    def connect(self) -> None:
        self.connected = None
        _using.watch.uses(self)
        super().connect()  # type: ignore[misc]
        self.connected = self.sock  # type: ignore[attr-defined]

    def request(self, *args: Any, **kwargs: Any) -> None:
        _using.watch.uses(self)
        super().request(*args, **kwargs)  # type: ignore[misc]


class _Connection(_Watched, HTTPConnection):
    pass


class _SecureConnection(_Watched, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class WatchedAdapter(HTTPAdapter):
    """requests' own adapter with watched connections, also through proxies."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
        return manager
