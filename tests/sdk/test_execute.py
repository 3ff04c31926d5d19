"""The author's side of `execute`: tools in, two lines out, and next to nothing imported before the first."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plughost_sdk import execute, stdio
from plughost_sdk.execute import (
    EXIT_CONTRACT_BROKEN,
    EXIT_OK,
    EXIT_STARTED_BY_HAND,
    LINE_LIMIT,
    PROTOCOL_VERSION,
    Plugin,
    PluginError,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.text('aB0 ._-/"\\\0\x1f\x7fä\u2028\U0001f600', min_size=1, max_size=8).filter(
    lambda name: name == name.strip()
)


def make(tool=lambda value, context: value, **more):
    plugin = Plugin("echoer", version="1.0", **more)
    plugin.tool("echo")(tool)
    return plugin


def answer(function, **more):
    request = {"type": "request", "request_id": "r1", "tool_name": "echo", "context": {}, "input": {}, **more}
    return make(function).handle(request)


def fail_with(error):
    def tool(input, context):
        raise error

    return tool


# What a plugin says about itself


def test_the_manifest_names_the_plugin_its_version_protocol_and_tools():
    assert make().manifest() == {
        "plugin_id": "echoer",
        "plugin_version": "1.0",
        "protocol_version": PROTOCOL_VERSION,
        "exposed_tools": ["echo"],
    }


def test_the_manifest_lists_capabilities_only_when_there_are_some():
    assert make(capabilities=["read", "write"]).manifest()["capabilities"] == ["read", "write"]
    assert "capabilities" not in make(capabilities=()).manifest()


def test_a_decorated_function_is_exposed_under_its_own_name_and_stays_usable():
    plugin = Plugin("p", version="1")

    @plugin.tool
    def shout(input, context):
        return input.upper()

    assert plugin.manifest()["exposed_tools"] == ["shout"]
    assert shout("a", None) == "A"


def test_tools_are_listed_in_the_order_of_their_definition():
    plugin = Plugin("p", version="1")
    for name in ("c", "a", "b"):
        plugin.tool(name)(print)
    assert plugin.manifest()["exposed_tools"] == ["c", "a", "b"]


@pytest.mark.parametrize("bad", ["", " ", " padded", "padded ", "line\n", None])
def test_a_name_that_is_empty_or_padded_is_refused_wherever_it_is_given(bad):
    with pytest.raises(ValueError):
        Plugin(bad, version="1")
    with pytest.raises(ValueError):
        Plugin("p", version=bad)
    with pytest.raises(ValueError):
        Plugin("p", version="1", capabilities=["read", bad])


@pytest.mark.parametrize("bad", ["", " ", " padded"])
def test_a_tool_name_that_is_empty_or_padded_is_refused(bad):
    with pytest.raises(ValueError):
        Plugin("p", version="1").tool(bad)(print)


def test_a_capability_listed_twice_is_refused():
    with pytest.raises(ValueError):
        Plugin("p", version="1", capabilities=["read", "read"])


def test_a_tool_defined_twice_is_refused_and_the_first_stays():
    plugin = make(lambda value, context: "first")
    with pytest.raises(ValueError):
        plugin.tool("echo")(lambda value, context: "second")
    assert plugin.handle({"tool_name": "echo"})["output"] == "first"


def test_a_plugin_without_tools_does_not_run():
    with pytest.raises(ValueError):
        Plugin("p", version="1").run()


# A call without its wire


def test_what_a_tool_returns_is_the_output_of_an_ok():
    assert answer(lambda value, context: {"got": value}, input=[1]) == {
        "type": "response",
        "request_id": "r1",
        "status": "ok",
        "output": {"got": [1]},
    }


def test_a_tool_gets_an_empty_object_when_the_request_has_no_input():
    assert make().handle({"request_id": "r1", "tool_name": "echo"})["output"] == {}


@pytest.mark.parametrize("value", [None, 0, False, "", []])
def test_an_input_that_is_false_is_given_to_the_tool_as_it_is(value):
    given_to_tool = answer(lambda value, context: value, input=value)["output"]
    assert (type(given_to_tool), given_to_tool) == (type(value), value)


def test_a_tool_sees_what_the_host_says_about_the_call():
    seen = []
    said = {
        "workspace_id": "w",
        "widget_id": "x",
        "repo_root": "/r",
        "role_id": "o",
        "mode_id": "m",
        "own": 1,
    }
    answer(lambda value, context: seen.append(context), context=said)
    (context,) = seen
    assert (context.request_id, context.tool_name) == ("r1", "echo")
    assert [context.workspace_id, context.widget_id, context.repo_root] == ["w", "x", "/r"]
    assert [context.role_id, context.mode_id] == ["o", "m"]
    assert context.get("own") == 1
    assert context.get("other", "none") == "none"
    assert context.values == said


@pytest.mark.parametrize("said", [{}, None])
def test_what_the_host_left_out_of_the_context_is_empty(said):
    seen = []
    answer(lambda value, context: seen.append(context), context=said)
    (context,) = seen
    assert {context.workspace_id, context.widget_id, context.repo_root, context.role_id, context.mode_id} == {
        ""
    }


def test_metadata_travels_beside_the_output_only_when_there_is_some():
    def tool(input, context):
        context.metadata["took"] = 5
        return "done"

    assert answer(tool)["metadata"] == {"took": 5}
    assert "metadata" not in answer(lambda value, context: "done")


def test_an_unknown_tool_is_answered_with_an_error():
    response = make().handle({"request_id": "r1", "tool_name": "other", "input": {}})
    assert (response["status"], response["error"]["code"]) == ("error", "unknown_tool")
    assert "output" not in response


def test_a_plugin_error_is_answered_with_its_own_code_and_message():
    response = answer(fail_with(PluginError("no_such_file", "There is no such file.")))
    assert response["status"] == "error"
    assert response["error"] == {"code": "no_such_file", "message": "There is no such file."}


def test_a_plugin_error_prints_as_its_message():
    assert str(PluginError("no_such_file", "There is no such file.")) == "There is no such file."


@pytest.mark.parametrize("code", ["", " ", "broken"])
@pytest.mark.parametrize("message", ["", " ", "\n"])
def test_the_message_of_an_error_is_never_blank(code, message):
    assert answer(fail_with(PluginError(code, message)))["error"]["message"].strip()


def test_any_other_exception_is_answered_as_tool_failed_and_its_traceback_goes_to_stderr(capsys):
    response = answer(fail_with(KeyError("colour")))
    assert response["error"]["code"] == "tool_failed"
    assert "KeyError" in response["error"]["message"]
    captured = capsys.readouterr()
    assert "Traceback" in captured.err
    assert captured.out == ""


def test_an_exception_whose_text_no_line_can_carry_is_answered_all_the_same():
    message = answer(fail_with(OSError("\ud800")))["error"]["message"]
    assert message.encode()


def test_a_tool_that_exits_is_not_answered_for():
    with pytest.raises(SystemExit):
        answer(fail_with(SystemExit(3)))


# Over the wire


def test_a_call_is_two_lines_in_and_two_lines_out(converse, handshake, request_line):
    status, lines = converse(make(), handshake + request_line("echo", {"a": "ä\u2028"}))
    assert status == EXIT_OK
    assert all(line.endswith(b"\n") for line in lines)
    reply, response = map(json.loads, lines)
    assert reply == {"type": "handshake", "manifest": make().manifest()}
    assert response == {"type": "response", "request_id": "r1", "status": "ok", "output": {"a": "ä\u2028"}}


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_lines_may_come_in_pieces_of_any_size(converse, handshake, request_line, monkeypatch, size):
    monkeypatch.setattr(execute, "READ_SIZE", size)
    status, lines = converse(make(), handshake + request_line("echo", "x"))
    assert (status, json.loads(lines[1])["output"]) == (EXIT_OK, "x")


@settings(max_examples=60)
@given(
    name=NAMES,
    version=NAMES,
    tools=st.sets(NAMES, min_size=1, max_size=3),
    capabilities=st.sets(NAMES, max_size=3),
)
def test_any_names_are_spelled_in_the_handshake_as_json_spells_them(
    converse, handshake, name, version, tools, capabilities
):
    plugin = Plugin(name, version=version, capabilities=capabilities)
    for tool in tools:
        plugin.tool(tool)(print)
    _, (reply,) = converse(plugin, handshake)
    assert json.loads(reply) == {"type": "handshake", "manifest": plugin.manifest()}


@settings(max_examples=60)
@given(value=JSON.filter(lambda value: value is not None))
def test_any_json_comes_back_from_a_tool_that_returns_its_input(converse, handshake, request_line, value):
    _, lines = converse(make(), handshake + request_line("echo", value))
    response = json.loads(lines[1])
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        assert response["error"]["code"] == "output_not_json"
    else:
        assert response["output"] == value


@pytest.mark.parametrize(
    "spelled",
    [
        b'{"protocol_version": "rterm.plugin.v1", "type": "handshake"}\n',
        b'{"type":"handshake","protocol_version":"rterm.plugin.v1","later":[1,{}]}\n',
        b' {"type":"handshake"}\r\n',
        b'{"type":"handshake","protocol_version":"rterm.plugin.v2"}\n',
    ],
)
def test_a_handshake_spelled_otherwise_gets_the_same_reply(converse, handshake, spelled):
    assert converse(make(), spelled) == converse(make(), handshake)


def test_the_exit_statuses_tell_a_good_end_a_broken_contract_and_a_start_by_hand_apart():
    assert (EXIT_OK, EXIT_CONTRACT_BROKEN, EXIT_STARTED_BY_HAND) == (0, 1, 2)


@pytest.mark.parametrize("count", [0, 1])
def test_the_end_of_input_before_a_request_is_a_clean_exit(converse, handshake, count):
    status, lines = converse(make(), handshake * count)
    assert (status, len(lines)) == (EXIT_OK, count)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"hello\n",
        b"[]\n",
        b"5\n",
        b'"handshake"\n',
        b"{}\n",
        b'{"type":"request"}\n',
        b'{"type":null}\n',
        b"\xff\n",
        b"\xef\xbb\xbf{}\n",
        b'{"type":"handshake"',
    ],
)
def test_a_first_line_that_is_no_handshake_is_not_answered(converse, capsys, line):
    assert converse(make(), line) == (EXIT_CONTRACT_BROKEN, [])
    assert capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [b"\n", b"hello\n", b"[]\n", b"{}\n", b'{"type":"handshake"}\n', b"\xff\n", b'{"type":"request",'],
)
def test_a_second_line_that_is_no_request_is_not_answered(converse, handshake, capsys, line):
    status, lines = converse(make(), handshake + line)
    assert (status, len(lines)) == (EXIT_CONTRACT_BROKEN, 1)
    assert capsys.readouterr().err


def test_a_request_whose_line_feed_is_missing_at_the_end_is_answered(converse, handshake, request_line):
    status, lines = converse(make(), handshake + request_line("echo", 1).rstrip(b"\n"))
    assert (status, json.loads(lines[1])["output"]) == (EXIT_OK, 1)


def test_a_request_with_unknown_fields_is_answered(converse, handshake, request_line):
    _, lines = converse(make(), handshake + request_line("echo", 1, trace={"deep": [1]}))
    assert json.loads(lines[1])["status"] == "ok"


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_request_line_is_accepted_up_to_the_limit_to_the_byte(converse, handshake, request_line, over):
    assert LINE_LIMIT == 1_048_576
    empty = len(request_line("echo", "")) - 1
    line = request_line("echo", "x" * (LINE_LIMIT + over - empty))
    assert len(line) - 1 == LINE_LIMIT + over
    status, lines = converse(make(lambda value, context: len(value)), handshake + line)
    if over > 0:
        assert (status, len(lines)) == (EXIT_CONTRACT_BROKEN, 1)
    else:
        assert json.loads(lines[1])["output"] == LINE_LIMIT + over - empty


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_an_output_over_the_line_limit_is_answered_with_an_error(converse, handshake, request_line, over):
    empty = len(converse(make(), handshake + request_line("echo", ""))[1][1]) - 1
    size = LINE_LIMIT + over - empty
    status, lines = converse(make(lambda value, context: "x" * size), handshake + request_line())
    assert status == EXIT_OK
    assert len(lines) == 2
    assert len(lines[1]) - 1 <= LINE_LIMIT
    response = json.loads(lines[1])
    if over > 0:
        assert response["error"]["code"] == "output_too_large"
    else:
        assert response["output"] == "x" * size


def endless():
    value: list = []
    value.append(value)
    return value


def bottomless():
    value: list = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "make_output",
    [
        object,
        lambda: float("nan"),
        lambda: [float("inf")],
        lambda: "\ud800",
        lambda: {1, 2},
        endless,
        bottomless,
    ],
    ids=["object", "nan", "infinity", "lone surrogate", "set", "cycle", "depth"],
)
def test_an_output_that_is_not_json_is_answered_with_an_error_and_a_traceback_on_stderr(
    converse, handshake, request_line, capsys, make_output
):
    status, lines = converse(make(lambda value, context: make_output()), handshake + request_line())
    response = json.loads(lines[1])
    assert (status, len(lines)) == (EXIT_OK, 2)
    assert (response["request_id"], response["status"]) == ("r1", "error")
    assert response["error"]["code"] == "output_not_json"
    assert "Traceback" in capsys.readouterr().err


def test_a_host_that_is_gone_is_noticed_and_no_traceback_follows(monkeypatch, handshake, capsys):
    theirs, ours = os.pipe()
    from_us, to_us = os.pipe()
    os.close(from_us)
    os.write(ours, handshake)
    monkeypatch.setattr(stdio, "claim", lambda: (theirs, to_us))
    monkeypatch.setattr(stdio, "is_terminal", lambda: False)
    try:
        with pytest.raises(SystemExit) as ended:
            make().run()
    finally:
        for fd in (theirs, ours, to_us):
            os.close(fd)
    assert ended.value.code == EXIT_CONTRACT_BROKEN
    assert "Traceback" not in capsys.readouterr().err


# What it costs

COSTLY = {"asyncio", "typing", "dataclasses", "inspect", "logging", "threading", "json", "re", "enum"}

# Reports what had been imported when the first bytes went to the wire.
SPY = """
import os

