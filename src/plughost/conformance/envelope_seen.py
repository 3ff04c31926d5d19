"""What one worker wrote and how it ended, read as far as it can be read. It judges nothing.

A worker that breaks one clause should not seem to break all of them. So what it wrote is read leniently here: an
envelope counts even if something else stands before it. Whoever cares asks for the flaw.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..autopsy import ExitStatus
from ..contracts.envelope import prompts
from ..contracts.envelope.messages import InputRequired, Reply, ValidationReply
from ..errors import RemoteProtocolError
from ..messages import strict_json
from ..messages.quoting import one_line
from ..process.stderr import printable

SHOWN = 60  # bytes of what a worker wrote
WORDS = 200  # characters of its last words, or of any other text
MOST = 5  # texts of a list
LINES = 1_000  # of either stream that are looked at: it may have written millions

_REPLY = strict_json.Decoder(Reply, "reply")
_QUESTION = strict_json.Decoder(InputRequired, "input_required")
_VALIDATION = strict_json.Decoder(ValidationReply, "validation reply")
_OBJECT = strict_json.Decoder(dict[str, Any], "reply")


@dataclass(frozen=True)
class Seen:
    """One conversation. *when* completes a sentence about it, such as "it crashed, given no file"."""

    when: str
    given: tuple[str, ...]  # the files, as the worker was told them
    stdout: bytes
    stderr: bytes
    exit: ExitStatus | None  # None: it did not end in time
    changed: tuple[str, ...] = ()  # paths of the tree
    strayed: tuple[str, ...] = ()  # paths around it
    forbidden: tuple[str, ...] = ()  # paths of the tree that are changed, and that no plugin may touch
    root: str = ""  # of the tree

    @property
    def lines(self) -> list[bytes]:
        return [line for line in self.stdout.split(b"\n") if line.strip()]

    @cached_property
    def envelope(self) -> dict[str, Any] | None:
        """The last line that is a JSON object."""
        for line in reversed(self.lines[-LINES:]):
            try:
                return _OBJECT.decode(line)
            except RemoteProtocolError:
                continue
        return None

    @cached_property
    def flaw(self) -> str | None:
        """Why what it wrote is not one JSON object on one line, or None; nothing at all is none either."""
        if not self.stdout:
            return None
        first, feed, rest = self.stdout.partition(b"\n")
        try:
            _OBJECT.decode(first)
        except RemoteProtocolError as error:
            return f"{shown(first)} is not one JSON object ({error})"
        if not feed:
            return "its line does not end in a line feed, so nobody can tell whether it is whole"
        return f"it also wrote {shown(rest)}" if rest else None

    @property
    def result(self) -> str | None:
        """The envelope's result, whatever that is."""
        found = (self.envelope or {}).get("result")
        return found if isinstance(found, str) else None

    @cached_property
    def reply(self) -> Reply | str:
        """The envelope but for its question, or why it cannot be read."""
        if self.envelope is None:
            return "there is no envelope"
        try:
            return _REPLY.decode(_encode({**self.envelope, "input_required": None}))
        except RemoteProtocolError as error:
            return str(error)

    @property
    def asks(self) -> bool:
        return self.result == "input_required" or (self.envelope or {}).get("input_required") is not None

    @cached_property
    def question(self) -> InputRequired | str:
        """What it asks, or why that cannot be put to anyone."""
        asked = (self.envelope or {}).get("input_required")
        if asked is None:
            return "it asks, and does not say what: `input_required` is missing"
        try:
            found = _QUESTION.decode(_encode(asked))
        except RemoteProtocolError as error:
            return str(error)
        return prompts.flaw(found) or found

    @property
    def knows_no_modes(self) -> bool:
        """It was asked to validate, and took that for an ordinary request, or its command line for a wrong one."""
        if not self.stdout:
            return self.exit is not None and bool(self.exit.code)
        return isinstance(self.validation, str) and isinstance(self.reply, Reply)

    @cached_property
    def validation(self) -> ValidationReply | str:
        """Its answer to a validation, or why it cannot be read."""
        if self.flaw is not None or not self.stdout:
            return self.flaw or "it wrote nothing"
        try:
            found = _VALIDATION.decode(self.lines[0])
        except RemoteProtocolError as error:
            return str(error)
        return found if found.errors is not None else "its answer to a validation has no `errors`"

    @property
    def statuses(self) -> list[str]:
        """How each file came out, in its order."""
        return [] if isinstance(self.reply, str) else [each.status for each in self.reply.reports]

    @property
    def paths(self) -> list[str]:
        """The files that it reports on, as they were given, also where it tells the whole path of a relative one."""
        whole = {os.path.join(self.root, path): path for path in self.given}
        reports = () if isinstance(self.reply, str) else self.reply.reports
        return [whole.get(each.path, each.path) for each in reports]

    @property
    def ending(self) -> str:
        """How it ended, with its last words."""
        if self.exit is None:
            return "it did not end in time"
        words = self.last_words
        return f"it ended with {self.exit.meaning}" + (f", saying: {words}" if words else "")

    @property
    def last_words(self) -> str:
        """The last line of its standard error: its message, if it is a log line."""
        lines = [line for line in self.stderr.split(b"\n") if line.strip()]
        if not lines:
            return ""
        record = log_record(lines[-1])
        return cut(printable(lines[-1]) if record is None else one_line(record["message"]))

    @property
    def strange_line(self) -> str | None:
        """The first line of its standard error that is no log line, or None."""
        lines = [line for line in self.stderr.split(b"\n")[:LINES] if line.strip()]
        return next((shown(line) for line in lines if log_record(line) is None), None)


def log_record(line: bytes) -> dict[str, Any] | None:
    """Return the log record that *line* is, or None."""
    try:
        found = _OBJECT.decode(line)
    except RemoteProtocolError:
        return None
    level, message, context = found.get("level"), found.get("message"), found.get("context")
    is_record = isinstance(level, str) and isinstance(message, str) and isinstance(context, dict | None)
    return found if is_record else None


def shown(data: bytes) -> str:
    """Return the beginning of *data*, printable and in quotes."""
    text = repr(printable(data[:SHOWN]))
    return text if len(data) <= SHOWN else f"{text}…"


def some(texts: Sequence[str]) -> str:
    """Return the first of *texts*, each as one line and cut to a readable length, and how many more there are."""
    named = "; ".join(cut(one_line(text)) for text in texts[:MOST])
    return named if len(texts) <= MOST else f"{named} and {len(texts) - MOST} more"


def cut(text: str) -> str:
    """Return as much of *text* as can be read at a glance."""
    return text if len(text) <= WORDS else text[:WORDS] + "…"


def _encode(value: Any) -> bytes:
    return json.dumps(value).encode()
