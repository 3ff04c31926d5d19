"""Who reads a `sideband` worker's standard input: code that asks, and nobody else."""

from __future__ import annotations

from .sideband_examination import Examination, state_survives, unended
from .verdict import Findings, Flaw, Remark


def reading(found: Examination) -> Findings:
    """A line that code reads is asked for, given, reported; what is left over is forgotten."""
    if lacks := found.lacks("read"):
        return [*lacks]
    return _asked(found) or [
        *_given(found),
        *_own_code(found),
        *_late(found),
        *_leftover(found),
        *_readers(found),
    ]


def _asked(found: Examination) -> Findings:
    with found.talk("given code that reads a line") as talk:
        prompt, word = found.word(), found.word()
        asked = talk.send(found.code("read", prompt))
        if not talk.asks(asked, prompt):
            return [
                Flaw("sideband:input:asked", f"it does not say readline_start with the prompt: {talk.ending}")
            ]
        talk.answer(f"{word}\n")
        if talk.finish(asked) is None:
            return [unended(talk, "input:asked", "code that was given its line")]
        results = [each for each in asked.messages if getattr(each, "line", None) == f"{word}\n"]
        if not results:
            return [
                Flaw("sideband:input:asked", "it does not report the line that was read, with its line feed")
            ]
        if not talk.shows(asked, word):
            return [Flaw("sideband:input:given", "code does not get the line that it was given")]
    return []


def _given(found: Examination) -> Findings:
    """What is given is never run, even if it is code."""
    if not found.has_ids:
        return []
    with found.talk("given a line that looks like code") as talk:
        prompt, word = found.word(), found.word()
        asked = talk.send(found.code("read", prompt))
        talk.asks(asked)
        line = found.code("echo", word).splitlines()[0]
        talk.answer(f"{line}\n")
        if talk.finish(asked) is None:
            return [unended(talk, "input:given", "code that was given a line which looks like code")]
        if not talk.shows(asked, line):
            return [Flaw("sideband:input:given", "it runs a line that was given to code that reads")]
    return []


def _own_code(found: Examination) -> Findings:
    """Code that reads does not get the rest of its own request."""
    if not found.has_ids:
        return []
    with found.talk("given code behind code that reads") as talk:
        prompt, line, word = found.word(), found.word(), found.word()
        asked = talk.send(found.code("read", prompt) + "\n" + found.code("echo", word))
        if not talk.asks(asked):
            return [Flaw("sideband:input:given", "code that reads is given the rest of its own request")]
        talk.answer(f"{line}\n")
        if talk.finish(asked) is None or not (talk.shows(asked, line) and talk.shows(asked, word)):
            return [Flaw("sideband:input:given", "code behind code that reads is not run")]
    return []


def _late(found: Examination) -> Findings:
    """A line for a request that is over is not run either."""
    if not found.has_ids or not found.remembers:
        return []
    with found.talk("given a line too late") as talk:
        kept = found.word()
        talk.run(found.code("set", kept))
        talk.answer(found.code("set", found.word()) + "\n")
        if not state_survives(found, talk, kept):
            return [
                Flaw("sideband:input:given", f"it runs a line that came too late to be read: {talk.ending}")
            ]
    return []


def _leftover(found: Examination) -> Findings:
    """A line that nobody has read is not there for the next request."""
    if not found.has_ids:
        return []
    with found.talk("given more lines than are read") as talk:
        first, left, second = found.word(), found.word(), found.word()
        asked = talk.send(found.code("read", found.word()))
        talk.asks(asked)
        talk.answer(f"{first}\n{left}\n")
        if talk.finish(asked) is None:
            return [unended(talk, "input:leftover", "code that was given two lines")]
        again = talk.send(found.code("read", found.word()))
        if not talk.asks(again):
            return [
                Flaw("sideband:input:leftover", "a line that nobody has read is given to the next request")
            ]
        talk.answer(f"{second}\n")
        if talk.finish(again) is None or not talk.shows(again, second):
            return [Flaw("sideband:input:leftover", "the next request that reads does not get its line")]
    return []


def _readers(found: Examination) -> Findings:
    """Every way to read is served alike."""
    if not found.has_ids or not found.snippets.readers:
        return [Remark("other ways to read were not tried")]
    findings: Findings = []
    for number, code in enumerate(found.snippets.readers, 1):
        with found.talk("given code that reads in another way") as talk:
            word = found.word()
            asked = talk.send(code.replace("{text}", found.word()))
            shown = f"way {number} to read ({code.splitlines()[-1][:60]!r})"
            if not talk.asks(asked):
                findings.append(Flaw("sideband:input:readers", f"{shown} asks for nothing: {talk.ending}"))
                continue
            talk.answer(f"{word}\n")
            if talk.finish(asked) is None or not talk.shows(asked, word):
                findings.append(Flaw("sideband:input:readers", f"{shown} does not get its line"))
    return findings


def children(found: Examination) -> Findings:
    """A child process that reads finds nothing, and does not wait."""
    if lacks := found.lacks("run"):
        return [*lacks]
    with found.talk("given a child process that reads") as talk:
        word = found.word()
        asked = talk.send(found.code("run", command=f"cat; echo {word}"))
        if talk.finish(asked) is None:
            return [unended(talk, "input:children", "a child process that reads")]
        if not talk.shows(asked, word):
            return [
                Flaw(
                    "sideband:input:children", f"a child process that reads shows {talk.output(asked)[:80]!r}"
                )
            ]
    return []
