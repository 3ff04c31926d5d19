"""A plugin in memory behaves as it would under a host, and one that misbehaves fails its test and nothing else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from plughost_sdk import duplex

from plughost.contracts.duplex.keys import KeyCode, KeyEvent
from plughost.contracts.duplex.messages import NetworkFetchResult
from plughost.contracts.duplex.screen import Cell, Coord, WireBuffer
from plughost.errors import LocalProtocolError, ManifestError, RemoteError
from plughost.host.duplex.frame_room import PAYLOAD_LIMIT
from plughost.host.duplex.services import LOG_BYTES
from plughost.testkit import DuplexHarness, key_event, screen_text
from plughost.testkit.duplex_driver import Driver

SHORT_S = 0.2  # seconds for a plugin that is meant to hang
MANIFEST = """
[plugin]
name = "probe"
version = "1.0.0"
abi_version = 2
[capabilities]
event_bus = ["told.*"]
read_claude_logs = true
network = ["api.example.org"]
[provides]
screens = ["main"]
[subscribes]
snapshots = ["told.a"]
"""


@pytest.fixture(autouse=True)
def _no_leaks(leak_check: None) -> None:
    pass


@pytest.fixture
def plugin() -> duplex.Plugin:
    return duplex.Plugin("probe", version="1.0.0", manifest=MANIFEST)


@pytest.fixture
def bare() -> duplex.Plugin:
    return duplex.Plugin("probe", version="1.0.0")


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What a handler hangs on, until the test is over."""
    event = threading.Event()
    yield event
    event.set()
    for thread in threading.enumerate():
        if thread.name == "plugin probe":
            thread.join(200)


def outcome(call: Callable[[], Any]) -> str:
    """Return what a plugin's call of its host came to: `ok`, or the code of its error."""
    try:
        call()
    except duplex.HostError as error:
        return str(error.code)
    return "ok"


def press(plugin: duplex.Plugin) -> None:
    with DuplexHarness(plugin) as harness:
        harness.key("x")
        harness.settle()


# The start and the end


def test_init_is_done_on_entry_and_shutdown_on_exit(bare: duplex.Plugin) -> None:
    seen: list[Any] = []
    bare.on_init(lambda init: seen.append((init.granted_capabilities, init.config, init.abi_version)))
    bare.on_shutdown(lambda: seen.append("end"))
    with DuplexHarness(bare, config={"a": 1}):
        assert seen == [(("event_bus",), {"a": 1}, 2)]
    assert seen[1:] == ["end"]


def test_the_same_plugin_may_be_driven_again(bare: duplex.Plugin) -> None:
    ends: list[int] = []
    bare.on_shutdown(lambda: ends.append(1))
    for count in (1, 2, 3):
        with DuplexHarness(bare) as harness:
            harness.settle()
        assert len(ends) == count


def test_a_plugin_is_granted_what_its_manifest_asks_for(plugin: duplex.Plugin) -> None:
    seen: list[Any] = []
    plugin.on_init(lambda init: seen.extend(init.granted_capabilities))
    with DuplexHarness(plugin) as harness:
        assert seen == ["event_bus", "network", "read_claude_logs"]
        assert harness.subscriptions == ["told.a"]
        assert harness.manifest.provides.screens == ("main",)


def test_grants_of_the_test_take_the_place_of_the_manifest_s(plugin: duplex.Plugin) -> None:
    plugin.on_init(lambda init: plugin.host.snapshot.publish("told.b", b"x"))
    with DuplexHarness(plugin, grants={}) as harness:
        assert harness.publishes == []
        assert [method for method, _ in harness.denied] == ["host/snapshot/publish"]
        assert harness.subscriptions == []
        with pytest.raises(AssertionError, match=r"told\.a"):
            harness.event("told.a", b"")


def test_an_unknown_capability_is_a_mistake_of_the_test(plugin: duplex.Plugin) -> None:
    with pytest.raises(ValueError, match="fly"):
        DuplexHarness(plugin, grants={"fly": True})


def test_a_manifest_that_a_host_would_refuse_is_refused(bare: duplex.Plugin) -> None:
    with pytest.raises(ManifestError):
        DuplexHarness(bare, manifest=MANIFEST.replace('"1.0.0"', '"one"'))


