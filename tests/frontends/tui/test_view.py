"""When a plugin is asked for a frame."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from plughost.contracts.duplex.keys import KeyCode, KeyEvent
from plughost.contracts.duplex.messages import RenderResult
from plughost.errors import HostClosed, PlughostError, RemoteError
from plughost.failures import PluginFailure
from plughost.frontends.tui import view as views
from plughost.frontends.tui.escape import PRESSED_ENOUGH
from plughost.frontends.tui.view import View
from plughost.supervision.states import State
from tests.frontends.fake_plugin import CRASH, TIMEOUT, FakePlugin

ESC, DOWN = KeyEvent(KeyCode("esc")), KeyEvent(KeyCode("down"))


@asynccontextmanager
async def running(plugin: FakePlugin, at_once: int = 32) -> AsyncIterator[View]:
    view = View(plugin, f"{plugin.name}-screen", at_once=at_once)
    task = asyncio.create_task(view.run())
    try:
        yield view
    finally:
        task.cancel()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(200):
        while not condition():  # noqa: ASYNC110 - plain values, which wake nobody
            await asyncio.sleep(0.001)


def text(view: View) -> str:
    return "\n".join("".join(cell.symbol for cell in row if cell).rstrip() for row in view.painting).rstrip()


async def test_nothing_is_asked_for_before_it_is_shown() -> None:
    plugin = FakePlugin()
    async with running(plugin) as view:
        view.wake()
        for _ in range(20):
            await asyncio.sleep(0)
        assert plugin.sizes == []


async def test_a_screen_of_no_size_is_never_asked_for() -> None:
    plugin = FakePlugin()
    async with running(plugin) as view:
        view.show(0, 5)
        await asyncio.sleep(0)
        view.show(7, 5)
        await until(lambda: plugin.answered > 0)
        assert set(plugin.sizes) == {(7, 5)}


async def test_what_it_shows_is_kept_and_only_changes_are_told() -> None:
    plugin = FakePlugin("fake", "one", "two")
    told: list[list[int]] = []
    async with running(plugin) as view:
        view.repaint = lambda rows: told.append(list(rows))
        view.show(5, 3)
        await until(lambda: len(told) == 1)
        assert text(view) == "one\ntwo"
        plugin.lines = ("one", "three")
        view.wake()
        await until(lambda: len(told) == 2)
        assert told == [[0, 1, 2], [1]]


async def test_a_frame_under_way_is_never_doubled() -> None:
    plugin = FakePlugin()
    plugin.gate.clear()
    async with running(plugin) as view:
        view.show(5, 3)
        await until(lambda: plugin.under_way == 1)
        for _ in range(50):
            view.wake()
            view.press(DOWN)
            await asyncio.sleep(0)
        plugin.gate.set()
        await until(lambda: plugin.answered >= 2)  # what happened meanwhile is worth one more
        assert plugin.most_under_way == 1


async def test_the_next_frame_waits_for_its_time_whatever_the_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(views, "FRAME_S", 1000.0)
    plugin = FakePlugin()
    plugin.redraws = 1_000_000
    async with running(plugin) as view:
        view.show(5, 3)
        await until(lambda: plugin.answered == 1)
        for _ in range(50):
            view.press(DOWN)
            view.wake()
            await asyncio.sleep(0)
        assert len(plugin.sizes) == 1


async def test_one_that_asks_to_be_asked_again_is() -> None:
    plugin = FakePlugin()
    plugin.redraws = 5
    async with running(plugin) as view:
        view.show(5, 3)
        await until(lambda: plugin.answered == 5)


async def test_while_events_are_on_their_way_it_is_asked_again() -> None:
    plugin = FakePlugin("fake", "old")
    plugin.put(waiting_events=1)
    async with running(plugin) as view:
        view.show(5, 3)
        await until(lambda: plugin.answered >= 3)
        plugin.put(waiting_events=0)


async def test_a_hidden_screen_is_asked_for_nothing() -> None:
    plugin = FakePlugin()
    async with running(plugin) as view:
        view.show(5, 3)
        await until(lambda: plugin.answered == 1)
        view.hide()
        view.show(5, 3)
        view.hide()
        view.wake()
        await asyncio.sleep(0)
        asked = len(plugin.sizes)
        for _ in range(20):
            view.wake()
            await asyncio.sleep(0)
        assert len(plugin.sizes) - asked <= 1  # one may have been due already


async def test_a_failure_leaves_the_last_frame_and_the_next_one_mends_it() -> None:
    plugin = FakePlugin("fake", "alive")
    async with running(plugin) as view:
        view.show(9, 3)
        await until(lambda: plugin.answered == 1)
        plugin.error = CRASH
        view.wake()
        await until(lambda: view.problem is CRASH)
        assert text(view) == "alive"
        plugin.error = None
        view.wake()
        await until(lambda: view.problem is None)


async def test_without_a_frame_a_failure_is_shown_in_its_place() -> None:
    plugin = FakePlugin()
    plugin.error = CRASH
    async with running(plugin) as view:
        view.show(60, 9)
        await until(lambda: view.problem is CRASH)
        assert "pick it up" in text(view)


async def test_in_quarantine_the_failure_takes_the_place_of_the_last_frame() -> None:
    plugin = FakePlugin("fake", "alive")
    async with running(plugin) as view:
        view.show(60, 9)
        await until(lambda: plugin.answered == 1)
        plugin.error = CRASH
        plugin.put(state=State.QUARANTINED)
        view.wake()
        await until(lambda: "pick it up" in text(view))
        assert "alive" not in text(view)


async def test_it_ends_with_the_host() -> None:
    plugin = FakePlugin()
    plugin.error = HostClosed("closed")
    view = View(plugin, "fake-screen")
    view.show(5, 3)
    async with asyncio.timeout(200):
        await view.run()


async def test_keys_reach_the_plugin_in_order() -> None:
    plugin = FakePlugin()
    view = View(plugin, "fake-screen")
    assert not any(view.press(key) for key in (DOWN, ESC, DOWN))
    assert plugin.keys == [DOWN, ESC, DOWN]


class Roomy(FakePlugin):
    """Loses keys, as a host does, if more than `room` come before it has answered with a frame."""

    room = 8

    def __init__(self) -> None:
        super().__init__()
        self.unread = 0

    def key(self, screen_id: str, key: KeyEvent) -> bool:
        self.unread += 1
        assert self.unread <= self.room
        return super().key(screen_id, key)

    async def render(self, width: int, height: int) -> RenderResult:
        try:
            return await super().render(width, height)
        finally:
            self.unread = 0


def pressed(plugin: FakePlugin) -> str:
    return "".join(key.code.ch or key.code.type for key in plugin.keys)


def keys(text: str) -> list[KeyEvent]:
    return [KeyEvent(KeyCode("char", ch=each)) for each in text]


async def test_a_long_text_reaches_the_plugin_whole_and_what_is_pressed_later_follows_it() -> None:
    plugin, text = Roomy(), "the quick brown fox jumps over the lazy dog" * 3
    async with running(plugin, at_once=4) as view:
        view.show(5, 3)
        view.paste(keys(text))
        view.press(DOWN)
        await until(lambda: len(plugin.keys) > len(text))
        assert pressed(plugin) == text + "down"


async def test_a_text_goes_on_where_the_plugin_answers_with_errors() -> None:
    plugin = Roomy()
    plugin.error = RemoteError("fake", "-32000", "no")
    async with running(plugin, at_once=4) as view:
        view.show(5, 3)
        view.paste(keys("0123456789"))
        await until(lambda: pressed(plugin) == "0123456789")


async def test_a_text_goes_on_while_another_screen_is_shown() -> None:
    plugin = Roomy()
    async with running(plugin, at_once=4) as view:
        view.show(5, 3)
        view.paste(keys("0123456789"))
        view.hide()
        await until(lambda: pressed(plugin) == "0123456789")


async def test_the_rest_of_a_text_is_not_given_to_the_next_process() -> None:
    plugin = Roomy()
    plugin.error = CRASH
    async with running(plugin, at_once=4) as view:
        view.show(5, 3)
        view.paste(keys("0123456789"))
        await until(lambda: view.problem is CRASH)
        plugin.error = None
        view.wake()
        await until(lambda: view.frames > 1)
        assert pressed(plugin) == "0123"


@pytest.mark.parametrize("error", [TIMEOUT, None], ids=["that hung", "that was reloaded"])
async def test_the_rest_of_a_text_is_not_given_to_the_process_after_one(error: PluginFailure | None) -> None:
    plugin = Roomy()
    plugin.gate.clear()
    async with running(plugin, at_once=4) as view:
        view.show(5, 3)
        view.paste(keys("0123456789"))
        await until(lambda: plugin.under_way == 1)
        plugin.error = error
        plugin.put(starts=plugin.status.starts + 1)
        plugin.gate.set()
        await until(lambda: view.problem is error and not plugin.under_way)
        plugin.error = None
        await until(lambda: view.frames > 1)
        view.paste(keys("ab"))
        await until(lambda: pressed(plugin).endswith("b"))
        assert pressed(plugin) == "0123ab"


async def test_a_text_that_waits_for_a_process_goes_to_that_one_whole() -> None:
    plugin = Roomy()
    plugin.put(state=State.BACKOFF)
    plugin.gate.clear()
    async with running(plugin, at_once=4) as view:
        view.show(5, 3)
        view.paste(keys("0123456789"))
        await until(lambda: plugin.under_way == 1)
        plugin.put(state=State.RUNNING, starts=plugin.status.starts + 1)
        plugin.gate.set()
        await until(lambda: pressed(plugin) == "0123456789")


async def test_esc_ends_a_text() -> None:
    plugin = Roomy()
    plugin.gate.clear()
    async with running(plugin, at_once=4) as view:
        view.show(5, 3)
        view.paste(keys("0123456789"))
        await until(lambda: plugin.under_way == 1)
        view.press(ESC)
        plugin.gate.set()
        await until(lambda: view.frames > 1)
        assert pressed(plugin) == "0123esc"


async def test_in_quarantine_esc_leaves_at_once() -> None:
    plugin = FakePlugin()
    plugin.put(state=State.QUARANTINED)
    assert View(plugin, "fake-screen").press(ESC)
    assert plugin.keys == []


async def test_a_plugin_that_ignores_esc_three_times_is_left_by_the_next() -> None:
    plugin = FakePlugin("fake", "still here")
    async with running(plugin) as view:
        view.show(20, 3)
        await until(lambda: plugin.answered == 1)
        for _ in range(3):
            seen = plugin.answered
            assert not view.press(ESC)
            await until(lambda seen=seen: plugin.answered > seen)  # type: ignore[misc]
        assert view.press(ESC)
        assert plugin.keys == [ESC] * 3


async def test_a_plugin_whose_screen_moves_and_that_ignores_esc_is_left_too() -> None:
    plugin = FakePlugin("fake", "0")
    async with running(plugin) as view:
        view.show(20, 3)
        await until(lambda: view.frames == 1)
        pressed: list[bool] = []
        for number in range(PRESSED_ENOUGH):
            plugin.lines = (str(number + 1),)
            pressed.append(view.press(ESC))
            await until(lambda: text(view) == plugin.lines[0])
        assert pressed == [False] * PRESSED_ENOUGH
        assert view.press(ESC)
        assert plugin.keys == [ESC] * PRESSED_ENOUGH


async def test_going_to_another_screen_ends_a_row_of_escs() -> None:
    plugin = FakePlugin()
    plugin.hears = False
    view = View(plugin, "fake-screen", clock=lambda: 0.0)
    assert [view.press(ESC) for _ in range(3)] == [False] * 3
    view.hide()
    view.show(20, 3)
    assert not view.press(ESC)


async def failing(view: View, plugin: FakePlugin, error: PlughostError) -> list[bool]:
    """Press Esc four times while *plugin* answers each frame with *error*; return what each press did."""
    plugin.error = error
    pressed: list[bool] = []
    for _ in range(3):
        asked = len(plugin.sizes)
        pressed.append(view.press(ESC))
        await until(lambda asked=asked: len(plugin.sizes) > asked and not plugin.under_way)  # type: ignore[misc]
    pressed.append(view.press(ESC))
    return pressed


@pytest.mark.parametrize("frames", [0, 1], ids=["never painted", "painted once"])
@pytest.mark.parametrize("error", [RemoteError("fake", "-32000", "no"), CRASH], ids=["error", "failure"])
async def test_a_plugin_that_answers_with_errors_is_left_by_the_next_esc_too(
    error: PlughostError, frames: int
) -> None:
    plugin = FakePlugin("fake", "still here")
    plugin.error = None if frames else error
    async with running(plugin) as view:
        view.show(20, 3)
        await until(lambda: bool(plugin.sizes) and not plugin.under_way)
        assert await failing(view, plugin, error) == [False] * 3 + [True]


async def test_an_esc_that_nobody_is_told_of_is_ignored_at_once() -> None:
    plugin = FakePlugin()
    plugin.hears = False
    view = View(plugin, "fake-screen", clock=lambda: 0.0)
    assert [view.press(ESC) for _ in range(4)] == [False] * 3 + [True]


async def test_a_failing_reload_is_a_problem_and_no_error() -> None:
    class Stubborn(FakePlugin):
        async def reload(self) -> None:
            raise CRASH

    view = View(Stubborn(), "fake-screen")
    await view.reload()
    assert view.problem is CRASH
