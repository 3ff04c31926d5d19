"""The author's API of `duplex`: what is declared, what handlers are given, and what becomes of what they return."""

import base64
import gc
import io
import os
import sys

import pytest
from plughost_sdk import duplex, stdio

from tests.sdk.duplex_wire import (
    action,
    cli,
    connected,
    event,
    frame,
    init,
    key,
    notification,
    render,
    request,
    serve,
)

MANIFEST = '[plugin]\nname = "probe"\nversion = "1.0.0"\nabi_version = 2\n[provides]\nscreens = ["main"]\n'
NOT_FOUND, INVALID, MANIFEST_INVALID = -32601, -32602, -32003


def make(**more):
    return duplex.Plugin("probe", version="1.0.0", **more)


def only(plugin, *messages):
    """Return the only thing that the plugin says to the messages."""
    status, (said,) = serve(plugin, *messages)
    assert status == 0
    return said


# The start


def test_the_answer_to_init_says_all_that_any_host_may_look_for():
    plugin = make()
    plugin.cli("usage")(print)
    plugin.action("act")(print)
    plugin.on_event("t")(print)
    assert only(plugin, init(4))["result"] == {
        "name": "probe",
        "version": "1.0.0",
        "abi_version": 2,
        "manifest": {
            "plugin": {"name": "probe", "version": "1.0.0", "abi_version": 2},
            "provides": {"commands": ["act"], "cli_namespaces": ["usage"]},
            "subscribes": {"snapshots": ["t"]},
        },
    }


def test_the_manifest_may_be_text():
    said = only(make(manifest=MANIFEST), init())
    assert said["result"]["manifest"]["provides"] == {"screens": ["main"]}


def test_the_manifest_may_be_a_file_beside_the_code(tmp_path):
    (tmp_path / "manifest.toml").write_text(MANIFEST)
    names = {"__file__": str(tmp_path / "plugin.py"), "duplex": duplex}
    exec("plugin = duplex.Plugin('probe', version='1.0.0', manifest='manifest.toml')", names)
    assert only(names["plugin"], init())["result"]["manifest"]["provides"] == {"screens": ["main"]}


def test_the_manifest_may_be_a_path_of_its_own(tmp_path):
    path = tmp_path / "manifest.toml"
    path.write_text(MANIFEST)
    assert "result" in only(make(manifest=path), init())


@pytest.mark.parametrize(
    "manifest",
    [
        "no/such/manifest.toml",
        "[plugin\n",
        "\n",
        "plugin = 5\n",
        MANIFEST.replace("probe", "other"),
        MANIFEST.replace("1.0.0", "1.0.1"),
        MANIFEST.replace("2\n", "3\n"),
        MANIFEST.replace("abi_version = 2", ""),
    ],
    ids=repr,
)
def test_a_manifest_that_is_not_this_plugins_fails_init_without_running_it(manifest):
    plugin = make(manifest=manifest)
    plugin.on_init(lambda init: plugin.host.log.info("it ran"))
    assert only(plugin, init())["error"]["code"] == MANIFEST_INVALID


@pytest.mark.parametrize("abi_version", [0, 1, 3])
def test_a_host_of_another_abi_is_refused(abi_version):
    assert only(make(), init(abi_version=abi_version))["error"]["code"] == MANIFEST_INVALID


def test_init_is_told_what_the_host_says():
    plugin, told = make(), []
    plugin.on_init(told.append)
    only(plugin, init(config={"a": [1]}, host={"kind": "tui", "pid": 5}, more=1))
    (given,) = told
    assert given.manifest_path == "/dev/null/manifest.toml"
    assert given.granted_capabilities == ("event_bus",)
    assert (given.abi_version, given.config, given.host) == (2, {"a": [1]}, {"kind": "tui", "pid": 5})


def test_what_init_publishes_goes_out_before_the_answer():
    plugin = make()
    plugin.on_init(lambda init: plugin.host.snapshot.publish("t", b"hi"))
    _, said = serve(plugin, init(4))
    assert [each.get("method") for each in said] == ["host/snapshot/publish", None]


# Screens and keys