def test_a_plugin_that_is_not_its_manifest_s_fails_the_handshake(bare: duplex.Plugin) -> None:
    with (
        pytest.raises(AssertionError, match="handshake_failed"),
        DuplexHarness(bare, manifest=MANIFEST.replace("1.0.0", "2.0.0")),
    ):
        pass


def test_a_manifest_is_read_from_its_directory_or_its_file(tmp_path: Path, bare: duplex.Plugin) -> None:
    directory = tmp_path / "probe"
    directory.mkdir()
    (directory / "manifest.toml").write_text(MANIFEST)
    for place in (directory, directory / "manifest.toml"):
        with DuplexHarness(bare, manifest=place) as harness:
            assert harness.manifest.directory == directory


def test_settings_have_the_defaults_of_the_manifest(bare: duplex.Plugin) -> None:
    seen: list[Any] = []
    bare.on_init(lambda init: seen.append(init.config))
    entry = '[[config]]\nkey = "size"\nkind = "int"\nlabel = "Size"\ndefault = "5"\n'
    with DuplexHarness(bare, manifest=MANIFEST + entry):
        pass
    with DuplexHarness(bare, manifest=MANIFEST + entry, config={"size": 7}):
        pass
    assert seen == [{"size": 5}, {"size": 7}]
    with pytest.raises(ManifestError):
        DuplexHarness(bare, manifest=MANIFEST + entry, config={"colour": 1})


def test_what_follows_init_runs_before_anything_else_and_may_call_the_host(bare: duplex.Plugin) -> None:
    order: list[str] = []
    bare.on_init(lambda init: order.append("init"))
    bare.on_key(lambda screen, key: order.append(str(key)))

    @bare.on_ready
    def ready() -> None:
        payload, _ = bare.host.snapshot.get("t")
        order.append((payload or b"").decode())
        bare.host.snapshot.publish("u", b"ready")

    with DuplexHarness(bare, snapshots={"t": b"before"}) as harness:
        harness.key("q")
        harness.assert_published("u", b"ready")
        assert order == ["init", "before", "q"]


def test_what_follows_init_is_left_out_if_init_failed(bare: duplex.Plugin) -> None:
    seen: list[int] = []
    bare.on_ready(lambda: seen.append(1))

    @bare.on_init
    def init(_: Any) -> None:
        raise duplex.PluginError(-32003, "not today")

    with pytest.raises(AssertionError, match=r"handshake_failed.*not today"), DuplexHarness(bare):
        pass
    assert seen == []


def test_what_follows_init_may_fail_without_ending_the_plugin(bare: duplex.Plugin) -> None:
    @bare.on_ready
    def ready() -> None:
        raise RuntimeError("the logs are gone")

    with DuplexHarness(bare) as harness:
        harness.settle()
        assert "the logs are gone" in harness.stderr


# What a host asks


def test_a_screen_is_rendered_and_read_as_text(plugin: duplex.Plugin) -> None:
    @plugin.render
    def render(viewport: Any) -> duplex.Canvas:
        canvas = duplex.Canvas(viewport.width, viewport.height)
        canvas.put(0, 0, "日本", bold=True)
        canvas.put(1, 1, f"{viewport.width}x{viewport.height}", fg="#ff0000")
        return canvas

    with DuplexHarness(plugin) as harness:
        result = harness.render(8, 2)
        assert screen_text(result.buffer) == "日本\n 8x2"
        assert harness.assert_renders("8x2", 8, 2) == "日本\n 8x2"
        assert harness.assert_stable_render(8, 2) == result
        assert harness.assert_stable_render(0, 0).buffer.cells == ()
        with pytest.raises(AssertionError, match="日本"):
            harness.assert_renders("9x9", 8, 2)


def test_a_screen_that_differs_from_time_to_time_is_not_stable(plugin: duplex.Plugin) -> None:
    drawn: list[duplex.Canvas] = []

    @plugin.render
    def render(viewport: Any) -> duplex.Canvas:
        canvas = duplex.Canvas(viewport.width, viewport.height)
        drawn.append(canvas)
        canvas.put(0, 0, str(len(drawn)))
        return canvas

    with DuplexHarness(plugin) as harness, pytest.raises(AssertionError, match="two ways"):
        harness.assert_stable_render(2, 2)


