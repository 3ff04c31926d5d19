"""The plugin's side of the `duplex` wire: order, calls from within handlers, bad input, ends, and full pipes."""

import json
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk import duplex, duplex_conversation
from plughost_sdk.duplex_conversation import EXIT_BROKEN, EXIT_OK, LIMIT

from tests.sdk.duplex_wire import (
    action,
    cli,
    connected,
    error,
    event,
    frame,
    init,
    key,
    notification,
    render,
    request,
    result,
    serve,
)

FOUND = {"payload": "aGk=", "version": 7}  # "hi"
NOTHING = {"payload": None, "version": 0}
DENIED, NOT_FOUND, INVALID = -32001, -32601, -32602


def make(name="probe"):
    return duplex.Plugin(name, version="1.0.0")


def code(message):
    """Return the id and the code of an answer that is an error and nothing else."""
    assert set(message) == {"jsonrpc", "id", "error"}
    assert isinstance(message["error"]["message"], str)
    return message["id"], message["error"]["code"]


def get_in_handler(kind, register):
    """Return a plugin that asks the host in the handler *kind*, and what it was told."""
    plugin, told = make(), []

    def handler(*given):
        told.append(plugin.host.snapshot.get("t"))
        return b"" if kind == "action" else None

    register(plugin)(handler)
    return plugin, told


HANDLERS = {
    "on_init": (lambda plugin: plugin.on_init, init(5)),
    "render": (lambda plugin: plugin.render, render(5)),
    "on_key": (lambda plugin: plugin.on_key, key()),
    "on_event": (lambda plugin: plugin.on_event("t"), event()),
    "cli": (lambda plugin: plugin.cli("usage"), cli(5)),
    "action": (lambda plugin: plugin.action("act"), action(5)),
    "on_shutdown": (lambda plugin: plugin.on_shutdown, request(5, "plugin/shutdown")),
}
CALL = request(1, "host/snapshot/get", {"topic": "t"})


# Calls from within handlers


@pytest.mark.parametrize("kind", HANDLERS)
def test_every_handler_may_call_the_host_and_is_answered(kind):
    register, trigger = HANDLERS[kind]
    plugin, told = get_in_handler(kind, register)
    status, said = serve(plugin, trigger, result(1, FOUND))
    assert status == EXIT_OK
    assert told == [(b"hi", 7)]
    assert said[0] == CALL
    assert [each["id"] for each in said[1:]] == ([5] if "id" in trigger else [])
    assert all("result" in each for each in said[1:])


@pytest.mark.parametrize("kind", HANDLERS)
def test_a_call_that_the_host_never_answers_fails_when_it_hangs_up(kind, capfd):
    register, trigger = HANDLERS[kind]
    plugin, told = get_in_handler(kind, register)
    status, said = serve(plugin, trigger)
    assert (status, told) == (EXIT_OK, [])
    assert [code(each) for each in said[1:]] == ([(5, INVALID)] if "id" in trigger else [])
    assert "Traceback" not in capfd.readouterr().err


def test_the_same_id_may_be_under_way_in_both_directions():
    plugin, told = get_in_handler("cli", lambda plugin: plugin.cli("usage"))
    _, said = serve(plugin, cli(1), result(1, FOUND))
    assert told == [(b"hi", 7)]
    assert [(each["id"], "method" in each) for each in said] == [(1, True), (1, False)]


def test_what_comes_while_a_handler_waits_is_handled_after_it_in_order():
    plugin, order = make(), []

    @plugin.on_event
    def event_(topic, payload):
        order.append(topic)
        if topic == "first":
            plugin.host.snapshot.get("t")
            order.append("answered")

    @plugin.on_key
    def key_(screen_id, key):
        order.append(str(key))

    meanwhile = [event("second"), key(), cli(9), event("third")]
    _, said = serve(plugin, event("first"), *meanwhile, result(1, NOTHING), event("fourth"))
    assert order == ["first", "answered", "second", "esc", "third", "fourth"]
    assert [each["id"] for each in said] == [1, 9]


