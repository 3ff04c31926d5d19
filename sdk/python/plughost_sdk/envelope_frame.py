"""The two frames of `envelope`: bytes on a descriptor to a value, and a value to one line. Knows no meaning.

The exit statuses are here too: each is half of an answer, and goes with a frame or with none.
"""

import os

from . import small_json

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from typing import Any

FRAME_LIMIT = 1_048_576  # bytes of one frame, either way, without its line feed: the contract's limit
READ_SIZE = 65_536  # larger reads are served by mmap and cost twenty times as much

EXIT_SUCCESS = 0
EXIT_FAILED = 1
EXIT_INPUT_REQUIRED = 2
EXIT_CRASHED = 3  # also: the request, the plugin or the reply is unusable

IDLE_IMPORTS = ("re", "fnmatch", "urllib.parse", "pathlib", "json")  # pathlib in pieces, the largest first


class FrameRefused(Exception):
    """What came is no frame of this contract."""


def read_frame(fd: int, *, ahead: bool = False) -> "Any":
    """Return the one JSON value on *fd*, read to the end of its line. Raises FrameRefused.

    A value that is laid out on several lines is read to the end of the input.
    If we were started *ahead* of a request for files, what that needs is imported until it comes.
    """
    if ahead:
        _use_idle_time(fd)
    pieces, size = [], 0
    while piece := os.read(fd, READ_SIZE):
        pieces.append(piece)
        size += len(piece)
        if size > FRAME_LIMIT + 1:
            raise FrameRefused(f"the request is over {FRAME_LIMIT} bytes")
        if b"\n" in piece and _is_whole(b"".join(pieces)):
            break
    data = b"".join(pieces).removesuffix(b"\n")
    if len(data) > FRAME_LIMIT:
        raise FrameRefused(f"the request is over {FRAME_LIMIT} bytes")
    if not data.strip():
        raise FrameRefused("there is no request: standard input is empty")
    try:
        return small_json.from_json(data)
    except (ValueError, RecursionError) as error:
        raise FrameRefused(f"the request is not one JSON value: {error}") from error


def _is_whole(data: bytes) -> bool:
    """Tell whether the first line of *data* ends as an object does: it is the request then, or none at all."""
    return data.partition(b"\n")[0].rstrip().endswith(b"}")


def object_of(value: object, name: str, *, optional: bool = True) -> "dict[str, Any]":
    """Return *value*, an object. Raises FrameRefused. Null counts as missing: a host may spell out what it lacks."""
    if value is None and optional:
        return {}
    if not isinstance(value, dict):
        raise FrameRefused(f"{name} must be an object, not {type(value).__name__}")
    return value


def _use_idle_time(fd: int) -> None:
    import select

    poll = select.poll()
    poll.register(fd, select.POLLIN)
    for name in IDLE_IMPORTS:  # one by one: a request that comes meanwhile does not wait for all of them
        if poll.poll(0):
            return
        __import__(name)


def to_json(value: "Any") -> bytes:
    """Return *value* as JSON without line feeds. Raises ValueError, TypeError or RecursionError.

    Lone surrogates become question marks: what a plugin says is not lost for a file's odd name.
    """
    return small_json.to_json(value, "replace")
