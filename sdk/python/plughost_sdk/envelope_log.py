"""A plugin's log: each call becomes one JSON line on stderr. Never raises, and never writes half a line on purpose."""

from . import stdio
from .envelope_frame import to_json

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from typing import Any

STDERR = 2  # the descriptor itself: sys.stderr is whatever the plugin has made of it
LINE_LIMIT = 65_536  # bytes of one line
CUT = " … [cut]"

# JSON lets these stand as they are, but some readers take them for line ends.
_LINE_ENDS = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class Log:
    """Writes for the host's log. Keywords of a call become the line's context."""

    __slots__ = ()

    def debug(self, message: object, /, **context: "Any") -> None:
        self.write("DEBUG", message, context)

    def info(self, message: object, /, **context: "Any") -> None:
        self.write("INFO", message, context)

    def warning(self, message: object, /, **context: "Any") -> None:
        self.write("WARNING", message, context)

    def error(self, message: object, /, **context: "Any") -> None:
        self.write("ERROR", message, context)

    def write(self, level: str, message: object, context: "dict[str, Any]") -> None:
        """Write one line of at most LINE_LIMIT bytes. What is too long is cut, and the cut is marked."""
        try:
            stdio.write_all(STDERR, line(level, message, context))
        except Exception:  # noqa: S110  stderr is closed, or memory is full: a log must not end the plugin
            pass


def line(level: str, message: object, context: "dict[str, Any]") -> bytes:
    """Return the line for a message, with its line feed."""
    text = message if isinstance(message, str) else shown(message, str)
    body = _encode(level, text, context)
    if len(body) >= LINE_LIMIT:
        size = len(_encode(level, "", context))
        if size > LINE_LIMIT // 2:
            context = {"left_out": f"{size} bytes"}
        room = LINE_LIMIT - 1 - len(_encode(level, CUT, context))
        body = _encode(level, _cut(text, room), context)
    return body + b"\n"


def shown(value: object, how: "type[str] | Any" = repr) -> str:
    """Return *value* as text, even if it does not want to be shown."""
    try:
        return str(how(value))
    except Exception:
        return f"({type(value).__name__}: it cannot be shown)"


def _cut(text: str, room: int) -> str:
    """Return as much of *text* as takes at most *room* bytes of JSON, and the mark if that is not all."""
    kept = text[:room]
    while (size := len(_encode("", kept, {})) - len(_encode("", "", {}))) > room:
        kept = kept[: len(kept) * room // size]
    return kept if kept == text else kept + CUT


def _encode(level: str, message: str, context: "dict[str, Any]") -> bytes:
    record = {"level": level, "message": message, "context": context}
    try:
        body = to_json(record)
    except (ValueError, TypeError, RecursionError):
        body = to_json({**record, "context": {key: _plain(context[key]) for key in context}})
    if not body.isascii():
        text = body.decode()
        for end, spelled in _LINE_ENDS.items():
            text = text.replace(end, spelled)
        body = text.encode()
    return body


def _plain(value: "Any") -> "Any":
    try:
        to_json(value)
    except (ValueError, TypeError, RecursionError):
        return shown(value)
    return value
