"""The path of a fragment -> the same path in its one spelling. Refuses whatever could leave the output directory,
change what is not generated, or be two files here and one file on another system.

Theory of operation. A path is judged as text, before the disk is asked: what is on the disk can change, and what
is refused must not depend on it. Nothing is repaired but `.` and doubled slashes, which mean nothing. A `..` is
refused even where it would stay inside, because whoever writes one has not thought of where it leads.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from ..errors import FragmentError
from ..messages.quoting import is_utf8, one_line, quote

PATH_LIMIT = 4096  # bytes of a path, as systems have it
NAME_LIMIT = 255  # bytes of one name in it, as filesystems have it
DEPTH_LIMIT = 64  # names in a path: each may be a directory to make, and no project nests like this
STORE = ".plughost-generate"  # in the output directory, while files are written

_DRIVE = re.compile(r"[A-Za-z]:")
# Windows drops dots and blanks at the end and takes a colon for the end of a name, and `git~1` is its short name
# for `.git`. Names of its devices, such as `aux.yml`, are not refused: they are sound files everywhere else.
_GIT = re.compile(r"(?:\.git|git~1)[. ]*(?::.*)?")
_OURS = re.compile(
    r"\.plughost-.*|\..*\.plughost(?:\.lock)?"
)  # what is believed when it is found: see `files`


def normalise(plugin: str, path: str) -> str:
    """Return *path*, offered by *plugin*, in its one spelling. Raises FragmentError."""
    problem = _problem_of_text(path)
    if problem is None:
        names = [name for name in path.split("/") if name not in ("", ".")]
        problem = _problem_of_names(names)
        if problem is None:
            return "/".join(names)
    raise FragmentError(plugin, path, problem, "Give a plain path beneath the output directory")


def fold(path: str) -> str:
    """Return what all spellings of *path* have in common that some filesystem takes for one."""
    plain = path if path.isascii() else "".join(each for each in path if unicodedata.category(each) != "Cf")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", plain).casefold())


def refuse_collisions(paths: Iterable[tuple[str, str]]) -> None:
    """Raise FragmentError if two of the *paths*, each with its plugin, cannot be two files side by side."""
    files: dict[str, tuple[str, str]] = {}
    for path, plugin in paths:
        other = files.setdefault(fold(path), (path, plugin))
        if other[0] != path:
            problem = f"the same file as {quote(other[0])} by {other[1]} where case or accents do not count"
            raise FragmentError(plugin, path, problem, "Let both plugins spell it in one way")
    for spelling, (path, plugin) in files.items():
        for directory in directories_above(spelling):
            if directory in files:
                problem = f"{quote(files[directory][0])} by {files[directory][1]} is a file, not a directory"
                raise FragmentError(plugin, path, problem, "Give one of them another path")


def directories_above(path: str) -> list[str]:
    """Return the directories that *path* lies in, the topmost first, without the root."""
    return [path[:at] for at, each in enumerate(path) if each == "/"]


def _problem_of_text(path: str) -> str | None:
    if not path:
        return "an empty path"
    if not is_utf8(path):
        return "not a text"
    if len(path.encode()) > PATH_LIMIT:
        return f"a path of over {PATH_LIMIT} bytes"
    if one_line(path) != path:
        return "a character that cannot be seen"
    if "\\" in path:
        return "a backslash"
    if path.startswith("/") or _DRIVE.match(path):
        return "an absolute path"
    if path.endswith(("/", "/.")):
        return "the path of a directory"
    return None


def _problem_of_names(names: list[str]) -> str | None:
    if not names:
        return "no file is named"
    if len(names) > DEPTH_LIMIT:
        return f"over {DEPTH_LIMIT} directories deep"
    for name in names:
        if name == "..":
            return "a `..`"
        if len(name.encode()) > NAME_LIMIT:
            return f"a name of over {NAME_LIMIT} bytes"
        folded = fold(name)
        if _GIT.fullmatch(folded):
            return "beneath `.git`, which belongs to git alone"
        if folded.endswith((".", " ")):
            return "a name that ends in a dot or a blank, which some systems drop"
        if _OURS.fullmatch(folded):
            return "a name that plughost keeps to itself"
    return None
