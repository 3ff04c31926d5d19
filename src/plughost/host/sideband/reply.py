"""What a console has to show, as one value: text, pictures, prompts and remarks in order. Decides nothing."""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from ...contracts.sideband.items import Image, Item, Notice, Omitted, Prompt, Text
from ...failures import PluginFailure


class ReplyState(StrEnum):
    """How a console is when it replies."""

    READY = "ready"  # for code
    RUNNING = "running"  # a request is not over: poll, or interrupt
    WAITING = "waiting for stdin"  # answer, or interrupt; `run` if the request has said its end
    ENDED = "ended"  # the worker is gone, and what was in its memory; the next run starts another


class Interruption(StrEnum):
    """What became of an interrupt."""

    DELIVERED = "delivered"
    IDLE = "idle"  # nothing was running
    SENT = "sent"  # the worker is not one that tells
    UNANSWERED = "unanswered"  # it has said nothing in time: it may be busy with native code
    ENDED = "ended"  # the worker ended instead
    REPLACED = "replaced"  # it did not stop in time, and gave way to another


_KINDS: dict[type, str] = {
    Text: "text",
    Image: "image",
    Prompt: "prompt",
    Notice: "notice",
    Omitted: "omitted",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What was shown since the last reply, and how the console is now.

    *prompt* is what it asks. *request_id* is the request's that this is about, None if there is none; *error*: it
    raised, or its worker ended under it. *generation* counts the workers, from 1. *elapsed_ms* is since the request
    was given. *full_output* is a file with all of the text, where some is left out here. *failure* is how the worker
    failed, if it did.
    """

    items: tuple[Item, ...]
    state: ReplyState
    prompt: str
    request_id: int | None
    generation: int
    error: bool
    elapsed_ms: float
    full_output: Path | None = None
    failure: PluginFailure | None = None

    @property
    def text(self) -> str:
        """What was printed, to stdout and to stderr, in order."""
        return "".join(item.text for item in self.items if isinstance(item, Text))

    @property
    def images(self) -> tuple[Image, ...]:
        return tuple(item for item in self.items if isinstance(item, Image))

    @property
    def notices(self) -> tuple[str, ...]:
        """The host's remarks."""
        return tuple(item.text for item in self.items if isinstance(item, Notice))

    def to_dict(self) -> dict[str, Any]:
        """Return the reply as JSON-ready values."""
        return {
            "items": [_item(item) for item in self.items],
            "state": str(self.state),
            "prompt": self.prompt,
            "request_id": self.request_id,
            "generation": self.generation,
            "error": self.error,
            "elapsed_ms": self.elapsed_ms,
            "full_output": None if self.full_output is None else str(self.full_output),
            "failure": None if self.failure is None else self.failure.to_dict(),
        }


def _item(item: Item) -> dict[str, Any]:
    values = asdict(item)
    if isinstance(item, Text):
        values["stream"] = str(item.stream)
    elif isinstance(item, Image):
        values["data"] = base64.b64encode(item.data).decode()
    return {"kind": _KINDS[type(item)], **values}


def omit(items: tuple[Item, ...]) -> Omitted:
    """Return what stands for *items* that nobody asked for before there were others."""
    chars = lines = entries = images = image_bytes = 0
    for item in items:
        match item:
            case Text():
                chars += len(item.text)
                lines += item.text.count("\n")
            case Image():
                images += 1
                image_bytes += len(item.data)
            case Omitted():
                chars, lines, entries = chars + item.chars, lines + item.lines, entries + item.entries
                images, image_bytes = images + item.images, image_bytes + item.image_bytes
            case Prompt() | Notice():
                entries += 1
    return Omitted(chars, entries, images, image_bytes, spooled=False, lines=lines)
