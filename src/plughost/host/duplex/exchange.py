"""One HTTP request to checked addresses -> its answer, within a deadline and a size. Follows no redirect.

The standard library does the HTTP. What it lacks is a deadline over the whole exchange, since its timeout begins anew
with every byte, and a connection to an address that was chosen beforehand: both are in the socket that it is handed.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...capabilities.web_address import Address, WebAddress

CHUNK = 65_536  # bytes that are read at a time
OVERHEAD = (
    8_388_608  # bytes on the wire beside twice the body: 100 headers of 64 KiB, and the marks of small chunks
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered. *body* is None if it is larger than what was asked for."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes | None


class Deadline:
    """A moment that a whole fetch has to be over by. *now* is a clock in seconds."""

    def __init__(self, now: Callable[[], float], seconds: float) -> None:
        self._now = now
        self._end = now() + seconds

    def left(self) -> float:
        """Return the seconds that are left. Raises TimeoutError if none are."""
        left = self._end - self._now()
        if left <= 0:
            raise TimeoutError("it took too long")
        return left


def ask(
    address: WebAddress,
    machines: Sequence[Address],
    method: str,
    headers: Iterable[tuple[str, str]],
    body: bytes | None,
    *,
    deadline: Deadline,
    limit: int,
    context: ssl.SSLContext | None = None,
) -> Answer:
    """Send a request to the first of *machines* that takes it, and return the answer with *limit* bytes at most.

    Raises OSError, its TimeoutError at the deadline, and http.client.HTTPException for what is not HTTP.
    """
    with _secure(_connect(machines, address.port, deadline), address, deadline, context) as sock:
        connection = http.client.HTTPConnection(address.host, address.port)
        connection.sock = _TimedSocket(sock, deadline, 2 * limit + OVERHEAD)
        connection.putrequest(method, address.rest, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders(body)
        with connection.getresponse() as response:
            content = _body(response, limit)
            return Answer(response.status, tuple(response.headers.items()), content)


def _connect(machines: Sequence[Address], port: int, deadline: Deadline) -> socket.socket:
    for machine in machines[:-1]:
        try:
            return socket.create_connection((str(machine), port), timeout=deadline.left() / 2)
        except OSError:  # the next one may be reached: half of a network is often broken
            continue
    return socket.create_connection((str(machines[-1]), port), timeout=deadline.left())


def _secure(
    sock: socket.socket, address: WebAddress, deadline: Deadline, context: ssl.SSLContext | None
) -> socket.socket:
    if address.scheme == "http":
        return sock
    try:
        sock.settimeout(deadline.left())
        # The certificate has to be for the name that was asked for, whatever address it stands for.
        return (context or ssl.create_default_context()).wrap_socket(sock, server_hostname=address.host)
    except BaseException:
        sock.close()
        raise


def _body(response: http.client.HTTPResponse, limit: int) -> bytes | None:
    parts, length = [], 0
    while part := response.read(CHUNK):
        length += len(part)
        if length > limit:
            return None
        parts.append(part)
    if response.length:  # older Pythons take an early end for the end
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)


class _TimedSocket:
    """A socket whose every wait is cut to what is left of a deadline. Whoever opened it closes it."""

    def __init__(self, sock: socket.socket, deadline: Deadline, limit: int) -> None:
        self._sock = sock
        self._deadline = deadline
        self._limit = limit

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._deadline.left())
        self._sock.sendall(data)

    def makefile(self, *_mode: Any) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._sock, self._deadline, self._limit), CHUNK)

    def close(self) -> None:
        """Do nothing: the answer may not have been read yet."""


class _TimedReader(io.RawIOBase):
    """What comes from a socket, *limit* bytes at most: `http.client` reads all there is of a chunk of -1 bytes."""

    def __init__(self, sock: socket.socket, deadline: Deadline, limit: int) -> None:
        super().__init__()
        self._sock = sock
        self._deadline = deadline
        self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(self._deadline.left())
        length = self._sock.recv_into(buffer)
        self._left -= length
        if self._left < 0:
            raise OSError("the answer has no end")
        return length
