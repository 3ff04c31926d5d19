"""When a screen has settled."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from plughost.contracts.duplex.keys import KeyCode, KeyEvent
from plughost.contracts.duplex.messages import RenderResult
from plughost.errors import RemoteError
from plughost.frontends.tui import once
from plughost.host.duplex.status import Status
from tests.frontends.fake_plugin import RUNNING, buffer

DOWN, UP = KeyEvent(KeyCode("down")), KeyEvent(KeyCode("up"))


class Slow:
    """A plugin whose screen follows *script*: what it shows at each time. Time passes only while one waits."""

    def __init__(self, script: Callable[[float], str], *, redraw: bool = False) -> None:
        self.script, self.redraw = script, redraw
        self.now = 0.0
        self.status: Status = RUNNING
        self.log: list[str] = []

    def render(self, width: int, height: int) -> RenderResult:
        self.log.append(f"render {width}x{height}")
        return RenderResult(buffer(self.script(self.now)), redraw=self.redraw)

    def key(self, screen_id: str, key: KeyEvent) -> bool:
        self.log.append(f"{screen_id} {key.code.type}")
        return True

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def settle(
        self, settle_s: float = 1.0, *keys: KeyEvent, busy: Callable[[], bool] = lambda: False
    ) -> RenderResult:
        return once.settle(self, "main", (9, 3), keys, settle_s, busy, clock=lambda: self.now, wait=self.wait)


def test_a_screen_that_stays_the_same_for_half_of_the_time_has_settled() -> None:
    plugin = Slow(lambda _now: "same")
    assert plugin.settle(1.0).buffer == buffer("same")
    assert plugin.now == pytest.approx(0.5, abs=once.POLL_S)


def test_what_changes_late_is_still_seen() -> None:
    plugin = Slow(lambda now: "late" if now >= 0.4 else "early")
    assert plugin.settle(1.0).buffer == buffer("late")


def test_a_screen_that_never_settles_is_shown_as_it_is_at_the_end() -> None:
    plugin = Slow(lambda now: f"{now:.2f}")
    plugin.settle(1.0)
    assert plugin.now == pytest.approx(1.0, abs=once.POLL_S)


def test_one_that_asks_to_be_asked_again_has_not_settled() -> None:
    plugin = Slow(lambda _now: "same", redraw=True)
    plugin.settle(1.0)
    assert plugin.now == pytest.approx(1.0, abs=once.POLL_S)


def test_it_waits_for_who_is_busy() -> None:
    plugin = Slow(lambda _now: "same")
    plugin.settle(1.0, busy=lambda: plugin.now < 0.7)
    assert plugin.now == pytest.approx(0.7, abs=once.POLL_S)


def test_without_time_there_is_one_frame() -> None:
    plugin = Slow(lambda now: f"{now}")
    plugin.settle(0)
    assert plugin.log == ["render 9x3"]


def test_keys_are_pressed_in_order_on_a_plugin_that_has_shown_itself() -> None:
    plugin = Slow(lambda _now: "same")
    plugin.settle(0, DOWN, UP)
    assert plugin.log == ["render 9x3", "main down", "main up", "render 9x3"]


def test_no_more_keys_are_pressed_at_once_than_the_plugin_has_room_for() -> None:
    plugin = Slow(lambda _now: "same")
    once.settle(plugin, "main", (9, 3), [DOWN, UP, UP], 0, lambda: False, at_once=2)
    assert plugin.log[1:] == ["main down", "main up", "render 9x3", "main up", "render 9x3"]


def test_an_error_of_the_plugins_is_passed_on() -> None:
    def fail(_now: float) -> str:
        raise RemoteError("slow", "-1", "no")

    with pytest.raises(RemoteError):
        Slow(fail).settle()