def test_a_canvas_is_drawn_at_the_size_that_the_host_asks_for():
    plugin = make()

    @plugin.render
    def draw(viewport):
        canvas = duplex.Canvas(viewport.width, viewport.height)
        canvas.put(1, 0, "x", bold=True)
        return canvas

    assert only(plugin, render(1, 80, 24))["result"] == {
        "buffer": {"width": 80, "height": 24, "cells": [[{"x": 1, "y": 0}, {"symbol": "x", "modifier": 1}]]}
    }


BUFFER = {"width": 1, "height": 1, "cells": []}


@pytest.mark.parametrize("drawn", [BUFFER, {"buffer": BUFFER}], ids=["a buffer", "a result"])
def test_what_the_wire_carries_may_be_returned_as_it_is(drawn):
    plugin = make()
    plugin.render(lambda viewport: drawn)
    assert only(plugin, render())["result"] == {"buffer": BUFFER}


def test_a_result_may_say_more_than_a_buffer():
    plugin = make()
    plugin.render(lambda viewport: {"buffer": BUFFER, "redraw": True})
    assert only(plugin, render())["result"] == {"buffer": BUFFER, "redraw": True}


def test_a_plugin_without_a_screen_draws_nothing():
    assert only(make(), render())["result"] == {"buffer": {"width": 0, "height": 0, "cells": []}}


@pytest.mark.parametrize(
    ("code", "more", "name"),
    [
        ({"type": "char", "ch": "z"}, {}, "z"),
        ({"type": "char", "ch": "Z"}, {"mods": 1}, "Z"),
        ({"type": "char", "ch": "c"}, {"mods": 2}, "ctrl+c"),
        ({"type": "f", "n": 7}, {"mods": 4}, "alt+f7"),
        ({"type": "esc"}, {"kind": "release"}, "esc"),
        ({"type": "tab"}, {"mods": 15}, "ctrl+alt+super+shift+tab"),
        ({"type": "page_up"}, {"mods": 16}, "page_up"),
        ({"type": "media_play", "n": "?"}, {}, "media_play"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_key_has_a_name_to_compare_with(code, more, name):
    plugin, told = make(), []
    plugin.on_key(lambda screen_id, key: told.append((screen_id, key)))
    assert serve(plugin, key(code, **more)) == (0, [])
    ((screen_id, given),) = told
    assert (screen_id, str(given), given.code) == ("main", name, code["type"])
    assert given.kind == more.get("kind", "press")
    mods = more.get("mods", 0)
    assert (given.shift, given.ctrl, given.alt, given.super) == tuple(
        bool(mods & bit) for bit in (1, 2, 4, 8)
    )


# Events, commands, actions


def test_an_event_goes_to_the_handler_of_its_topic_or_else_to_the_one_of_all():
    plugin, told = make(), []
    plugin.on_event("t")(lambda *given: told.append(("t", *given)))
    plugin.on_event(lambda *given: told.append(("all", *given)))
    serve(plugin, event("t", "aGk="), event("u", [104, 105]))
    assert told == [("t", "t", b"hi"), ("all", "u", b"hi")]


def test_an_event_without_a_handler_is_ignored():
    assert serve(make(), event()) == (0, [])


def command(function, argv=()):
    plugin = make()
    plugin.cli("usage")(function)
    result = only(plugin, cli(1, argv=argv))["result"]
    assert set(result) == {"stdout", "stderr", "exit_code"}
    return base64.b64decode(result["stdout"]), base64.b64decode(result["stderr"]), result["exit_code"]


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, (b"", b"", 0)),
        (3, (b"", b"", 3)),
        (True, (b"", b"", 1)),
        (-1, (b"", b"", -1)),
        ("é\n", ("é\n".encode(), b"", 0)),
        (b"\xff\x00", (b"\xff\x00", b"", 0)),
        (duplex.CliResult("a", b"b", 4), (b"a", b"b", 4)),
    ],
    ids=["nothing", "number", "truth", "negative", "text", "bytes", "result"],
)
def test_a_command_may_return_its_outcome_in_several_ways(returned, expected):
    assert command(lambda argv: returned) == expected