def test_order_holds_when_queued_handlers_wait_themselves():
    plugin, order = make(), []

    @plugin.on_event
    def event_(topic, payload):
        plugin.host.snapshot.get("t")
        order.append(topic)

    wire = []
    for number in range(50):
        wire += [event(str(2 * number)), event(str(2 * number + 1)), result(number + 1, NOTHING)]
    wire += [result(number + 1, NOTHING) for number in range(50, 100)]
    status, said = serve(plugin, *wire)
    assert (status, len(said)) == (EXIT_OK, 100)
    assert order == [str(number) for number in range(100)]


def test_a_flood_of_events_ahead_of_a_response_is_kept_whole():
    plugin, seen = make(), []

    @plugin.on_event
    def event_(topic, payload):
        if not seen:
            plugin.host.snapshot.get("t")
        seen.append(topic)

    names = [str(number) for number in range(5_000)]
    serve(plugin, *map(event, names), result(1, NOTHING))
    assert seen == names


def test_a_queue_over_its_bound_fails_the_waiting_call_and_loses_nothing(monkeypatch):
    monkeypatch.setattr(duplex_conversation, "QUEUE_LIMIT", 10_000)
    plugin, seen = make(), []

    @plugin.on_event
    def event_(topic, payload):
        if topic == "0":
            with pytest.raises(duplex.QueueFull):
                plugin.host.snapshot.get("t")
        seen.append(topic)

    status, _ = serve(
        plugin, *(event(str(number)) for number in range(40)), result(1, NOTHING), event("last")
    )
    assert status == EXIT_OK
    assert seen == [*map(str, range(40)), "last"]


def test_a_call_in_another_thread_is_refused_and_a_publish_is_sent():
    plugin = make()

    @plugin.cli("usage")
    def usage(argv):
        failed = []

        def work():
            plugin.host.snapshot.publish("t", b"hi")
            try:
                plugin.host.snapshot.get("t")
            except RuntimeError as error:
                failed.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return len(failed)

    _, said = serve(plugin, cli(1))
    assert said[0] == notification("host/snapshot/publish", {"topic": "t", "payload": "aGk="})
    assert said[1]["result"]["exit_code"] == 1
    assert len(said) == 2


