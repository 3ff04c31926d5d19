"""The last frames of a conversation, as an autopsy shows them: a few, and of each the beginning."""

from __future__ import annotations

from ..autopsy import WireFrame
from .stderr import printable

FRAMES_KEPT = 6  # three calls and their answers: what led to the end is rarely further back
FRAME_HEAD = 400  # bytes of each that are shown
PAIRS_KEPT = FRAMES_KEPT // 2
SHORT_FRAME = 1_024  # bytes: a pair is of short frames, which are kept whole


class WireLog:
    """What went over the wire last. Made readable only if somebody has to read it."""

    __slots__ = ("_frames", "_pairs", "_said")

    def __init__(self) -> None:
        self._frames: list[tuple[str, int, bytes]] = []  # direction, size and beginning of each
        self._pairs: list[tuple[bytes, bytes]] = []  # calls and their answers, after all of those
        self._said = b""  # a call that is not answered yet, after all of these

    def note(self, way: str, frame: bytes) -> None:
        """A frame has passed."""
        if self._pairs or self._said:
            self._join()
        self._frames.append((way, len(frame), frame[:FRAME_HEAD]))
        if len(self._frames) > FRAMES_KEPT:
            del self._frames[0]

    def note_all(self, way: str, frames: list[bytes]) -> None:
        """Several frames have passed, one after another."""
        if self._pairs or self._said:
            self._join()
        self._frames += [(way, len(frame), frame[:FRAME_HEAD]) for frame in frames[-FRAMES_KEPT:]]
        del self._frames[:-FRAMES_KEPT]

    def note_call(self, frame: bytes) -> None:
        """A call has gone out, which `note_answer` may follow if it is short."""
        if len(frame) > SHORT_FRAME:
            self.note("out", frame)
            return
        if self._said:  # which nobody has answered
            self._join()
        self._said = frame

    def note_answer(self, frame: bytes) -> None:
        """The answer to a short call has come, and is short, and nothing has passed in between."""
        pairs = self._pairs
        pairs.append((self._said, frame))
        self._said = b""
        if len(pairs) > PAIRS_KEPT:
            del pairs[0]

    def frames(self) -> tuple[WireFrame, ...]:
        """Return them readable, the last one last."""
        return tuple(
            WireFrame(way, size, printable(head).replace("\n", "\\n")) for way, size, head in self._all()
        )

    def _join(self) -> None:
        self._frames = self._all()
        self._pairs, self._said = [], b""

    def _all(self) -> list[tuple[str, int, bytes]]:
        short = [each for said, heard in self._pairs for each in (("out", said), ("in", heard))]
        if self._said:
            short.append(("out", self._said))
        noted = [(way, len(frame), frame[:FRAME_HEAD]) for way, frame in short]
        return [*self._frames, *noted][-FRAMES_KEPT:]
