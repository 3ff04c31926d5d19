"""A turn of a session -> what the agent sees: text and pictures in order, and a line on how things are."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent

from ...contracts.sideband.host import LOST
from ...contracts.sideband.items import Image, Item, Notice, Omitted, Prompt, Stream, Text
from ...host.sideband.reply import Interruption, Reply, ReplyState
from ...messages.quoting import quote
from . import wording
from .output_files import OutputFiles
from .session import Refusal, Turn

# What models take. Any other kind of picture would make a client's next request to its model fail.
INLINE_TYPES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
}
IMAGE_BYTES = 2_097_152  # of one picture: common models take 5 MB, which is less once it is base64
IMAGES_BYTES = 6_291_456  # of all in one answer: clients hold it as one line of JSON
IMAGES = 16  # in one answer

_STATES = {
    ReplyState.READY: "idle",
    ReplyState.RUNNING: "busy",
    ReplyState.WAITING: "waiting",
    ReplyState.ENDED: "ended",
}
_REFUSALS = {
    Refusal.BUSY: "the input was not run: a request is still running. Poll with an empty input, interrupt it with "
    "U+0003, or use another session",
    Refusal.WAITING: "the input was not used: a request has begun to wait for input. Send it again to answer, or "
    "interrupt with U+0003",
    Refusal.TWICE: "the input was not used: another call waits for this session. Wait for its answer, interrupt with "
    "U+0003, or use another session",
}
_INTERRUPTIONS = {
    Interruption.DELIVERED: "interrupted",
    Interruption.IDLE: "nothing was running",
    Interruption.SENT: "interrupt sent",
    Interruption.UNANSWERED: "interrupt sent, and not acknowledged: native code may be running. U+0004 restarts",
    Interruption.ENDED: "the worker ended",
    Interruption.REPLACED: "the worker was replaced",
}
_RESTARTS = {
    True: f"restarted: {LOST}",
    False: "not restarted: another call is just starting the worker",
}


def result(turn: Turn, session: str, files: OutputFiles) -> CallToolResult:
    """Return what the agent is told of *turn*."""
    content = _Content(files)
    for number, reply in enumerate(turn.replies, start=1):
        is_last = number == len(turn.replies)
        items = reply.items
        if is_last and reply.state is ReplyState.WAITING and items and isinstance(items[-1], Prompt):
            items = items[:-1]  # the last line shows it
        content.add(items, reply)
    last = turn.replies[-1] if turn.replies else None
    failed = turn.refusal is not None or turn.error
    state = "busy" if last is None and turn.refusal else _STATES[last.state] if last is not None else None
    told = {"session": session, "state": state, "generation": last.generation if last is not None else None}
    return CallToolResult(
        content=[*content.blocks, TextContent(text="\n".join(map(wording.remark, _remarks(turn, last))))],
        is_error=failed,
        _meta={f"plughost/{key}": value for key, value in told.items() if value is not None},
    )


def _remarks(turn: Turn, last: Reply | None) -> Iterable[str]:
    if turn.interruption is not None:
        yield _INTERRUPTIONS[turn.interruption]
    if turn.replaced:
        yield f"worker replaced: {LOST}"
    if turn.restarted is not None:
        yield _RESTARTS[turn.restarted]
    if turn.refusal is not None:
        yield _REFUSALS[turn.refusal]
    if last is not None:
        yield _state(last)
    elif turn.restarted or turn.interruption not in (None, Interruption.IDLE):
        yield "the call that waits is told the rest"
    elif turn.refusal is None and turn.restarted is None:
        yield "idle"


def _state(reply: Reply) -> str:
    match reply.state:
        case ReplyState.READY:
            return "idle"
        case ReplyState.RUNNING:
            return f"busy, {reply.elapsed_ms / 1000:.0f} s: send an empty input to poll"
        case ReplyState.WAITING:
            return f"waiting for input: {quote(reply.prompt)}"
        case ReplyState.ENDED:
            return "worker ended: the next input starts another"


class _Content:
    """Blocks of one answer, as they grow."""

    def __init__(self, files: OutputFiles) -> None:
        self.blocks: list[ContentBlock] = []
        self._files = files
        self._images = self._image_bytes = 0
        self._stream = Stream.STDOUT  # of the last text: the other one is named

    def add(self, items: Sequence[Item], reply: Reply) -> None:
        lines: list[str] = []
        for item in items:
            if isinstance(item, Image) and self._fits(item):
                self._add_text(lines)
                data = base64.b64encode(item.data).decode()
                self.blocks.append(ImageContent(data=data, mime_type=item.mime_type))
            elif isinstance(item, Text):
                if item.stream is not self._stream:
                    self._stream = item.stream
                    _add_line(lines, wording.remark(item.stream))
                lines.append(item.text)
            else:
                _add_line(lines, self._remark(item, reply))
        self._add_text(lines)

    def _add_text(self, lines: list[str]) -> None:
        text = wording.clean("".join(lines))
        if text:
            self.blocks.append(TextContent(text=text))
        lines.clear()

    def _remark(self, item: Image | Prompt | Notice | Omitted, reply: Reply) -> str:
        match item:
            case Image():
                where = self._files.keep_and_tell(item.data, INLINE_TYPES.get(item.mime_type, ".image"))
                return wording.remark(
                    f"a picture, {item.mime_type}, {len(item.data)} bytes, is not shown here: {where('it')}"
                )
            case Prompt():
                return item.prompt
            case Notice():
                return wording.remark(item.text)
            case Omitted():
                return wording.remark(_omission(item, reply))

    def _fits(self, image: Image) -> bool:
        size = len(image.data)
        fits = (
            image.mime_type in INLINE_TYPES
            and size <= IMAGE_BYTES
            and self._image_bytes + size <= IMAGES_BYTES
            and self._images < IMAGES
        )
        if fits:
            self._images, self._image_bytes = self._images + 1, self._image_bytes + size
        return fits


def _add_line(lines: list[str], text: str) -> None:
    lines += ["" if not lines or lines[-1].endswith("\n") else "\n", text, "\n"]


def _omission(item: Omitted, reply: Reply) -> str:
    parts = []
    if item.chars:
        is_kept = item.spooled and reply.full_output is not None
        where = f"the whole output is in {reply.full_output}" if is_kept else "they are not kept"
        counted = f"{item.lines} lines, {item.chars} characters" if item.lines else f"{item.chars} characters"
        parts.append(f"{counted} are left out here: {where}")
    if item.images:
        parts.append(f"{item.images} pictures, {item.image_bytes} bytes, are left out and not kept")
    if item.entries:
        parts.append(f"{item.entries} prompts and remarks are left out")
    return "; ".join(parts) or "something is left out here"
