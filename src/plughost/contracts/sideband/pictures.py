"""The images that are kept, within a budget: the latest of each id, the latest of all. Counts what it leaves out."""

from __future__ import annotations

from .items import Image


class Picture:
    """The place of an image in the timeline; None until it comes, and once it is left out or replaced."""

    __slots__ = ("image",)

    def __init__(self, image: Image | None = None) -> None:
        self.image = image


class Pictures:
    """At most *most* images of at most *most_bytes* in all."""

    __slots__ = ("_bytes", "_kept", "_latest", "_most", "_most_bytes", "omitted", "omitted_bytes")

    def __init__(self, most: int, most_bytes: int) -> None:
        self.omitted = 0
        self.omitted_bytes = 0
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: dict[int, Picture] = {}  # oldest first
        self._latest: dict[str, Picture] = {}

    def add(self, image: Image, place: Picture | None = None) -> Picture | None:
        """Return *place*, or a new one, with *image*; None if it alone is too large. Older ones may have to go."""
        previous = self._latest.get(image.id)
        if previous is not None and not image.is_new:
            self._remove(previous)  # only the last version of a picture is shown
        if not self._most or len(image.data) > self._most_bytes:
            self._count(image)
            return None
        while len(self._kept) >= self._most or self._bytes + len(image.data) > self._most_bytes:
            oldest = next(iter(self._kept.values()))
            if oldest.image is not None:
                self._count(oldest.image)
            self._remove(oldest)
        picture = place if place is not None else Picture()
        picture.image = image
        self._kept[id(picture)] = self._latest[image.id] = picture
        self._bytes += len(image.data)
        return picture

    def _count(self, image: Image) -> None:
        self.omitted += 1
        self.omitted_bytes += len(image.data)

    def _remove(self, picture: Picture) -> None:
        if picture.image is None:
            return
        del self._kept[id(picture)]
        self._bytes -= len(picture.image.data)
        if self._latest.get(picture.image.id) is picture:
            del self._latest[picture.image.id]
        picture.image = None
