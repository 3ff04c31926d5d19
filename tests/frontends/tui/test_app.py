"""The application as an operator meets it: what is drawn, where keys go, how one leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

import plughost
from plughost.frontends.tui.app import ScreenApp
from plughost.frontends.tui.canvas import Canvas
from plughost.frontends.tui.view import View
from plughost.host.events import Event, Published
from plughost.supervision.states import State
from tests.frontends.fake_plugin import CRASH, FakePlugin
from tests.frontends.told_plugin import write_plugin

Running = Pilot[None]
QUICK = "backoff_s = [0.05]\nfailures_to_quarantine = 2\nteardown_s = 0.2\nterminate_s = 0.1"


def shown(pilot: Running) -> str:
    """Return what is drawn where the plugin's screen is."""
    canvas = pilot.app.query_one(Canvas)
    lines = [canvas.render_line(y).text.rstrip() for y in range(canvas.size.height)]
    return "\n".join(lines).rstrip()


def words(pilot: Running, name: str) -> str:
    return str(pilot.app.query_one(f"#{name}").render())


async def until(pilot: Running, condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(200):
        while not condition():
            await pilot.pause()


@asynccontextmanager
async def app_of(*plugins: FakePlugin, size: tuple[int, int] = (60, 12)) -> AsyncIterator[Running]:
    app = ScreenApp([View(plugin, f"{plugin.name}-screen") for plugin in plugins])
    async with app.run_test(size=size) as pilot:
        yield pilot


async def test_the_screen_is_drawn_and_its_state_under_it() -> None:
    async with app_of(FakePlugin("fake", "hello", "日 本")) as pilot:
        await until(pilot, lambda: shown(pilot) == "hello\n日本")
        assert "fake · running" in words(pilot, "status")
        assert "ctrl+c" in words(pilot, "help")


async def test_the_plugin_has_all_but_the_lines_under_it() -> None:
    plugin = FakePlugin()
    async with app_of(plugin, size=(60, 12)) as pilot:
        await until(pilot, lambda: plugin.answered > 0)
        assert set(plugin.sizes) == {(60, 10)}


async def test_a_change_of_size_is_told_and_drawn() -> None:
    plugin = FakePlugin("fake", "x" * 100)
    async with app_of(plugin) as pilot:
        await until(pilot, lambda: shown(pilot) == "x" * 60)
        await pilot.resize_terminal(30, 6)
        await until(pilot, lambda: shown(pilot) == "x" * 30)
        assert plugin.sizes[-1] == (30, 4)


async def test_every_key_is_the_plugins_also_those_that_the_library_likes() -> None:
    plugin = FakePlugin()
    async with app_of(plugin) as pilot:
        await pilot.press(
            "tab", "shift+tab", "ctrl+q", "ctrl+p", "escape", "ctrl+pagedown", "a", "f1", "enter", "r"
        )
        await until(pilot, lambda: len(plugin.keys) == 10)
        assert [key.code.type for key in plugin.keys] == [
            *("tab", "back_tab", "char", "char", "esc", "page_down", "char", "f", "enter", "char")
        ]


async def test_a_key_finds_the_plugin_also_when_nothing_has_the_focus() -> None:
    plugin = FakePlugin()
    async with app_of(plugin) as pilot:
        pilot.app.screen.set_focus(None)
        await pilot.press("a", "escape")
        await until(pilot, lambda: [key.code.type for key in plugin.keys] == ["char", "esc"])


async def test_what_is_pasted_is_pressed_without_its_controls() -> None:
    plugin = FakePlugin()
    async with app_of(plugin) as pilot:
        pilot.app.query_one(Canvas).post_message(events.Paste("a\r\n\x1b[\x03\tb"))
        await until(pilot, lambda: len(plugin.keys) == 5)
        assert [key.code.ch or key.code.type for key in plugin.keys] == ["a", "enter", "[", "tab", "b"]


async def test_ctrl_c_leaves() -> None:
    plugin = FakePlugin()
    async with app_of(plugin) as pilot:
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not pilot.app.is_running)
    assert plugin.keys == []
    assert pilot.app.return_code == 0


async def test_ctrl_c_leaves_a_plugin_that_never_answers() -> None:
    plugin = FakePlugin()
    plugin.gate.clear()
    async with app_of(plugin) as pilot:
        await until(pilot, lambda: plugin.under_way == 1)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not pilot.app.is_running)
    assert plugin.under_way == 0


async def test_esc_leaves_a_plugin_that_ignores_it() -> None:
    plugin = FakePlugin("fake", "still here")
    async with app_of(plugin) as pilot:
        await until(pilot, lambda: shown(pilot) == "still here")
        for _ in range(3):
            seen = plugin.answered
            await pilot.press("escape")
            await until(pilot, lambda seen=seen: plugin.answered > seen)  # type: ignore[misc]
        await until(pilot, lambda: "esc leaves" in words(pilot, "help"))
        await pilot.press("escape")
        await until(pilot, lambda: not pilot.app.is_running)


async def test_several_screens_are_tabs_and_each_gets_its_own_keys() -> None:
    one, two = FakePlugin("one", "first"), FakePlugin("two", "second")
    async with app_of(one, two) as pilot:
        await until(pilot, lambda: shown(pilot) == "first")
        assert "one" in words(pilot, "tabs")
        await pilot.press("ctrl+pagedown")
        await until(pilot, lambda: shown(pilot) == "second")
        await pilot.press("a", "ctrl+right_square_bracket", "b", "ctrl+pageup", "c")
        await until(pilot, lambda: len(one.keys) + len(two.keys) == 3)
        assert [key.code.ch for key in two.keys] == ["a", "c"]
        assert [key.code.ch for key in one.keys] == ["b"]