def test_two_full_pipes_do_not_lock_up():
    plugin, size, sizes = make(), 1_000_000, []
    plugin.on_event(lambda topic, payload: sizes.append(len(payload)))
    plugin.cli("usage")(lambda argv: plugin.host.snapshot.publish("t", bytes(size)))
    with connected(plugin) as host:
        host.send(cli(1))
        host.send(event(payload="A" * size))  # returns only if the plugin reads, and nobody reads the plugin
        assert host.receive()["params"]["topic"] == "t"
        assert host.receive()["id"] == 1
        assert host.end() == EXIT_OK
    assert sizes == [size * 3 // 4]


def test_two_full_pipes_do_not_lock_up_if_another_thread_is_writing():
    plugin, size, sizes, is_writing = make(), 1_000_000, [], threading.Event()
    plugin.on_event(lambda topic, payload: sizes.append(len(payload)))

    @plugin.cli("usage")
    def usage(argv):
        thread = threading.Thread(target=plugin.host.snapshot.publish, args=("thread", bytes(size)))
        thread.start()
        is_writing.wait(timeout=250)
        plugin.host.snapshot.publish("handler", b"")
        thread.join()

    with connected(plugin) as host:
        host.send(cli(1))
        host.peek()  # the thread is in the middle of its frame
        is_writing.set()
        host.send(event(payload="A" * size))  # as above
        assert [host.receive()["params"]["topic"] for _ in range(2)] == ["thread", "handler"]
        assert host.receive()["id"] == 1
        assert host.end() == EXIT_OK
    assert sizes == [size * 3 // 4]


# What the host may answer


def outcome(*responses):
    """Return what a call makes of the responses."""
    plugin, told = make(), []

    @plugin.on_key
    def key_(screen_id, key):
        try:
            told.append(plugin.host.snapshot.get("t"))
        except duplex.HostError as error:
            told.append((error.code, error.message, error.data))

    status, _ = serve(plugin, key(), *responses)
    assert status == EXIT_OK
    (only,) = told
    return only


def test_an_error_of_the_host_is_raised_with_all_that_it_says():
    given = error(1, DENIED, "capability denied: event_bus", data={"topic": "t"})
    assert outcome(given) == (DENIED, "capability denied: event_bus", {"topic": "t"})


@pytest.mark.parametrize(
    "given",
    [
        {"id": 1},
        {"id": 1, "result": None},
        {"id": 1, "result": 5},
        {"id": 1, "result": {"payload": 5}},
        {"id": 1, "result": {"payload": "a"}},
        {"id": 1, "result": {"payload": "QR=="}},
        {"id": 1, "result": {"payload": "a b="}},
        {"id": 1, "result": {"payload": [256]}},
        {"id": 1, "result": {"payload": [True]}},
        {"id": 1, "result": {"payload": "", "version": -1}},
        {"id": 1, "result": {"payload": "", "version": 1.0}},
        {"id": 1, "result": {"payload": "", "version": True}},
        {"id": 1, "error": "no"},
        {"id": 1, "error": {"code": "5", "message": "m"}},
        {"id": 1, "error": {"code": True, "message": "m"}},
        {"id": 1, "error": {"code": 5}},
        {"id": 1, "error": {}, "result": FOUND},
    ],
    ids=str,
)
def test_a_malformed_response_fails_that_call_and_no_more(given):
    assert outcome({"jsonrpc": "2.0", **given})[0] == INVALID


@pytest.mark.parametrize(
    "given",
    [
        {"id": 1, "result": FOUND},
        {"id": 1, "result": FOUND, "error": None},
        {"id": 1, "result": {"payload": [104, 105], "version": 7, "more": 1}},
    ],
    ids=str,
)
def test_every_spelling_of_a_result_is_understood(given):
    assert outcome(given) == (b"hi", 7)


@pytest.mark.parametrize("id", ["1", 1.0, True, None, [1], 2, -1, 2**80], ids=repr)
def test_a_response_that_nobody_waits_for_is_ignored(id):
    assert outcome(result(id, NOTHING), result(1, FOUND), result(1, NOTHING)) == (b"hi", 7)


# What the host may ask


@pytest.mark.parametrize("when", ["before init", "after init"])
def test_an_unknown_request_is_refused_and_an_unknown_notification_ignored(when):
    before = [init(1)] if when == "after init" else []
    status, said = serve(
        make(), *before, request(8, "plugin/nonsense"), notification("plugin/nonsense"), render(9)
    )
    assert status == EXIT_OK
    assert code(said[-2]) == (8, NOT_FOUND)
    assert said[-1]["id"] == 9


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"null",
        b"\xff\xfe{\x00}\x00",
        b'{"id":1}',
        b'{"id":1,"method":null}',
        b'{"id":null,"method":"plugin/render"}',
        b'{"method":["plugin/render"]}',
        b'[{"jsonrpc":"2.0","id":1,"method":"plugin/init"}]',
        b'{"id":3,"method":"plugin/shutdown","params":NaN}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"id":' + b"9" * 5_000 + b"}",
    ],
    ids=lambda body: repr(body[:40]),
)
@pytest.mark.parametrize("when", ["at first", "after init"])
def test_a_body_that_is_no_message_is_ignored_and_the_next_one_served(body, when):
    before = [init(1)] if when == "after init" else []
    status, said = serve(make(), *before, frame(body), render(9))
    assert status == EXIT_OK
    assert said[-1]["id"] == 9
    assert [each["id"] for each in said[:-1] if "result" in each] == [1] * len(before)


@pytest.mark.parametrize(
    "id", ["x" * 1025, "\ud800", 1.5, True, None, [1], {}, 2**63, -(2**63) - 1], ids=repr
)
def test_what_is_no_id_makes_a_notification_that_is_handled_without_a_reply(id):
    plugin, ran = make(), []
    plugin.cli("usage")(lambda argv: ran.append(argv))
    status, said = serve(plugin, cli(id, argv=["x"]), render(9))
    assert (status, ran) == (EXIT_OK, [["x"]])
    assert [each["id"] for each in said] == [9]


