"""A run that is killed before each of its calls to the system in turn; reports what was found after each kill.

It forks for every kill, and has no threads, so that hundreds of kills cost seconds. Each line of its report is JSON:
the number of the call that was not made, and what recovery found and left. The last one was not killed.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from plughost.errors import TreeError
from plughost.fragments import recover, write
from tests.fragments.offering import contents, output

CALLS = [
    "mkdir",
    "rename",
    "unlink",
    "rmdir",
    "link",
    "fchmod",
    "fchown",
    "write",
    "fsync",
    "open",
    "close",
    "stat",
]
OLD = {"same": "same\n", "top": "old top\n", "deep/file": "old file\n", "deep/kept": "kept\n"}
NEW = {
    "same": "same\n",
    "top": "new top\n",
    "deep/file": "new file\n",
    "fresh/dir/x": "x\n",
    "fresh/y": "y" * 70_000,
}


def _shape(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    for path, content in OLD.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_text(content)


def _kill_before(number: int) -> None:
    """Let this process be killed right before its call *number*."""
    calls = 0

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > number:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        return call

    for name in CALLS:
        setattr(os, name, dying(getattr(os, name)))
    os.supports_dir_fd.update(getattr(os, name) for name in CALLS)


def _run(number: int, do: Callable[[], object], trouble: str = "") -> bool:
    """Do it in a child that is killed before call *number*. Returns whether it was over before that."""
    child = os.fork()
    if child == 0:
        try:
            _meet(trouble)
            _kill_before(number)
            with suppress(TreeError):
                do()
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    return status == 0


def _meet(trouble: str) -> None:
    """Let this process find a disk without hard links, or one that fails at a bad time."""
    real, real_scandir = os.rename, os.scandir

    def no_link(*arguments: Any, **options: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    def rename(*arguments: Any, **options: Any) -> None:
        if trouble == "fails-in-place" and arguments[0] == "new-2":
            raise OSError(errno.EIO, "Input/output error")
        real(*arguments, **options)
        if trouble == "fails-at-commit" and arguments[0] == "journal.new":
            raise OSError(errno.EIO, "Input/output error")

    @contextmanager
    def scandir(directory: int) -> Iterator[Iterator[os.DirEntry[str]]]:
        with real_scandir(directory) as found:
            yield iter(
                sorted(found, key=lambda each: each.name == "journal")
            )  # any order is possible: the worst

    os.rename = rename
    os.scandir = scandir
    if trouble == "without-links":
        os.link = no_link


def main(out: Path, what: str, halfway: int) -> None:
    outputs = [output(path, content) for path, content in NEW.items()]
    os.fsync = lambda descriptor: None  # a kill loses nothing that was written; only a loss of power does
    number = 0
    done = False
    while not done:
        _shape(out)
        if what == "recovery":  # the run is killed before call *halfway*, and then its recovery is
            _run(halfway, lambda: write(outputs, out))
            done = _run(number, lambda: recover(out))
        else:
            done = _run(number, lambda: write(outputs, out), what)
        left = recover(out)
        again = recover(out)
        found = {path: content.decode() for path, content in contents(out).items() if content is not None}
        empty = [
            path for path, content in contents(out).items() if content is None and not os.listdir(out / path)
        ]
        state = "old" if found == OLD else "new" if found == {**OLD, **NEW} else found
        report = {"number": number, "left": left, "again": again, "state": state, "empty": empty}
        sys.stdout.write(json.dumps(report) + "\n")
        number += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
