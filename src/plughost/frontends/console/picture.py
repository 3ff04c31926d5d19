"""Bytes of a picture -> its size, its file's ending and whether it may be shown inline. Decodes no picture."""

from __future__ import annotations

from typing import NamedTuple

from ...contracts.sideband.items import Image

ENDINGS = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/svg+xml": ".svg",
    "application/pdf": ".pdf",
}
OTHER = ".bin"  # what is something else is not given a name that makes a program open it
PNG = b"\x89PNG\r\n\x1a\n"
_HEADER = 24  # bytes to the end of a PNG's width and height


class Size(NamedTuple):
    """Pixels."""

    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.width}×{self.height}"


def size(data: bytes) -> Size | None:
    """Return the size that a PNG says it has, None for what is none."""
    if len(data) < _HEADER or not data.startswith(PNG) or data[12:16] != b"IHDR":
        return None
    return Size(int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))


def ending(image: Image) -> str:
    """Return the ending of the name of *image*'s file, by what it says it is."""
    return ENDINGS.get(image.mime_type.partition(";")[0].strip().lower(), OTHER)
