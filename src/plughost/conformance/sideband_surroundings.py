"""What code in a `sideband` worker finds around it: no sideband, and streams that carry what it prints unchanged."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..contracts.base import Channel
from ..contracts.sideband.output import SEPARATOR, counted_token
from .sideband_examination import Examination, unended
from .sideband_hearing import Asked
from .sideband_requests import FLOOD
from .sideband_talk import Talk
from .verdict import Findings, Flaw, Remark, Skip

ORDER_BASE = f"{0:024x}ffffffff"  # the first mark is the end of what eight digits can count, plus one
VARIABLES = "MCP_CONSOLE_IPC_"
RAW = bytes(range(1, 256)).replace(b"\x1e", b"") + b"\0\xff\xfe\r\n\xc3"  # what no text is made of


def hidden(found: Examination) -> Findings:
    """Neither the variables nor the descriptors are there for code, children and forks."""
    tried = {
        "code": ("variables", found.code("variables")),
        "a child process": ("run", found.code("run", command="env; ls -l /proc/self/fd || ls -l /dev/fd")),
        "a forked copy": ("forked", found.code("forked")),
    }
    known = {who: code for who, (name, code) in tried.items() if getattr(found.snippets, name)}
    if not known:
        return [*found.lacks("variables", "run", "forked")]
    findings: Findings = []
    with found.talk("asked what is around") as talk:
        pipes = _pipes(talk)
        for who, code in known.items():
            asked = talk.run(code)
            if asked is None:
                findings.append(unended(talk, "transport:hidden", f"{who} that looks around"))
                break
            shown = talk.output(asked)
            if not shown.strip():
                findings.append(Remark(f"{who} shows nothing of what is around it"))
            if VARIABLES in shown:
                findings.append(
                    Flaw("sideband:transport:hidden", f"{who} finds the variables of the sideband")
                )
            if any(pipe in shown for pipe in pipes):
                findings.append(
                    Flaw("sideband:transport:hidden", f"{who} finds the descriptors of the sideband")
                )
    return findings


def _pipes(talk: Talk) -> list[str]:
    """Return how /proc calls the pipes of the sideband: both ends of a pipe have one number."""
    fds = (talk.probe.process.fileno(each) for each in (Channel.CONTROL_IN, Channel.CONTROL_OUT))
    return [f"pipe:[{os.fstat(fd).st_ino}]" for fd in fds if fd >= 0]


def output(found: Examination) -> Findings:
    """What is printed by code and by child processes comes out as it is, however much it is."""
    findings: Findings = [*_streams(found), *_raw(found), *_flood(found)]
    return findings


def _streams(found: Examination) -> Findings:
    if found.lacks("warn"):
        return []
    with found.talk("given code that prints to both streams") as talk:
        one, two, three = found.word(), found.word(), found.word()
        code = "\n".join((found.code("echo", one), found.code("warn", two), found.code("echo", three)))
        wanted = b',"order_mark":"%s"' % ORDER_BASE.encode() if talk.has_order_marks else b""
        asked = talk.finish(talk.send(code, more=wanted))
        if asked is None:
            return [unended(talk, "output:raw", "code that prints to both streams")]
        if not (talk.shows(asked, three) and talk.shows(asked, two, stderr=True)):
            return [Flaw("sideband:output:raw", "what is printed does not come out on its own stream")]
        if talk.has_order_marks and _merged(talk, asked, (one, two, three)) not in ([one, two, three], None):
            return [
                Flaw("sideband:output:marked", "its order marks do not tell which stream was written first")
            ]
    return []


def _merged(talk: Talk, asked: Asked, words: Sequence[str]) -> list[str] | None:
    """Return *words* in the order that the order marks tell: empty if a stream lacks a mark of the other.

    None if a word comes behind the end of its request, which is another flaw.
    """
    shown: list[tuple[int, str]] = []
    counts = set()
    for stream, start in ((talk.probe.stdout, asked.out_from), (talk.probe.stderr, asked.err_from)):
        marks, text = 0, bytes(stream[start:]).partition(asked.mark)[0]
        for part in text.split(SEPARATOR):
            if part == counted_token(ORDER_BASE, marks + 1).encode():
                marks += 1
            shown += ((marks, word) for word in words if word.encode() in part)
        counts.add(marks)
    if len(shown) < len(words):
        return None
    return [word for _, word in sorted(shown, key=lambda each: each[0])] if len(counts) == 1 else []


def _raw(found: Examination) -> Findings:
    if found.lacks("run"):
        return []
    with (
        tempfile.TemporaryDirectory(prefix="plughost-check-") as directory,
        found.talk("given a child process that prints bytes") as talk,
    ):
        file = Path(directory) / "bytes"
        file.write_bytes(RAW)
        word = found.word()
        asked = talk.run(found.code("run", command=f"cat {file}; echo {word}"))
        if asked is None or not talk.shows(asked, word):
            return [unended(talk, "output:raw", "a child process that prints bytes")]
        if RAW + word.encode() not in bytes(talk.probe.stdout):
            return [
                Flaw("sideband:output:raw", "bytes that a child process prints do not come out as they are")
            ]
    return []


def _flood(found: Examination) -> Findings:
    if found.lacks("flood"):
        return [Skip("no code is known that prints much: [check] in its binding lacks flood")]
    with found.talk("given code that prints much") as talk:
        word = found.word()
        asked = talk.run(found.code("flood", word))
        if asked is None:
            return [unended(talk, "output:raw", "code that prints much")]
        if not talk.counts(asked, word, FLOOD):
            return [Flaw("sideband:output:raw", f"of {FLOOD} lines that are printed some are lost")]
    return []