real = os.write
def write(fd, data):
    os.write = real
    names = ",".join(sorted(sys.modules)).encode()
    real(2, names)
    return real(fd, data)

from plughost_sdk.execute import Plugin
plugin = Plugin("echoer", version="1.0", capabilities=["read"])

@plugin.tool
def echo(input, context):
    return input

os.write = write
plugin.run()
"""


def test_nothing_costly_is_imported_before_the_handshake_is_answered(run_child, handshake):
    child = run_child(SPY, handshake)
    assert json.loads(child.stdout)["type"] == "handshake"
    imported = {name.partition(".")[0] for name in child.stderr.decode().split(",")}
    assert "plughost_sdk" in imported
    assert imported & COSTLY == set()


def test_importing_the_package_imports_none_of_its_modules(run_child):
    child = run_child(
        "import plughost_sdk; print([n for n in sys.modules if n.startswith('plughost_sdk.')])", b""
    )
    assert child.stdout.decode().strip() == "[]"


def test_a_tool_that_exits_ends_the_process_with_its_status_and_without_an_answer(
    run_child, handshake, request_line
):
    source = SPY.replace("return input", "sys.exit(3)")
    child = run_child(source, handshake + request_line())
    assert child.returncode == 3
    assert child.stdout.count(b"\n") == 1
