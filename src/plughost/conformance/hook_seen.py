"""What one process of the `hook` contract wrote and how it ended, read as far as it can be read. It judges nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire
from plughost_sdk.frames.length_prefix import HEADER_BYTES

from ..autopsy import ExitStatus
from ..contracts.hook.messages import EXCHANGES, Phase
from ..errors import RemoteProtocolError
from ..messages import protobuf
from ..process.stderr import printable

SHOWN = 60  # bytes of what a plugin wrote


@dataclass(frozen=True)
class Answer:
    """What came for one request."""

    phase: Phase
    body: bytes | None  # None: no whole frame came in time
    extra: bytes = b""  # what came along with it

    @cached_property
    def result(self) -> Message | str:
        """The result, or why it cannot be read as one."""
        if self.body is None:
            return "no answer"
        return _read(EXCHANGES[self.phase].result, self.body, f"{self.phase} result")

    @property
    def misplaced(self) -> list[Phase]:
        """The phases that it could be an answer to, if it is none to its own."""
        if self.body is None or isinstance(self.result, Message):
            return []
        others = [phase for phase in Phase if phase is not self.phase]
        return [phase for phase in others if protobuf.likely_kinds(self.body, [EXCHANGES[phase].result])]

    @property
    def diagnostics(self) -> list[wire.Diagnostic]:
        return list(getattr(self.result, "diagnostics", ()))

    @property
    def errors(self) -> list[wire.Diagnostic]:
        return [each for each in self.diagnostics if each.level == wire.Diagnostic.LEVEL_ERROR]


@dataclass(frozen=True)
class Seen:
    """One conversation. *when* completes a sentence about it, such as "it does not answer, greeted with protocol 2"."""

    when: str
    introduction: bytes | None = None  # the first frame
    early: bytes = b""  # what came after it, before anything was asked
    answers: tuple[Answer, ...] = ()
    rest: bytes = b""  # what came after the last answer
    head: bytes = b""  # the first bytes of all
    promised: int | None = None  # the length of a frame that is too long
    exit: ExitStatus | None = None  # None: it did not end in time
    stderr: str = ""  # all that was kept of it

    @cached_property
    def info(self) -> wire.PluginInfo | str:
        """How it introduced itself, or why that cannot be read."""
        if self.introduction is None:
            return "no introduction"
        found = _read(wire.PluginInfo, self.introduction, "introduction")
        return found if isinstance(found, wire.PluginInfo) else str(found)

    @property
    def printed(self) -> bool:
        """Something stands where the length of a frame should be that can only be text."""
        return self.promised is not None and is_text(self.rest[:1])

    @property
    def is_silent(self) -> bool:
        """It owes an answer."""
        return self.introduction is None or any(each.body is None for each in self.answers)

    @property
    def bodies(self) -> Iterator[Answer]:
        """The answers that came."""
        return (each for each in self.answers if each.body is not None)

    @property
    def ending(self) -> str:
        """How it ended, with its last words."""
        ended = f"it ended with {self.exit.meaning}" if self.exit is not None else "it goes on running"
        return f"{ended}, saying: {self.last_words}" if self.last_words else ended

    @property
    def last_words(self) -> str:
        """The last line of its standard error."""
        lines = self.stderr.strip().splitlines()
        return lines[-1][:200] if lines else ""


def shown(data: bytes) -> str:
    """Return the beginning of *data*, printable and in quotes."""
    text = repr(printable(data[:SHOWN]))
    return text if len(data) <= SHOWN else f"{text}…"


def is_text(head: bytes) -> bool:
    """Tell whether *head* reads as text. A frame that is not far too long begins with a zero byte."""
    return len(head) > 0 and all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head)


def whole_frames(data: bytes) -> int:
    """Return how many frames *data* consists of, nothing before, between or after them; 0 if it does not."""
    at = count = 0
    while at + HEADER_BYTES <= len(data):
        at += HEADER_BYTES + int.from_bytes(data[at : at + HEADER_BYTES], "big")
        count += 1
    return count if at == len(data) else 0


def _read(kind: Any, body: bytes, what: str) -> Message | str:
    try:
        found: Message = protobuf.decode(kind, body, what)
    except RemoteProtocolError as error:
        return str(error)
    if isinstance(found, wire.DetectResult) and not 0.0 <= found.confidence <= 1.0:
        return f"{what}: a confidence of {found.confidence:g}, not between 0 and 1"
    return found
