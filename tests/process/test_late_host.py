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


def asked(engine: Engine, watched: Watched, binding: Binding) -> ExecuteLink:
    """Return a link whose plugin has shaken hands and was asked for an echo."""
    link = engine.start_execute(binding, watched)
    link.start()
    link.conversation.execute(execute.call(binding, "echo", 1, None), engine.clock())
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


def test_who_said_nothing_in_time_is_late(hostile: Make, engine: Engine, clock: ManualClock) -> None:
    watched = Watched()
    link = asked(engine, watched, hostile("silent-after-handshake"))
    clock.advance(LATE_S)
    link.on_tick(clock())
    assert link.conversation.fault is not None
    assert link.conversation.fault.limit == "limits.timeout_s"