def test_a_command_is_given_its_arguments():
    assert command(lambda argv: ",".join(argv), ["--help", "", "é"])[0] == "--help,,é".encode()


def test_what_a_command_prints_is_its_output():
    def usage(argv):
        sys.stdout.write("one\n")
        sys.stderr.write("bad\n")
        return "two"

    assert command(usage) == (b"one\ntwo", b"bad\n", 0)


def test_a_command_may_write_bytes_as_a_program_does():
    def usage(argv):
        sys.stdout.write("é")
        sys.stdout.buffer.write(b"\xff\r\n")
        sys.stdout.write("two\n")
        sys.stderr.buffer.write(b"\x00")

    assert command(usage) == (b"\xc3\xa9\xff\r\ntwo\n", b"\x00", 0)


def closed():
    sys.stdout.write("said")
    sys.stdout.close()


def wrapped():
    sys.stdout = io.TextIOWrapper(sys.stdout.buffer, "utf-8")
    sys.stdout.write("said")


def wrapped_for_good():
    wrapped()
    return sys.stdout


@pytest.mark.parametrize("use", [closed, wrapped, wrapped_for_good])
def test_a_command_may_close_its_output_or_put_a_wrapper_of_its_own_around_it(use):
    left = []
    assert command(lambda argv: left.append(use())) == (b"said", b"", 0)


def test_what_a_command_raises_is_answered_although_it_has_closed_its_output():
    plugin = make()

    @plugin.cli("usage")
    def usage(argv):
        sys.stdout.close()
        raise duplex.PluginError(7, "no")

    assert only(plugin, cli())["error"] == {"code": 7, "message": "no"}


@pytest.mark.parametrize("say", [str, lambda name: sys.stdout.write(name) * 0], ids=["returned", "printed"])
def test_a_name_of_a_file_that_is_no_text_comes_out_as_its_bytes(say):
    name = os.fsdecode(b"a\xff") + "\ud800"  # and what is no name at all does no harm
    assert command(lambda argv: say(name))[0] == b"a\xff?"


@pytest.mark.parametrize(
    ("code", "expected"), [(None, (b"", 0)), (2, (b"", 2)), ("no such file", (b"no such file\n", 1))]
)
def test_a_command_that_exits_ends_itself_and_not_the_plugin(code, expected):
    assert command(lambda argv: sys.exit(code))[1:] == expected


@pytest.mark.parametrize(
    "returned", [5.0, [], 2**31, -(2**31) - 1, duplex.Canvas(1, 1)], ids=lambda each: type(each).__name__
)
def test_a_command_that_returns_something_else_has_failed(returned):
    plugin = make()
    plugin.cli("usage")(lambda argv: returned)
    assert only(plugin, cli())["error"]["code"] == INVALID


def test_printing_is_as_before_after_a_command_that_failed(capsys):
    plugin = make()
    plugin.cli("usage")(lambda argv: 1 / 0)
    only(plugin, cli())
    sys.stdout.write("hi\n")
    assert capsys.readouterr().out == "hi\n"


def test_a_namespace_of_another_plugin_ends_with_2_and_says_so():
    result = only(make(), cli(1, "other"))["result"]
    assert (result["stdout"], result["exit_code"]) == ("", 2)
    assert b"`other`" in base64.b64decode(result["stderr"])


@pytest.mark.parametrize(("returned", "expected"), [(b"ho", "aG8="), (b"", ""), (None, "")])
def test_an_action_answers_with_bytes(returned, expected):
    plugin, told = make(), []
    plugin.action("act")(lambda payload: told.append(payload) or returned)
    assert only(plugin, action(1, payload="aGk="))["result"] == {"payload": expected}
    assert told == [b"hi"]


def test_an_action_that_returns_something_else_has_failed():
    plugin = make()
    plugin.action("act")(lambda payload: "text")
    assert only(plugin, action())["error"]["code"] == INVALID


def test_an_action_of_another_plugin_is_not_found():
    assert only(make(), action())["error"]["code"] == NOT_FOUND


# The end