def test_a_screen_of_another_size_than_asked_is_not_right(plugin: duplex.Plugin) -> None:
    plugin.render(lambda viewport: duplex.Canvas(3, 3))
    with DuplexHarness(plugin) as harness:
        harness.render(2, 2)
        with pytest.raises(AssertionError, match=r"2x2.*3x3"):
            harness.assert_stable_render(2, 2)


def test_what_is_no_screen_is_no_answer(plugin: duplex.Plugin) -> None:
    plugin.render(lambda viewport: {"width": -1, "height": 0, "cells": []})
    with DuplexHarness(plugin) as harness:
        with pytest.raises(AssertionError, match="plugin/render"):
            harness.render()
        harness.settle()


@pytest.mark.parametrize(
    ("key", "screen"),
    [
        (KeyEvent(KeyCode("char", ch="ab")), "main"),
        (KeyEvent(KeyCode("char", ch="")), "main"),
        (KeyEvent(KeyCode("f", n=256)), "main"),
        (KeyEvent(KeyCode("hyper")), "main"),  # type: ignore[arg-type]
        (KeyEvent(KeyCode("enter"), mods=256), "main"),
        (KeyEvent(KeyCode("enter"), mods=object()), "main"),  # type: ignore[arg-type]
        (KeyEvent(KeyCode("enter"), kind="hold"), "main"),  # type: ignore[arg-type]
        (KeyCode("enter"), "main"),
        (None, "main"),
        ("q", 5),
    ],
    ids=["two", "none", "f256", "unknown", "held", "held-what", "done", "a-code", "nothing", "screen"],
)
def test_a_key_that_no_host_would_send_is_refused_as_a_host_does(
    plugin: duplex.Plugin, key: Any, screen: Any
) -> None:
    seen: list[str] = []
    plugin.on_key(lambda screen, key: seen.append(str(key)))
    with DuplexHarness(plugin) as harness:
        with pytest.raises(LocalProtocolError):
            harness.key(key, screen=screen)
        harness.key("q")  # it harms nothing
        harness.settle()
    assert seen == ["q"]


def test_keys_and_events_are_handled_in_the_order_of_the_test(plugin: duplex.Plugin) -> None:
    seen: list[Any] = []
    plugin.on_key(lambda screen, key: seen.append((screen, str(key))))
    plugin.on_event("told.a")(lambda topic, payload: seen.append((topic, payload)))
    with DuplexHarness(plugin) as harness:
        harness.key("a")
        harness.key("ctrl+c", screen="other")
        harness.event("told.a", b"1")
        harness.key(KeyEvent(KeyCode("f", n=5)))
        harness.event("told.a", b"2")
        assert seen == [
            ("main", "a"), ("other", "ctrl+c"), ("told.a", b"1"), ("main", "f5"), ("told.a", b"2"),
        ]  # fmt: skip


def test_an_event_that_nobody_hears_fails_the_test(plugin: duplex.Plugin) -> None:
    with DuplexHarness(plugin) as harness:
        with pytest.raises(AssertionError, match=r"told\.b.*told\.a"):
            harness.event("told.b", b"")


def test_a_subscription_by_call_is_heard_too(plugin: duplex.Plugin) -> None:
    seen: list[bytes] = []
    plugin.on_init(lambda init: plugin.host.snapshot.subscribe("told.b"))
    plugin.on_event(lambda topic, payload: seen.append(payload))
    with DuplexHarness(plugin) as harness:
        assert harness.subscriptions == ["told.a", "told.b"]
        harness.event("told.b", b"1")
        harness.event("told.a", b"2")
        harness.settle()
        assert seen == [b"1", b"2"]


def test_commands_and_actions_are_answered(plugin: duplex.Plugin) -> None:
    @plugin.cli("usage")
    def usage(argv: list[str]) -> int:
        sys.stdout.write("out\n")
        sys.stderr.write("err\n")
        return len(argv)

    plugin.action("double")(lambda payload: payload * 2)
    with DuplexHarness(plugin) as harness:
        result = harness.cli("usage", ["a", "b"])
        assert (result.stdout, result.stderr, result.exit_code) == (b"out\n", b"err\n", 2)
        assert harness.cli("nothing").exit_code == 2
        assert harness.invoke("double", b"\x00\xff") == b"\x00\xff\x00\xff"
        with pytest.raises(RemoteError) as caught:
            harness.invoke("triple")
        assert caught.value.code == "-32601"
        assert harness.call("plugin/cli_dispatch", {"namespace": "x", "argv": []})["exit_code"] == 2
        with pytest.raises(RemoteError) as caught:
            harness.call("plugin/render", {})
        assert caught.value.code == "-32602"


