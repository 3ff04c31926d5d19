"""How a `sideband` worker begins: its introduction, where it takes its pipes from, what it makes of wrong lines."""

from __future__ import annotations

import msgspec

from .probe import Probe
from .sideband_examination import Examination, answers
from .verdict import Findings, Flaw, Remark

UNKNOWN = {"a message of another name": b'{"type": "plughost_future", "text": "x", "request_id": 1}\n'}
LATER = b', "plughost_future": {"members": ["that", "nobody", "knows"], "yet": null}'
WRONG = {
    "an empty line": b"\n",
    "a line that is no JSON": b"this is no message\n",
    "half an object": b'{"type": "stdin_wri\n',
    "an array": b"[1, 2]\n",
    "a number": b"42\n",
    "null": b"null\n",
    "a text": b'"interrupt"\n',
    "an object without a type": b"{}\n",
    "a type that is a number": b'{"type": 5}\n',
    "bytes that are not UTF-8": b'{"type": "interrupt", "x": "\xff\xfe"}\n',
    "a NUL": b"\0\n",
    "a stdin_write without a text": b'{"type": "stdin_write"}\n',
    "a stdin_write whose text is a number": b'{"type": "stdin_write", "text": 5, "request_id": 1}\n',
    "a request_id that is a text": b'{"type": "interrupt", "request_id": "one"}\n',
    "a long line": b'{"type": "plughost_future", "text": "' + b"x" * 1_048_576 + b'"}\n',
    "deep nesting": b'{"type": "plughost_future", "text": ' + b"[" * 5_000 + b"]" * 5_000 + b"}\n",
}


def introduction(found: Examination) -> Findings:
    """It says backend_info once, first and in time, and does not start without the sideband."""
    findings: Findings = []
    if found.backend is None:
        findings.append(Flaw("sideband:hello:first", f"it does not introduce itself: {_why(found)}"))
    else:
        findings += _without_pipes(found)
    return findings


def _why(found: Examination) -> str:
    if found.first.probe.exit is None and found.first.probe.is_silent:
        return "it closes the sideband"
    return found.first.ending


def _without_pipes(found: Examination) -> Findings:
    bare = msgspec.structs.replace(found.binding, contract="execute")  # which has no other pipes
    with Probe(found.launcher, bare) as probe:
        status = probe.wait_exit(found.patience.call_s)
        clause = "sideband:transport:descriptors"
        if status is None:
            return [Flaw(clause, "it goes on without the variables that name its descriptors")]
        if status.code == 0:
            return [Flaw(clause, "without the variables that name its descriptors it exits with status 0")]
        if not probe.stderr.strip():
            return [Flaw(clause, "it does not say that the variables are missing which name its descriptors")]
    return []


def lines(found: Examination) -> Findings:
    """What it wrote in all conversations were messages."""
    unknown = sorted({name for talk in found.talks for name in talk.unknown})
    return [Remark(f"messages that no host knows: {', '.join(unknown)[:200]}")] if unknown else []


def robustness(found: Examination) -> Findings:
    """Lines that are wrong, or of a later contract, cost nothing but themselves."""
    return [
        *_passed_over(found, "line:unknown", UNKNOWN),
        *_members(found),
        *_passed_over(found, "line:robust", WRONG),
    ]


def _passed_over(found: Examination, clause: str, odd: dict[str, bytes]) -> Findings:
    with found.talk("told what is no message") as talk:
        for what, data in odd.items():
            talk.tell(data)
            if not answers(found, talk):
                return [Flaw(f"sideband:{clause}", f"after {what} it runs nothing: {talk.ending}")]
    return []


def _members(found: Examination) -> Findings:
    with found.talk("given a request with members of a later contract") as talk:
        word = found.word()
        asked = talk.finish(talk.send(found.code("echo", word), more=LATER))
        if asked is None or not talk.shows(asked, word):
            return [Flaw("sideband:line:unknown", f"{talk.when}, it does not run it: {talk.ending}")]
    return []