@pytest.mark.parametrize(
    ("wire", "replies"),
    [
        ([request(5, "plugin/shutdown")], [{"jsonrpc": "2.0", "id": 5, "result": {}}]),
        (
            [{"jsonrpc": "2.0", "id": 5, "method": "plugin/shutdown"}],
            [{"jsonrpc": "2.0", "id": 5, "result": {}}],
        ),
        ([notification("plugin/shutdown")], []),
        ([], []),
    ],
    ids=["a request", "a request without params", "a notification", "only the end"],
)
def test_every_way_to_end_runs_the_handler_once(wire, replies):
    plugin, ran = make(), []
    plugin.on_shutdown(lambda: ran.append(1))
    assert serve(plugin, *wire) == (0, replies)
    assert ran == [1]


@pytest.mark.parametrize("fails", [False, True], ids=["a handler that works", "a handler that fails"])
@pytest.mark.parametrize("last", [request(5, "plugin/shutdown"), notification("plugin/shutdown")])
def test_a_shutdown_ends_the_plugin_though_its_input_stays_open(last, fails, capfd):
    plugin = make()
    plugin.on_shutdown(lambda: 1 / (not fails))
    with connected(plugin) as host:
        host.send_bytes(b"".join(map(frame, (render(4), last, render(6)))))  # after the last, nobody reads
        said = [host.receive(), *([host.receive()] if "id" in last else ())]
        assert host.receive() is None  # the end of its output, while its input is open
    assert [each["id"] for each in said] == [4, 5][: len(said)]
    assert host.status == 0


def test_what_the_shutdown_handler_publishes_goes_out_before_the_answer():
    plugin = make()
    plugin.on_shutdown(lambda: plugin.host.snapshot.publish("t", b"hi"))
    _, said = serve(plugin, request(5, "plugin/shutdown"))
    assert [each.get("method") for each in said] == ["host/snapshot/publish", None]


# What the author may not do


@pytest.mark.parametrize("name", ["", " a", "a\n", None, 5, "\ud800"], ids=repr)
def test_a_name_that_is_not_plain_is_refused(name):
    with pytest.raises(ValueError):
        duplex.Plugin(name, version="1")
    with pytest.raises(ValueError):
        duplex.Plugin("a", version=name)
    for register in (make().cli, make().action, make().on_event):
        with pytest.raises(ValueError):
            register(name)(print)


@pytest.mark.parametrize("kind", ["on_init", "render", "on_key", "on_shutdown", "on_event"])
def test_a_handler_is_one_function(kind):
    plugin = make()
    assert getattr(plugin, kind)(print) is print
    with pytest.raises(ValueError, match="twice"):
        getattr(plugin, kind)(print)


@pytest.mark.parametrize("kind", ["cli", "action", "on_event"])
def test_a_named_handler_is_one_function_for_each_name(kind):
    plugin = make()
    assert getattr(plugin, kind)("a")(print) is print
    getattr(plugin, kind)("b")(print)
    with pytest.raises(ValueError, match="twice"):
        getattr(plugin, kind)("a")(print)


@pytest.mark.parametrize("kind", ["cli", "action"])
def test_a_handler_that_needs_a_name_is_refused_without_one(kind):
    with pytest.raises(ValueError):
        getattr(make(), kind)(print)


def test_a_handler_that_nobody_would_run_to_its_end_is_refused():
    async def later(*given): ...

    async def again(*given):
        yield

    def bit_by_bit(*given):
        yield

    for function in (later, again, bit_by_bit):
        with pytest.raises(TypeError):
            make().on_key(function)
        with pytest.raises(TypeError):
            make().cli("usage")(function)


@pytest.mark.parametrize("kind", ["on_init", "render", "on_key", "on_shutdown"])
def test_a_decorator_takes_a_function(kind):
    with pytest.raises(TypeError):
        getattr(make(), kind)("name")


def test_started_by_hand_it_says_what_it_is(monkeypatch, capfd):
    monkeypatch.setattr(stdio, "is_terminal", lambda: True)
    with pytest.raises(SystemExit) as ended:
        make().run()
    assert ended.value.code == 2
    assert "probe 1.0.0" in capfd.readouterr().err
    assert gc.isenabled()
