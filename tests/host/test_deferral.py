"""Ctrl-C waits until nothing is half done; it is never lost, and its handler is put back."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from plughost.files.checkpoints import checkpoint
from plughost.host.deferral import Deferral
from plughost.host.envelope.signals import undisturbed


@pytest.fixture
def seen() -> Iterator[list[str]]:
    """What happened; a handler of the application's own notes itself in it."""
    happened: list[str] = []
    before = signal.signal(signal.SIGINT, lambda *_: happened.append("handled"))
    yield happened
    signal.signal(signal.SIGINT, before)


def test_it_comes_when_it_is_delivered_and_once(seen: list[str]) -> None:
    with Deferral(lambda: seen.append("woken")) as deferral:
        signal.raise_signal(signal.SIGINT)
        assert (seen, deferral.is_pending) == (["woken"], True)
        deferral.deliver()
        deferral.deliver()
        assert (seen, deferral.is_pending) == (["woken", "handled"], False)
    assert seen == ["woken", "handled"]


def test_it_comes_at_the_end_at_the_latest(seen: list[str]) -> None:
    with Deferral(lambda: None):
        signal.raise_signal(signal.SIGINT)
        assert seen == []
    assert seen == ["handled"]


@pytest.mark.usefixtures("seen")
def test_one_that_raises_does_so_at_the_end() -> None:
    def handler(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handler)
    with pytest.raises(KeyboardInterrupt):
        with Deferral(lambda: None):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.parametrize("disposition", [signal.SIG_IGN, signal.SIG_DFL], ids=["ignored", "default"])
@pytest.mark.usefixtures("seen")
def test_what_disturbs_nobody_is_left_alone(disposition: signal.Handlers) -> None:
    signal.signal(signal.SIGINT, disposition)
    with Deferral(lambda: None):
        assert signal.getsignal(signal.SIGINT) is disposition
    assert signal.getsignal(signal.SIGINT) is disposition


def test_one_inside_another_hands_it_on(seen: list[str]) -> None:
    with Deferral(lambda: seen.append("outer")):
        with Deferral(lambda: seen.append("inner")):
            signal.raise_signal(signal.SIGINT)
        assert seen == ["inner", "outer"]
    assert seen == ["inner", "outer", "handled"]


def test_another_thread_changes_nothing(seen: list[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    during: list[Any] = []

    def work() -> None:
        with Deferral(lambda: None):
            during.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert during == [before]
    assert signal.getsignal(signal.SIGINT) is before


def test_work_is_interrupted_at_its_checkpoints_only(seen: list[str]) -> None:
    def work() -> str:
        signal.raise_signal(signal.SIGINT)
        seen.append("went on")
        with undisturbed():
            checkpoint()
        seen.append("went on")
        checkpoint()
        return "done"

    with Deferral() as deferral:
        assert deferral.at_checkpoints(work) == "done"
    assert seen == ["went on", "went on", "handled"]


def test_a_signal_that_came_before_is_delivered_before_the_work(seen: list[str]) -> None:
    with Deferral() as deferral:
        signal.raise_signal(signal.SIGINT)
        deferral.at_checkpoints(lambda: seen.append("worked"))
    assert seen == ["handled", "worked"]


@pytest.mark.usefixtures("seen")
def test_a_signal_without_a_checkpoint_is_delivered_when_the_work_is_done() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Deferral() as deferral:
        with pytest.raises(KeyboardInterrupt):
            deferral.at_checkpoints(lambda: signal.raise_signal(signal.SIGINT))
