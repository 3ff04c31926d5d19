"""Where a request's pictures belong in its text: the marks of stdout and the messages of the sideband, joined.

The two come over pipes that nothing orders. A mark that comes first leaves an empty place in the timeline, which the
picture takes; a picture that comes first waits for its mark. Neither waits for ever: both are bounded, and with the end
of the request, or of stdout, a picture is placed where the output is by then. Decides nothing about a picture itself.
"""

from __future__ import annotations

from .items import Image
from .pictures import Picture
from .timeline import Timeline

MOST_WAITING = 64  # pictures that came before their marks: as many as are kept otherwise
WAITING_BYTES = 67_108_864  # of all of them: the same
MOST_EMPTY = 64  # places whose pictures have not come


class Places:
    """The pictures of one request that have their mark but not their message, or the reverse. Numbers count from 1."""

    __slots__ = ("_empty", "_passed", "_stopped", "_timeline", "_waiting")

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._empty: dict[int, Picture] = {}  # by the number of the mark, oldest first
        self._waiting: dict[int, Image] = {}
        self._passed = 0  # the latest mark
        self._stopped = False  # no more marks come

    def mark(self, number: int) -> None:
        """The mark of picture *number* is here. Those before it can no longer come."""
        self._passed = number
        for earlier in [each for each in self._waiting if each < number]:
            self._timeline.add_image(self._waiting.pop(earlier))
        image = self._waiting.pop(number, None)
        if image is not None:
            self._timeline.add_image(image)
            return
        self._empty[number] = self._timeline.add_place()
        if len(self._empty) > MOST_EMPTY:
            del self._empty[next(iter(self._empty))]

    def put(self, image: Image, number: int) -> None:
        """*image* belongs where its mark, which is *number*, is, or will be."""
        place = self._empty.pop(number, None)
        if place is not None or number <= self._passed or self._stopped:
            self._timeline.add_image(image, place)
            return
        if number in self._waiting:  # it is named a second time: show the first
            self._timeline.add_image(self._waiting.pop(number))
        self._waiting[number] = image
        while len(self._waiting) > MOST_WAITING or self._bytes() > WAITING_BYTES:
            self._timeline.add_image(self._waiting.pop(next(iter(self._waiting))))

    def _bytes(self) -> int:
        return sum(len(image.data) for image in self._waiting.values())

    def stop(self) -> None:
        """No more marks come: show what waits for one. Those that have come still wait for their pictures."""
        for image in self._waiting.values():
            self._timeline.add_image(image)
        self._waiting.clear()
        self._stopped = True

    def end(self) -> None:
        """The request is over: forget the places that nobody took."""
        self.stop()
        self._empty.clear()
        self._passed = 0
        self._stopped = False
