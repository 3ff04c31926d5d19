"""The record of a directory, `creation.json`: entries are added to it, and all else in it is left as it was.

Theory of operation. A writer takes the lock beside the file, reads the file, adds, writes a temporary file in
the same directory, brings it to disk and renames it into place: whoever dies at whatever instant leaves the
old record or the new one. A record that is not understood is never written over. Everything happens relative
to one open directory, and neither the directory nor a file in it may be a symbolic link: plugins have been
at work beside it. Readers need no lock.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ..errors import TreeError
from . import lock, place, sharing
from .schema import brief, stamp

SCHEMA_VERSION = "1.8"
SIZE_LIMIT = 16_777_216  # bytes; a record is some kilobytes, and all of it is held in memory
LOCK_TIMEOUT_S = 30.0  # a writer takes milliseconds: after this long the holder is stuck
LEFTOVER = ".plughost-tmp"  # how the name of a temporary file ends; only the holder of the lock has one

# What readers of the record know as a run's kind. They take the first one where none is written.
RUN_KINDS = ("experimental", "test")

_SURROGATE = re.compile("[\ud800-\udfff]")
_MEND = "Mend it or move it away; it was left as it is"


class Record:
    """The record at *path*. Its methods block; *lock_timeout_s* bounds the wait for other writers."""

    __slots__ = ("_lock_timeout_s", "path")

    def __init__(self, path: Path, *, lock_timeout_s: float = LOCK_TIMEOUT_S) -> None:
        self.path = path
        self._lock_timeout_s = lock_timeout_s

    def read(self) -> dict[str, Any]:
        """Return the record, or an empty one if there is none. Raises TreeError if it is not one."""
        with self._translated():
            try:
                directory = self._open_directory()
            except FileNotFoundError:
                return {}
            with _closing(directory):
                found = self._load(directory)
        return {} if found is None else found[0]

    def check(self, *, room: int, make: bool) -> None:
        """Raise TreeError if entries of *room* bytes could not be added now. The record is left as it is.

        The lock beside it is made if *make* says so: that is the only proof that a file can be made there.
        """
        place.check_directory(self.path.parent, levels=1)
        with self._translated():
            if make:
                self._make_directory()
            try:
                directory = self._open_directory()
            except FileNotFoundError:
                return
            with _closing(directory):
                found = self._load(directory)
                if found is not None and found[1].st_size > SIZE_LIMIT - room:
                    problem = f"within {room} bytes of the {SIZE_LIMIT} that a record may have"
                    raise TreeError(str(self.path), problem, "Move it away: the next pass begins a new one")
                lock.check(directory, *self._lock_name, make=make)

    def append(
        self, entries: Sequence[dict[str, Any]], *, header: dict[str, Any] | None = None
    ) -> frozenset[str]:
        """Add *entries*, each with an `id` of its own; one that is there already is replaced. Returns the new ids.

        If there is no room for all that they say, they are written in brief.
        A record that is missing is begun with *header*, which may be any part of its top level. Raises
        TreeError, and leaves the record as it was, if that is not one of ours, is locked or cannot be written.
        """
        with self._translated():
            self._make_directory()
            with (
                _closing(self._open_directory()) as directory,
                lock.held(directory, *self._lock_name, self._lock_timeout_s),
            ):
                self._sweep(directory)
                found = self._load(directory)
                document, was = (self._begun(header or {}), None) if found is None else found
                before = document.get("plugins_applied", [])
                for version in (entries, [brief(entry) for entry in entries]):
                    document["plugins_applied"] = _merged(before, version)
                    data = self._encoded(document)
                    if len(data) <= SIZE_LIMIT:
                        break
                else:
                    raise self._refused(f"would be over {SIZE_LIMIT} bytes")
                self._store(directory, data, was)
                return frozenset(entry["id"] for entry in entries) - _places(before).keys()

    # Reading

    def _open_directory(self) -> int:
        return os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def _load(self, directory: int) -> tuple[dict[str, Any], os.stat_result] | None:
        # Without waiting: opening a pipe that a plugin left in this place would never end.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fd = os.open(self.path.name, flags, dir_fd=directory)
        except FileNotFoundError:
            return None
        with _closing(fd):
            was = os.fstat(fd)
            if not stat.S_ISREG(was.st_mode):
                raise self._refused("not a regular file")
            with open(fd, "rb", closefd=False) as file:
                data = file.read(SIZE_LIMIT + 1)
        if len(data) > SIZE_LIMIT:
            raise self._refused(f"over {SIZE_LIMIT} bytes")
        try:
            document = msgspec.json.decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError) as error:
            raise self._refused(f"not valid JSON: {error}") from error
        return self._checked(document), was

    def _checked(self, document: Any) -> dict[str, Any]:
        if not isinstance(document, dict):
            raise self._refused("not a JSON object")
        if not isinstance(document.get("plugins_applied", []), list):
            raise self._refused("plugins_applied is not a list")
        major = str(document.get("schema_version", SCHEMA_VERSION)).partition(".")[0]
        if major != SCHEMA_VERSION.partition(".")[0]:
            raise self._refused(f"schema_version is {document['schema_version']!r}, not 1.x")
        return document

    # Writing

    def _begun(self, header: dict[str, Any]) -> dict[str, Any]:
        document: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "created_at": stamp(datetime.now(UTC)),
            "created_by": _user(),
            "level": "run",
            "run_kind": RUN_KINDS[0],
            "lims_project": {"uid": "", "short_id": "", "name_at_creation": ""},
            "template": {"name": "", "version": "", "source_path": ""},
            "variables": {},
            "plugins_applied": [],
            "paths": {"local": str(self.path.parent.parent.absolute()), "nas": ""},
        }
        for key, value in header.items():
            match document.get(key), value:
                case dict() as ours, dict():
                    document[key] = {**ours, **value}
                case _:
                    document[key] = value
        if (given := document["run_kind"]) not in RUN_KINDS:
            document["run_kind"] = RUN_KINDS[0]
            document |= {"run_kind_given": given} if given else {}
        return self._checked(document)

    def _encoded(self, document: dict[str, Any]) -> bytes:
        try:
            return msgspec.json.format(_json(document), indent=2) + b"\n"
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
            raise self._refused(f"was given what JSON cannot say: {error}") from error

    def _store(self, directory: int, data: bytes, was: os.stat_result | None) -> None:
        temporary = f".{self.path.name}.{os.getpid()}-{secrets.token_hex(4)}{LEFTOVER}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(temporary, flags, 0o644, dir_fd=directory)
        try:
            with open(fd, "wb") as file:
                if was is None:
                    sharing.share(fd, os.fstat(directory), sharing.WRITE)
                else:
                    _keep_access(fd, was)
                file.write(data)
                file.flush()
                os.fsync(fd)
            os.replace(temporary, self.path.name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=directory)
            raise
        with contextlib.suppress(OSError):  # not every network filesystem can; the new record is in place
            os.fsync(directory)

    def _sweep(self, directory: int) -> None:
        """Remove what writers that were killed left behind. We hold the lock, so none is being written."""
        for name in os.listdir(directory):
            if name.startswith(f".{self.path.name}.") and name.endswith(LEFTOVER):
                with contextlib.suppress(OSError):  # a directory, or another's: not worth failing for
                    os.unlink(name, dir_fd=directory)

    def _make_directory(self) -> None:
        if self.path.parent.parent.is_dir():  # it alone may be made
            sharing.make_directory(self.path.parent)

    @property
    def _lock_name(self) -> tuple[str, str]:
        """The name of the lock, and its path for people."""
        path = self.path.with_name(f"{self.path.name}.lock")
        return path.name, str(path)

    # Refusing

    def _refused(self, problem: str) -> TreeError:
        return TreeError(str(self.path), problem, _MEND)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                self._blame_link(error)
            reason = error.strerror or str(error)
            name, lock_path = self._lock_name
            if error.filename == name:
                raise TreeError(
                    lock_path, f"cannot be used: {reason}", "Remove it: it holds nothing"
                ) from error
            raise TreeError(str(self.path), f"cannot be used: {reason}", "Check the directory") from error

    def _blame_link(self, error: OSError) -> None:
        for path in (self.path.parent, self.path, self.path.with_name(f"{self.path.name}.lock")):
            if path.is_symlink():
                raise TreeError(str(path), "a symbolic link", "Put a real one in its place") from error


def _user() -> str:
    """Return the name of the user whose process this is, or the number."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container may run as anybody
        return str(os.geteuid())


