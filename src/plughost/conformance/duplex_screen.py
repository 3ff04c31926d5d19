"""The axis "render determinism": the same screen is the same bytes, of the size that was asked for."""

from __future__ import annotations

from ..contracts.duplex.messages import RenderResult, decode
from ..errors import RemoteProtocolError
from .duplex_examination import RENDER, USUAL_SIZE, Examination
from .duplex_frames import shown
from .duplex_talk import Answer, Talk
from .verdict import Findings, Flaw, Skip

STABLE, SIZE = "duplex:render:stable", "duplex:render:size"
SIZES = ((80, 24), (1, 1), (10, 5), (0, 0), (500, 200), (80, 24))
SETTLING = 20  # renders until a plugin that reads something first has to hold still
IN_A_ROW = 3  # equal renders that mean that it does
FRAME_S = 0.016  # between two renders that differ: about as fast as a host would ask
RENDERS = 10  # then as many are compared


def render(found: Examination) -> Findings:
    """Judge the screens of one process."""
    if not found.surface.provides.screens:
        return [Skip("its manifest names no screens")]
    with found.talk("asked for its screen") as talk:
        for width, height in SIZES:
            got = talk.call(RENDER, {"viewport": {"width": width, "height": height}, "generation": 0})
            wrong = _wrong(found, talk, got, width, height)
            if wrong is not None:
                return [wrong]
        return _stable(found, talk)


def _wrong(found: Examination, talk: Talk, got: Answer | None, width: int, height: int) -> Flaw | Skip | None:
    what = f"{RENDER} of {width} x {height}"
    if got is None:
        return found.unanswered(talk, SIZE, what)
    if not got.is_result:
        return Flaw(SIZE, f"it answers {what} with the error {got.code}: {got.message[:200]!r}")
    try:
        buffer = decode(RenderResult, got.result).buffer
    except RemoteProtocolError as error:
        return Flaw(SIZE, f"its answer to {what} is no buffer: {error}")
    if (buffer.width, buffer.height) != (width, height):
        return Flaw(SIZE, f"its answer to {what} is a buffer of {buffer.width} x {buffer.height}")
    return None


def _stable(found: Examination, talk: Talk) -> Findings:
    first = settled(talk)
    if first is None:
        if talk.is_broken or talk.is_gone:
            return [found.unanswered(talk, STABLE, RENDER)]
        return [
            Flaw(STABLE, f"asked {SETTLING} times, it never renders the same bytes {IN_A_ROW} times in a row")
        ]
    both = [talk.request(RENDER, {"viewport": USUAL_SIZE, "generation": number}) for number in range(RENDERS)]
    talk.probe.post(b"".join(data for _, data in both))
    for mine, _ in both:
        got = talk.await_answer(mine)
        if got is None:
            return [found.unanswered(talk, STABLE, f"{RENDER}, asked {RENDERS} times at once")]
        if bytes(got.result) != first:
            return [
                Flaw(STABLE, f"the same screen is first {shown(first)} and then {shown(bytes(got.result))}")
            ]
    return []


def settled(talk: Talk) -> bytes | None:
    """Return the screen once it holds still, or None if it does not."""
    last, equal = b"", 0
    for _ in range(SETTLING):
        got = talk.call(RENDER, {"viewport": USUAL_SIZE, "generation": 0})
        if got is None:
            return None
        drawn = bytes(got.result)
        last, equal = drawn, equal + 1 if drawn == last else 1
        if equal == IN_A_ROW:
            return drawn
        if equal == 1:
            talk.listen(FRAME_S)
    return None
