"""The wire types of `duplex`: what each method takes and returns. Checks shapes and ranges; knows no meaning.

Members that are not known are ignored, those that are known have to be of their type.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, cast

from msgspec import UNSET, Raw, Struct, UnsetType

from ...messages import strict_json
from ...messages.jsonrpc import NULL
from .keys import KeyEvent
from .scalars import I32, LARGEST_U64, U16, U32, U64, Blob, Checked
from .screen import Viewport, WireBuffer

ABI_VERSION = 2  # of the contract: the plugin's manifest and its answer to init have to name it
FRAME_BYTES = 16_777_216  # of one body, either way; equal is allowed
VALUES = (
    1_048_576  # of one message, as `meter` counts them: a screen of 300 by 100 cells in colour has 800 000
)
Header = tuple[str, str]
PLAIN = (bytes, type(None))  # of a payload that needs no more checks

T = TypeVar("T")


# From the host to the plugin


class HostInfo(Struct, frozen=True):
    """Who the host is."""

    kind: str
    pid: U32


class InitParams(Struct, frozen=True, omit_defaults=True):
    """Of `plugin/init`: what the plugin may do."""

    manifest_path: str
    granted_capabilities: tuple[str, ...]
    abi_version: U32
    config: Any = None
    host: HostInfo | UnsetType = UNSET


class InitResult(Struct, frozen=True):
    """Who the plugin is: `name` and `version`, or `manifest` and `abi_version`, or all four."""

    name: str | None = None
    version: str | None = None
    manifest: Raw = NULL
    abi_version: U32 | None = None


class ShutdownParams(Struct, frozen=True):
    """Of `plugin/shutdown`."""


class ShutdownResult(Struct, frozen=True):
    """It heard that it is to end."""


class RenderParams(Checked, frozen=True):
    """Of `plugin/render`."""

    viewport: Viewport
    generation: U64 = 0


class RenderResult(Struct, frozen=True):
    """A screen, whether it wants to be asked again at once, and whether it takes every key as text."""

    buffer: WireBuffer
    redraw: bool = False
    captures_text: bool = False


class HandleEventParams(Checked, frozen=True):
    """Of `plugin/handle_event`: something was published."""

    topic: str
    payload: Blob


class HandleKeyParams(Checked, frozen=True):
    """Of `plugin/handle_key`."""

    screen_id: str
    key: KeyEvent
    generation: U64


class CliDispatchParams(Struct, frozen=True):
    """Of `plugin/cli_dispatch`. The namespace is not in *argv*."""

    namespace: str
    argv: tuple[str, ...]


class CliDispatchResult(Checked, frozen=True):
    """What a command wrote, and how it ended."""

    stdout: Blob
    stderr: Blob
    exit_code: I32


# From the plugin to the host


class Topic(Struct, frozen=True):
    """Of `host/snapshot/get` and `host/snapshot/subscribe`."""

    topic: str


class SnapshotGetResult(Checked, frozen=True):
    """The latest publish of a topic; None and 0 if there was none."""

    payload: Blob | None = None
    version: U64 = 0

    def __post_init__(self) -> None:
        if type(self.payload) not in PLAIN or self.version > LARGEST_U64:
            super().__post_init__()


class SnapshotPublishParams(Checked, frozen=True):
    """Of `host/snapshot/publish`."""

    topic: str
    payload: Blob

    def __post_init__(self) -> None:
        if type(self.payload) is not bytes:
            super().__post_init__()


class SnapshotSubscribeResult(Struct, frozen=True):
    """It is subscribed."""


class ActionInvokeParams(Checked, frozen=True):
    """Of `host/action/invoke`. A *timeout_ms* of 0 is none."""

    action: str
    payload: Blob
    timeout_ms: U64 = 0

    def __post_init__(self) -> None:
        if (
            type(self.payload) is not bytes or self.timeout_ms > LARGEST_U64
        ):  # nearly never: it is in every call
            super().__post_init__()


class Invocation(Struct, frozen=True):
    """The same as the host writes it, with what was checked already."""

    action: str
    payload: bytes
    timeout_ms: int = 0


class ActionInvokeResult(Checked, frozen=True):
    """What the action returned."""

    payload: Blob

    def __post_init__(self) -> None:
        if type(self.payload) is not bytes:
            super().__post_init__()


class LogLevel(StrEnum):
    """How much a line matters."""

    TRACE = "trace"
    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


class LogParams(Struct, frozen=True, omit_defaults=True):
    """Of `host/log`."""

    level: LogLevel
    message: str
    fields: Any = None


class FsPath(Struct, frozen=True):
    """Of `host/fs/read_dir` and `host/fs/read_file`."""

    path: str


class DirEntry(Checked, frozen=True):
    """One name in a directory."""

    name: str
    is_dir: bool
    size: U64 = 0


class FsReadDirResult(Struct, frozen=True):
    """A directory."""

    entries: tuple[DirEntry, ...]


class FsReadFileResult(Checked, frozen=True):
    """A file."""

    bytes: Blob


class NetworkFetchParams(Checked, frozen=True):
    """Of `host/network/fetch`. An empty method is GET."""

    url: str
    method: str = ""
    body: Blob | None = None
    headers: tuple[Header, ...] = ()


class NetworkFetchResult(Checked, frozen=True):
    """What the server answered."""

    status: U16
    headers: tuple[Header, ...]
    body: Blob


@dataclass(frozen=True, slots=True)
class Method:
    """What a method takes, and what it returns: None if it is a notification."""

    params: type[Struct]
    result: type[Struct] | None


PLUGIN_METHODS: dict[str, Method] = {  # the host calls, the plugin serves
    "plugin/init": Method(InitParams, InitResult),
    "plugin/shutdown": Method(ShutdownParams, ShutdownResult),
    "plugin/render": Method(RenderParams, RenderResult),
    "plugin/handle_event": Method(HandleEventParams, None),
    "plugin/handle_key": Method(HandleKeyParams, None),
    "plugin/cli_dispatch": Method(CliDispatchParams, CliDispatchResult),
    "host/action/invoke": Method(
        ActionInvokeParams, ActionInvokeResult
    ),  # passed on to whom the action belongs
}
HOST_METHODS: dict[str, Method] = {  # the plugin calls, the host serves
    "host/snapshot/get": Method(Topic, SnapshotGetResult),
    "host/snapshot/publish": Method(SnapshotPublishParams, None),
    "host/snapshot/subscribe": Method(Topic, SnapshotSubscribeResult),
    "host/action/invoke": Method(ActionInvokeParams, ActionInvokeResult),
    "host/log": Method(LogParams, None),
    "host/fs/read_dir": Method(FsPath, FsReadDirResult),
    "host/fs/read_file": Method(FsPath, FsReadFileResult),
    "host/network/fetch": Method(NetworkFetchParams, NetworkFetchResult),
}


@cache
def _decoder(type: Hashable) -> strict_json.Decoder[Any]:
    return strict_json.Decoder(cast(Any, type), cast(Any, type).__name__)


def decode(type: type[T], raw: Raw) -> T:
    """Return *raw*, the parameters or the result of a method, as *type*. Raises RemoteProtocolError if it is none.

    It is part of a message that was decoded.
    """
    decoder: Any = _decoder  # whose cache wants to know that a type can be hashed
    decoded: T = decoder(type).decode_part(raw)
    return decoded
