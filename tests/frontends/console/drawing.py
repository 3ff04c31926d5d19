"""Pictures for tests, made by hand."""

from __future__ import annotations

import struct
import zlib

from plughost.contracts.sideband.items import Image


def png(width: int = 3, height: int = 2) -> bytes:
    """Return a grey PNG; of a large one only the beginning is true."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x80" * min(width, 8) for _ in range(min(height, 8)))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def image(
    data: bytes | None = None, *, id: str = "figure-1", mime_type: str = "image/png", is_new: bool = True
) -> Image:
    return Image(id, mime_type, png() if data is None else data, is_new, 1)
