"""How a `sideband` worker is stopped: by an interrupt, by its host, by the end of its pipes, by its own code."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from ..contracts.base import Channel
from .sideband_examination import Examination, answers, state_survives, unended
from .sideband_talk import Talk
from .verdict import Findings, Flaw

EXIT_STATUS = 3  # of the snippet `exit`


def interrupting(found: Examination) -> Findings:
    """Code that runs or reads is interrupted, once and alone; what is in memory survives."""
    if lacks := found.lacks("wait"):
        return [*lacks]
    return _running(found) or [*_asking(found), *_another(found), *_discarded(found)]


def _running(found: Examination) -> Findings:
    with found.talk("interrupted") as talk:
        kept, word = found.word(), found.word()
        keeps = found.remembers
        if keeps:
            talk.run(found.code("set", kept))
        asked = talk.send(found.code("wait", word))
        if not talk.shows(asked, word):
            return [
                Flaw(
                    "sideband:interrupt:delivered", f"code that goes on does not show its word: {talk.ending}"
                )
            ]
        talk.interrupt(asked)
        if talk.finish(asked) is None:
            return [unended(talk, "interrupt:delivered", "code that was interrupted")]
        if found.has_ids:
            told = _outcome(talk)
            if told != ["delivered"]:
                said = f"says {told[0]}" if told else "does not say what became of it"
                return [Flaw("sideband:interrupt:answered", f"interrupted while code runs, it {said}")]
        if keeps and not state_survives(found, talk, kept):
            return [
                Flaw("sideband:interrupt:delivered", f"after it what it had in memory is gone: {talk.ending}")
            ]
        if not keeps and not answers(found, talk):
            return [Flaw("sideband:interrupt:delivered", f"after it nothing more is run: {talk.ending}")]
    return []


def _outcome(talk: Talk) -> list[str]:
    talk.probe.work(lambda: bool(talk.outcomes), talk.patience.call_s)
    return talk.outcomes


def _asking(found: Examination) -> Findings:
    if not found.reads:
        return []
    with found.talk("interrupted while code reads") as talk:
        asked = talk.send(found.code("read", found.word()))
        if not talk.asks(asked):
            return []  # another axis says why
        talk.interrupt(asked, signalled=False)  # the message alone is enough
        if talk.finish(asked) is None:
            return [unended(talk, "interrupt:delivered", "code that reads")]
        if not answers(found, talk):
            return [Flaw("sideband:interrupt:delivered", f"{talk.when}, it runs nothing more: {talk.ending}")]
    return []


def _another(found: Examination) -> Findings:
    """An interrupt of a request that is over does nothing to the one that runs."""
    if not found.reads:
        return []
    with found.talk("sent an interrupt that comes late") as talk:
        old = talk.run(found.code("echo", found.word()))
        asked = talk.send(found.code("read", found.word()))
        if old is None or not talk.asks(asked):
            return []
        talk.interrupt(old, signalled=False)
        if _outcome(talk) != ["idle"]:
            told = talk.outcomes[0] if talk.outcomes else "nothing"
            return [Flaw("sideband:interrupt:answered", f"of an interrupt that is too late it says {told}")]
        word = found.word()
        talk.answer(f"{word}\n")
        if talk.finish(asked) is None or not talk.shows(asked, word):
            return [
                Flaw(
                    "sideband:interrupt:answered", "it interrupts another request than the one that is named"
                )
            ]
    return []


def _discarded(found: Examination) -> Findings:
    """Input that the interrupted code has not read is not there for the next."""
    if not found.reads:
        return []
    with found.talk("interrupted with input that is not read") as talk:
        word, line = found.word(), found.word()
        asked = talk.send(found.code("read", found.word()) + "\n" + found.code("wait", word))
        if not talk.asks(asked):
            return []
        talk.answer(f"{found.word()}\n{found.word()}\n")
        if not talk.shows(asked, word):
            return []
        talk.interrupt(asked)
        if talk.finish(asked) is None:
            return [unended(talk, "interrupt:delivered", "code that was interrupted")]
        again = talk.send(found.code("read", found.word()))
        if not talk.asks(again):
            return [
                Flaw(
                    "sideband:interrupt:discarded", "input of code that was interrupted is given to the next"
                )
            ]
        talk.answer(f"{line}\n")
        if talk.finish(again) is None or not talk.shows(again, line):
            return [
                Flaw(
                    "sideband:interrupt:discarded", "after it the next code that reads does not get its line"
                )
            ]
    return []


def idle(found: Examination) -> Findings:
    """An interrupt while nothing runs does no harm, and is answered."""
    with found.talk("interrupted while nothing runs") as talk:
        kept = found.word()
        keeps = found.remembers
        if keeps:
            talk.run(found.code("set", kept))
        for _ in range(3):
            talk.interrupt(None, signalled=not found.has_ids)
        if found.has_ids:
            talk.probe.work(lambda: len(talk.outcomes) >= 3, talk.patience.call_s)
            if talk.outcomes != ["idle"] * 3:
                return [
                    Flaw(
                        "sideband:interrupt:idle",
                        f"{talk.when}, it says {talk.outcomes or 'nothing'}: {talk.ending}",
                    )
                ]
        if keeps and not state_survives(found, talk, kept):
            return [Flaw("sideband:interrupt:idle", f"after it what it had in memory is gone: {talk.ending}")]
        if found.works and not answers(found, talk):
            return [Flaw("sideband:interrupt:idle", f"after it nothing more is run: {talk.ending}")]
    return []


def asked_to_end(found: Examination) -> Findings:
    """After session_end it exits: idle, while code runs, and while code reads."""
    return _endings(found, "end:asked", "told to end", Talk.end)


def eof(found: Examination) -> Findings:
    """When the sideband ends, it exits."""

    def close(talk: Talk) -> None:
        talk.probe.close(Channel.CONTROL_OUT)
        talk.probe.close(Channel.CONTROL_IN)

    return _endings(found, "end:eof", "left by its host", close)


def _endings(found: Examination, clause: str, when: str, end: Callable[[Talk], None]) -> Findings:
    findings: Findings = []
    for name, state in (
        ("", "while nothing runs"),
        ("wait", "while code runs"),
        ("read", "while code reads"),
    ):
        known = {"": True, "wait": found.works and not found.lacks("wait"), "read": found.reads}
        if not known[name]:
            continue
        with found.talk(f"{when} {state}") as talk:
            word = found.word()
            if name:
                asked = talk.send(found.code(name, word))
                reached = talk.shows(asked, word) if name == "wait" else talk.asks(asked, word)
                if not reached:
                    continue  # another axis says why
            end(talk)
            if talk.probe.wait_exit(found.patience.exit_s) is None:
                findings.append(Flaw(f"sideband:{clause}", f"{talk.when}, it does not exit"))
                break
    return findings


def leaving(found: Examination) -> Findings:
    """Code that ends the session: its output is complete, and its status is told and kept."""
    if lacks := found.lacks("exit"):
        return [*lacks]
    with found.talk("given code that ends the session") as talk:
        word = found.word()
        asked = talk.send(found.code("echo", word) + "\n" + found.code("exit"))
        status = talk.probe.wait_exit(found.patience.call_s)
        clause = "sideband:end:announced"
        if status is None:
            return [Flaw(clause, "code that ends the session does not end it")]
        if not talk.shows(asked, word):
            return [Flaw(clause, "what was printed before the end of the session is lost")]
        if talk.farewell is None:
            return [Flaw(clause, "it exits without session_end")]
        if status.code != EXIT_STATUS:
            return [
                Flaw(clause, f"it exits with {status.meaning} and not with the status that its code gave")
            ]
        if talk.farewell.status is UNSET:
            return [] if not found.has_ids else [Flaw(clause, "its session_end lacks the status")]
        if talk.farewell.status != EXIT_STATUS:
            return [Flaw(clause, f"it says the status {talk.farewell.status}, and exits with {EXIT_STATUS}")]
    return []
