"""Passes of envelope plugins over a small directory, by either host, on a host that is already there.

Jobs are `HOST:TASK`. The directory is made anew before each pass, so that its record does not grow; where a task
says so, with the record that whoever makes a directory has begun. A pass is over when `run_pass` has returned; its
record was written before that, and is looked at afterwards.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import plughost
from plughost import blocking
from plughost.host.envelope.options import PassResult, Question

from ..loop import serve
from ..stopwatch import Marks, Stopwatch
from . import transformers

ON_DISK = "/var/tmp"  # /tmp is memory on many systems, where bringing a record to disk costs nothing
BYSTANDERS = ("notes.txt", "plan.csv", "setup.ini")  # small files that are nobody's business
CONTENT = b"a small file\n"
RECORD = ".exlab-wizard/creation.json"
BEGUN = b'{"schema_version": "1.8", "level": "run", "variables": {}, "plugins_applied": []}\n'


@dataclass(frozen=True, slots=True)
class Task:
    """What a pass has to do, and what proves that it was done."""

    plugins: tuple[str, ...]
    files: tuple[str, ...] = ()  # beside the bystanders: one plugin appends to each
    jobs: int = 1
    attempts: int = 1  # of each plugin: workers that it takes
    recorded: bool = False  # there is a record before the pass, begun by whoever made the directory


Run = Callable[[Path, list[Path], Task], PassResult]

_THREE = tuple(f"measured{extension}" for extension in transformers.WAITERS.values())
TASKS = {
    "no-op": Task(("no-op",)),
    "no-op-recorded": Task(("no-op",), recorded=True),
    "one-file": Task(("appender",), ("measured.dat",)),
    "two-attempts": Task(("asker",), ("measured.dat",), attempts=2),
    "in-turn": Task(tuple(transformers.WAITERS), _THREE),
    "at-once": Task(tuple(transformers.WAITERS), _THREE, jobs=3),
}


def measure(run: Run, home: Path, plugins: list[Path], task: Task) -> Marks:
    """Make the directory anew, and run a pass over it."""
    tree = home / "tree"
    os.sync()  # what others of this run have written, hundreds of megabytes, is not ours to wait for
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    for name in BYSTANDERS + task.files:
        (tree / name).write_bytes(CONTENT)
    if task.recorded:
        (tree / RECORD).parent.mkdir()
        (tree / RECORD).write_bytes(BEGUN)
    watch = Stopwatch()
    result = run(tree, plugins, task)
    watch.mark("gone")
    _check(result, tree, task)
    return watch.marks | {"confined": float(result.confined)}


def _check(result: PassResult, tree: Path, task: Task) -> None:
    """Raise ValueError unless everything was done, and written down."""
    status = "success" if task.files else "skipped"
    seen = [(each.status, each.isolation.attempts) for each in result.plugins_applied]
    written = json.loads((tree / RECORD).read_bytes())["plugins_applied"]
    touched = [(tree / name).read_bytes() == CONTENT + transformers.MARK for name in task.files]
    if seen != [(status, task.attempts)] * len(task.plugins) or len(written) != len(seen) or not all(touched):
        raise ValueError(f"the work was not done: {result.to_dict()}")


def _answer(question: Question) -> dict[str, Any]:
    """The operator, who answers at once."""
    return {field.id: "42" for field in question.fields}


def _on_blocking(host: blocking.Host, tree: Path, plugins: list[Path], task: Task) -> PassResult:
    return host.run_pass(tree, plugins, on_input_required=_answer, jobs=task.jobs)


def _on_asyncio(
    runner: asyncio.Runner, host: plughost.Host, tree: Path, plugins: list[Path], task: Task
) -> PassResult:
    return runner.run(host.run_pass(tree, plugins, on_input_required=_answer, jobs=task.jobs))


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="plughost-bench-", dir=ON_DISK) as place,
        asyncio.Runner() as runner,
        blocking.Host() as blocking_host,
    ):
        home = Path(place)
        plugins = transformers.write(home / "plugins")
        host = plughost.Host()
        runs: dict[str, Run] = {
            "blocking": partial(_on_blocking, blocking_host),
            "asyncio": partial(_on_asyncio, runner, host),
        }
        serve(
            {
                f"{name}:{key}": partial(measure, run, home, [plugins[each] for each in task.plugins], task)
                for name, run in runs.items()
                for key, task in TASKS.items()
            }
        )
        runner.run(host.aclose())


if __name__ == "__main__":
    main()
