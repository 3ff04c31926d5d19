"""What a `sideband` worker makes of requests: each is run whole, once and as it came, and its end is told."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..contracts.base import Channel
from .sideband_examination import Examination, state_survives, unended
from .verdict import Findings, Flaw, Skip

MANY = 300  # requests, one after the other
LARGE = 1_048_576  # characters of one request
FLOOD = 20_000  # lines that the snippet `flood` prints


def requests(found: Examination) -> Findings:
    """One end for each request, with its id; and exactly the bytes that were announced, however they come."""
    if not found.works:
        return [unended(found.tried, "request:ids", "a request that prints a word")]
    if not found.has_ids:
        return _many(found) or [Skip(f"it says that it knows no ids; {MANY} requests were not lost")]
    return _pieces(found) or _twice(found) or _many(found)


def _pieces(found: Examination) -> Findings:
    """Write a request byte by byte, with more than one byte in a character, and cut in the middle of one."""
    with found.talk("given a request in pieces") as talk:
        word = found.word() + "é€𝄞"
        code = found.code("echo", word)
        asked = talk.send(code, hold=True)
        data = code.encode() + b"\n"
        for at in range(len(data)):
            talk.probe.post(Channel.STDIN, data[at : at + 1])
            talk.probe.work(lambda: talk.probe.written() and not talk.probe.unread(), found.patience.quiet_s)
            if asked.end is not None and at < len(data) - 1:
                return [Flaw("sideband:request:exact", "a request is over before it was all written")]
        if talk.finish(asked) is None:
            return [unended(talk, "request:exact", "a request that came byte by byte")]
        if not talk.shows(asked, word):
            return [
                Flaw(
                    "sideband:request:exact",
                    f"a request that came byte by byte shows {_shown(talk.output(asked))}",
                )
            ]
    return []


def _twice(found: Examination) -> Findings:
    """Two requests: the second begins where the first one ended, and nothing of either is left over."""
    with found.talk("given one request after another") as talk:
        for _ in range(3):
            first, second = found.word(), found.word()
            asked = talk.run(found.code("echo", first) + "\n" + found.code("echo", second))
            if asked is None:
                return [unended(talk, "request:ids", "a request of two lines")]
            if not (talk.shows(asked, first) and talk.shows(asked, second)):
                return [Flaw("sideband:request:exact", f"of two lines it runs {_shown(talk.output(asked))}")]
        talk.listen()  # for an end that comes a second time
    return []


def marks(found: Examination) -> Findings:
    """Both marks are written before the end is told, and what was printed is before them."""
    if not found.has_marks:
        return [Skip("it says that it writes no marks")]
    with found.talk("given a mark") as talk:
        words = {"echo": found.word(), "warn": found.word()}
        tried = [name for name in words if getattr(found.snippets, name)]
        asked = talk.run("\n".join(found.code(name, words[name]) for name in tried))
        if asked is None or asked.end is None:
            return [unended(talk, "request:mark", "a request with a mark")]
        if not asked.end.marked:
            return [Flaw("sideband:request:mark", "its request_end does not say that it is marked")]
        if not asked.is_marked:
            return [Flaw("sideband:request:mark", "it says that it is marked before both marks are written")]
        talk.listen()  # for what comes behind its mark
        for name, stream, start in (
            ("echo", talk.probe.stdout, asked.out_from),
            ("warn", talk.probe.stderr, asked.err_from),
        ):
            if words[name].encode() in bytes(stream[start:]).partition(asked.mark)[2]:
                return [Flaw("sideband:request:mark", f"what was printed comes behind its mark ({name})")]
    return []


def large(found: Examination) -> Findings:
    """A request of a megabyte is read while it is written, and is understood."""
    if not found.remembers:
        return [*found.lacks("set", "get")] or [Skip("what one request defines, the next one does not find")]
    with found.talk("given a large request") as talk:
        word = found.word()
        text = word + "x" * (LARGE - 2 * len(word)) + word[::-1]
        if talk.run(found.code("set", text)) is None:
            return [unended(talk, "request:large", f"a request of {LARGE} characters")]
        asked = talk.run(found.code("get"))
        if asked is None:
            return [unended(talk, "request:large", f"one that prints {LARGE} characters")]
        if not talk.shows(asked, text):
            return [Flaw("sideband:request:large", f"of a text of {LARGE} characters it shows another")]
    return []


def _many(found: Examination) -> Findings:
    """Many requests, none lost, none early, none mixed with another."""
    with found.talk(f"given {MANY} requests") as talk:
        for number in range(MANY):
            word = found.word()
            asked = talk.run(("\n" if number % 2 else "") + found.code("echo", word))
            if asked is None:
                return [unended(talk, "request:ids", f"request {number + 1}")]
            if not talk.shows(asked, word):
                return [
                    Flaw("sideband:request:ids", f"request {number + 1} shows {_shown(talk.output(asked))}")
                ]
    return []


def code(found: Examination) -> Findings:
    """A request is one piece of code, and the value of its last expression is shown."""
    findings: Findings = [*_block(found), *_broken(found), *_value(found)]
    return findings or [*found.lacks("block", "broken", "value")]


def _block(found: Examination) -> Findings:
    if found.lacks("block"):
        return []
    with found.talk("given a block") as talk:
        word = found.word()
        asked = talk.run(found.code("block", word))
        if asked is None:
            return [unended(talk, "cell:whole", "a block with blank lines")]
        if not talk.counts(asked, word, 2):
            return [
                Flaw(
                    "sideband:cell:whole",
                    f"of a block with blank lines it shows {_shown(talk.output(asked))}",
                )
            ]
    return []


def _broken(found: Examination) -> Findings:
    if found.lacks("broken"):
        return []
    with found.talk("given code that cannot be read") as talk:
        word = found.word()
        asked = talk.run(found.code("broken", word))
        if asked is None:
            return [unended(talk, "cell:whole", "code that cannot be read")]
        talk.listen()
        lines = talk.output(asked).splitlines()
        if any(line.strip() == word for line in lines):
            return [
                Flaw("sideband:cell:whole", "of code that cannot be read as a whole, it runs the beginning")
            ]
    return []


def _value(found: Examination) -> Findings:
    if found.lacks("value"):
        return []
    with found.talk("given an expression") as talk:
        word = found.word()
        asked = talk.run(found.code("value", word))
        if asked is None:
            return [unended(talk, "cell:value", "an expression")]
        if not talk.shows(asked, word):
            return [Flaw("sideband:cell:value", "it does not show the value of a final expression")]
    return []


def errors(found: Examination) -> Findings:
    """An error is shown and told, and the session goes on with what it had in memory."""
    if lacks := found.lacks("error"):
        return [*lacks]
    with found.talk("given code that fails") as talk:
        kept, word = found.word(), found.word()
        keeps = found.remembers
        if keeps:
            talk.run(found.code("set", kept))
        asked = talk.run(found.code("error", word))
        if asked is None or asked.end is None:
            return [unended(talk, "cell:error", "code that fails")]
        if not talk.shows(asked, word, stderr=True) and not talk.shows(asked, word):
            return [Flaw("sideband:cell:error", "it does not show an error")]
        if found.has_ids and not asked.end.error:
            return [Flaw("sideband:cell:error", "its request_end does not say that the code failed")]
        if keeps and not state_survives(found, talk, kept):
            return [
                Flaw("sideband:cell:error", f"after an error what it had in memory is gone: {talk.ending}")
            ]
    return []


def state(found: Examination) -> Findings:
    """What one request defines, the next one finds."""
    if lacks := found.lacks("set", "get"):
        return [*lacks]
    if not found.remembers:
        return [Flaw("sideband:cell:state", "what one request defines, the next one does not find")]
    return []


def help_inline(found: Examination) -> Findings:
    """Help is shown, and waits for nothing."""
    if lacks := found.lacks("help"):
        return [*lacks]
    with found.talk("asked for help") as talk:
        asked = talk.send(found.code("help"))
        if talk.asks(asked):
            return [Flaw("sideband:cell:help", "help waits for keys")]
        if asked.end is None:
            return [unended(talk, "cell:help", "help")]
        if not talk.output(asked).strip():
            return [Flaw("sideband:cell:help", "help shows nothing")]
    return []


def place(found: Examination) -> Findings:
    """Code finds the modules of the directory in which the worker runs."""
    if lacks := found.lacks("module", "module_file", "module_text"):
        return [*lacks]
    with tempfile.TemporaryDirectory(prefix="plughost-check-") as directory:
        name = Path(found.snippets.module_file).name
        (Path(directory) / name).write_text(found.snippets.module_text, encoding="utf-8")
        with found.talk("started in another directory", cwd=Path(directory)) as talk:
            if talk.backend is None:
                return [Skip(f"it does not start in another directory: {talk.ending}")]
            word = found.word()
            asked = talk.run(found.code("module", word))
            if asked is None:
                return [unended(talk, "cell:place", "code that takes a module")]
            if not talk.shows(asked, word):
                return [Flaw("sideband:cell:place", "code does not find a module in the working directory")]
    return []


def _shown(text: str) -> str:
    return repr(text[:80])