@contextlib.contextmanager
def _closing(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def _merged(there: list[Any], entries: Sequence[dict[str, Any]]) -> list[Any]:
    """Return the list *there* with *entries* behind it, or in the place of those with the same id."""
    merged, places = list(there), _places(there)
    for entry in entries:
        at = places.setdefault(entry["id"], len(merged))
        merged[at : at + 1] = [entry]
    return merged


def _places(there: list[Any]) -> dict[str, int]:
    """Return where in *there* each id stands."""
    return {
        entry["id"]: at
        for at, entry in enumerate(there)
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    }


def _json(document: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:  # names of files may be any bytes
        return msgspec.json.encode(_encodable(document))


def _encodable(value: Any) -> Any:
    """Return *value* with every byte that is no UTF-8 spelled out."""
    match value:
        case str():
            return _SURROGATE.sub(_spelled, value)
        case dict():
            return {_encodable(key): _encodable(each) for key, each in value.items()}
        case list() | tuple():
            return [_encodable(each) for each in value]
        case _:
            return value


def _spelled(surrogate: re.Match[str]) -> str:
    code = ord(surrogate[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def _keep_access(fd: int, was: os.stat_result) -> None:
    """Give the new file the mode of the old one, and its owner where we may."""
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (was.st_uid, was.st_gid):
        for owner in (was.st_uid, -1):  # another's stays its group's at least
            with contextlib.suppress(PermissionError):
                os.fchown(fd, owner, was.st_gid)
                break
    os.fchmod(fd, stat.S_IMODE(was.st_mode) & 0o777)
