"""The board in Go keeps the `duplex` contract byte for byte: frames, messages, both directions, its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.examples.duplex_board import INIT, MARKS, PROGRAM, build, cards, press, run, screen
from tests.examples.duplex_talk import WAIT_SECONDS, Message, Talk, b64, talk, unb64
from tests.sdk.duplex_wire import cli, error, event, frame, init, notification, render, request, result

LIMIT = 16_777_216  # bytes of a body

pytestmark = MARKS


@pytest.fixture(scope="module", autouse=True)
def built(tmp_path_factory: pytest.TempPathFactory) -> None:
    build(tmp_path_factory)


@pytest.fixture
def board() -> Iterator[Talk]:
    """A board that was initialised by a host that grants what it asks for."""
    with Talk(PROGRAM) as board:
        board.result("plugin/init", INIT)
        yield board


# Frames

SMALL = frame(request(7, "plugin/nothing"))


def test_frames_may_come_byte_by_byte_and_several_at_once() -> None:
    with Talk(PROGRAM) as board:
        for byte in frame(render(1, 9, 4)):
            board.send(bytes([byte]))
        board.until(1)
        board.send(b"".join(frame(cli(n, "board", ["add", "x"])) for n in range(2, 30)))
        for n in range(2, 30):
            assert unb64(board.until(n)["result"]["stdout"]) == b"%d\n" % (n - 1)


def test_an_end_between_two_frames_is_the_end_and_anywhere_else_a_failure() -> None:
    whole = SMALL + SMALL
    for cut in (0, *range(len(SMALL), len(whole) + 1)):
        ended = talk(PROGRAM, whole[:cut])
        is_clean = cut % len(SMALL) == 0
        assert ended.code == (0 if is_clean else 1), cut
        assert bool(ended.stderr) == (not is_clean), cut
        assert len(ended.said) == cut // len(SMALL), cut


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\n\n{}",
        b"Content-Length: 2\r\n\n{}",
        b"Content-Length: +2\r\n\r\n{}",
        b"Content-Length: -2\r\n\r\n{}",
        b"Content-Length: 1_0\r\n\r\n{}",
        b"Content-Length: 0x2\r\n\r\n{}",
        b"Content-Length: 2.0\r\n\r\n{}",
        b"Content-Length: \xd9\xa2\r\n\r\n{}",
        b"Content-Length:\r\n\r\n{}",
        b"Content-Length 2\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-Type: x\r\n\r\n{}",
        b"Content-Type: x\r\n\r\n{}",
        b"\r\n{}",
        b"{}\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_header_ends_it(header: bytes) -> None:
    ended = talk(PROGRAM, SMALL, header, SMALL)
    assert (ended.code, [each["id"] for each in ended.said]) == (1, [7])
    assert ended.stderr


@pytest.mark.parametrize("header", [b"content-length:2\r\n\r\n{}", b"Content-Length:\t2 \r\n\r\n{}"])
def test_a_header_may_be_spelled_in_other_ways(header: bytes) -> None:
    assert talk(PROGRAM, header, SMALL).code == 0


@pytest.mark.parametrize(("size", "code"), [(8191, 0), (8192, 0), (8193, 1)])
def test_a_header_block_of_8192_bytes_is_the_longest(size: int, code: int) -> None:
    blanks = b" " * (size - len(b"Content-Length:2\r\n\r\n"))
    ended = talk(PROGRAM, b"Content-Length:" + blanks + b"2\r\n\r\n{}", SMALL)
    assert (ended.code, len(ended.said)) == (code, 1 - code)


@pytest.mark.thin(2)
@pytest.mark.parametrize("size", [LIMIT, LIMIT - 1])
def test_a_body_of_up_to_16_mib_is_read(size: int) -> None:
    message = request(1, "plugin/nothing", {"x": ""})
    body = json.dumps(message).encode()
    body = body.replace(b'"x": ""', b'"x": "%s"' % (b"y" * (size - len(body))))
    assert len(body) == size
    ended = talk(PROGRAM, body_frame := frame(body), SMALL)
    assert len(body_frame) > size
    assert (ended.code, [each["error"]["code"] for each in ended.said]) == (0, [-32601, -32601])


@pytest.mark.parametrize("size", [LIMIT + 1, 2**31, 2**63, 2**64, 10**30])
def test_a_length_over_16_mib_ends_it_at_once(size: int) -> None:
    with Talk(PROGRAM) as board:
        board.send(b"Content-Length: %d\r\n\r\n" % size)  # and the input stays open
        assert board.receive() is None
        assert board.process.wait(200) == 1


def test_an_answer_at_the_size_of_a_screen_of_65535_cells_each_way_fits_a_frame(board: Talk) -> None:
    for number in range(200):
        assert run(board, "add", "語" * 115, str(number))[2] == 0
    assert len(screen(board, 65_535, 65_535)) == 65_535


def test_a_host_that_does_not_read_ends_it() -> None:
    with Talk(PROGRAM) as board:
        assert board.process.stdout is not None
        board.process.stdout.close()
        board.send(SMALL)
        assert board.process.wait(200) == 1


# Messages


@pytest.mark.parametrize("id", [0, 1, 2**53 + 1, 2**63, 2**64 - 1, -1, "text"])
def test_a_request_is_answered_under_its_id(id: Any) -> None:
    (answer,) = talk(PROGRAM, request(id, "plugin/shutdown")).said
    assert answer == {"jsonrpc": "2.0", "id": id, "result": {}}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"garbage",
        b"{",
        b"null",
        b"5",
        b"[]",
        b'[{"jsonrpc":"2.0","id":1,"method":"plugin/shutdown"}]',
        b'{"id":1,"method":"plugin/shutdown"}',
        b'{"jsonrpc":"1.0","id":1,"method":"plugin/shutdown"}',
        b'{"jsonrpc":2.0,"id":1,"method":"plugin/shutdown"}',
        b'{"jsonrpc":"2.0","id":null,"method":"plugin/shutdown"}',
        b'{"jsonrpc":"2.0","id":[1],"method":"plugin/shutdown"}',
        b'{"jsonrpc":"2.0","id":true,"method":"plugin/shutdown"}',
        b'{"jsonrpc":"2.0","id":1,"method":5}',
        b'{"jsonrpc":"2.0","id":1,"method":null}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":"a","result":{}}',
        b'{"jsonrpc":"2.0","result":{}}',
        b'{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_message_is_ignored_and_the_conversation_goes_on(body: bytes) -> None:
    ended = talk(PROGRAM, frame(body), SMALL)
    assert (ended.code, [each["id"] for each in ended.said]) == (0, [7])
    assert "ignored" in ended.stderr


def test_a_flood_of_them_is_not_a_flood_of_complaints() -> None:
    ended = talk(PROGRAM, frame(b"x") * 5_000, SMALL)
    assert (ended.code, len(ended.said)) == (0, 1)
    assert len(ended.stderr.splitlines()) < 20


@pytest.mark.parametrize(
    "method", ["plugin/handle_key", "plugin/handle_event", "plugin/Init", "", "host/log"]
)
def test_a_request_for_what_it_does_not_have_is_method_not_found(method: str) -> None:
    (answer,) = talk(PROGRAM, request(1, method)).said
    assert answer["error"]["code"] == -32601


@pytest.mark.parametrize(
    "method", ["plugin/render", "plugin/init", "plugin/cli_dispatch", "plugin/new", "host/log"]
)
def test_a_notification_of_what_is_none_is_ignored(method: str) -> None:
    ended = talk(PROGRAM, notification(method, {"viewport": 1}), SMALL)
    assert (ended.code, [each["id"] for each in ended.said]) == (0, [7])


def spoilt(good: Message, path: str, *values: Any) -> list[tuple[str, Any]]:
    """Return *good* with what is at *path* in turn left out and each of *values*."""
    found = []
    for value in ("left out", *values):
        params = json.loads(json.dumps(good))
        *before, last = path.split(".")
        inner = params
        for each in before:
            inner = inner[each]
        if value == "left out":
            del inner[last]
        else:
            inner[last] = value
        found.append((f"{path} {json.dumps(value)[:20]}", params))
    return found


VIEW = {"viewport": {"width": 3, "height": 2}, "generation": 0}
COMMAND = {"namespace": "board", "argv": ["list"]}
INVOKED = {"action": "board.add", "payload": b64(b"milk"), "timeout_ms": 0}
NUMBERS = (-1, 65_536, 1.0, 1.5, "1", True, None, [], {})
TEXTS = (None, 5, [], {}, True)
BYTES = (None, 5, {}, "QQ", "QQ=", "QR==", "Q\nQ==", "Q Q=", "-_==", [256], [-1], [1.5], [None], ["a"])
WRONG = [
    *(("plugin/render", *each) for each in spoilt(VIEW, "viewport", None, 5, [], [3, 2])),
    *(("plugin/render", *each) for each in spoilt(VIEW, "viewport.width", *NUMBERS)),
    *(("plugin/render", *each) for each in spoilt(VIEW, "viewport.height", *NUMBERS)),
    *(("plugin/render", *each) for each in spoilt(VIEW, "generation", -1, 2**64, "0", None)[1:]),
    *(("plugin/cli_dispatch", *each) for each in spoilt(COMMAND, "namespace", *TEXTS)),
    *(("plugin/cli_dispatch", *each) for each in spoilt(COMMAND, "argv", None, "list", 5, [5], [None], {})),
    *(("host/action/invoke", *each) for each in spoilt(INVOKED, "action", *TEXTS)),
    *(("host/action/invoke", *each) for each in spoilt(INVOKED, "payload", *BYTES)),
    *(("host/action/invoke", *each) for each in spoilt(INVOKED, "timeout_ms", -1, 2**64, "0", None)[1:]),
    *(("plugin/init", *each) for each in spoilt(INIT, "manifest_path", *TEXTS)),
    *(("plugin/init", *each) for each in spoilt(INIT, "abi_version", -1, 2**32, "2", 2.0, None)),
    *(("plugin/init", *each) for each in spoilt(INIT, "granted_capabilities", None, "event_bus", [1], [None])),
    *((method, f"params {params}", params)
      for method in ("plugin/init", "plugin/render", "plugin/cli_dispatch", "host/action/invoke")
      for params in (None, [], 5, "x")),
]  # fmt: skip


def test_parameters_that_are_not_the_methods_are_invalid_and_change_nothing() -> None:
    requests = [request(n, method, params) for n, (method, _, params) in enumerate(WRONG)]
    for message, (_, _, params) in zip(requests, WRONG, strict=True):
        message["params"] = params  # also where it is None
    bare = [request(n, method) for n, method in enumerate(["plugin/init", "plugin/render"], len(WRONG))]
    for message in bare:
        del message["params"]
    listing = cli(-1, "board", ["list"])
    ended = talk(PROGRAM, *requests, *bare, listing)
    assert ended.code == 0
    found = {each["id"]: each.get("error", {}).get("code") for each in ended.said}
    names = [f"{method} {name}" for method, name, _ in WRONG]
    assert [name for n, name in enumerate(names) if found[n] != -32602] == []
    assert [found[len(WRONG)], found[len(WRONG) + 1]] == [-32602, -32602]
    assert ended.said[-1]["result"] == {"stdout": "", "stderr": "", "exit_code": 0}


def test_members_that_it_does_not_know_are_ignored_even_if_they_differ_in_case_alone() -> None:
    odd = {"viewport": {"width": 3, "height": 2, "Width": 9, "depth": None}, "Viewport": 5, "new": [1]}
    ended = talk(PROGRAM, {**request(1, "plugin/render", odd), "Method": "x", "trace": {}})
    buffer = ended.said[0]["result"]["buffer"]
    assert (buffer["width"], buffer["height"]) == (3, 2)


def test_bytes_may_come_as_a_list_of_numbers(board: Talk) -> None:
    answer = board.result("host/action/invoke", {"action": "board.add", "payload": list(b"milk")})
    assert json.loads(unb64(answer["payload"])) == {"id": 1}
    assert cards(board) == [(1, "todo", "milk")]


# Both directions at once


def test_what_comes_while_it_waits_is_handled_afterwards_and_in_order() -> None:
    held: list[Message] = []

    def later(message: Message) -> None:
        held.append(message)

    with Talk(PROGRAM, {"host/snapshot/subscribe": later}) as board:
        board.send(init(1))
        while not held:
            message = board.receive()
            assert message is not None
            board.hear(message)
        for word in ("a", "b", "c"):
            board.send(cli(word, "board", ["add", word]))
            press(board, "a", word, "enter")
        board.send(
            *[event("elsewhere", b64(b"x" * 100_000)) for _ in range(100)]
        )  # far more than a pipe holds
        board.send(result(held[0]["id"], {}))
        board.until(1)
        for word in ("a", "b", "c"):
            board.until(word)
        assert [title for _, _, title in cards(board)] == ["a", "a", "b", "b", "c", "c"]
        ids = [each["id"] for each in board.asked]
        assert len(set(ids)) == len(ids)
        assert all(type(each) is int and each >= 0 for each in ids)


def test_an_action_that_takes_long_holds_nothing_up() -> None:
    held: list[Message] = []

    def later(message: Message) -> None:
        held.append(message)

    with Talk(PROGRAM, {"host/action/invoke": later}) as board:
        board.result("plugin/init", {**INIT, "config": {"on_done": "notify.send"}})
        run(board, "add", "milk")
        assert run(board, "move", "1", "done")[2] == 0
        while not held:
            cards(board)
        assert held[0]["params"]["action"] == "notify.send"
        assert unb64(held[0]["params"]["payload"]) == b"milk"
        assert held[0]["params"]["timeout_ms"] > 0
        board.send(error(held[0]["id"], -32002, "it took too long"))
        while not (
            logged := [each["params"] for each in board.told if each["params"].get("level") == "warn"]
        ):
            cards(board)
        assert [each["fields"] for each in logged] == [{"title": "milk"}]
        assert "-32002" in logged[0]["message"]  # and not that it gave up by itself, after the commands
        assert board.end() == 0


@pytest.mark.parametrize("config", [None, {}, [], "x", {"on_done": None}, {"on_done": 5}, {"other": 1}])
def test_a_config_that_says_nothing_invokes_nothing(config: Any) -> None:
    with Talk(PROGRAM) as board:
        board.result("plugin/init", {**INIT, "config": config})
        run(board, "add", "milk")
        run(board, "move", "1", "done")
        assert board.end() == 0
        assert [each["method"] for each in board.asked] == ["host/snapshot/subscribe", "host/snapshot/get"]


# How it ends


def test_a_shutdown_ends_it_though_its_input_stays_open() -> None:
    with Talk(PROGRAM) as board:
        assert board.result("plugin/shutdown", {}) == {}
        assert board.receive() is None
        assert board.process.wait(WAIT_SECONDS) == 0
        assert board.stderr() == ""


def test_a_shutdown_that_is_told_and_not_asked_ends_it_too() -> None:
    with Talk(PROGRAM) as board:
        board.send(notification("plugin/shutdown"))
        assert board.receive() is None
        assert board.process.wait(WAIT_SECONDS) == 0


def test_the_end_of_its_input_is_enough_even_while_it_waits_for_an_answer() -> None:
    with Talk(PROGRAM, {"host/snapshot/subscribe": lambda message: None}) as board:
        board.send(init(1))
        message = board.receive()
        assert message is not None
        assert message["method"] == "host/snapshot/subscribe"
        assert board.process.stdin is not None
        board.process.stdin.close()
        assert board.process.wait(200) == 0


def test_what_was_asked_before_the_end_is_answered() -> None:
    ended = talk(PROGRAM, *[cli(n, "board", ["add", "x"]) for n in range(50)])
    assert (ended.code, [each["id"] for each in ended.said]) == (0, list(range(50)))
