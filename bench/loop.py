"""The driver's side of the wire: each line `JOB TIMES` on stdin is answered with one line of JSON on stdout.

A driver is the host of one or more contenders, in a process of its own: what one of them imports, leaks or
leaves in its allocator cannot disturb another, and importing the host's libraries is never in a timed part.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Mapping

from .stopwatch import Marks

Job = Callable[[], Marks]


def serve(jobs: Mapping[str, Job]) -> None:
    """Do the jobs that are asked for until stdin ends."""
    read, write = os.dup(0), os.dup(1)  # private: neither a job nor its children can reach the wire
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    with open(read) as questions, open(write, "w", buffering=1) as answers:
        for question in questions:
            job, times = question.split()
            answers.write(json.dumps(_answer(jobs[job], int(times))) + "\n")


def _answer(job: Job, times: int) -> dict[str, object]:
    try:
        return {"samples": [_sample(job) for _ in range(times)]}
    except Exception as error:  # whatever a peer raises: it is reported as that contender's failure
        return {"error": f"{type(error).__name__}: {error}"}


def _sample(job: Job) -> Marks:
    """Do *job* once with the garbage collector off, which would otherwise strike one contender at random."""
    gc.collect()
    gc.disable()
    try:
        return job()
    finally:
        gc.enable()
