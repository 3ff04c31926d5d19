"""A crash pattern. Turns words such as `crash@0.5` into what each process does; refuses words it does not know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

LONGEST_S = 31_536_000.0  # seconds: a year; a longer number is a slip of the finger
MOST_PROCESSES = 1_000  # in one pattern: a timeline that somebody may still read

_WORD = re.compile(
    r"(?:(?P<times>[0-9]{1,9})x)?(?P<name>[a-z][a-z0-9-]*)(?:@(?P<seconds>[0-9.]+))?", re.ASCII
)


class Does(StrEnum):
    """What a process does."""

    CRASH = "crash"
    EXIT_ZERO = "exit0"
    EXEC_FAILS = "exec-fails"
    INIT_FAILS = "init-fails"
    OK = "ok"
    IDLE = "idle"


class Operator(StrEnum):
    """What happens from outside."""

    ASK = "ask"
    RELOAD = "reload"
    SHUTDOWN = "shutdown"


_UNTIMED = frozenset({Does.EXEC_FAILS, Does.IDLE})


@dataclass(frozen=True, slots=True)
class Life:
    """What one process does, and for how many seconds; `ok` is then idle, the others end so."""

    does: Does
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Intervention:
    """What somebody does, *at* so many seconds after the beginning."""

    operator: Operator
    at: float


@dataclass(frozen=True, slots=True)
class Pattern:
    """The processes in the order in which they are started, and what happens from outside."""

    lives: tuple[Life, ...] = ()
    interventions: tuple[Intervention, ...] = ()


def parse(words: Sequence[str]) -> Pattern:
    """Return the pattern that *words* spell. Raises ValueError, with the word that is wrong."""
    lives: list[Life] = []
    interventions: list[Intervention] = []
    for word in (part for text in words for part in text.split()):
        found = _WORD.fullmatch(word)
        if found is None:
            raise ValueError(f"{word!r} is not a word such as crash@0.5, 3xcrash@1 or reload@200")
        name, seconds = found["name"], _seconds(word, found["seconds"])
        times = int(found["times"] or 1)
        if name in list(Operator):
            if seconds is None or found["times"]:
                raise ValueError(f"{word!r} wants a time since the beginning: {name}@200")
            interventions.append(Intervention(Operator(name), seconds))
            continue
        if name not in list(Does):
            raise ValueError(
                f"{word!r}: no process does {name!r}. There are: {', '.join([*Does, *Operator])}"
            )
        if seconds is not None and name in _UNTIMED:
            raise ValueError(f"{word!r} takes no time: write {name}")
        if times == 0 or len(lives) + times > MOST_PROCESSES:
            raise ValueError(f"{word!r}: a pattern has 1 to {MOST_PROCESSES} processes")
        lives += [Life(Does(name), seconds or 0.0)] * times
    if not lives:
        raise ValueError("the pattern has no process: say what the first one does, such as crash@1")
    return Pattern(tuple(lives), tuple(interventions))


def _seconds(word: str, digits: str | None) -> float | None:
    if digits is None:
        return None
    try:
        seconds = float(digits)
    except ValueError:
        raise ValueError(f"{word!r}: {digits!r} is no number of seconds") from None
    if seconds > LONGEST_S:
        raise ValueError(f"{word!r}: more than a year ({LONGEST_S:.0f} s)")
    return seconds
