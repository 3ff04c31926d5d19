"""Checks of the clauses of `hook` about frames: what a plugin writes, and what it must be able to read."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import Message

from ..contracts.hook.messages import FRAME_BYTES, Phase
from ..messages.quoting import quote
from .hook_examination import Examination
from .hook_sameness import outline
from .hook_seen import Answer, Seen, shown, whole_frames
from .hook_verdict import Check, Verdict
from .verdict import Skip


def body(found: Examination) -> Verdict:
    if isinstance(found.ordinary.info, str):
        return found.ordinary.info
    for seen in (found.ordinary,) if found.ordinary.is_silent else (found.ordinary, found.again, found.idle):
        for answer in seen.bodies:
            if isinstance(answer.result, str) and not found.is_out_of_order(answer):
                return f"{seen.when}: {answer.result}"
    return None


def limit(found: Examination) -> Verdict:
    for seen in (found.ordinary, *_long_ones(found)):
        if seen.promised is not None and not seen.printed:
            return f"{seen.when}, it begins a frame of {seen.promised} bytes; {FRAME_BYTES} are allowed"
    for seen in _long_ones(found):
        if seen.is_silent and seen.exit is not None and not seen.stderr.strip():
            return f"{seen.when}, {seen.ending} without a word"
    return None


def _long_ones(found: Examination) -> Iterator[Seen]:
    if found.sends_large and Phase.GENERATE in found.round and not found.ordinary.is_silent:
        yield found.swollen


def clean(found: Examination) -> Verdict:
    if found.cut_off.head:
        return f"{found.cut_off.when}, and it wrote {shown(found.cut_off.head)}"
    for seen in (found.ordinary, *((found.idle, found.greeted) if found.info is not None else ())):
        if seen.printed:
            return f"{seen.when}, it wrote {shown(seen.rest)}, which is no frame"
        if seen.promised is None and seen.introduction is not None:
            stray = [each for each in (*(answer.extra for answer in seen.answers), seen.rest) if each]
            strange = [each for each in stray if not whole_frames(each)]
            if strange:
                return f"{seen.when}, it also wrote {shown(strange[0])}, which is no frame"
    return None


def split(found: Examination) -> Verdict:
    return _other_answer(found, found.byte_by_byte, found.byte_by_byte.answers, alike=True)


def large(found: Examination) -> Verdict:
    if not found.sends_large:
        return Skip("it is not to be sent large requests")
    return _other_answer(found, found.large, found.large.answers)


def unknown_fields(found: Examination) -> Verdict:
    seen, length = found.unknown, len(found.round)
    wrong = _other_answer(found, seen, seen.answers[:length], alike=True)
    if wrong is not None:
        return wrong
    for answer in seen.answers[
        length:
    ]:  # an error may be the answer to a value: a condition is not left out lightly
        if isinstance(answer.result, str):
            how = seen.ending if answer.body is None else answer.result
            return f"{seen.when}, {answer.phase} fails: {how}"
    return None


def _other_answer(
    found: Examination, seen: Seen, answers: tuple[Answer, ...], *, alike: bool = False
) -> str | None:
    """Say how *answers* are worse than usual, or, if they must be *alike*, other than usual; or None."""
    if isinstance(seen.info, str):
        return f"{seen.when}, it does not introduce itself: {seen.ending}"
    for answer, usual in zip(answers, found.first_round, strict=False):
        if answer.body is None:
            return f"{seen.when}, it does not answer {answer.phase}: {seen.ending}"
        if isinstance(answer.result, str):
            return f"{seen.when}: {answer.result}"
        if alike and isinstance(usual.result, Message) and outline(answer.result) != outline(usual.result):
            return f"{seen.when}, it answers {answer.phase} otherwise than usual"
        if answer.errors and not usual.errors:
            return f"{seen.when}, it reports an error in {answer.phase}: {quote(answer.errors[0].message)}"
    return (
        None
        if len(answers) == len(found.round)
        else f"{seen.when}, it does not come to its end: {seen.ending}"
    )


CHECKS: dict[str, Check] = {
    "hook:frame:body": body,
    "hook:frame:limit": limit,
    "hook:frame:clean-stdout": clean,
    "hook:frame:split": split,
    "hook:frame:large-request": large,
    "hook:frame:unknown-fields": unknown_fields,
}
