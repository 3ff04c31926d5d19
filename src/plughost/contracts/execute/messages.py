"""The wire types of the `execute` contract, and nothing else.

Everything that a later check judges has a default here, so that its absence gets the code of that check
and not of the decoder. Unknown fields are ignored; of a repeated key the last value counts.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

PROTOCOL_VERSION = "rterm.plugin.v1"


class HandshakeRequest(Struct, frozen=True):
    type: Literal["handshake"] = "handshake"
    protocol_version: str = PROTOCOL_VERSION


class Manifest(Struct, frozen=True):
    """What a plugin says about itself."""

    plugin_id: str = ""
    plugin_version: str = ""
    protocol_version: str = ""
    exposed_tools: tuple[str, ...] | None = ()
    capabilities: tuple[str, ...] | None = None


class HandshakeResponse(Struct, frozen=True):
    type: str = ""
    manifest: Manifest | None = None


class Request(Struct, frozen=True):
    request_id: str
    tool_name: str
    context: dict[str, Any]
    input: Any
    type: Literal["request"] = "request"


class ErrorPayload(Struct, frozen=True):
    code: str = ""
    message: str = ""


class Response(Struct, frozen=True):
    type: str = ""
    request_id: str = ""
    status: str = ""
    output: Any = None
    error: ErrorPayload | UnsetType | None = UNSET
    metadata: dict[str, Any] | None = None
