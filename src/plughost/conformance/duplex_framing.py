"""The axis "framing": nothing but frames comes out, and frames in any pieces, and of any length, go in."""

from __future__ import annotations

import re

from plughost_sdk.frames.errors import FrameTooLarge, TruncatedFrame

from ..contracts.duplex.messages import FRAME_BYTES
from ..messages.jsonrpc import METHOD_NOT_FOUND
from .duplex_examination import INIT, NOWHERE, Examination
from .duplex_frames import largest, shown
from .duplex_talk import Talk
from .verdict import UNREADABLE, Findings, Flaw, Remark

_HEADER = re.compile(rb"[ \t]*content-[a-z]+[ \t]*:", re.IGNORECASE)
SPLIT, LARGE = "duplex:frame:split", "duplex:frame:large"
AT_ONCE = 20  # calls in one write


def framing(found: Examination) -> Findings:
    """Judge what came in place of frames in any conversation, and how frames are taken."""
    findings = _pieces(found) + _at_once(found) + _large(found)
    broken = [flaw for talk in found.talks if (flaw := output(talk)) is not None]
    return [*broken[:1], *findings]


def output(talk: Talk) -> Flaw | None:
    """Say what came in place of a frame, if something did."""
    probe = talk.probe
    head = bytes(probe.unframed)
    if probe.flooded:
        return Flaw("duplex:frame:limit", f"{talk.when}, it writes without end")
    if probe.broken is None and not probe.pending:
        return None
    if isinstance(probe.broken, FrameTooLarge) and "body" in str(probe.broken):
        return Flaw("duplex:frame:limit", f"{talk.when}: {probe.broken}")
    told = f"{talk.when}, it writes {shown(head)}"
    ours = _HEADER.match(head) is not None or b"content-length:".startswith(head[:15].lower())
    if any(flaw.clause == "duplex:rpc:version" for flaw in talk.flaws) and not ours:
        return Flaw(
            "duplex:frame:header", f"{told} after a body that is no JSON: its length is not the body's"
        )
    if ours:
        cut = f"{told}, and the rest of the frame does not come"
        whole = probe.broken is None or isinstance(probe.broken, TruncatedFrame)
        return Flaw("duplex:frame:header", cut if whole else f"{told}: {probe.broken}")
    return Flaw("duplex:frame:clean-stdout", f"{told}, which is no frame")


def _pieces(found: Examination) -> Findings:
    with found.talk("sent a frame byte by byte", begins=False) as talk:
        mine, data = talk.request(INIT, found.init_params())
        talk.probe.dribble(data, found.patience.init_s)
        if talk.await_answer(mine, found.patience.init_s) is None:
            return [UNREADABLE if talk.is_broken else _unread(talk, "plugin/init")]
        talk.is_ready = True
        mine, data = talk.request(*talk.ping)
        talk.probe.dribble(data, found.patience.call_s)
        if talk.await_answer(mine) is None:
            return [UNREADABLE if talk.is_broken else _unread(talk, "a call")]
    return []


def _unread(talk: Talk, what: str) -> Flaw:
    return Flaw(SPLIT, f"{talk.when}, it does not answer {what}: {talk.ending}")


def _at_once(found: Examination) -> Findings:
    with found.talk(f"sent {AT_ONCE} frames at once") as talk:
        asked = [talk.request(*talk.ping) for _ in range(AT_ONCE)]
        talk.probe.post(b"".join(data for _, data in asked))
        for mine, _ in asked:
            if talk.await_answer(mine) is None:
                answered = sum(mine in talk.answers for mine, _ in asked)
                return [found.unanswered(talk, SPLIT, f"all of them, but {answered}")]
    return []


def _large(found: Examination) -> Findings:
    if not found.sends_large:
        return [Remark("no body of the greatest length was sent")]
    if NOWHERE not in found.works:
        return [Remark("it does not answer methods that it does not have, so that no long one was sent")]
    with found.talk(f"sent a body of {FRAME_BYTES} bytes") as talk:
        mine, _ = talk.request(NOWHERE, {})
        talk.probe.post(largest(NOWHERE, mine))
        got = talk.await_answer(mine)
        if got is None:
            return [found.unanswered(talk, LARGE, "it")]
        if got.code != METHOD_NOT_FOUND:
            return [Flaw(LARGE, f"{talk.when}, it answers {_said(got.code)}, not {METHOD_NOT_FOUND}")]
    return []


def _said(code: int | None) -> str:
    return "a result" if code is None else f"the error {code}"
