"""The axis "method dispatch": every call is answered once, under its id, as the contract says; tellings in order."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from ..messages.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from .duplex_examination import CLI, EVENT, KEY, LATER, NOWHERE, RENDER, USUAL_SIZE, Examination, key
from .duplex_frames import notice
from .duplex_screen import settled
from .duplex_stub import ACTION
from .duplex_talk import Answer, Talk
from .verdict import Findings, Flaw, Remark, Skip

UNKNOWN, PARAMS, REPLY = "duplex:rpc:unknown-method", "duplex:rpc:params", "duplex:rpc:reply"
MEMBERS, ORDER = "duplex:rpc:unknown-members", "duplex:order:notifications"
REENTRANT = "duplex:order:reentrant"
IDS = (0, 7, 2**31, 2**53)  # a host counts from 1; no double bends these
UNKNOWN_METHODS = (NOWHERE, "host/plughost-no-such-method", "rpc.discover", "")
FILLING_BYTES = 120_000  # of each of two frames: more than a pipe holds, so that they are really read
KEYS = ("down", "down", "right", "up", "left", "end", "down", "tab")
# Parameters that are not the method's.
WRONG: dict[str, tuple[Any, ...]] = {
    RENDER: (
        {},
        None,
        [],
        {"viewport": {"width": "80", "height": 24}},
        {"viewport": {"width": -1, "height": 1}},
    ),
    CLI: ({}, {"namespace": 1, "argv": []}, {"namespace": "x", "argv": "y"}, {"namespace": "x"}),
    ACTION: ({}, {"action": 1, "payload": ""}, {"action": "x", "payload": 5}),
}


def dispatch(found: Examination) -> Findings:
    """Judge single messages of all conversations, and the conversations that are about methods."""
    findings: Findings = [
        *_unknown_methods(found),
        *_wrong_params(found),
        *_unknown_members(found),
        *_reentrant(found),
    ]
    if not any(isinstance(each, Flaw) and each.clause == REENTRANT for each in findings):
        findings += _order(found) + _echoes(found)
    noted = {flaw.clause: flaw for talk in found.talks if not _is_garbled(talk) for flaw in talk.flaws}
    return [*noted.values(), *findings]


def _is_garbled(talk: Talk) -> bool:
    """Its frames are no frames: what its messages look like says nothing."""
    return talk.probe.broken is not None or talk.probe.pending > 0


def _unknown_methods(found: Examination) -> Findings:
    with found.talk("called by methods that it does not have") as talk:
        for method, number in zip(UNKNOWN_METHODS, IDS, strict=True):
            wrong = _judged(
                found, talk, talk.call(method, {}, number), METHOD_NOT_FOUND, UNKNOWN, repr(method)
            )
            if wrong is not None:
                return [wrong]
        talk.when = "told by a method that it does not have"
        for method in UNKNOWN_METHODS:
            talk.tell(method, {"anything": 1})
        if not talk.answers_still():
            return [found.unanswered(talk, UNKNOWN, "a call after it")]
    return []


def _judged(
    found: Examination, talk: Talk, got: Answer | None, code: int, clause: str, what: str
) -> Flaw | Skip | None:
    if got is None:
        return found.unanswered(talk, clause, what)
    if got.code != code:
        said = "a result" if got.is_result else f"the error {got.code}"
        return Flaw(clause, f"{talk.when}, it answers {what} with {said}, not with {code}")
    return None


def _wrong_params(found: Examination) -> Findings:
    has = found.surface.provides
    there = {RENDER: bool(has.screens), CLI: bool(has.cli_namespaces), ACTION: bool(has.commands)}
    with found.talk("called with parameters that are not the method's") as talk:
        for method, wrong in WRONG.items():
            for params in wrong:
                got = talk.call(method, params)
                if got is not None and got.code == METHOD_NOT_FOUND and not there[method]:
                    break
                flaw = _judged(found, talk, got, INVALID_PARAMS, PARAMS, f"{method} {params!r}")
                if flaw is not None:
                    return [flaw]
        for method in (KEY, EVENT):
            talk.tell(method, {"topic": 5})
        if not talk.answers_still():
            return [found.unanswered(talk, PARAMS, f"a call after a bad {EVENT}")]
    return []


def _unknown_members(found: Examination) -> Findings:
    with found.talk("sent members that nobody knows", begins=False) as talk:
        got = found.init(talk, **LATER)
        if got is None:
            return [] if talk.is_broken else [Flaw(MEMBERS, f"{talk.when}, it does not begin: {talk.ending}")]
        if not got.is_result:
            return [Flaw(MEMBERS, f"{talk.when}, it answers plugin/init with the error {got.code}")]
        if RENDER in found.works:
            talk.tell(KEY, {**key(found.surface.provides.screens[0], "down"), **LATER})
            drawn = talk.call(RENDER, {"viewport": {**USUAL_SIZE, **LATER}, **LATER}, **LATER)
            if drawn is None:
                return [found.unanswered(talk, MEMBERS, RENDER)]
            if not drawn.is_result:
                return [Flaw(MEMBERS, f"{talk.when}, it answers {RENDER} with the error {drawn.code}")]
        for topic in found.topics if EVENT in found.works else ():
            talk.tell_slowly(EVENT, {"topic": topic, "payload": "", **LATER})
        if not talk.answers_still():
            return [found.unanswered(talk, MEMBERS, "a call")]
    return []


# In which order it does what it is told


def _order(found: Examination) -> Findings:
    """Keys that come one by one, each shown before the next, and the same keys at once: the screen is the same."""
    screens = found.surface.provides.screens
    if RENDER not in found.works:
        return [Remark("whether it takes what it is told in order cannot be seen: it shows no screen")]
    with found.talk("told of keys one by one") as slowly:
        for name in KEYS:
            slowly.tell(KEY, key(screens[0], name))
            slowly.answers_still()
        expected = settled(slowly)
    with found.talk("told of keys all at once") as quickly:
        quickly.probe.post(b"".join(notice(KEY, key(screens[0], name)) for name in KEYS))
        if not quickly.answers_still():
            return [found.unanswered(quickly, ORDER, "a call after them")]
        drawn = settled(quickly)
    if expected is None or drawn is None:
        return []  # it never holds still, which another axis says
    if expected != drawn:
        return [Flaw(ORDER, f"{quickly.when}, it shows another screen than when they came one by one")]
    return []


def _echoes(found: Examination) -> Findings:
    """What it says because of an event, if it repeats the event, comes in the order of the events."""
    topics = found.topics
    if EVENT not in found.works or found.strangers:
        return []  # it has no topics, or does not survive what it does not expect, which another axis says
    words = [b"plughost-%d-of-8" % number for number in range(8)]
    with found.talk("told of events all at once") as talk:
        payloads = [b64encode(each).decode() for each in words]
        heard = len(talk.calls)
        talk.probe.post(b"".join(notice(EVENT, {"topic": topics[0], "payload": each}) for each in payloads))
        if not talk.answers_still():
            return [found.unanswered(talk, ORDER, "a call after them")]
        said = [bytes(each.params) for each in talk.calls[heard:]]
    repeated = list(_repeated(said, words, payloads))
    if repeated != sorted(repeated):
        return [Flaw(ORDER, f"{talk.when}, it takes them in the order {repeated}")]
    return []


def _repeated(said: list[bytes], words: list[bytes], payloads: list[str]) -> Iterator[int]:
    for params in said:
        for number, (word, payload) in enumerate(zip(words, payloads, strict=True)):
            if word in params or payload.encode() in params:
                yield number


def _reentrant(found: Examination) -> Findings:
    """Keep its calls waiting, send it other things first, and only then the answers."""
    with found.talk("waiting for an answer, and sent other things before it") as talk:
        if not talk.is_ready:
            return []
        talk.held = []
        asked: list[int] = []
        for data in found.stirring(talk, asked):
            talk.probe.post(data)
        mine, data = talk.request(*talk.ping)
        talk.probe.post(data)
        talk.probe.work(lambda: bool(talk.held) or mine in talk.answers, found.patience.call_s)
        if not talk.held:
            talk.release()
            return [Remark("it made no calls of its own after init that could be kept waiting")]
        for screen in found.surface.provides.screens[:1]:
            talk.tell(KEY, key(screen, "up"))
        talk.tell(NOWHERE, {"filling": "x" * FILLING_BYTES})
        method, params = talk.ping
        last, data = talk.request(method, {**params, "filling": "x" * FILLING_BYTES})
        talk.probe.post(data)
        if not talk.probe.work(lambda: talk.probe.written, found.patience.call_s):
            return [Flaw(REENTRANT, f"{talk.when}, it does not read them: {talk.ending}")]
        talk.release()
        for each in (*asked, mine, last):
            if talk.await_answer(each) is None:
                return [found.unanswered(talk, REENTRANT, "what it was asked before")]
    return []