@pytest.mark.parametrize("id", [0, -1, 1, 2**53 + 1, 2**63 - 1, -(2**63), "a", "", "1", 'é"\\\n', "x" * 1024])
def test_an_id_of_64_bits_or_a_text_comes_back_as_it_was(id):
    _, said = serve(make(), render(id), request(id, "plugin/nonsense"), {**render(id), "params": 5})
    assert [each["id"] for each in said] == [id, id, id]


SIZE = {"width": 1, "height": 1}
BAD_PARAMS = {
    "plugin/init": [
        None,
        {},
        [],
        {"manifest_path": "m", "granted_capabilities": []},
        {"manifest_path": 1, "granted_capabilities": [], "abi_version": 2},
        {"manifest_path": "m", "granted_capabilities": [1], "abi_version": 2},
        {"manifest_path": "m", "granted_capabilities": "a", "abi_version": 2},
        {"manifest_path": "m", "granted_capabilities": [], "abi_version": True},
        {"manifest_path": "m", "granted_capabilities": [], "abi_version": 2**32},
    ],
    "plugin/render": [
        None,
        {},
        {"viewport": None},
        {"viewport": {"width": 1}},
        {"viewport": {**SIZE, "width": 65_536}},
        {"viewport": {**SIZE, "width": -1}},
        {"viewport": {**SIZE, "width": 1.0}},
        {"viewport": {**SIZE, "width": "1"}},
        {"viewport": {**SIZE, "width": True}},
        {"viewport": SIZE, "generation": -1},
        {"viewport": SIZE, "generation": 2**64},
    ],
    "plugin/handle_event": [
        None,
        {},
        {"topic": "t"},
        {"topic": 1, "payload": ""},
        {"topic": "t", "payload": "a"},
    ],
    "plugin/handle_key": [
        None,
        {"screen_id": "s", "key": {"code": {"type": "esc"}}},
        {"screen_id": "s", "key": {}, "generation": 0},
        {"screen_id": "s", "key": {"code": "esc"}, "generation": 0},
        {"screen_id": "s", "key": {"code": {"type": "char"}}, "generation": 0},
        {"screen_id": "s", "key": {"code": {"type": "char", "ch": "ab"}}, "generation": 0},
        {"screen_id": "s", "key": {"code": {"type": "f", "n": 256}}, "generation": 0},
        {"screen_id": "s", "key": {"code": {"type": "esc"}, "mods": 256}, "generation": 0},
        {"screen_id": "s", "key": {"code": {"type": "esc"}, "kind": "held"}, "generation": 0},
    ],
    "plugin/cli_dispatch": [
        None,
        {},
        {"namespace": "usage"},
        {"namespace": "usage", "argv": "x"},
        {"namespace": "usage", "argv": [1]},
    ],
    "host/action/invoke": [None, {}, {"action": "act"}, {"action": "act", "payload": "", "timeout_ms": -1}],
}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        pytest.param(method, each, id=f"{method} {each}")
        for method, all_ in BAD_PARAMS.items()
        for each in all_
    ],
)
def test_bad_params_are_refused_without_running_the_handler(method, params, capfd):
    plugin = make()
    for kind, (register, _) in HANDLERS.items():
        if kind != "on_shutdown":
            register(plugin)(lambda *given: pytest.fail("it ran"))
    bad = request(1, method)
    status, said = serve(plugin, {**bad, "params": params}, {**notification(method), "params": params})
    assert status == EXIT_OK
    (only,) = said
    assert code(only) == (1, INVALID)
    assert "it ran" not in capfd.readouterr().err


# Handlers that fail


def raising(error):
    def handler(*given):
        raise error

    return handler


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    "raised",
    [ValueError("bad \ud800"), OSError("no"), KeyError(), RecursionError(), Unprintable(), EOFError()],
    ids=lambda raised: type(raised).__name__,
)
@pytest.mark.parametrize(
    "kind", [kind for kind in HANDLERS if kind != "on_shutdown"]
)  # after which there is no next
def test_an_exception_fails_its_call_with_a_traceback_and_the_next_is_served(kind, raised, capfd):
    plugin = make()
    register, trigger = HANDLERS[kind]
    register(plugin)(raising(raised))
    status, said = serve(plugin, trigger, request(6, "plugin/nonsense"))
    assert status == EXIT_OK
    assert [code(each) for each in said] == ([(5, INVALID)] if "id" in trigger else []) + [(6, NOT_FOUND)]
    assert capfd.readouterr().err


