"""A host for checks: answers a plugin's calls with the least that is allowed. Reads no files and fetches nothing.

The usual one grants everything and has nothing; others deny. All let an action time out, because that is what a caller
has to bear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import Raw

from ..contracts.duplex.messages import HOST_METHODS, decode
from ..errors import RemoteProtocolError
from ..messages import jsonrpc
from ..messages.jsonrpc import (
    ACTION_TIMEOUT,
    CAPABILITY_DENIED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
)

# The capability that each method of the host needs; of several, one of them.
GATES = {
    "host/snapshot/get": "event_bus",
    "host/snapshot/publish": "event_bus",
    "host/snapshot/subscribe": "event_bus",
    "host/fs/read_dir": "read_sessions",
    "host/fs/read_file": "read_sessions",
    "host/network/fetch": "network",
}
ACTION = "host/action/invoke"
READ_DIR, READ_FILE = "host/fs/read_dir", "host/fs/read_file"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error to answer with."""

    code: int
    message: str


Reply = Refusal | dict[str, Any]
Serve = Callable[[str, Any], Reply]

NOTHING_YET: dict[str, Any] = {"payload": None, "version": 0}
LISTING: dict[str, Any] = {
    "entries": [
        {"name": "gone.jsonl", "is_dir": False, "size": 2},
        {"name": "sealed", "is_dir": True, "size": 0},
    ]
}


def usual(method: str, params: Any) -> Reply:
    """Serve snapshots, of which there are none, and directories, which are empty; let every action time out."""
    match method:
        case "host/snapshot/get":
            return NOTHING_YET
        case "host/snapshot/subscribe":
            return {}
        case "host/fs/read_dir":
            return {"entries": []}
        case "host/fs/read_file":
            return Refusal(INVALID_PARAMS, f"{params.path}: no such file"[:200])
        case "host/network/fetch":
            return Refusal(INTERNAL_ERROR, "no network here")
        case _:
            return denying(method, params)


def sealing(method: str, params: Any) -> Reply:
    """Deny every file, and nothing else."""
    return denying(method, params) if method in (READ_DIR, READ_FILE) else usual(method, params)


def denying(method: str, params: Any) -> Reply:
    """Deny whatever needs a capability."""
    if method == ACTION:
        return Refusal(ACTION_TIMEOUT, f"action timed out: {params.action}"[:200])
    return Refusal(CAPABILITY_DENIED, f"capability denied: {GATES[method]}")


def vanishing(method: str, params: Any) -> Reply:
    """List a directory whose files cannot be read: they are gone, or not for this plugin."""
    if method == READ_DIR:
        inside = "sealed" in params.path.split("/")
        return Refusal(CAPABILITY_DENIED, "capability denied: read_sessions") if inside else LISTING
    return usual(method, params)


def answer(request: jsonrpc.Request, serve: Serve) -> bytes:
    """Return the body of the answer to *request*."""
    known = HOST_METHODS.get(request.method)
    if known is None or known.result is None:
        return jsonrpc.encode_error(request.id, METHOD_NOT_FOUND, "method not found")
    try:
        reply = serve(request.method, decode(known.params, request.params))
    except RemoteProtocolError as error:
        reply = Refusal(INVALID_PARAMS, str(error)[:200])
    if isinstance(reply, Refusal):
        return jsonrpc.encode_error(request.id, reply.code, reply.message)
    return jsonrpc.encode_response(request.id, reply)


def flaw_of(method: str, params: Raw) -> str | None:
    """Say what is wrong with what a plugin calls or tells, or None."""
    known = HOST_METHODS.get(method)
    if known is None:
        return "no host has such a method"
    try:
        decode(known.params, params)
    except RemoteProtocolError as error:
        return str(error)
    return None
