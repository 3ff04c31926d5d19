"""A binding's `command` to the exact words that are executed. Looks at the file system; starts nothing.

The first word is a program: with a slash it is relative to the binding, without one it is looked up on the
PATH that the plugin will get. The bare word `python` means the interpreter that runs the host, started so
that nothing in the working directory can be imported by accident (see `loader`).
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import Unsupported
from ..manifest.binding import PYTHON_WORDS, Binding
from ..manifest.envelope_binding import CONTRACT, WORKER
from . import limits

SOURCE = Path(__file__).with_name("loader.py")


@dataclass(frozen=True, slots=True)
class Program:
    """What to execute, and the file whose change means another plugin."""

    words: tuple[str, ...]
    executable: str  # the plugin's own program or script, not a wrapper of ours


def resolve(binding: Binding, path: str) -> Program:
    """Return the program of *binding*, looked up on *path*. Raises OSError or Unsupported."""
    # An `envelope` has bounds that its author never wrote down: they must not keep it from a host that has less itself.
    wanted = limits.kernel_limits(binding.limits, narrowed=binding.contract == CONTRACT)
    first, *rest = binding.command
    if first in PYTHON_WORDS:
        return _python(binding, rest, wanted)
    program = _find(binding, first, path)
    return Program(tuple(_limited(program, rest, wanted)), program)


def _python(binding: Binding, rest: list[str], wanted: dict[str, int]) -> Program:
    if not sys.executable:
        raise Unsupported("this Python does not know its own interpreter: name one in `command`")
    isolated = [sys.executable, "-I"]
    if not rest or rest[0].startswith("-"):
        words = [*_limited(sys.executable, [], wanted), "-I", *rest]
        return Program(tuple(words), sys.executable)
    script = str(binding.directory / rest[0])
    _check_file(script)
    mode = "own" if script == WORKER else "run"
    words = [*isolated, loader(), limits.spell(wanted), mode, script, *rest[1:]]
    return Program(tuple(words), script)


def _limited(program: str, rest: list[str], wanted: dict[str, int]) -> list[str]:
    """Return the words that run *program* under *wanted*."""
    if not wanted:
        return [program, *rest]
    _check_format(program)  # prlimit would hand a file of an unknown format to a shell
    wrapper = shutil.which("prlimit", path=os.defpath)
    if wrapper is not None:
        return [*limits.prlimit_words(wrapper, wanted), program, *rest]
    return [sys.executable, "-I", "-S", loader(), limits.spell(wanted), "exec", program, *rest]


@cache
def loader() -> str:
    """Return the file of the loader: compiled, which saves a millisecond or two at each start, if that can be had."""
    from . import loader as module  # importing it is what keeps it compiled

    compiled = module.__spec__.cached
    return compiled if compiled is not None and os.path.isfile(compiled) else str(SOURCE)


def _find(binding: Binding, word: str, path: str) -> str:
    if "/" in word:
        program = str(binding.directory / word)
        _check_file(program)
        if not os.access(program, os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), program)
        return program
    found = shutil.which(word, path=path)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), word)
    return found


def _check_file(path: str) -> None:
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if not os.path.isfile(path):  # opening a pipe or a device may never end
        raise OSError(errno.ENOEXEC, "not a regular file", path)


def _check_format(program: str) -> None:
    with open(program, "rb") as file:
        head = file.read(20)
    native = head.startswith(b"\x7fELF") if sys.platform == "linux" else not head.startswith(b"\x7fELF")
    if not head.startswith(b"#!") and not native:
        raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC), program)
    if head.startswith(b"\x7fELF"):
        with open(sys.executable, "rb") as file:
            ours = file.read(20)
        if head[4:6] + head[18:20] != ours[4:6] + ours[18:20]:
            raise OSError(errno.ENOEXEC, "built for another processor", program)
