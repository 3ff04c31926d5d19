"""Ways to cut a stream of bytes into frames: plughost's decoders, and how others do it. Measures nothing.

Each takes pieces, as they would come out of a pipe, and returns how many frames were in them.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from plughost_sdk.frames import content_length, length_prefix, lines

PIECE = 65_536  # bytes: what one read brings
LIMIT = 64 * 1_048_576  # of one frame; above everything measured here

Encode = Callable[[bytes, int], bytes]
Consume = Callable[[Iterable[bytes]], int]


class Decoder(Protocol):
    """What plughost's three decoders have in common."""

    def receive_data(self, data: bytes) -> None: ...
    def next_frame(self) -> bytes | None: ...


MakeDecoder = Callable[[int], Decoder]
CODECS: dict[str, tuple[Encode, MakeDecoder]] = {
    "lines": (lines.encode, lines.LineDecoder),
    "content-length": (content_length.encode, content_length.ContentLengthDecoder),
    "length-prefix": (length_prefix.encode, length_prefix.LengthPrefixDecoder),
}


def frames(pieces: Iterable[bytes], make: MakeDecoder) -> Iterator[bytes]:
    """Yield the frames in *pieces*, asking after every piece, as a session does."""
    decoder = make(LIMIT)
    for piece in pieces:
        decoder.receive_data(piece)
        while (frame := decoder.next_frame()) is not None:
            yield frame


def by_codec(name: str) -> Consume:
    """Return the way of plughost's decoder *name*."""
    _, make = CODECS[name]
    return lambda pieces: sum(1 for _ in frames(pieces, make))


def by_split(pieces: Iterable[bytes]) -> int:
    """The MCP SDK's client: decode to text, add to what is left over, split all of it."""
    text = codecs.getincrementaldecoder("utf-8")()
    buffer, count = "", 0
    for piece in pieces:
        whole = (buffer + text.decode(piece)).split("\n")
        buffer = whole.pop()
        count += len(whole)
    return count


def by_stream_reader(pieces: Iterable[bytes]) -> int:
    """asyncio's StreamReader, fed without a transport: `readline` for every line that is whole."""

    async def read() -> int:
        reader = asyncio.StreamReader(limit=LIMIT)
        count = 0
        for piece in pieces:
            reader.feed_data(piece)
            for _ in range(piece.count(b"\n")):
                await reader.readline()
                count += 1
        return count

    return asyncio.run(read())


WAYS: dict[str, tuple[Encode, Consume]] = {
    **{name: (encode, by_codec(name)) for name, (encode, _) in CODECS.items()},
    "split": (lines.encode, by_split),
    "stream-reader": (lines.encode, by_stream_reader),
}


def cut(data: bytes) -> list[bytes]:
    """Return *data* in pieces."""
    return [data[at : at + PIECE] for at in range(0, len(data), PIECE)]


def text_message(size: int) -> bytes:
    """Return a JSON message of *size* bytes that is one long string: the least decoding per byte there is."""
    frame = b'{"data":"%b"}'
    return frame % (b"x" * (size - len(frame) + 2))
