"""A worker's stderr to log lines, and a log line to one physical line of text. No I/O, no clock.

A line that is a JSON object with a `message` is a log line; every other line is kept as the bytes it is. Nothing
that a plugin puts into a message or a value can end the line, forge a tag, or grow it past its limit, and what
looks like a secret is not shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from ..messages import depth
from ..messages.quoting import one_line
from .redaction import HIDDEN, is_secret, redact, redacted
from .schema import stamp

PARSE_LIMIT = 65_536  # bytes of a line that may be a log line
RENDER_LIMIT = 1_024  # bytes of UTF-8 of one rendered line, before the mark that it goes on
TRUNCATED = "...[truncated]"
TAG_LIMIT = 80  # characters of one tag's value
CUT_AT = 262_144  # bytes of one line that are held; a longer one is passed on in pieces
CUT_MARK = b" [plughost: line cut]"

_LEVELS = {level: level for level in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")} | {"WARN": "WARNING"}
_SHORT = {"WARNING": "WARN", "CRITICAL": "ERROR"}
_BRACKETS = {ord("["): "\\x5b", ord("]"): "\\x5d"}
_FORGED_TAG = re.compile(r"\[(?=(?:host|equip|proj|kind|run|plugin|worker|component):)", re.IGNORECASE)
_ESCAPED_BRACKET = r"\\x5b"
_PLAIN = re.compile(r"[^\s\"'=\[\]{}\\]+")


class LogLine(msgspec.Struct, frozen=True):
    """What a worker logged: *level* is one of the five names of Python's logging."""

    level: str
    message: str
    context: dict[str, Any] = {}


def parse(line: bytes) -> LogLine | None:
    """Return what *line* logs, or None if it is not a log line."""
    if len(line) > PARSE_LIMIT or not line.lstrip().startswith(b"{") or depth.exceeds(line):
        return None
    try:
        # Not the strict decoder of messages: what a logger of any language writes shall not be lost for a NaN.
        found = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return line_of(found)


def line_of(found: Any) -> LogLine | None:
    """Return what a decoded value logs, or None if it is no object with a message."""
    if not isinstance(found, dict) or "message" not in found:
        return None
    level, message, context = found.get("level"), found["message"], found.get("context")
    return LogLine(
        _LEVELS.get(level.strip().upper(), "INFO") if isinstance(level, str) else "INFO",
        message if isinstance(message, str) else _dumped(message),
        context if isinstance(context, dict) else {},
    )


def render(
    line: LogLine,
    *,
    at: datetime,
    host: str,
    plugin: str,
    pid: int,
    equipment: str = "",
    project: str = "",
    run_kind: str = "",
    run: str = "",
) -> str:
    """Return *line* as one line of the log, without its line feed; tags without a value are left out."""
    tags = {
        "host": host,
        "equip": equipment,
        "proj": project,
        "kind": run_kind,
        "run": run,
        "plugin": plugin,
        "worker": str(pid) if pid else "",  # the host itself has none
    }
    level = _SHORT.get(line.level, line.level)
    head = f"{stamp(at)} [{level:<5}] " + "".join(_tag(name, value) for name, value in tags.items() if value)
    return _capped(f"{head} {_FORGED_TAG.sub(_ESCAPED_BRACKET, said(line))}")


def said(line: LogLine) -> str:
    """Return the message of *line* and its context in one physical line, without secrets."""
    return one_line(" ".join([redact(line.message), *_pairs(line.context)]))


def _tag(name: str, value: str) -> str:
    return f"[{name}:{one_line(value[:TAG_LIMIT]).translate(_BRACKETS)}]"


def _pairs(context: dict[str, Any]) -> Iterator[str]:
    for key, value in context.items():
        shown = HIDDEN if is_secret(key) else redacted(value)
        yield f"{_word(key)}={_word(shown) if isinstance(shown, str) else _dumped(shown)}"


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else _dumped(text)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _capped(text: str) -> str:
    data = text.encode()
    if len(data) <= RENDER_LIMIT:
        return text
    return data[:RENDER_LIMIT].decode("utf-8", "ignore") + TRUNCATED


class LogSplitter:
    """Turns the bytes of a worker's stderr, in whatever pieces they come, into log lines and raw lines.

    Raw lines are bytes without their line feed. A line of more than CUT_AT bytes comes in several raw lines,
    each but the last with CUT_MARK behind it; *cut* counts those marks.
    """

    __slots__ = ("_going_on", "_partial", "cut")

    def __init__(self) -> None:
        self.cut = 0
        self._partial = bytearray()
        self._going_on = False

    def receive_data(self, data: bytes) -> list[LogLine | bytes]:
        """Take *data* and return the lines that are whole now."""
        items: list[LogLine | bytes] = []
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._extend(piece, items)
            items.append(self._end())
        self._extend(rest, items)
        return items

    def receive_eof(self) -> list[LogLine | bytes]:
        """Return the last line if it had no line feed."""
        return [self._end()] if self._partial or self._going_on else []

    def _extend(self, piece: bytes, items: list[LogLine | bytes]) -> None:
        self._partial += piece
        while len(self._partial) > CUT_AT:
            items.append(bytes(self._partial[:CUT_AT]) + CUT_MARK)
            del self._partial[:CUT_AT]
            self.cut += 1
            self._going_on = True

    def _end(self) -> LogLine | bytes:
        line, going_on = bytes(self._partial), self._going_on
        self._partial.clear()
        self._going_on = False
        parsed = None if going_on else parse(line)
        return line if parsed is None else parsed
