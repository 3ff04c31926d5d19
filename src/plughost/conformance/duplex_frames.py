"""Frames of the `duplex` contract by hand, of any length and content, and bytes as they are shown. Checks nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from ..contracts.duplex.messages import FRAME_BYTES
from ..process.stderr import printable

SHOWN = 60  # bytes of what a plugin wrote


def frame(body: bytes) -> bytes:
    """Return *body* behind its header, however long it is."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def notice(method: str, params: Any) -> bytes:
    """Return the frame of a notification."""
    return frame(msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params}))


def largest(method: str, id: int) -> bytes:
    """Return the frame of a call whose body is exactly as long as the contract allows."""
    head = b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":{"filling":"' % (id, method.encode())
    return frame(head + b"x" * (FRAME_BYTES - len(head) - len(b'"}}')) + b'"}}')


def shown(data: bytes) -> str:
    """Return the beginning of *data*, printable and in quotes."""
    text = repr(printable(data[:SHOWN]))
    return text if len(data) <= SHOWN else f"{text}…"
