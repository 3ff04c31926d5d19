"""The text of a workflow to what is wrong with it. Checks what GitHub would refuse first, not its whole schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .yaml_reader import read_mapping

SIZE_LIMIT = 524_288  # characters; reading takes ten seconds for a million, and the host waits for thirty


def problems(text: str) -> Iterator[str]:
    """Yield what is wrong with the workflow in *text*, one sentence each."""
    try:
        workflow = read_mapping(text, "the file")
    except ValueError as error:
        yield str(error)
        return
    if not workflow.get("on"):
        yield "there is no `on`: nothing starts it"
    jobs = workflow.get("jobs")
    if not isinstance(jobs, dict) or not jobs:
        yield "there are no jobs"
        return
    for name, job in jobs.items():
        if isinstance(job, dict):
            yield from (f"job {name}: {each}" for each in _job(job, jobs))
        else:
            yield f"job {name}: not a mapping"
    if name := _in_a_circle(jobs):
        yield f"job {name}: waits for itself"


def _job(job: dict[str, Any], jobs: dict[str, Any]) -> Iterator[str]:
    for need in _needs(job):
        if need not in jobs:
            yield f"needs {need}, which is not there"
    if "uses" in job:
        return
    if not job.get("runs-on"):
        yield "there is no runs-on"
    steps = job.get("steps")
    if not isinstance(steps, list) or not steps:
        yield "there are no steps"
        return
    for number, step in enumerate(steps, 1):
        if not isinstance(step, dict) or ("run" in step) == ("uses" in step):
            yield f"step {number} has not exactly one of run and uses"


def _needs(job: Any) -> list[str]:
    needs = job.get("needs", []) if isinstance(job, dict) else []
    return [needs] if isinstance(needs, str) else [str(each) for each in needs or ()]


def _in_a_circle(jobs: dict[str, Any]) -> str:
    """Return a job that can never start because its needs lead back to it, or an empty text."""
    waiting = {name: {need for need in _needs(job) if need in jobs} for name, job in jobs.items()}
    before = -1
    while len(waiting) != before:
        before = len(waiting)
        for name in jobs:
            if name in waiting and not waiting[name] & waiting.keys():
                del waiting[name]
    return min(waiting, default="")