def test_an_error_of_the_plugins_own_is_answered_as_it_is_and_not_printed(capfd):
    plugin = make()
    plugin.cli("usage")(raising(duplex.PluginError(DENIED, "capability denied: fs.read", {"path": "x"})))
    _, (said,) = serve(plugin, cli(1))
    assert said == error(1, DENIED, "capability denied: fs.read", data={"path": "x"})
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (("-1", "no"), INVALID),
        ((True, "no"), INVALID),
        ((None, "no"), INVALID),
        ((-1, None), -1),
        ((-1, "\ud800"), -1),
    ],
    ids=repr,
)
def test_an_error_that_is_none_is_a_failure_like_others(of, expected):
    plugin = make()

    @plugin.cli("usage")
    def usage(argv):
        raise duplex.PluginError(*of)

    _, said = serve(plugin, cli(1), render(2))
    assert code(said[0]) == (1, expected)
    assert said[1]["id"] == 2


def test_an_error_of_the_host_that_a_handler_lets_through_keeps_its_code():
    plugin, _ = get_in_handler("cli", lambda plugin: plugin.cli("usage"))
    _, said = serve(plugin, cli(3), error(1, DENIED))
    assert code(said[1]) == (3, DENIED)


def test_data_that_json_cannot_carry_costs_the_data_and_not_the_code():
    plugin = make()
    plugin.cli("usage")(raising(duplex.PluginError(DENIED, "no", object())))
    _, (said,) = serve(plugin, cli(1))
    assert said == error(1, DENIED, "no")


@pytest.mark.parametrize(
    "drawn",
    [5, {"cells": object()}, {"cells": "\ud800"}, {"cells": float("nan")}],
    ids=["number", "object", "surrogate", "nan"],
)
def test_a_result_that_cannot_be_sent_is_answered_with_an_error(drawn):
    plugin = make()
    plugin.render(lambda viewport: drawn)
    status, said = serve(plugin, init(1), render(2), render(3))
    assert status == EXIT_OK
    assert [code(each) for each in said[1:]] == [(2, INVALID), (3, INVALID)]


# Limits


def publish_size(length):
    """Return how many bytes of payload make a publish of *length* bytes of body, if any do."""
    empty = len(b'{"jsonrpc":"2.0","method":"host/snapshot/publish","params":{"topic":"","payload":""}}')
    return (length - empty) % 4, (length - empty) // 4 * 3


@pytest.mark.parametrize(("over", "fits"), [(-1, True), (0, True), (1, False)])
def test_a_publish_over_the_frame_limit_fails_alone(over, fits, monkeypatch):
    limit = 10_000
    monkeypatch.setattr(duplex_conversation, "LIMIT", limit)
    plugin, failures = make(), []
    letters, size = publish_size(limit + over)

    @plugin.on_key
    def key_(screen_id, key):
        try:
            plugin.host.snapshot.publish("t" * letters, bytes(size))
        except duplex.FrameTooLarge as error:
            failures.append(error)

    status, said = serve(plugin, key(), render(2))
    assert (status, len(failures)) == (EXIT_OK, 0 if fits else 1)
    assert [each.get("id") for each in said] == ([None] if fits else []) + [2]
    if fits:
        assert len(json.dumps(said[0], separators=(",", ":"))) == limit + over


def test_the_frame_limit_is_the_contracts():
    assert LIMIT == 16 * 1024 * 1024


def test_a_call_over_the_frame_limit_fails_alone_and_wastes_no_response():
    plugin, told = make(), []

    @plugin.on_key
    def key_(screen_id, key):
        with pytest.raises(duplex.FrameTooLarge):
            plugin.host.snapshot.get("t" * LIMIT)
        told.append(plugin.host.snapshot.get("t"))

    status, said = serve(plugin, key(), result(1, NOTHING), result(2, FOUND))
    assert (status, told) == (EXIT_OK, [(b"hi", 7)])
    assert [each["id"] for each in said] == [2]


