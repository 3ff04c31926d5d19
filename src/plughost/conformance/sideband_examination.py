"""The conversations that the checks of the `sideband` contract look at, and what is known of a worker beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import msgspec

from ..contracts.sideband.messages import BackendInfo
from ..manifest.binding import Binding
from ..manifest.sideband_snippets import Snippets
from ..process.launcher import Launcher
from . import sideband_languages as languages
from .sideband_talk import Patience, Talk
from .verdict import Findings, Flaw, Skip

Check = Callable[["Examination"], Findings]


class Examination:
    """One worker."""

    def __init__(self, binding: Binding, launcher: Launcher, patience: Patience) -> None:
        self.binding = binding
        self.launcher = launcher
        self.patience = patience
        self.talks: list[Talk] = []
        self._words = 0

    @cached_property
    def backend(self) -> BackendInfo | None:
        """Who it says it is, the first time."""
        with self.talk("started") as talk:
            talk.listen()
        self.first = talk
        return talk.backend

    first: Talk

    @cached_property
    def snippets(self) -> Snippets:
        language = self.backend.language if self.backend is not None else ""
        return languages.snippets(language, self.binding.check)

    @cached_property
    def works(self) -> bool:
        """A request that only prints is over in time."""
        if self.lacks("echo"):
            return False
        with self.talk("asked to print a word") as talk:
            self.tried = talk
            return talk.run(self.code("echo", self.word())) is not None

    tried: Talk

    @cached_property
    def reads(self) -> bool:
        """Code that reads a line says so, and is given it. Other axes do not try again what has failed once."""
        if not self.has_ids or self.lacks("read") or not self.works:
            return False
        with self.talk("given code that reads a line") as talk:
            prompt, word = self.word(), self.word()
            asked = talk.send(self.code("read", prompt))
            if not talk.asks(asked, prompt):
                return False
            talk.answer(f"{word}\n")
            return talk.finish(asked) is not None and talk.shows(asked, word)

    @cached_property
    def remembers(self) -> bool:
        """What one request defines, the next one finds. It is one axis's to say that it does not."""
        if self.lacks("set", "get") or not self.works:
            return False
        word = self.word()
        with self.talk("given something to remember") as talk:
            return talk.run(self.code("set", word)) is not None and state_survives(self, talk, word)

    @property
    def has_ids(self) -> bool:
        return self.backend is not None and self.backend.plughost.request_ids

    @property
    def has_marks(self) -> bool:
        return self.has_ids and self.backend is not None and self.backend.plughost.marks

    def word(self) -> str:
        """Return a word that was not used before."""
        self._words += 1
        return f"plughost{self._words:04}word"

    def code(self, name: str, text: str = "", **more: str) -> str:
        """Return the snippet *name* with *text* in it."""
        found = str(getattr(self.snippets, name))
        for key, value in {"text": text, **more}.items():
            found = found.replace(f"{{{key}}}", value)
        return found

    def lacks(self, *names: str) -> list[Skip]:
        """Return why nothing can be tried that needs the snippets *names*; nothing if it can."""
        missing = [name for name in names if not getattr(self.snippets, name)]
        if not missing:
            return []
        language = self.backend.language if self.backend is not None else ""
        return [
            Skip(f"no code in {language[:40]!r} is known: [check] in its binding lacks {', '.join(missing)}")
        ]

    @contextmanager
    def talk(self, when: str, *, cwd: Path | None = None) -> Iterator[Talk]:
        """Give a new conversation, after its introduction."""
        binding = self.binding if cwd is None else msgspec.structs.replace(self.binding, cwd=cwd)
        with Talk(self.launcher, binding, when, self.patience) as talk:
            self.talks.append(talk)
            talk.begin()
            yield talk


def unended(talk: Talk, clause: str, what: str) -> Flaw:
    """Return that *clause* is broken because *what* is not over."""
    return Flaw(f"sideband:{clause}", f"{talk.when}, {what} is not over: {talk.ending}")


def state_survives(found: Examination, talk: Talk, word: str) -> bool:
    """Tell whether *word*, which was remembered before, still is."""
    asked = talk.run(found.code("get"))
    return asked is not None and talk.shows(asked, word)


def answers(found: Examination, talk: Talk) -> bool:
    """Tell whether it still runs code."""
    word = found.word()
    asked = talk.run(found.code("echo", word))
    return asked is not None and talk.shows(asked, word)
