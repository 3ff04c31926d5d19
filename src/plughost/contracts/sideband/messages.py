"""The wire types of `sideband`: lines to messages and back. Refuses what is none; knows no meaning.

Members that are not known are ignored, those that are known have to be of their type.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from plughost_sdk.frames import lines
from plughost_sdk.frames.errors import FrameTooLarge

from ...errors import LocalProtocolError, RemoteProtocolError
from ...messages import strict_json
from ...messages.depth import MAX_DEPTH
from ...messages.meter import WINDOW, Meter
from ...messages.quoting import quote

LINE_BYTES = 33_554_432  # of one line without its line feed, either way; equal is allowed: a plot fits
VALUES = 65_536  # of one line, as `meter` counts them: no message has a hundred
LONG_LINE = 1_048_576  # bytes: only what is said of a picture, or of a line that was read, may be longer
LONG_TYPES = ("plot_image", "readline_result", "stdin_write")
LONGEST_TYPE = 65_536  # bytes of a type that is looked at
READ_FD = "MCP_CONSOLE_IPC_READ_FD"  # the worker's environment: the descriptor it reads
WRITE_FD = "MCP_CONSOLE_IPC_WRITE_FD"  # and the one it writes

RequestId = Annotated[int, Meta(ge=1)]


# From the host to the worker


class StdinWrite(Struct, frozen=True, tag_field="type", tag="stdin_write"):
    """*text* is about to be written to stdin, and nothing else: a request, or without *mark* an answer to one."""

    text: str
    request_id: RequestId | UnsetType = UNSET
    mark: str | UnsetType = UNSET
    image_mark: str | UnsetType = UNSET
    order_mark: str | UnsetType = UNSET


class Interrupt(Struct, frozen=True, tag_field="type", tag="interrupt"):
    """Stop the request, if it still runs, and forget input that is not read."""

    request_id: RequestId | UnsetType = UNSET


class HostSessionEnd(Struct, frozen=True, tag_field="type", tag="session_end"):
    """Read no more input, and exit."""


HostMessage = StdinWrite | Interrupt | HostSessionEnd


# From the worker to the host


class Plughost(Struct, frozen=True):
    """Of `backend_info`: what a worker can do that the oldest ones cannot."""

    worker: str = ""
    version: str = ""
    request_ids: bool = False
    marks: bool = False
    pid: int | UnsetType = UNSET
    image_marks: bool = False
    order_marks: bool = False


class BackendInfo(Struct, frozen=True, tag_field="type", tag="backend_info"):
    """Who the worker is."""

    language: str
    supports_images: bool = False
    plughost: Plughost = Plughost()


class ReadlineStart(Struct, frozen=True, tag_field="type", tag="readline_start"):
    """A line is about to be read. *secret*: what is typed is not to be shown."""

    prompt: str
    request_id: RequestId | UnsetType = UNSET
    secret: bool = False


class ReadlineResult(Struct, frozen=True, tag_field="type", tag="readline_result"):
    """A line was read."""

    prompt: str
    line: str
    request_id: RequestId | UnsetType = UNSET


class PlotImage(Struct, frozen=True, tag_field="type", tag="plot_image"):
    """A picture, new or in place of an earlier one of its id. *mark*: what stands in stdout where it belongs."""

    id: str
    mime_type: str
    data: bytes
    is_new: bool
    request_id: RequestId | UnsetType = UNSET
    mark: str | UnsetType = UNSET


class RequestEnd(Struct, frozen=True, tag_field="type", tag="request_end"):
    """A request is over. *marked*: its marks were written to stdout and stderr before. *error*: it raised."""

    request_id: RequestId | UnsetType = UNSET
    marked: bool = False
    error: bool = False


class Interrupted(Struct, frozen=True, tag_field="type", tag="interrupted"):
    """What became of an interrupt."""

    outcome: Literal["delivered", "idle"]
    request_id: RequestId | UnsetType = UNSET


class SessionEnd(Struct, frozen=True, tag_field="type", tag="session_end"):
    """The worker ends."""

    reason: str = ""
    status: int | UnsetType = UNSET


WorkerMessage = (
    BackendInfo | ReadlineStart | ReadlineResult | PlotImage | RequestEnd | Interrupted | SessionEnd
)
WORKER_TYPES = (
    "backend_info",
    "readline_start",
    "readline_result",
    "plot_image",
    "request_end",
    "interrupted",
    "session_end",
)
HOST_TYPES = ("stdin_write", "interrupt", "session_end")


class Reason(StrEnum):
    """Why something that came from the worker was ignored."""

    NOT_JSON = "not JSON in UTF-8"
    NOT_OBJECT = "not an object"
    NO_TYPE = "no type"
    UNKNOWN_TYPE = "unknown type"
    MALFORMED = "malformed"
    REPEATED = "repeated"  # said once already
    LATE = "late"  # of a request that is over, or with none under way
    UNKNOWN_ID = "unknown id"  # of a request that was never made, or of none where one has to be named
    UNMARKED = "unmarked"  # a mark was promised and did not come


class Refused(Struct, frozen=True):
    """A line that is no message of the contract. *type* is what it calls itself, as far as it does."""

    reason: Reason
    detail: str
    type: str = ""


class _Head(Struct, frozen=True):
    """As much of a line as can be asked of anybody."""

    type: str


class _Type(Struct, frozen=True):
    """The same of a long line, of which nothing is decoded before it is known to be short."""

    type: Raw = Raw(b"null")


class _Object(Struct):
    """An object, of which nothing is looked at: of 32 MiB that are no message, only that is to be said."""


_OBJECT = strict_json.Decoder(_Object, "line")
_HEAD = strict_json.Decoder(_Head, "line")
_TYPE = strict_json.Decoder(_Type, "line")
_NAME = strict_json.Decoder(str, "type")
_WORKER: strict_json.Decoder[Any] = strict_json.Decoder(WorkerMessage, "line")  # type: ignore[arg-type]
_HOST: strict_json.Decoder[Any] = strict_json.Decoder(HostMessage, "line")  # type: ignore[arg-type]


def decode(line: bytes) -> WorkerMessage | Refused:
    """Return what the worker said, or why that is nothing."""
    message: WorkerMessage | Refused = _decode(_WORKER, line, WORKER_TYPES)
    return message


def decode_host(line: bytes) -> HostMessage | Refused:
    """Return what a host said, or why that is nothing: for whoever plays the worker."""
    message: HostMessage | Refused = _decode(_HOST, line, HOST_TYPES)
    return message


def _decode(decoder: strict_json.Decoder[Any], line: bytes, types: tuple[str, ...]) -> Any:
    flaw = _flaw(line) or _excess(line, types)
    if flaw is not None:
        return flaw
    try:
        return decoder.decode_part(Raw(line))
    except RemoteProtocolError as error:
        return _why(Raw(line), types, str(error))


def _flaw(line: bytes) -> Refused | None:
    """Say why *line* is not to be decoded: it is no UTF-8, too deep, or holds far more values than any message."""
    if len(line) <= MAX_DEPTH and line.isascii():  # most are
        return None
    meter = Meter()
    while meter.size < len(line) and meter.flaw is None:
        meter.feed(line[meter.size : meter.size + WINDOW] if len(line) > WINDOW else line)
        if meter.values > VALUES:
            return Refused(Reason.MALFORMED, f"a line holds over {VALUES} values")
        if meter.held > LINE_BYTES:
            return Refused(Reason.MALFORMED, f"a text takes over {LINE_BYTES} bytes of memory")
    flaw = meter.end()
    return None if flaw is None else Refused(Reason.NOT_JSON, f"line: {flaw}")


def _excess(line: bytes, types: tuple[str, ...]) -> Refused | None:
    """Say why a long *line* is not to be decoded: no message of its type is that long, or it has a long type."""
    if len(line) <= LONG_LINE:
        return None
    try:
        part = _TYPE.decode_part(Raw(line)).type
        if memoryview(part).nbytes > LONGEST_TYPE:
            return Refused(Reason.UNKNOWN_TYPE, f"a type of over {LONGEST_TYPE} bytes")
        named = _NAME.decode_part(part)
    except RemoteProtocolError:  # for which others have the right words
        return None
    if named not in types:
        return Refused(Reason.UNKNOWN_TYPE, f"{quote(named)} is no message of the contract", named)
    if named not in LONG_TYPES:
        return Refused(Reason.MALFORMED, f"{named}: a line of over {LONG_LINE} bytes", named)
    return None


def _why(line: Raw, types: tuple[str, ...], detail: str) -> Refused:
    """Say what is wrong with *line*: worth a second look, because it is rare."""
    try:
        _OBJECT.decode_part(line)
    except RemoteProtocolError as error:
        is_value = bytes(memoryview(line)[:WINDOW]).lstrip()[:1] != b"{" and _is_json(line)
        return Refused(Reason.NOT_OBJECT if is_value else Reason.NOT_JSON, str(error))
    try:
        named = _HEAD.decode_part(line).type
    except RemoteProtocolError as error:
        return Refused(Reason.NO_TYPE, str(error))
    if named not in types:
        return Refused(Reason.UNKNOWN_TYPE, f"{quote(named)} is no message of the contract", named)
    return Refused(Reason.MALFORMED, f"{named}: {detail}", named)


_ANY = strict_json.Decoder(Raw, "line")


def _is_json(line: Raw) -> bool:
    try:
        _ANY.decode_part(line)
    except RemoteProtocolError:
        return False
    return True


def encode(message: HostMessage, limit: int = LINE_BYTES) -> bytes:
    """Return *message* as a line. Raises LocalProtocolError if it cannot be said, or is over *limit* bytes."""
    try:
        return lines.encode(strict_json.encode(message, "a message"), limit)
    except FrameTooLarge as error:
        raise LocalProtocolError(f"the input is too large to be sent: {error}. Send it in parts.") from error


def or_unset(value: str | None) -> str | UnsetType:
    """Return *value*, or what leaves a member out."""
    return UNSET if value is None else value
