"""Passes of envelope plugins over a directory: what one costs at all, and what it saves not to take turns."""

from __future__ import annotations

from ..contender import Contender
from ..samples import Source
from ..section import Base, Row, Section
from ..target import Kind, Target
from .python_start import CONTENDERS, PASS, ROWS, TWO, TWO_AT_ONCE

KEY = "envelope"
MODULE = "bench.drivers.passes"
HOSTS = ("blocking", "asyncio")
TASKS = {
    "no-op": "no-op pass",
    "no-op-recorded": "no-op pass, with a record",
    "one-file": "pass over 1 file",
    "two-attempts": "1 file, two attempts",
}
NO_OPS = ("no-op", "no-op-recorded")
TURNS = {"in-turn": "1 job", "at-once": "3 jobs"}

_TWICE_PYTHON = Target(Kind.TIMES, 2, "python -c pass", PASS)


def passes() -> Section:
    return Section(
        key=KEY,
        title="A pass of one plugin over a directory",
        unit="ms",
        contenders=(*CONTENDERS, TWO, *_contenders(*TASKS)),
        rows=(
            *(row for row in ROWS if row.source == PASS),
            Row("two python -c pass at once", TWO_AT_ONCE),
            *(_pass(host, task) for task in TASKS for host in HOSTS),
        ),
        bases=(Base("× pass", PASS), Base("× two", TWO_AT_ONCE)),
        notes=(
            "From the call to its return, on a host that is there. The record is on disk by then.",
            "The directory is made anew each time, with three small files that are not for the plugin.",
            "With a record: one that whoever made the directory has begun; otherwise the pass begins it.",
            "A pass starts two processes at once, one to validate and one to work; an attempt more, one more.",
            "Workers are confined where the kernel can; latest.json says whether they were.",
        ),
        drawn=True,
    )


def turns() -> Section:
    return Section(
        key=KEY,
        title="Three plugins, a file each, that wait 50 ms",
        unit="ms",
        contenders=_contenders(*TURNS, times=1),
        rows=tuple(_turn(host, task) for host in HOSTS for task in TURNS),
        bases=(_alone(HOSTS[0]),),
        notes=(
            "Waiting takes no processor, starting does: six processes, with one job as with three.",
            "The last column compares with one job of the same host.",
        ),
    )


def _contenders(*tasks: str, times: int = 3) -> tuple[Contender, ...]:
    return tuple(
        Contender(_source(host, task).contender, MODULE, f"{host}:{task}", times=times)
        for task in tasks
        for host in HOSTS
    )


def _pass(host: str, task: str) -> Row:
    target = _TWICE_PYTHON if task in NO_OPS else None
    return Row(f"{host} host: {TASKS[task]}", _source(host, task), target, ours=True)


def _turn(host: str, task: str) -> Row:
    return Row(f"{host} host, {TURNS[task]}", _source(host, task), ours=True, bases=(_alone(host),))


def _alone(host: str) -> Base:
    return Base("× 1 job", _source(host, "in-turn"))


def _source(host: str, task: str) -> Source:
    return Source(f"pass-{host}-{task}", "gone")
