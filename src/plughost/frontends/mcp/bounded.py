"""An answer that is too large for its way -> the same within a bound, its largest parts in files that it names.

Clients take an event of at most 1 MiB over HTTP, and end the connection where one is larger.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent

from . import wording
from .content import INLINE_TYPES
from .output_files import OutputFiles

EVENT_BYTES = 983_040  # of one answer over HTTP: 1 MiB less 64 KiB for what is around it
CUT_CHARS = 2_000  # shown of a text that is too large, from either end


def bounded(result: CallToolResult, files: OutputFiles, most_bytes: int = EVENT_BYTES) -> CallToolResult:
    """Return *result* in at most *most_bytes* of JSON; what does not fit is in *files*."""
    blocks = list(result.content)
    structured = result.structured_content
    sizes = [_size(block) for block in blocks]
    total = sum(sizes)
    if structured is not None:
        total += len(json.dumps(structured))
        if total > most_bytes:  # the text says the same
            total -= len(json.dumps(structured))
            structured = None
    for number in sorted(range(len(blocks)), key=sizes.__getitem__, reverse=True):
        if total <= most_bytes:
            break
        blocks[number] = _smaller(blocks[number], files)
        total += _size(blocks[number]) - sizes[number]
    if total > most_bytes:  # very many small ones
        blocks = _first_ones(blocks, files, most_bytes)
    return result.model_copy(update={"content": blocks, "structured_content": structured})


def _size(block: ContentBlock) -> int:
    """Return how many bytes *block* is, however characters are escaped, with what is around it."""
    around = 64
    if isinstance(block, TextContent):
        return around + len(json.dumps(block.text))
    return around + (len(block.data) if isinstance(block, ImageContent) else len(block.model_dump_json()))


def _smaller(block: ContentBlock, files: OutputFiles) -> ContentBlock:
    if isinstance(block, ImageContent):
        data = base64.b64decode(block.data)
        where = files.keep_and_tell(data, INLINE_TYPES.get(block.mime_type, ".image"))
        return TextContent(
            text=wording.remark(
                f"a picture, {block.mime_type}, {len(data)} bytes, is not shown here: {where('it')}"
            )
        )
    if isinstance(block, TextContent) and len(block.text) > 2 * CUT_CHARS:
        return TextContent(text=cut(block.text, CUT_CHARS, files))
    return block


def _first_ones(blocks: list[ContentBlock], files: OutputFiles, most_bytes: int) -> list[ContentBlock]:
    """Return the first of *blocks* and the last, which is on the session; the text of the rest is a file."""
    room = most_bytes - _size(blocks[-1]) - 4 * CUT_CHARS
    kept = 0
    while kept < len(blocks) - 1 and (room := room - _size(blocks[kept])) >= 0:
        kept += 1
    rest = blocks[kept:-1]
    text = "\n".join(block.text for block in rest if isinstance(block, TextContent))
    where = files.keep_and_tell(text.encode(errors="backslashreplace"), ".txt")
    note = TextContent(text=wording.remark(f"{len(rest)} parts are left out here: {where('their text')}"))
    return [*blocks[:kept], note, blocks[-1]]


def cut(text: str, half: int, files: OutputFiles) -> str:
    """Return *half* characters from either end of *text*, and where the whole is."""
    where: Callable[[str], str] = files.keep_and_tell(text.encode(errors="backslashreplace"), ".txt")
    left_out = len(text) - 2 * half
    note = wording.remark(f"{left_out} characters are left out here: {where('the whole output')}")
    return f"{text[:half]}\n{note}\n{text[-half:]}"
