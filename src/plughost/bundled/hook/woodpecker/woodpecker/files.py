"""The jobs of the schema to files: which jobs share one, and which file waits for which.

A matrix of Woodpecker's multiplies a whole file. So jobs share the file of their workflow only if none of them has a
matrix; if one has, each gets a file of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from plughost_sdk.hook_messages import CigenSchema, JobDefinition

from . import matrix

DEFAULT = "ci"  # the workflow of a job that names none
NAME_LIMIT = 200  # characters of a file's name; file systems take 255 bytes with the suffix

_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True)
class File:
    """One file: its name without a suffix, its workflow and jobs, and the names of those it waits for."""

    name: str
    workflow: str
    jobs: tuple[JobDefinition, ...]
    depends_on: tuple[str, ...]


def arrange(schema: CigenSchema, is_runnable: Callable[[JobDefinition], bool]) -> list[File]:
    """Return the files, by name. A job that is not runnable has none, and who waits for it waits for its needs.

    Raises ValueError for jobs that cannot be told apart, or wait for each other.
    """
    jobs = list(_runnable(schema.jobs, is_runnable))
    if len({job.id for job in jobs}) != len(jobs) or not all(job.id for job in jobs):
        raise ValueError("every job has an id of its own")
    multiplied = {_workflow(job) for job in jobs if matrix.is_used(job)}
    home = {job.id: _file_name(job, multiplied) for job in jobs}
    held: dict[str, list[JobDefinition]] = {}
    for job in jobs:
        held.setdefault(home[job.id], []).append(job)
    for name, there in held.items():
        if len(there) > 1 and (len({*map(_workflow, there)}) > 1 or _workflow(there[0]) in multiplied):
            raise ValueError(f"jobs {', '.join(job.id for job in there)} would all have the file {name}")
    waits = {name: _waits(name, there, home) for name, there in held.items()}
    _check(waits)
    return [File(name, _workflow(held[name][0]), tuple(held[name]), waits[name]) for name in sorted(held)]


def _workflow(job: JobDefinition) -> str:
    return job.workflow or DEFAULT


def _file_name(job: JobDefinition, multiplied: set[str]) -> str:
    workflow = _workflow(job)
    name = f"{workflow}-{_NO_FILE_NAME.sub('_', job.id)}" if workflow in multiplied else workflow
    if not _FILE_NAME.fullmatch(workflow) or len(name) > NAME_LIMIT:
        allowed = "letters, digits, '_', '-' and '.'"
        raise ValueError(
            f"workflow {workflow!r}: the name of a file is of {allowed}, and not over {NAME_LIMIT} long"
        )
    return name


def _runnable(
    jobs: Iterable[JobDefinition], is_runnable: Callable[[JobDefinition], bool]
) -> Iterator[JobDefinition]:
    dropped = {job.id: job for job in jobs if not is_runnable(job)}
    for job in jobs:
        if job.id in dropped:
            continue
        seen: dict[str, None] = {}
        left = list(job.needs)
        while left:
            need = left.pop(0)
            if need not in seen:
                seen[need] = None
                left += dropped[need].needs if need in dropped else []
        kept = JobDefinition()
        kept.CopyFrom(job)
        kept.needs[:] = [need for need in seen if need not in dropped]
        yield kept


def _waits(name: str, jobs: list[JobDefinition], home: dict[str, str]) -> tuple[str, ...]:
    found = set()
    for job in jobs:
        for need in job.needs:
            if need not in home:
                raise ValueError(f"job {job.id} needs {need!r}, which is not there")
            found.add(home[need])
    return tuple(sorted(found - {name}))


def _check(waits: dict[str, tuple[str, ...]]) -> None:
    left = dict(waits)
    before = -1
    while len(left) != before:
        before = len(left)
        for name in waits:
            if name in left and not left.keys() & set(waits[name]):
                del left[name]
    if left:
        raise ValueError(
            f"workflows that wait for each other: {', '.join(sorted(left))}; put their jobs into one"
        )
