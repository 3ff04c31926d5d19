"""The board in Go is a board: by itself, and in a fleet."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from plughost import PluginCrashed, RemoteError, blocking
from plughost.conformance import duplex as conformance
from plughost.conformance.report import Status
from plughost.contracts.duplex.keys import KeyCode, KeyEvent
from plughost.host.duplex import painting
from plughost.host.duplex.blocking_fleet import BlockingFleet
from plughost.manifest import duplex_manifest, duplex_registry
from plughost.manifest.duplex_limits import DuplexLimits
from plughost.manifest.duplex_narrowing import Narrowing
from plughost.supervision.states import State
from tests.examples.duplex_board import (
    CARDS,
    FOLDER,
    INBOX,
    INIT,
    MARKS,
    PROGRAM,
    build,
    cards,
    chunk,
    press,
    run,
    screen,
    tell,
)
from tests.examples.duplex_talk import Message, Talk, b64, talk, unb64
from tests.sdk.duplex_wire import error, event, init, notification, render, result

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


# Who it is


def test_it_answers_init_with_what_its_manifest_says() -> None:
    manifest = tomllib.loads((FOLDER / "manifest.toml").read_text())
    with Talk(PROGRAM) as board:
        said = board.result("plugin/init", INIT)
        assert said == {"name": "board-go", "version": "1.0.0", "abi_version": 2, "manifest": manifest}
        asked = [(each["method"], each["params"]["topic"]) for each in board.asked]
        assert asked == [("host/snapshot/subscribe", INBOX), ("host/snapshot/get", CARDS)]
        assert board.publishes(CARDS) == [[]]
    assert duplex_manifest.read(FOLDER).name == "board-go"


def test_another_abi_is_refused_with_the_code_for_it() -> None:
    (answer,) = talk(PROGRAM, init(1, abi_version=3)).said
    assert answer["error"]["code"] == -32003


def test_without_the_event_bus_it_asks_for_nothing_and_works() -> None:
    with Talk(PROGRAM) as board:
        board.result("plugin/init", {**INIT, "granted_capabilities": []})
        assert run(board, "add", "milk") == (b"1\n", b"", 0)
        assert (board.asked, board.told) == ([], [])


def test_calls_that_are_denied_do_not_keep_it_from_starting() -> None:
    def denied(message: Message) -> Message:
        return error(message["id"], -32001, "capability denied: event_bus")

    with Talk(PROGRAM, {"host/snapshot/subscribe": denied, "host/snapshot/get": denied}) as board:
        board.result("plugin/init", INIT)
        press(board, "a", "x", "enter")
        assert cards(board) == [(1, "todo", "x")]
        assert board.end() == 0


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"result": None}, id="result null"),
        pytest.param({"result": []}, id="result no object"),
        pytest.param({"error": "no"}, id="error a text"),
        pytest.param({"error": {"code": "x"}}, id="error without a code"),
        pytest.param({}, id="neither"),
        pytest.param({"result": {"payload": "~"}}, id="no base64"),
        pytest.param({"result": {"payload": 5}}, id="payload a number"),
        pytest.param({"result": {"payload": None, "version": 0}, "error": None}, id="error null"),
    ],
)
def test_whatever_the_host_answers_it_starts(answer: Message) -> None:
    def odd(message: Message) -> Message:
        return {"jsonrpc": "2.0", "id": message["id"], **answer}

    with Talk(PROGRAM, {"host/snapshot/subscribe": odd, "host/snapshot/get": odd}) as board:
        assert board.result("plugin/init", INIT)["name"] == "board-go"
        assert cards(board) == []


# What is kept


def kept(*found: dict[str, Any], version: int = 1) -> bytes:
    return json.dumps({"version": version, "published_ns": 1, "data": list(found)}).encode()


def restored(payload: bytes) -> Talk:
    def get(message: Message) -> Message:
        return result(message["id"], {"payload": b64(payload), "version": 3})

    board = Talk(PROGRAM, {"host/snapshot/get": get})
    board.result("plugin/init", INIT)
    return board


def test_a_new_process_goes_on_where_another_ended() -> None:
    with Talk(PROGRAM) as first:
        first.result("plugin/init", INIT)
        for title in ("milk", "Ä 語 😀"):
            run(first, "add", title)
        run(first, "move", "1", "doing")
        before = cards(first)
        latest = unb64(first.told[-1]["params"]["payload"])
        first.process.kill()
    with restored(latest) as second:
        assert cards(second) == before == [(2, "todo", "Ä 語 😀"), (1, "doing", "milk")]
        assert second.publishes(CARDS) == []  # nothing has changed
        assert run(second, "add", "bread") == (b"3\n", b"", 0)
        assert len(second.publishes(CARDS)) == 1


CARD = {"id": 1, "title": "milk", "column": "todo"}


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff", id="no JSON"),
        pytest.param(kept(CARD, version=0), id="version 0"),
        pytest.param(kept(CARD, version=2), id="version 2"),
        pytest.param(kept(CARD, CARD), id="one id twice"),
        pytest.param(kept({**CARD, "id": 0}), id="id 0"),
        pytest.param(kept({**CARD, "id": "1"}), id="id a text"),
        pytest.param(kept({**CARD, "column": "later"}), id="unknown column"),
        pytest.param(kept({**CARD, "title": ""}), id="no title"),
        pytest.param(kept({"id": 1}), id="half a card"),
        pytest.param(kept(*({**CARD, "id": n} for n in range(1, 202))), id="too many"),
        pytest.param(b'{"version":1,"published_ns":1,"data":{}}', id="no list"),
        pytest.param(b'{"version":1,"published_ns":1,"data":[5]}', id="no card"),
        pytest.param(b'{"version":1,"published_ns":1}', id="no data"),
        pytest.param(b'{"version":1,"published_ns":1,"chunk_index":1,"data":[]}', id="chunk 1"),
        pytest.param(b'{"version":1,"published_ns":1,"is_final":false,"data":[]}', id="not the last"),
    ],
)
def test_what_was_no_board_is_shown_and_not_taken_over(payload: bytes) -> None:
    with restored(payload) as board:
        assert "cannot be read" in screen(board)[-1]
        assert cards(board) == []
        assert [each["params"]["level"] for each in board.told] == ["warn"]


# What others publish


def test_an_inbox_adds_cards_and_publishes_once(board: Talk) -> None:
    tell(board, chunk("milk", "bread"))
    assert [title for _, _, title in cards(board)] == ["milk", "bread"]
    assert [len(each) for each in board.publishes(CARDS)] == [0, 2]


def parts(*indexes: int, final: int = 2, batch: int = 7) -> list[bytes]:
    return [chunk(f"{batch}.{n}", index=n, final=n == final, batch=batch) for n in indexes]


@pytest.mark.parametrize(
    ("payloads", "titles"),
    [
        pytest.param(parts(0, 1, 2), ["7.0", "7.1", "7.2"], id="whole"),
        pytest.param(parts(0, 1), [], id="not yet whole"),
        pytest.param(parts(1, 2), [], id="no beginning"),
        pytest.param(parts(0, 2), [], id="a gap"),
        pytest.param(parts(0, 2, 1, 2), [], id="a gap, too late"),
        pytest.param(parts(0, 1, 1, 2), [], id="one twice"),
        pytest.param([*parts(0, 1), *parts(0, 1, 2, batch=8)], ["8.0", "8.1", "8.2"], id="begun anew"),
        pytest.param([*parts(0, 1), *parts(2, batch=8)], [], id="the end of another"),
        pytest.param([*parts(0, 1, 2), *parts(1, 2)], ["7.0", "7.1", "7.2"], id="after the end"),
        pytest.param([*parts(0, 1), chunk("x", version=2), *parts(2)], [], id="another version between"),
    ],
)
def test_chunks_count_only_as_a_whole(board: Talk, payloads: list[bytes], titles: list[str]) -> None:
    tell(board, *payloads)
    assert [title for _, _, title in cards(board)] == titles


@pytest.mark.parametrize("version", [0, 2, 2**32 - 1])
def test_another_version_is_shown_until_something_else_happens(board: Talk, version: int) -> None:
    tell(board, chunk("milk", version=version))
    assert f"version {version}" in screen(board)[-1]
    assert cards(board) == []
    tell(board, chunk("bread"))
    assert "version" not in screen(board)[-1]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"version":"1"}',
        b'{"version":1}',
        b'{"version":1,"published_ns":-1,"data":[]}',
        b'{"version":1,"published_ns":1,"is_final":null,"data":[]}',
        b'{"version":1,"published_ns":1,"data":5}',
        b'{"version":1,"published_ns":1,"data":[5]}',
        b'{"version":1,"published_ns":1,"data":[{}]}',
        chunk(""),
        chunk(5),
        chunk("x" * 121),
    ],
)
def test_garbage_in_the_inbox_does_no_harm(board: Talk, payload: bytes) -> None:
    tell(board, payload, chunk("milk"))
    assert cards(board) == [(1, "todo", "milk")]


def test_other_topics_and_malformed_notifications_change_nothing(board: Talk) -> None:
    board.send(
        event("other", b64(chunk("milk"))), event(INBOX, "no base64"), event(INBOX, None), event(5, "")
    )
    board.send(notification("plugin/handle_event", None), notification("plugin/handle_key", {}))
    for key in (None, 5, {}, {"code": 5}, {"code": {}}, {"code": {"type": "char"}}):
        board.send(notification("plugin/handle_key", {"screen_id": "board", "key": key, "generation": 0}))
    for odd in ({"mods": -1}, {"mods": 256}, {"kind": 5}):
        press(board, "a", **odd)
    press(board, "a", "x", "enter")
    assert cards(board) == [(1, "todo", "x")]


# The screen

SIZES = [
    (0, 0),
    (1, 1),
    (0, 5),
    (5, 0),
    (2, 2),
    (3, 3),
    (4, 4),
    (10, 5),
    (23, 7),
    (24, 7),
    (80, 24),
    (500, 200),
]


def test_screens_of_every_size_are_drawn_within_it_and_the_same_again(board: Talk) -> None:
    for number in range(40):
        run(board, "add", f"{number} 語語語 e\u0301 👩\u200d👩 {'x' * number}")
    for number in ("1", "2"):
        run(board, "move", number, "done")
    for typing in (False, True):
        for width, height in SIZES:
            assert screen(board, width, height) == screen(board, width, height)
        press(board, "a", *("語" * 60))
        assert typing or screen(board, 12, 6)[4].endswith("_")


def test_ten_renders_are_the_same_bytes(board: Talk) -> None:
    run(board, "add", "milk")
    board.send(*[render(100, 80, 24) for _ in range(10)])
    assert len({json.dumps(board.until(100)) for _ in range(10)}) == 1


def test_the_chosen_card_is_always_on_the_screen(board: Talk) -> None:
    for number in range(50):
        run(board, "add", f"card {number}")
    for key, chosen in [("end", "card 49"), ("home", "card 0"), ("up", "card 0"), ("down", "card 1")]:
        press(board, key)
        buffer = board.result("plugin/render", {"viewport": {"width": 40, "height": 10}})["buffer"]
        reversed_cells = [cell["symbol"] for _, cell in buffer["cells"] if cell["modifier"] & 16]
        assert "".join(reversed_cells).partition(" ")[2] == chosen


def test_a_title_too_wide_for_its_column_is_cut_between_characters(board: Talk) -> None:
    run(board, "add", "語" * 30)
    row = screen(board, 30, 8)[3]
    assert row.rstrip().endswith("…")
    assert row.count("語") == 3  # of nine places, one for the number, one blank, one for the ellipsis


# Keys


def test_a_card_goes_through_its_life_by_keys(board: Talk) -> None:
    press(board, "a", *"milj", "backspace", "k", "enter")
    assert cards(board) == [(1, "todo", "milk")]
    press(board, "enter", "right", "enter")
    assert cards(board) == [(1, "done", "milk")]
    press(board, "right", "enter")  # there is nothing beyond
    assert cards(board) == [(1, "done", "milk")]
    press(board, "backspace", "left", "d")
    assert cards(board) == []
    assert len(board.publishes(CARDS)) == 6  # one at the start, one for each change


def test_what_is_typed_is_text_and_the_host_is_told_so(board: Talk) -> None:
    def captures() -> Any:
        return board.result("plugin/render", {"viewport": {"width": 40, "height": 9}})["captures_text"]

    assert captures() is False
    press(board, "a", *"add d")
    assert captures() is True
    assert screen(board, 40, 9)[-2:] == ["New card: add d_", "enter add  esc cancel"]
    press(board, "esc")
    assert captures() is False
    assert cards(board) == []


@pytest.mark.parametrize(
    "more",
    [{"kind": "release"}, {"mods": 2}, {"mods": 4}, {"mods": 8}],
    ids=["release", "ctrl", "alt", "super"],
)
def test_a_key_that_is_let_go_or_is_the_hosts_does_nothing(board: Talk, more: dict[str, Any]) -> None:
    press(board, "a", "x", "enter", **more)
    assert cards(board) == []


def test_keys_on_an_empty_board_and_keys_of_the_future_do_nothing(board: Talk) -> None:
    before = screen(board)
    press(
        board,
        "enter",
        "backspace",
        "delete",
        "d",
        "up",
        "down",
        "home",
        "end",
        "insert",
        "q",
        "f",
        "'",
        "esc",
    )
    assert screen(board) == before
    press(board, "a", "enter")  # a card without a title
    assert "title" in screen(board)[-1]
    assert cards(board) == []


# Commands and the action


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        ([], 0),
        (["list"], 0),
        (["list", "--json"], 0),
        (["help"], 0),
        (["--help"], 0),
        (["add", "x"], 0),
        (["add"], 2),
        (["add", ""], 1),
        (["add", "x" * 121], 1),
        (["move", "1", "done"], 1),
        (["move", "1", "later"], 2),
        (["move", "one", "done"], 2),
        (["move", "1"], 2),
        (["remove", "1"], 1),
        (["remove", "-1"], 1),
        (["remove", "99999999999999999999"], 2),
        (["remove"], 2),
        (["list", "--xml"], 2),
        (["sing"], 2),
        ([""], 2),
    ],
    ids=lambda value: " ".join(value)[:20] if isinstance(value, list) else None,
)
def test_a_command_ends_as_it_should(board: Talk, argv: list[str], status: int) -> None:
    _, stderr, found = run(board, *argv)
    assert (found, bool(stderr)) == (status, status != 0)


def test_a_listing_has_a_card_on_each_line_by_column(board: Talk) -> None:
    for title in ("milk", "a\tb\n\x1b[31m", "<&>"):
        run(board, "add", title)
    run(board, "move", "1", "done")
    assert run(board, "list")[0] == b"2\ttodo\ta b [31m\n3\ttodo\t<&>\n1\tdone\tmilk\n"
    assert run(board, "remove", "2") == (b"", b"", 0)
    assert [card[0] for card in cards(board)] == [3, 1]


def test_a_namespace_that_is_not_its_own_is_refused(board: Talk) -> None:
    done = board.result("plugin/cli_dispatch", {"namespace": "other", "argv": ["list"]})
    assert done["exit_code"] == 2
    assert b'"other"' in unb64(done["stderr"])


@pytest.mark.parametrize(("length", "code"), [(1, None), (120, None), (121, -32602), (0, -32602)])
def test_a_title_has_1_to_120_characters(board: Talk, length: int, code: int | None) -> None:
    answer = board.call("host/action/invoke", {"action": "board.add", "payload": b64("語".encode() * length)})
    assert answer.get("error", {}).get("code") == code
    assert len(cards(board)) == (code is None)


def test_an_action_takes_text_alone_and_only_one_name(board: Talk) -> None:
    for payload in (b"\xff", b" \n\t ", b"\x00"):
        answer = board.call("host/action/invoke", {"action": "board.add", "payload": b64(payload)})
        assert answer["error"]["code"] == -32602
    answer = board.call("host/action/invoke", {"action": "board.sub", "payload": ""})
    assert answer["error"]["code"] == -32601


def test_a_board_holds_200_cards_and_says_so(board: Talk) -> None:
    tell(board, chunk(*(f"{n} {'語' * 110}" for n in range(199))))
    assert run(board, "add", "the last")[2] == 0
    assert run(board, "add", "one more")[2] == 1
    assert (
        board.call("host/action/invoke", {"action": "board.add", "payload": b64(b"x")})["error"]["code"]
        == -32602
    )
    tell(board, chunk("x", "y"))
    assert "2 from the inbox refused" in screen(board)[-1]
    assert len(cards(board)) == 200
    largest = max(len(json.dumps(each)) for each in board.told)
    assert largest < 2_097_152  # or it would have to be cut into chunks


# As its host sees it


def test_it_passes_every_axis_of_what_it_offers() -> None:
    (binding,) = duplex_registry.discover(plugins=(FOLDER,)).loaded
    report = conformance.check(binding)
    others = {axis.id: axis.detail for axis in report.axes if axis.status is not Status.PASSED}
    assert list(others) == ["duplex:fs-path-guard"], others  # it reads no files


# In a fleet


QUICK = Narrowing(limits=DuplexLimits(backoff_s=(0.01,)))


@pytest.fixture
def fleet() -> Iterator[BlockingFleet]:
    with blocking.Host() as host, host.fleet(FOLDER, narrowings={"board-go": QUICK}) as fleet:
        yield fleet


def shown(fleet: BlockingFleet, width: int = 80, height: int = 24) -> str:
    return painting.text(fleet["board-go"].render(width, height).buffer)


def listed(fleet: BlockingFleet) -> bytes:
    return bytes(fleet.cli("board", ["list"]).stdout)


def test_a_host_finds_it_and_knows_what_it_provides(fleet: BlockingFleet) -> None:
    assert fleet.rejected == ()
    assert fleet["board-go"].start().name == "board-go"
    assert fleet.routes.conflicts == ()


def test_keys_commands_actions_and_publishes_end_on_one_board(fleet: BlockingFleet) -> None:
    done = fleet.cli("board", ["add", "milk"])
    assert (bytes(done.stdout), bytes(done.stderr), done.exit_code) == (b"1\n", b"", 0)
    assert json.loads(fleet.invoke("board.add", b"bread")) == {"id": 2}
    fleet.publish(INBOX, chunk("salt"))
    assert fleet["board-go"].key("board", KeyEvent(KeyCode("enter")))
    assert set(listed(fleet).splitlines()) == {b"1\tdoing\tmilk", b"2\ttodo\tbread", b"3\ttodo\tsalt"}
    assert "3 cards" in shown(fleet)
    kept = fleet.snapshot(CARDS)
    assert kept is not None
    assert (kept.publisher, len(json.loads(kept.payload)["data"])) == ("board-go", 3)


def test_an_error_of_it_reaches_the_caller(fleet: BlockingFleet) -> None:
    with pytest.raises(RemoteError) as caught:
        fleet.invoke("board.add", b"")
    assert caught.value.code == "-32602"
    with pytest.raises(RemoteError) as caught:
        fleet["board-go"].call("plugin/dance", {})
    assert caught.value.code == "-32601"


def test_a_card_that_is_done_is_told_to_an_action_of_the_host() -> None:
    told = threading.Event()
    titles = []

    def hear(payload: bytes) -> bytes:
        titles.append(payload)
        told.set()
        return b""

    config = {"board-go": {"on_done": "notify.send"}}
    with blocking.Host() as host:
        fleet = host.fleet(FOLDER, config=config, actions={"notify.send": hear})
        fleet.cli("board", ["add", "milk"])
        fleet.cli("board", ["move", "1", "done"])
        assert told.wait(200)
        assert titles == [b"milk"]


@pytest.mark.parametrize("kills", [1, 2])
def test_a_board_outlives_its_process(fleet: BlockingFleet, kills: int) -> None:
    fleet.cli("board", ["add", "milk"])
    for number in range(kills):
        pid = fleet["board-go"].status.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(PluginCrashed):  # raised where the call was on its way when it died
            listed(fleet)
        assert listed(fleet) == b"1\ttodo\tmilk\n"
        assert fleet["board-go"].status.pid != pid
        assert fleet["board-go"].status.failures == number + 1


def test_a_board_that_is_stopped_and_started_again_is_the_same(fleet: BlockingFleet) -> None:
    fleet.cli("board", ["add", "milk"])
    fleet["board-go"].stop()
    assert fleet["board-go"].state is State.IDLE
    assert fleet["board-go"].status.failures == 0
    assert listed(fleet) == b"1\ttodo\tmilk\n"


def test_a_host_that_takes_the_event_bus_away_has_a_board_without_a_memory() -> None:
    narrow = Narrowing(capabilities={"event_bus": False})
    with blocking.Host() as host:
        fleet = host.fleet(FOLDER, narrowings={"board-go": narrow})
        fleet.cli("board", ["add", "milk"])
        assert listed(fleet) == b"1\ttodo\tmilk\n"
        assert fleet.snapshot(CARDS) is None
        assert fleet["board-go"].status.denied == 0
        fleet["board-go"].stop()
        assert listed(fleet) == b""