def test_words_of_a_command_that_can_be_gone_through_only_once_are_all_there() -> None:
    plugin = duplex.Plugin("probe", version="1.0.0")
    plugin.cli("usage")(" ".join)
    with DuplexHarness(plugin) as harness:
        assert harness.cli("usage", map(str, (1, 2))).stdout == b"1 2"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ask",
    [
        lambda harness: harness.render(-1, 24),
        lambda harness: harness.render(80, 65_536),
        lambda harness: harness.render(80.0, 24),
        lambda harness: harness.assert_stable_render(80, True),
        lambda harness: harness.cli("usage", "abc"),
        lambda harness: harness.cli("usage", [1]),
        lambda harness: harness.cli(None),
        lambda harness: harness.invoke("double", "text"),
        lambda harness: harness.invoke(5, b""),
        lambda harness: harness.call(5),
    ],
    ids=["small", "large", "fraction", "truth", "text", "number", "nothing", "payload", "action", "method"],
)
def test_what_no_host_would_ask_is_refused_as_a_host_does(
    ask: Callable[[Any], object], plugin: duplex.Plugin
) -> None:
    plugin.render(lambda viewport: None)
    plugin.cli("usage")(lambda argv: 0)
    plugin.action("double")(lambda payload: payload * 2)
    with DuplexHarness(plugin) as harness:
        with pytest.raises(LocalProtocolError):
            ask(harness)
        assert harness.invoke("double", b"2") == b"22"


def test_an_answer_that_no_host_would_take_fails_the_test(
    plugin: duplex.Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[bytes] = []
    monkeypatch.setattr(Driver, "ask", lambda driver, method, params: Raw(said[0]))
    for method, answer in [
        ("render", b'{"buffer":{"width":70000,"height":1,"cells":[]}}'),
        ("cli", b'{"stdout":"not base64","stderr":"","exit_code":0}'),
        ("cli", b'{"stdout":"","stderr":"","exit_code":2147483648}'),
        ("invoke", b'{"payload":"YQ"}'),
        ("invoke", b"[]"),
        ("call", b"1e999"),
        ("call", b'{"a":"\\ud800"}'),
    ]:
        said[:] = [answer]
        with DuplexHarness(plugin) as harness:
            with pytest.raises(AssertionError):
                getattr(harness, method)(*{"render": (), "call": ("x/y",)}.get(method, ("usage",)))


def test_an_error_has_all_that_a_host_hears_of_it(plugin: duplex.Plugin) -> None:
    @plugin.action("double")
    def double(payload: bytes) -> bytes:
        raise duplex.PluginError(-32050, "twice is too much", {"most": 1})

    with DuplexHarness(plugin) as harness:
        with pytest.raises(RemoteError) as caught:
            harness.invoke("double")
    assert (caught.value.code, caught.value.data) == ("-32050", {"most": 1})


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 3_000_000], ids=str)
def test_payloads_larger_than_a_pipe_pass_both_ways(size: int, plugin: duplex.Plugin) -> None:
    plugin.action("echo")(lambda payload: payload)
    with DuplexHarness(plugin) as harness:
        payload = bytes(size)
        assert harness.invoke("echo", payload) == payload


# What a plugin asks


def test_publishes_and_logs_are_kept(bare: duplex.Plugin) -> None:
    @bare.on_key
    def key(screen: str, key: Any) -> None:
        bare.host.snapshot.publish("t", b"1")
        bare.host.snapshot.publish("t", b"2")
        bare.host.log.debug("looked", where="here")

    with DuplexHarness(bare) as harness:
        harness.key("x")
        assert harness.assert_published("t") == b"1"
        assert harness.assert_published("t", b"2") == b"2"
        assert harness.assert_published("t", lambda payload: payload > b"1") == b"2"
        harness.assert_logged("debug", "look")
        assert harness.logs[0].fields == {"where": "here"}
        for wrong in (lambda: harness.assert_published("t", b"3"), lambda: harness.assert_published("u")):
            with pytest.raises(AssertionError, match="b'2'"):
                wrong()
        for level, part in (("info", "look"), ("debug", "heard")):
            with pytest.raises(AssertionError, match="looked"):
                harness.assert_logged(level, part)


