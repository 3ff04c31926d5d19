"""Text of plugins and their code -> text for an agent: no escape sequence, no lost character. Cuts nothing silently."""

from __future__ import annotations

import re

from ...errors import ManifestError, PlughostError, RemoteError
from ...failures import PluginFailure
from ...messages.quoting import one_line, spelled

_COLOUR = re.compile("\x1b\\[[0-9;:]*m")  # it says nothing to a reader of text
_RETURN = re.compile("\r\n?")  # a progress bar's: each of its states is a line
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def clean(text: str) -> str:
    """Return *text* without colours, and with what else would move a cursor spelled out."""
    lines = _RETURN.sub("\n", _COLOUR.sub("", text))
    return _CONTROL.sub(lambda found: spelled(found[0]), lines)


def problem(error: PlughostError) -> str:
    """Return what *error* says, and what to do about it."""
    match error:
        case PluginFailure():
            said = [f"{error.plugin}: {error.message}  [{error.code}]", *error.autopsy.lines()]
            return "\n".join(clean(line) for line in said)
        case RemoteError():
            return clean(f"{error.plugin} answered with an error: {error.message}  [{error.code}]")
        case ManifestError():
            where = f"{error.source}: {error.key}" if error.key else error.source
            return clean(f"{where}: {error.problem}. {error.remedy}.")
        case _:
            return clean(f"{error}.")


def in_short(error: PlughostError) -> str:
    """Return what *error* says in one line, without all that was found out about it."""
    if isinstance(error, PluginFailure):
        return one_line(f"{error.message}  [{error.code}]")
    return one_line(problem(error))


def cut(text: str, most: int) -> str:
    """Return at most *most* characters of *text*, and a sign where some are missing."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def remark(text: str) -> str:
    """Return *text* as a line that says of itself that it is a remark."""
    return f"[{one_line(text)}]"
