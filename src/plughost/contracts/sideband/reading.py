"""The pending read of a worker: for code or for input, judged by its prompt.

A worker without ids reads its code and its input in the same way, and may say request_end at either. The prompts that
it shows while no request runs, or reads the first line of a request with, are those for code. One that it shows within
a request is for input, unless it is one of these or differs from one in its numbers only. While no prompt for code is
known, the one that the first request ends with is taken for one, unless it is empty or the request's code spells it.
"""

from __future__ import annotations

import re

MOST_KEPT = 16  # prompts for code: a session has one or two
_NUMBER = re.compile(r"\d+")


class Reading:
    """What a worker is about to read."""

    __slots__ = (
        "_code",
        "_first",
        "_for_code",
        "_tried",
        "_unprompted",
        "asked_at",
        "named",
        "prompt",
        "secret",
    )

    def __init__(self) -> None:
        self.asked_at: float | None = None  # a read has begun and is not known to be over
        self.prompt = ""  # of it, or the last one that was not empty
        self.named = ""  # of it, as the worker named it
        self.secret = False  # whether its line is not to be shown
        self._for_code: dict[str, None] = {}
        self._tried: str | None = None  # the prompt at which code was given, not known as one for it
        self._first: str | None = None  # line of the request's code, while nothing is known to be read
        self._unprompted = False  # a request has ended without a prompt
        self._code = ""  # of the request, while no prompt for code is known

    def start(self, code: str, *, tried: bool) -> None:
        """A request begins, with *code*, whole lines. *tried*: at a prompt that is not known as one for code."""
        self._tried = _shape(self.named) if tried else None
        self._first = None if tried else code[: code.find("\n")]
        self._code = "" if self._for_code else code
        self.end()

    def begin(self, prompt: str, now: float, *, secret: bool) -> None:
        """A read begins."""
        self.prompt, self.named, self.secret = prompt or self.prompt, prompt, secret
        if self.asked_at is None:
            self.asked_at = now

    def take(self, prompt: str, line: str) -> None:
        """*line* was read at *prompt*: the read is over."""
        if line.rstrip("\r\n") == self._first:
            self._keep(prompt)
        self._first = None
        self.end()

    def end(self) -> None:
        """It is over."""
        self.asked_at = None
        self.prompt = ""

    def conclude(self, *, waiting: bool) -> None:
        """The request ends. *waiting*: the worker is known to read."""
        if waiting or self.asked_at is not None:
            self.learn()
        else:
            self._unprompted = True
        self.asked_at = None
        self._code = ""

    def learn(self) -> None:
        """What it shows now is a prompt for code."""
        self._keep(self.named)

    def may_wait(self, unread_lines: int) -> bool:
        """Tell whether a read may be for input while lines of code are unread, by the worker's own account.

        One that shows a prompt before it reads code may just be about to read them.
        """
        return not (unread_lines and self._for_code)

    @property
    def is_for_input(self) -> bool:
        """Whether the latest prompt, with which the worker says request_end, is none for code."""
        shape = _shape(self.named)
        if shape in self._for_code or shape == self._tried:
            return False
        if self._for_code or self._unprompted or not self.named:
            return True
        return any(quote + self.named in self._code for quote in "'\"")

    def _keep(self, prompt: str) -> None:
        if len(self._for_code) < MOST_KEPT:
            self._for_code[_shape(prompt)] = None


def _shape(prompt: str) -> str:
    """Return *prompt* without its numbers: many count."""
    return _NUMBER.sub("0", prompt)
