"""What a worker shows, one value each, as the host is given it. Decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Stream(StrEnum):
    """Where text was written to."""

    STDOUT = "stdout"
    STDERR = "stderr"


@dataclass(frozen=True, slots=True)
class Text:
    """Output. *request_id* is None if it came while no request ran, or behind the end of one."""

    stream: Stream
    text: str
    request_id: int | None


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, the latest of its id. *is_new* as the worker said: False for one that was shown before."""

    id: str
    mime_type: str
    data: bytes
    is_new: bool
    request_id: int | None


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request waits for input here. *secret*: what is typed is not to be shown."""

    prompt: str
    request_id: int | None
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark of the host."""

    text: str
    request_id: int | None


@dataclass(frozen=True, slots=True)
class Omitted:
    """What is left out here. *chars* of text in *lines*, *spooled* if the spool has them; other things are nowhere."""

    chars: int
    entries: int  # prompts and notices
    images: int
    image_bytes: int
    spooled: bool
    lines: int = 0  # line feeds among the characters


Item = Text | Image | Prompt | Notice | Omitted
