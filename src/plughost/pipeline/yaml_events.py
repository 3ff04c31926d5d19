"""A pipeline file to its text, and that to YAML events, or a ManifestError with the line. Builds no values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import ManifestError
from ..manifest import bounded_file
from ..messages.quoting import quote

SIZE_LIMIT = 1_048_576  # bytes; the largest real pipeline files have a hundred thousand


def read(path: Path) -> str:
    """Return the text of the file at *path*. Raises ManifestError."""
    return bounded_file.text(path, SIZE_LIMIT, "Name the pipeline file")


def of_text(text: str, source: str) -> Iterator[Any]:
    """Yield the events of *text*, and let nothing but a ManifestError out of the library."""
    if len(text) > SIZE_LIMIT:
        raise ManifestError(source, "", f"over {SIZE_LIMIT} characters", "Name the right file")
    from ruamel.yaml import YAML

    events = YAML(typ="safe", pure=True).parse(text)
    while True:
        try:
            event = next(events)
        except StopIteration:
            return
        except Exception as error:  # besides its own, it lets IndexError, ValueError and others through
            raise _syntax_error(error, text, source) from error
        yield event


def _syntax_error(error: Exception, text: str, source: str) -> ManifestError:
    mark = getattr(error, "problem_mark", None)
    position = getattr(
        error, "position", None
    )  # of a character that YAML does not take: there is no mark then
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    line = 0
    if mark is not None:
        line = mark.line
    elif isinstance(position, int):
        line = text.count("\n", 0, position)
    remedy = "Mend it; quote texts with special characters, and indent with blanks, not tabs"
    return ManifestError(source, "", f"line {line + 1}: not valid YAML: {quote(problem)}", remedy)
