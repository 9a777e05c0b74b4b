"""Web servers on loopback that do what a test tells them to; nothing of them comes from the project."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """`reply(request)` gives (status, headers, body), or raises what should happen to the connection."""

    reply: Callable[[Request], tuple[int, dict[str, str], bytes]]
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    address: str = ""


@contextmanager
def serving(
    reply: Callable[[Request], tuple[int, dict[str, str], bytes]], context: ssl.SSLContext | None = None
) -> Iterator[Server]:
    """An HTTP/1.1 server that keeps connections open; with an SSL context it is an HTTPS server."""
    server = Server(reply)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            server.connections += 1
            super().setup()

        def handle_any(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, parts.path, parse_qs(parts.query), headers, body)
            server.requests.append(request)
            status, headers, body = server.reply(request)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = handle_any

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass

    http = Quiet(("127.0.0.1", 0), Handler)
    if context is not None:
        http.socket = context.wrap_socket(http.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
    server.address = f"http{'s' if context else ''}://127.0.0.1:{http.server_address[1]}"
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()


@contextmanager
def listening(behave: Callable[[socket.socket], None]) -> Iterator[str]:
    """A bare socket: every connection is given to `behave`, which may do anything with it."""
    listener = socket.create_server(("127.0.0.1", 0))
    open_sockets: list[socket.socket] = []

    def one(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            behave(connection)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                open_sockets.append(connection)
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()
        for connection in open_sockets:
            connection.close()


def read_request(connection: socket.socket) -> bytes:
    """The head of a request and as much of its body as it announces."""
    seen = b""
    while b"\r\n\r\n" not in seen:
        seen += connection.recv(65536)
    head, _, body = seen.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head
