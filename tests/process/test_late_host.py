"""A host that was busy elsewhere: what a plugin said and did meanwhile counts before the deadline that has passed."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator

import pytest

from plughost.contracts.base import Channel
from plughost.contracts.execute import host as execute
from plughost.failures import Stage
from plughost.host.engine import Engine, ExecuteLink
from plughost.manifest.binding import Binding
from plughost.testkit.clock import ManualClock

Make = Callable[..., Binding]

PATIENCE_S = 200  # for what comes at once
LATE_S = 3_600  # longer than every limit
LONG = "x" * 200_000  # thrice what a pipe holds


class Watched:
    """Knows what to call when there is something to read, and never does by itself."""

    def __init__(self) -> None:
        self.ready: dict[int, Callable[[], None]] = {}

    def watch(self, fd: int, on_ready: Callable[[], None]) -> None:
        self.ready[fd] = on_ready

    def watch_writable(self, fd: int, on_ready: Callable[[], None]) -> None:
        raise AssertionError("a short request fits the pipe")

    def unwatch(self, fd: int) -> None:
        self.ready.pop(fd, None)

    unwatch_writable = unwatch

    def read_once(self, fd: int) -> None:
        """Wait for *fd*, and do what is to be done then."""
        assert select.select([fd], [], [], PATIENCE_S)[0]
        self.ready[fd]()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    engine = Engine(clock=clock)
    yield engine
    engine.abort()


def asked(engine: Engine, watched: Watched, binding: Binding, text: object = 1) -> ExecuteLink:
    """Return a link whose plugin has shaken hands and was asked for an echo of *text*."""
    link = engine.start_execute(binding, watched)
    link.start()
    link.conversation.execute(execute.call(binding, "echo", text, None), engine.clock())
    while link.conversation.manifest is None:
        watched.read_once(link.process.fileno(Channel.STDOUT))
    link.pump()
    return link


@pytest.mark.parametrize("heard", [True, False], ids=["answer-heard", "nothing-heard"])
def test_an_exit_in_time_is_seen_before_the_deadline(
    hostile: Make, engine: Engine, clock: ManualClock, heard: bool
) -> None:
    watched = Watched()
    link = asked(engine, watched, hostile("well"))
    assert link.process.exit_fd is not None
    if heard:
        watched.read_once(link.process.fileno(Channel.STDOUT))
    assert select.select([link.process.exit_fd], [], [], PATIENCE_S)[0]
    clock.advance(LATE_S)
    link.on_tick(clock())
    assert link.finished
    assert engine.conclude(link).output == 1


def test_an_answer_in_time_is_heard_before_the_deadline(
    hostile: Make, engine: Engine, clock: ManualClock
) -> None:
    watched = Watched()
    link = asked(engine, watched, hostile("lingers"))
    assert select.select([link.process.fileno(Channel.STDOUT)], [], [], PATIENCE_S)[0]
    clock.advance(LATE_S)
    link.on_tick(clock())
    assert link.conversation.answer is not None
    assert link.conversation.fault is not None
    assert link.conversation.fault.stage is Stage.TEARDOWN  # it stayed, and that is all there is to say


def test_an_answer_that_had_to_wait_for_us_is_heard_to_its_end(
    hostile: Make, engine: Engine, clock: ManualClock
) -> None:
    watched = Watched()
    link = asked(engine, watched, hostile("well"), LONG)
    stdout, exit_fd = link.process.fileno(Channel.STDOUT), link.process.exit_fd
    assert exit_fd is not None
    assert select.select([stdout], [], [], PATIENCE_S)[0]
    clock.advance(LATE_S)
    link.on_tick(clock())
    while link.conversation.answer is None:
        assert link.conversation.fault is None
        watched.read_once(stdout)
    assert select.select([exit_fd], [], [], PATIENCE_S)[0]
    link.on_tick(clock())
    assert engine.conclude(link).output == LONG


def test_one_that_had_to_wait_for_us_and_does_not_finish_is_late(
    hostile: Make, engine: Engine, clock: ManualClock
) -> None:
    watched = Watched()
    link = asked(engine, watched, hostile("half-a-long-answer"))
    assert select.select([link.process.fileno(Channel.STDOUT)], [], [], PATIENCE_S)[0]
    clock.advance(LATE_S)
    link.on_tick(clock())
    assert link.conversation.fault is None
    due = link.next_deadline()
    assert due is not None
    clock.advance(due - clock())
    link.on_tick(clock())
    assert link.conversation.fault is not None
    assert link.conversation.fault.limit == "limits.timeout_s"


def test_a_host_that_is_on_time_waits_for_no_rest(hostile: Make, engine: Engine, clock: ManualClock) -> None:
    watched = Watched()
    link = asked(engine, watched, hostile("half-a-long-answer"))
    assert select.select([link.process.fileno(Channel.STDOUT)], [], [], PATIENCE_S)[0]
    due = link.next_deadline()
    assert due is not None
    clock.advance(due - clock())
    link.on_tick(clock())
    assert link.conversation.fault is not None
    assert link.conversation.fault.limit == "limits.timeout_s"


def test_who_said_nothing_in_time_is_late(hostile: Make, engine: Engine, clock: ManualClock) -> None:
    watched = Watched()
    link = asked(engine, watched, hostile("silent-after-handshake"))
    clock.advance(LATE_S)
    link.on_tick(clock())
    assert link.conversation.fault is not None
    assert link.conversation.fault.limit == "limits.timeout_s"
