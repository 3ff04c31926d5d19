"""What a person has typed -> a file, one request a line, and back. Never raises: a console without history is one.

A request may have several lines, so each is written as a JSON string. Sessions at the same time append to one file.
Answers to what code asks are not written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

MOST = 1_000  # requests that are remembered
MOST_CHARS = 100_000  # of one: a pasted file is no history
MOST_BYTES = 16_777_216  # of a file that is read
FILE = Path("plughost") / "console-history"


class History:
    """The requests of earlier sessions and of this one. *path* None: of this one alone, and nothing is written."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.problem: str | None = None  # why nothing is written any more

    def load(self) -> list[str]:
        """Return what was typed before, oldest first. A file that has grown long is cut."""
        if self.path is None:
            return []
        try:
            with open(self.path, "rb") as file:
                data = file.read(MOST_BYTES)
        except FileNotFoundError:
            return []
        except OSError as error:
            self._fail(error)
            return []
        found = [entry for line in data.splitlines() if (entry := _entry(line)) is not None]
        if len(found) > 2 * MOST:
            self._replace(found[-MOST:])
        return found[-MOST:]

    def add(self, text: str) -> None:
        """Remember *text*."""
        if self.path is None or self.problem is not None or len(text) > MOST_CHARS:
            return
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(self.path, _line(text), os.O_APPEND)
        except OSError as error:
            self._fail(error)

    def _replace(self, entries: list[str]) -> None:
        assert self.path is not None
        short = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            _write(short, b"".join(map(_line, entries)), os.O_EXCL)
            os.replace(short, self.path)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.problem = f"the history cannot be kept in {self.path}: {error.strerror or error}"


def usual_path(environ: Mapping[str, str]) -> Path | None:
    """Return where histories are kept if nobody says where; None if there is no such place."""
    state, home = environ.get("XDG_STATE_HOME", ""), environ.get("HOME", "")
    if os.path.isabs(state):
        return Path(state) / FILE
    return Path(home) / ".local" / "state" / FILE if os.path.isabs(home) else None


def _entry(line: bytes) -> str | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, str) and 0 < len(value) <= MOST_CHARS and "\0" not in value else None


def _line(text: str) -> bytes:
    return json.dumps(text).encode() + b"\n"


def _write(path: Path, data: bytes, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    with open(descriptor, "wb", buffering=0) as file:
        file.write(data)