def test_what_is_denied_is_denied_in_the_host_s_words(plugin: duplex.Plugin) -> None:
    found: dict[str, str] = {}

    @plugin.on_key
    def key(screen: str, key: Any) -> None:
        host = plugin.host
        found["topic"] = outcome(lambda: host.snapshot.subscribe("secret"))
        found["path"] = outcome(lambda: host.fs.read_file("/etc/passwd"))
        found["sessions"] = outcome(lambda: host.fs.read_dir("~/.codex/sessions"))
        found["fetch"] = outcome(lambda: host.network.fetch("https://elsewhere.example/"))
        found["missing"] = outcome(lambda: host.fs.read_file("~/.claude/projects/none"))
        found["method"] = outcome(lambda: host.request("host/fly", {}))
        host.snapshot.publish("secret", b"")

    with DuplexHarness(plugin) as harness:
        harness.key("x")
        harness.settle()
        assert found == {
            "topic": "-32001", "path": "-32001", "sessions": "-32001", "fetch": "-32001",
            "missing": "-32602", "method": "-32601",
        }  # fmt: skip
        assert [message for _, message in harness.denied] == [
            "capability denied: event_bus",
            "capability denied: fs.read",
            "capability denied: read_codex_logs",
            "capability denied: network",
            "capability denied: event_bus",
        ]
        assert harness.publishes == []


def test_a_log_over_the_host_s_cap_is_not_taken(bare: duplex.Plugin) -> None:
    bare.on_key(lambda screen, key: bare.host.log("info", "x" * LOG_BYTES))
    with DuplexHarness(bare) as harness:
        harness.key("x")
        harness.settle()
        assert (len(harness.ignored), harness.logs) == (1, [])


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_publish_over_the_host_s_cap_is_not_taken(over: int, bare: duplex.Plugin) -> None:
    @bare.on_key
    def key(screen: str, key: Any) -> None:
        bare.host.snapshot.publish("t", bytes(PAYLOAD_LIMIT + over))

    with DuplexHarness(bare) as harness:
        harness.key("x")
        harness.settle()
        assert len(harness.publishes) == (over <= 0)
        assert len(harness.denied) == (over > 0)


def test_a_publish_over_a_frame_costs_the_plugin_that_handler_only(bare: duplex.Plugin) -> None:
    @bare.on_key
    def key(screen: str, key: Any) -> None:
        bare.host.snapshot.publish("t", bytes(duplex.LIMIT))

    with DuplexHarness(bare) as harness:
        harness.key("x")
        harness.settle()
        assert harness.publishes == []
        assert "plugin/handle_key" in harness.stderr


