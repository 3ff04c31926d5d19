"""Pictures -> files of our own naming in one directory. Never raises, and never writes over what it has not written.

A picture that is shown again, changed, takes the place of its own file: a plot that is drawn a thousand times is one.
"""

from __future__ import annotations

import os
from pathlib import Path

from ...contracts.sideband.items import Image
from .picture import ending

TRIES = 10_000  # names that others may have taken


class Album:
    """The pictures of one session."""

    def __init__(self, directory: Path) -> None:
        self.problem: str | None = None  # why the last one is not there
        self._directory = directory
        self._count = 0
        self._paths: dict[str, Path] = {}  # by the id that the worker gives

    def keep(self, image: Image) -> Path | None:
        """Return the file that *image* is in, or None if it could not be written."""
        self.problem = None
        try:
            known = self._paths.get(image.id)
            if known is not None and not image.is_new and known.suffix == ending(image):
                self._replace(known, image.data)
                return known
            path = self._paths[image.id] = self._add(image)
        except OSError as error:
            self.problem = f"{error.strerror or error}"
            return None
        return path

    def _add(self, image: Image) -> Path:
        self._directory.mkdir(parents=True, exist_ok=True)
        for _ in range(TRIES):
            self._count += 1
            path = self._directory / f"picture-{self._count}{ending(image)}"
            try:
                _write(path, image.data)
            except FileExistsError:
                continue
            return path
        raise FileExistsError(0, f"{self._directory} is full of pictures")

    def _replace(self, path: Path, data: bytes) -> None:
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        fresh.unlink(missing_ok=True)
        _write(fresh, data)
        os.replace(fresh, path)


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
