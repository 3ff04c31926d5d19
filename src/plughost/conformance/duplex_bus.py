"""The axes "snapshot pub/sub" and "chunked publish ordering": what it publishes, and what it takes as a subscriber."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from ..capabilities.grants import Capability, covers_topic
from ..messages.quoting import listed, quote
from . import duplex_payload as payloads
from .duplex_examination import EVENT, RENDER, USUAL_SIZE, Examination
from .duplex_stub import flaw_of
from .duplex_talk import Talk
from .verdict import Findings, Flaw, Remark, Skip

PUBLISH, GET, SUBSCRIBE = "host/snapshot/publish", "host/snapshot/get", "host/snapshot/subscribe"
VERSION, ORPHANS, CHUNKS = "duplex:snapshot:version", "duplex:snapshot:orphans", "duplex:snapshot:chunks"
CALLS = "duplex:rpc:own-calls"
CHUNK_BYTES = 2_097_152  # of a payload: more than that has to be cut
NOBODY_S_VERSION = 4_294_967_295  # the highest there is
LIKELY_VERSIONS = (1, 2, 3, 4)  # which of them is the plugin's is not known
NO_READER = "it does not read on while it waits for an answer, which another axis says"
NO_CHUNKS = (b"", b"\x00\xff garbage \x80", b"[]", b"null", b"{}", b"\xc1")


@dataclass(frozen=True, slots=True)
class Publish:
    """One publish: its topic, and the bytes or why they are none."""

    when: str
    topic: str
    payload: bytes | str


def pubsub(found: Examination) -> Findings:
    """Judge its publishes of all conversations, and how it takes events that it cannot understand."""
    findings = [*_strangers(found), *_unheard(found)]
    made = [each for talk in found.talks for each in talk.called(PUBLISH, GET, SUBSCRIBE)]
    if not made and not found.topics and not found.surface.provides.snapshots:
        return [Skip("its manifest names no snapshots, and it publishes and subscribes to none")]
    flawed = next((each for each in published(found) if isinstance(each.payload, str)), None)
    if flawed is not None:
        findings.append(Flaw(payloads.CLAUSE, f"the payload that it publishes is {flawed.payload!s}"))
    for call in made:
        wrong = flaw_of(call.method, call.params)
        if wrong is not None and flawed is None:
            return [*findings, Flaw(CALLS, f"it calls {call.method} wrongly: {wrong}")]
        if call.is_request == (call.method == PUBLISH):
            kind = "request" if call.is_request else "notification"
            return [*findings, Flaw(CALLS, f"it sends {call.method} as a {kind}")]
    return findings


def _unheard(found: Examination) -> Findings:
    """Remark subscriptions that no host delivers, because the manifest asks for no capability to hear them."""
    grant = found.surface.capabilities.grants().of(Capability.EVENT_BUS)
    dead = [each for each in found.surface.subscribes.snapshots if not covers_topic(grant, each)]
    told = f"without event_bus a host tells it nothing of {listed(dead)}, to which its manifest subscribes"
    return [Remark(told)] if dead else []


def chunked(found: Examination) -> Findings:
    """Judge the chunks that it publishes, and how it takes chunks that do not follow on one another."""
    findings: Findings = []
    if not any(isinstance(each, Flaw) for each in _strangers(found)):
        findings = _survival(found, ORPHANS, "told of chunks out of order", list(_disorder()))
    by_talk = [list(_publishes(talk)) for talk in found.talks if not talk.probe.broken]
    flaws = [flaw for publishes in by_talk if (flaw := disordered(publishes)) is not None]
    unfinished = [_unfinished(publishes) for publishes in by_talk if _chunks(publishes)]
    if not flaws and unfinished and all(unfinished):
        flaws = [
            Flaw(CHUNKS, f"of {quote(unfinished[0] or '')} the last chunk does not come, or has no is_final")
        ]
    if not found.topics and not any(by_talk):
        return [Skip("it published nothing, and subscribes to nothing")]
    return [*findings, *flaws[:1]]


# As a publisher


def published(found: Examination) -> Iterator[Publish]:
    for talk in found.talks:
        yield from _publishes(talk)


def _publishes(talk: Talk) -> Iterator[Publish]:
    for call in talk.called(PUBLISH):
        said = payloads.members(call.params)
        yield Publish(talk.when, str(said.get("topic")), payloads.read(said.get("payload")))


def _chunks(publishes: list[Publish]) -> list[tuple[Publish, dict[str, Any]]]:
    found = ((each, envelope(each.payload)) for each in publishes)
    return [(each, chunk) for each, chunk in found if chunk is not None]


def envelope(payload: bytes | str) -> dict[str, Any] | None:
    """Return the chunk in *payload*, which is JSON or msgpack, or None if it is none."""
    if isinstance(payload, str) or not payload:
        return None
    for decode in (msgspec.json.decode, msgspec.msgpack.decode):
        try:
            found = decode(payload)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            continue
        if isinstance(found, dict) and {"chunk_index", "is_final"} & found.keys() and "published_ns" in found:
            return found
    return None


def disordered(publishes: list[Publish]) -> Flaw | None:
    """Say how the publishes of one process are too large, or its chunks out of order, or None."""
    for each in publishes:
        chunk = envelope(each.payload)
        if len(each.payload) > CHUNK_BYTES and not _is_one_item(chunk):
            size = f"{len(each.payload)} bytes"
            return Flaw(CHUNKS, f"it publishes {size} of {quote(each.topic)} at once: over {CHUNK_BYTES}")
    open_: dict[str, tuple[int, Any]] = {}  # by topic: the next index, and whose
    for each, chunk in _chunks(publishes):
        index, batch = chunk.get("chunk_index", 0), chunk.get("published_ns")
        is_final = chunk.get("is_final", True)
        told = f"of {quote(each.topic)} it publishes chunk {index!r}"
        if type(index) is not int or type(batch) is not int or type(is_final) is not bool:
            return Flaw(CHUNKS, f"{told}, whose chunk_index, published_ns or is_final is of the wrong type")
        expected = open_.pop(each.topic, None)
        if index == 0 and expected is not None:
            return Flaw(CHUNKS, f"{told} of a new publish, and no chunk of the last one was final")
        if index != 0 and expected is None:
            return Flaw(CHUNKS, f"{told} after a final one, or without a chunk 0")
        if expected is not None and expected != (index, batch):
            return Flaw(
                CHUNKS, f"{told} of {batch}, where chunk {expected[0]} of {expected[1]} has to follow"
            )
        if not is_final:
            open_[each.topic] = (index + 1, batch)
    return None


def _is_one_item(chunk: dict[str, Any] | None) -> bool:
    """A single item may be larger than a chunk: it goes alone."""
    data = chunk.get("data") if chunk is not None else None
    return isinstance(data, list) and len(data) == 1


def _unfinished(publishes: list[Publish]) -> str | None:
    """Return a topic whose last chunk is not final."""
    last = {each.topic: chunk for each, chunk in _chunks(publishes)}
    return next((topic for topic, chunk in last.items() if not chunk.get("is_final", True)), None)


# As a subscriber


def _strangers(found: Examination) -> Findings:
    """Tell it of what it cannot understand, once for all axes: who falls over that falls over chunks too."""
    if found.strangers is None:
        found.strangers = _survival(found, VERSION, "told of another version", list(_mismatches()))
    return found.strangers


def _survival(found: Examination, clause: str, when: str, events: list[bytes]) -> Findings:
    """Tell it of *events* on every topic, and see whether it still answers, and draws if it has a screen."""
    if not found.topics:
        return []
    with found.talk(when) as talk:
        told = [(topic, payload) for topic in found.topics for payload in events]
        for at, event in enumerate(told):
            talk.tell(EVENT, _params(*event))
            if not talk.answers_still():
                silent = found.unanswered(talk, clause, "a call")
                is_sure = isinstance(silent, Skip) or _falls_slowly(found, when, told[: at + 1])
                return [silent if is_sure else Skip(NO_READER)]
        if RENDER in found.works:
            drawn = talk.call(RENDER, {"viewport": USUAL_SIZE, "generation": 0})
            if drawn is None:
                return [found.unanswered(talk, clause, RENDER)]
            if not drawn.is_result:
                return [Flaw(clause, f"{when}, it answers {RENDER} with the error {drawn.code}")]
    return []


def _falls_slowly(found: Examination, when: str, told: list[tuple[str, bytes]]) -> bool:
    """Tell whether it is the events: it falls over them too if nothing comes before the answers to its calls."""
    with found.talk(when) as talk:
        for event in told:
            talk.tell_slowly(EVENT, _params(*event))
        return not talk.answers_still()


def _params(topic: str, payload: bytes) -> dict[str, str]:
    return {"topic": topic, "payload": b64encode(payload).decode()}


def _mismatches() -> Iterator[bytes]:
    yield from NO_CHUNKS
    for version in (NOBODY_S_VERSION, 0):
        yield from _encoded(_chunk(version, 1, 0, is_final=True))


def _disorder() -> Iterator[bytes]:
    """A chunk without a beginning, one left out, one twice, a beginning in the middle, a stranger in between."""
    for version in LIKELY_VERSIONS:
        for batch, index, is_final in (
            (1, 1, False), (1, 2, True), (2, 0, False), (2, 2, True), (3, 0, False), (3, 0, False),
            (3, 1, False), (3, 1, False), (4, 2, True), (5, 0, False), (6, 0, True),
        ):  # fmt: skip
            yield from _encoded(_chunk(version, batch, index, is_final=is_final))


def _chunk(version: int, batch: int, index: int, *, is_final: bool) -> dict[str, Any]:
    return {
        "version": version,
        "published_ns": batch,
        "partial": not is_final,
        "chunk_index": index,
        "is_final": is_final,
        "data": [],
    }


def _encoded(chunk: dict[str, Any]) -> Iterator[bytes]:
    yield msgspec.json.encode(chunk)
    yield msgspec.msgpack.encode(chunk)