def test_files_are_read_beneath_their_roots(plugin: duplex.Plugin, tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_bytes(b"real")
    files = {"~/.claude/projects/a/1.jsonl": b"{}\n", "~/.claude/projects/b": b""}
    found: list[Any] = []

    @plugin.on_init
    def init(_: Any) -> None:
        fs = plugin.host.fs
        found.append([(each.name, each.is_dir) for each in fs.read_dir("~/.claude/projects")])
        found.append(fs.read_file("~/.claude/projects/a/1.jsonl"))

    with DuplexHarness(plugin, files=files):
        assert found == [[("a", True), ("b", False)], b"{}\n"]

    def read(_: bytes) -> bytes:
        return plugin.host.fs.read_file(f"{tmp_path}/real.txt")

    plugin.action("read")(read)
    with DuplexHarness(
        plugin, files=files, roots={"read_claude_logs": ["~/.claude/projects", str(tmp_path)]}
    ) as h:
        assert h.invoke("read") == b"real"


@pytest.mark.parametrize("path", ["/etc/x", "x", "~x/y", "~/../x", "~/a/../../x"])
def test_a_file_outside_the_home_of_the_test_is_refused(path: str, plugin: duplex.Plugin) -> None:
    with pytest.raises(ValueError, match="x"), DuplexHarness(plugin, files={path: b""}):
        pass


def test_actions_and_fetches_are_answered_by_the_test(plugin: duplex.Plugin) -> None:
    @plugin.action("ask")
    def ask(payload: bytes) -> bytes:
        host = plugin.host
        name = payload.decode()
        if name.startswith("http"):
            answer = host.network.fetch(name)
            return b"%d %s" % (answer.status, answer.body)
        return host.action.invoke(name, b"1")

    def late(_: bytes) -> bytes:
        raise TimeoutError

    def broken(request: Any) -> NetworkFetchResult | bytes:
        if request.url.endswith("down"):
            raise ConnectionError("no route")
        return NetworkFetchResult(404, (), b"no") if request.url.endswith("no") else b"yes"

    with DuplexHarness(plugin) as harness:
        harness.serve_action("other", lambda payload: payload + b"2")
        harness.serve_action("late", late)
        assert harness.invoke("ask", b"other") == b"12"
        codes = {}
        for name in (b"late", b"unknown", b"https://api.example.org/"):
            with pytest.raises(RemoteError) as caught:
                harness.invoke("ask", name)
            codes[name] = caught.value.code
        assert codes == {b"late": "-32002", b"unknown": "-32601", b"https://api.example.org/": "-32602"}
        harness.serve_fetch(broken)
        assert harness.invoke("ask", b"https://api.example.org/") == b"200 yes"
        assert harness.invoke("ask", b"https://api.example.org/no") == b"404 no"
        with pytest.raises(RemoteError, match="no route"):
            harness.invoke("ask", b"https://api.example.org/down")


def test_an_error_in_the_test_s_own_function_is_the_test_s(plugin: duplex.Plugin) -> None:
    plugin.action("ask")(lambda payload: plugin.host.action.invoke("other"))

    def fail(_: bytes) -> bytes:
        raise KeyError("mine")

    with DuplexHarness(plugin) as harness:
        harness.serve_action("other", fail)
        with pytest.raises(KeyError):
            harness.invoke("ask")
        harness.settle()


# One that misbehaves


def test_an_error_of_a_handler_is_raised_and_its_traceback_kept(plugin: duplex.Plugin) -> None:
    @plugin.cli("usage")
    def usage(argv: list[str]) -> None:
        raise ZeroDivisionError("by hand")

    with DuplexHarness(plugin) as harness:
        with pytest.raises(RemoteError) as caught:
            harness.cli("usage")
        assert caught.value.code == "-32602"
        assert "in usage" in harness.stderr
        assert "Traceback" in harness.stderr


def test_an_error_of_a_key_s_handler_is_told_with_the_next_claim_that_fails(plugin: duplex.Plugin) -> None:
    @plugin.on_key
    def key(screen: str, key: Any) -> None:
        raise ZeroDivisionError("by hand")

    with DuplexHarness(plugin) as harness:
        harness.key("x")
        with pytest.raises(AssertionError, match="by hand"):
            harness.assert_published("told.a")


def test_printing_does_not_spoil_the_conversation(
    plugin: duplex.Plugin, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin.on_key(lambda screen, key: sys.stdout.write("Content-Length: 3\r\n\r\nabc"))
    with DuplexHarness(plugin) as harness:
        harness.key("x")
        harness.settle()
        assert harness.ignored == []
    assert "abc" in capsys.readouterr().out


@pytest.mark.parametrize("method", ["render", "on_init", "on_shutdown", "on_ready"])
def test_a_plugin_that_hangs_fails_the_test_and_says_where(
    method: str, plugin: duplex.Plugin, gate: threading.Event
) -> None:
    def hang_here(*_: Any) -> None:
        gate.wait(200)

    getattr(plugin, method)(hang_here)

    def run() -> None:
        with DuplexHarness(plugin, timeout_s=SHORT_S) as harness:
            if method != "on_shutdown":
                harness.render(1, 1)

    with pytest.raises(AssertionError, match="in hang_here"):
        run()


def test_a_command_that_hangs_keeps_nothing_that_the_test_prints(
    plugin: duplex.Plugin, gate: threading.Event, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin.cli("hang")(lambda argv: gate.wait(200))
    with pytest.raises(AssertionError, match="timeout"), DuplexHarness(plugin, timeout_s=SHORT_S) as harness:
        harness.cli("hang")
    sys.stdout.write("here\n")
    assert capsys.readouterr().out == "here\n"


def test_a_plugin_that_hangs_and_reads_nothing_fails_the_test(
    plugin: duplex.Plugin, gate: threading.Event
) -> None:
    plugin.on_key(lambda screen, key: gate.wait(200))

    def run() -> None:
        with DuplexHarness(plugin, timeout_s=SHORT_S) as harness:
            harness.key("x")
            harness.invoke("anything", bytes(1_000_000))

    with pytest.raises(AssertionError, match="timeout"):
        run()


@pytest.mark.parametrize(
    ("error", "status"),
    [(SystemExit(3), 3), (SystemExit("over"), 1), (KeyboardInterrupt(), 1)],
    ids=["3", "text", "^C"],
)
def test_a_plugin_that_ends_fails_the_test_with_its_traceback(
    error: BaseException, status: int, plugin: duplex.Plugin
) -> None:
    @plugin.on_key
    def leave_here(screen: str, key: Any) -> None:
        raise error

    with pytest.raises(AssertionError, match="crashed") as caught:
        press(plugin)
    assert f"status {status}" in str(caught.value)
    assert "in leave_here" in str(caught.value)


def test_a_plugin_that_ends_well_of_its_own_accord_fails_the_test_too(plugin: duplex.Plugin) -> None:
    plugin.on_key(lambda screen, key: sys.exit())
    with pytest.raises(AssertionError, match="status 0"):
        press(plugin)


def test_a_plugin_that_ends_badly_at_shutdown_fails_the_test(plugin: duplex.Plugin) -> None:
    plugin.on_shutdown(lambda: sys.exit(9))
    with pytest.raises(AssertionError, match="status 9"), DuplexHarness(plugin):
        pass


def test_the_error_of_the_test_goes_before_the_plugin_s(plugin: duplex.Plugin) -> None:
    plugin.on_shutdown(lambda: sys.exit(9))
    with pytest.raises(KeyError), DuplexHarness(plugin):
        raise KeyError


def test_standard_error_is_given_back(plugin: duplex.Plugin) -> None:
    before = sys.__stderr__
    with DuplexHarness(plugin):
        assert sys.__stderr__ is not before
    assert sys.__stderr__ is before


def test_what_is_no_message_of_the_contract_is_kept_as_ignored(bare: duplex.Plugin) -> None:
    @bare.on_key
    def key(screen: str, key: Any) -> None:
        bare.host.notify("host/fly", {})
        bare.host.notify("host/log", {"level": "loud", "message": "x"})
        bare.host.notify("host/snapshot/get", {"topic": "t"})

    with DuplexHarness(bare) as harness:
        harness.key("x")
        harness.settle()
        assert len(harness.ignored) == 3
        assert harness.logs == []


# Keys and screens


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("q", KeyEvent(KeyCode("char", ch="q"))),
        ("日", KeyEvent(KeyCode("char", ch="日"))),
        ("+", KeyEvent(KeyCode("char", ch="+"))),
        ("ctrl++", KeyEvent(KeyCode("char", ch="+"), 2)),
        ("esc", KeyEvent(KeyCode("esc"))),
        ("page_up", KeyEvent(KeyCode("page_up"))),
        ("f12", KeyEvent(KeyCode("f", n=12))),
        ("f", KeyEvent(KeyCode("char", ch="f"))),
        ("shift+tab", KeyEvent(KeyCode("tab"), 1)),
        ("ctrl+alt+super+shift+up", KeyEvent(KeyCode("up"), 15)),
        ("ctrl+ctrl+c", KeyEvent(KeyCode("char", ch="c"), 2)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_key_has_the_name_that_the_sdk_gives_it(name: str, event: KeyEvent, bare: duplex.Plugin) -> None:
    assert key_event(name) == event


@pytest.mark.parametrize(
    "name", ["", "escape", "f256", "f-1", "f²", "char", "hyper+x", "ctrl+", "Ctrl+c", "ab"]
)
def test_a_name_of_no_key_is_refused(name: str) -> None:
    with pytest.raises(ValueError):
        key_event(name)


def test_a_screen_s_text_is_clipped_and_later_cells_win() -> None:
    cells = ((Coord(0, 0), Cell("a")), (Coord(0, 0), Cell("b")), (Coord(9, 9), Cell("x")))
    assert screen_text(WireBuffer(2, 1, cells)) == "b"
