"""Runs the rounds: every contender once in each, in shuffled order. What it brings back is not judged here.

Whoever would leave the disk busy for the others has rounds of its own, when they are done.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from . import machine, peer_environment
from .contender import Contender
from .driver import Driver, DriverFailed
from .samples import Samples

# By what makes a driver process another one: program, arguments, environment, and whose Python it is.
Drivers = dict[tuple[str, tuple[str, ...], tuple[tuple[str, str], ...], bool], Driver]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a run is made."""

    rounds: int
    seed: int
    patience_s: float  # to wait for a quiet machine before each round
    times: int | None = None  # jobs per round at most
    absent: dict[str, str] = field(default_factory=dict)  # peer -> why it is not there


@dataclass(slots=True)
class Run:
    """What came of a plan."""

    samples: Samples = field(default_factory=Samples)
    busy: list[float] = field(default_factory=list)  # share of the machine taken by others before each round


def run(contenders: Iterable[Contender], plan: Plan, tell: Callable[[str], None]) -> Run:
    """Measure *contenders* as *plan* says; *tell* is called with a line of progress."""
    result = Run()
    lineup = [each for each in contenders if not _absence(each, plan, result.samples)]
    drivers: Drivers = {}
    order = random.Random(plan.seed)
    try:
        for last in (False, True):
            turn = [each for each in lineup if each.last == last]
            for number in range(-1, plan.rounds):  # round -1 warms up: it fills caches and is thrown away
                taking_part = [each for each in turn if _is_in(each, number)]
                if not taking_part:
                    continue
                if number >= 0:
                    result.busy.append(machine.wait_until_quiet(plan.patience_s))
                order.shuffle(taking_part)
                for contender in taking_part:
                    tell(f"round {number + 1}/{plan.rounds}: {contender.key}")
                    _measure(contender, number, plan, drivers, result.samples)
                turn = [each for each in turn if each.key not in result.samples.absent]
    finally:
        for driver in drivers.values():
            driver.close()
    return result


def _measure(
    contender: Contender,
    number: int,
    plan: Plan,
    drivers: Drivers,
    samples: Samples,
) -> None:
    python = peer_environment.PYTHON if contender.peer else sys.executable
    which = (contender.module, contender.arguments, contender.environment, bool(contender.peer))
    driver = drivers.get(which) or Driver(
        python, contender.module, contender.arguments, contender.environment
    )
    drivers[which] = driver
    times = 1 if number < 0 else min(contender.times, plan.times or contender.times)
    try:
        found = driver.ask(contender.job, times)
    except DriverFailed as error:
        samples.drop(contender.key, str(error))
        return
    if number >= 0:
        samples.add(contender.key, found)
    if contender.fresh:
        drivers.pop(which).close()


def _is_in(contender: Contender, number: int) -> bool:
    if contender.rounds is None:
        return True
    return 0 <= number < contender.rounds


def _absence(contender: Contender, plan: Plan, samples: Samples) -> bool:
    why = contender.missing or plan.absent.get(contender.peer, "")
    if why:
        samples.absent[contender.key] = why
    return bool(why)
