"""A web server on loopback that says exactly what a test tells it to, byte by byte. One connection at a time."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Web:
    """Where it listens, and the requests it was sent, whole."""

    port: int
    requests: list[bytes] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "site.example") -> str:
        return f"http://{host}:{self.port}{path}"

    def header(self, name: str, at: int = -1) -> str | None:
        for line in self.requests[at].split(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]:
            key, _, value = line.partition(": ")
            if key.lower() == name.lower():
                return value
        return None


Reply = Callable[[bytes], bytes]


@contextmanager
def serving(reply: Reply | bytes = OK, context: ssl.SSLContext | None = None) -> Iterator[Web]:
    """Serve *reply*, or what it returns for a request, until the end. An empty one is silence till the client goes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        web = Web(listener.getsockname()[1])
        thread = threading.Thread(target=_serve, args=(listener, web, reply, context))
        thread.start()
        try:
            yield web
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(listener: socket.socket, web: Web, reply: Reply | bytes, context: ssl.SSLContext | None) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError):
            with context.wrap_socket(connection, server_side=True) if context else connection as link:
                request = _request(link)
                web.requests.append(request)
                said = reply if isinstance(reply, bytes) else reply(request)
                link.sendall(said)
                if not said:
                    link.recv(1)


def _request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65_536)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body