async def test_a_screen_that_hangs_does_not_hold_up_the_others() -> None:
    one, two = FakePlugin("one", "first"), FakePlugin("two", "second")
    one.gate.clear()
    async with app_of(one, two) as pilot:
        await until(pilot, lambda: one.under_way == 1)
        await pilot.press("ctrl+pagedown")
        await until(pilot, lambda: shown(pilot) == "second")


async def test_what_a_plugin_paints_cannot_speak_to_the_terminal() -> None:
    async with app_of(FakePlugin("evil\x1b[2J", "\x1b]0;owned\x07")) as pilot:
        await until(pilot, lambda: shown(pilot) != "")
        assert "\x1b" not in shown(pilot) + words(pilot, "status")


async def test_in_quarantine_r_reloads() -> None:
    plugin = FakePlugin("fake", "alive")
    plugin.error = CRASH
    plugin.put(state=State.QUARANTINED)
    async with app_of(plugin) as pilot:
        await until(pilot, lambda: "pick it up" in shown(pilot))
        assert "quarantined" in words(pilot, "status")
        assert "r reloads" in words(pilot, "help")
        await pilot.press("r")
        await until(pilot, lambda: shown(pilot) == "alive")
        assert (plugin.reloads, plugin.keys) == (1, [])


async def test_a_plugin_that_was_told_something_is_asked_for_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    from plughost.frontends.tui import view as views

    def published(*subscribers: str) -> Event:
        return Event(0, 0, "publisher", Published("topic", 1, 2, subscribers))

    monkeypatch.setattr(views, "SLOW_S", 1000.0)
    one, two = FakePlugin("one"), FakePlugin("two")
    async with app_of(one, two) as pilot:
        await until(pilot, lambda: one.answered > 0)
        before = one.answered
        app: Any = pilot.app
        app.heard(published("two"))
        app.heard(published("one", "two"))
        await until(pilot, lambda: one.answered > before)
        assert two.answered == 0


@asynccontextmanager
async def real(root: Path, *names: str) -> AsyncIterator[Running]:
    """Show plugins of *root* that are processes."""
    apps: list[ScreenApp] = []

    def listen(event: Event) -> None:
        for app in apps:
            app.heard(event)

    async with plughost.Host(on_event=listen) as host:
        fleet = await host.fleet(root)
        apps.append(ScreenApp([View(fleet[name], "main") for name in names]))
        async with apps[0].run_test(size=(70, 9)) as pilot:
            yield pilot


async def test_a_real_plugin_shows_keys_and_what_others_publish(tmp_path: Path, leak_check: None) -> None:
    write_plugin(tmp_path, "viewer", topics='["news.today"]')
    write_plugin(tmp_path, "reporter", "publishes", screens="[]", spawn="eager")
    async with real(tmp_path, "viewer") as pilot:
        await until(pilot, lambda: "news.today" in shown(pilot))
        await pilot.press("a", "ctrl+x", "shift+tab", "f5")
        await until(pilot, lambda: "a 2:x back_tab f5" in shown(pilot))


async def test_a_crash_is_survived(tmp_path: Path, leak_check: None) -> None:
    write_plugin(tmp_path, "viewer", limits=QUICK)
    async with real(tmp_path, "viewer") as pilot:
        await until(pilot, lambda: "viewer 70x7" in shown(pilot))
        await pilot.press("x")
        await until(
            pilot, lambda: "1 restart" in words(pilot, "status") and "running" in words(pilot, "status")
        )
        await pilot.press("z")
        await until(pilot, lambda: shown(pilot).endswith("\nz"))


async def test_quarantine_is_shown_and_left_by_a_reload(tmp_path: Path, leak_check: None) -> None:
    directory = write_plugin(tmp_path, "viewer", "broken", limits=QUICK)
    async with real(tmp_path, "viewer") as pilot:
        await until(pilot, lambda: "quarantined" in words(pilot, "status"))
        await until(pilot, lambda: "it is quarantined" in shown(pilot))
        (directory / "broken").unlink()
        await pilot.press("r")
        await until(pilot, lambda: "viewer 70x7" in shown(pilot))


async def test_one_that_hangs_is_called_wedged_and_left_by_ctrl_c(tmp_path: Path, leak_check: None) -> None:
    write_plugin(tmp_path, "viewer", limits=f"{QUICK}\nrender_s = 0.2\nwrite_s = 30")
    async with real(tmp_path, "viewer") as pilot:
        await until(pilot, lambda: "viewer 70x7" in shown(pilot))
        await pilot.press("h")
        await until(pilot, lambda: "wedged" in words(pilot, "status"))
        assert "viewer 70x7" in shown(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not pilot.app.is_running)


async def test_an_error_that_it_answers_with_is_shown(tmp_path: Path, leak_check: None) -> None:
    write_plugin(tmp_path, "viewer")
    async with real(tmp_path, "viewer") as pilot:
        await pilot.press("e")
        await until(pilot, lambda: "-32000" in words(pilot, "status"))
        assert "\x1b" not in words(pilot, "status")