def test_a_reply_over_the_frame_limit_is_answered_with_an_error():
    plugin = make()
    plugin.cli("usage")(lambda argv: bytes(LIMIT))
    status, said = serve(plugin, cli(1), render(2))
    assert status == EXIT_OK
    assert code(said[0]) == (1, INVALID)
    assert said[1]["id"] == 2


# How it arrives, and how it ends


def test_a_conversation_may_arrive_byte_by_byte():
    plugin, told = get_in_handler("cli", lambda plugin: plugin.cli("usage"))
    with connected(plugin) as host:
        for each in frame(init(1)) + frame(cli(2)):
            host.send_bytes(bytes([each]))
        assert [host.receive()["id"], host.receive()] == [1, CALL]
        for each in frame(result(1, FOUND)):
            host.send_bytes(bytes([each]))
        assert host.receive()["id"] == 2
    assert told == [(b"hi", 7)]


@given(cut=st.integers(0, len(frame(init(1)) + frame(render(2)))))
def test_an_end_is_clean_between_frames_and_broken_inside_one(cut):
    wire = frame(init(1)) + frame(render(2))
    whole = [len(frame(init(1))), len(wire)]
    status, said = serve(make(), wire[:cut])
    assert [each["id"] for each in said] == [1, 2][: sum(cut >= each for each in whole)]
    assert status == (EXIT_OK if cut in (0, *whole) else EXIT_BROKEN)


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello\n",
        b"Content-Length: 2\n\n{}",
        b"Content-Type: x\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: %d\r\n\r\n" % (LIMIT + 1),
        b"x" * 8_193,
        b"\r\n\r\n",
    ],
    ids=lambda garbage: repr(garbage[:30]),
)
@pytest.mark.parametrize("waiting", [False, True], ids=["idle", "in a call"])
def test_garbage_between_frames_ends_the_process_with_a_message(garbage, waiting, capfd):
    plugin, told = get_in_handler("on_key", lambda plugin: plugin.on_key)
    before = [key()] if waiting else []
    status, said = serve(plugin, *before, garbage, render(9))
    assert (status, told, len(said)) == (EXIT_BROKEN, [], len(before))
    complaint = capfd.readouterr().err
    assert "plughost-sdk" in complaint
    assert "Traceback" not in complaint


def test_what_came_before_the_end_is_handled_even_if_a_call_was_waiting():
    plugin, seen = make(), []

    @plugin.on_event
    def event_(topic, payload):
        seen.append(topic)
        plugin.host.snapshot.get("t")

    status, said = serve(plugin, event("a"), event("b"), event("c"))
    assert (status, seen, len(said)) == (EXIT_OK, ["a", "b", "c"], 3)


def test_a_host_that_does_not_read_any_more_ends_the_process(capfd):
    theirs, ours = os.pipe()
    given, to_us = os.pipe()
    os.close(theirs)
    os.write(to_us, frame(init(1)))
    assert make().serve(given, ours) == EXIT_BROKEN
    os.close(to_us)
    assert "Traceback" not in capfd.readouterr().err


def test_a_handler_that_swallows_the_loss_of_the_host_ends_the_process_all_the_same(capfd):
    plugin = make()

    @plugin.cli("usage")
    def usage(argv):
        with pytest.raises(OSError, match="pipe"):
            plugin.host.log.info("hi")
        raise ZeroDivisionError

    theirs, ours = os.pipe()
    given, to_us = os.pipe()
    os.close(theirs)
    os.write(to_us, frame(cli(1)))
    assert plugin.serve(given, ours) == EXIT_BROKEN
    os.close(to_us)


@pytest.mark.parametrize(
    "bad", [frame(b"?"), frame(event(payload="?")), frame(result(1, {}))], ids=["body", "params", "response"]
)
def test_bad_frames_without_end_are_complained_about_a_few_times(bad, capfd):
    serve(make(), bad * 1_000)
    assert capfd.readouterr().err.count("\n") == 10


def test_the_descriptors_are_closed_at_the_end():
    ends = [*os.pipe(), *os.pipe()]
    os.close(ends[1])
    make().serve(ends[0], ends[3])
    os.close(ends[2])
    for fd in ends:
        with pytest.raises(OSError, match="descriptor"):
            os.fstat(fd)
