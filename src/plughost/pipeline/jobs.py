"""All jobs of a pipeline file: in an order that respects what they need, and expanded to one for each row.

Refuses needs that are not there, circles, two jobs of one name, and more jobs than anybody can be told of.
"""

from __future__ import annotations

from collections.abc import Iterator

from plughost_sdk.hook_messages import LIMIT, JobDefinition

from ..messages.quoting import listed, quote
from . import graph, job
from .job import Job
from .names import Names
from .place import Place

JOB_LIMIT = 4096  # of one file, every row of a matrix counted


def read(place: Place, names: Names) -> list[Job]:
    """Return the jobs, each after those it needs, otherwise in the order of the file. Raises ManifestError."""
    found = {name: job.read(name, each, names) for name, each in place.named().items()}
    if not found:
        raise place.wrong(
            "no jobs", "Add one; in a directory of parts it is a file workflows/ID/jobs/NAME.yml"
        )
    for each in found.values():
        for name, where in each.needs.items():
            if name not in found:
                raise where.unresolved(name, "job", found.keys())
    needs = {name: tuple(each.needs) for name, each in found.items()}
    circle = graph.circle(needs)
    if circle:
        wanted = [
            found[name].needs[after] for name, after in zip(circle, (*circle[1:], circle[0]), strict=True)
        ]
        lines = listed([str(each.node.line) for each in wanted])
        problem = f"{graph.drawn(circle)}: none of them can be the first (lines {lines})"
        raise wanted[0].wrong(problem, "Take one of these needs out")
    return [found[name] for name in graph.order(needs)]


def expanded(jobs: list[Job], names: Names) -> list[JobDefinition]:
    """Return a job for each row of each matrix, and the jobs without one, in order. Raises ManifestError."""
    ids = {each.id: each.ids for each in jobs}
    _check_ids(jobs)
    found: list[JobDefinition] = []
    size = 0
    for each in jobs:
        needs = sorted(row for name in each.needs for row in ids[name])
        for definition in _definitions(each, names):
            definition.needs[:] = needs
            found.append(definition)
            size += definition.ByteSize()
            if size > LIMIT:  # also keeps a large job of many rows from filling the memory
                problem = f"expanded, the jobs have over {LIMIT} bytes: no message holds them"
                raise each.place.wrong(problem, "Take rows out")
    return found


def _definitions(each: Job, names: Names) -> Iterator[JobDefinition]:
    if each.matrix is None:
        definition = JobDefinition()
        definition.CopyFrom(each.native)
        yield definition
    else:
        for name, row in zip(each.ids, each.matrix.rows, strict=True):
            yield job.of_row(each, name, row, names)


def _check_ids(jobs: list[Job]) -> None:
    """Refuse two jobs of one id, and too many."""
    taken: dict[str, str] = {}
    for each in jobs:
        for name in each.ids:
            if name in taken:
                problem = f"both it and `{taken[name]}` would have a job {quote(name)}"
                raise each.place.wrong(problem, "Rename the job, or the values of its matrix")
            taken[name] = each.id
        if len(taken) > JOB_LIMIT:
            raise each.place.wrong(f"over {JOB_LIMIT} jobs, rows counted", "Split the file")
