"""Several frames in one read of the plugin, or parts of one: whatever the pieces, it is the same conversation."""

import os
import tempfile
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk import duplex, duplex_conversation
from plughost_sdk.duplex_conversation import EXIT_BROKEN, EXIT_OK, READ_SIZE

from tests.sdk.duplex_wire import (
    action,
    cli,
    connected,
    event,
    frame,
    init,
    key,
    notification,
    request,
    result,
    unframe,
)

FOUND = {"payload": "aGk=", "version": 7}  # "hi"


class Recorder:
    """A plugin that notes what it handles, in order. Topics and commands that begin with "ask" call the host."""

    def __init__(self):
        self.plugin, self.order = duplex.Plugin("probe", version="1.0.0"), []
        self.plugin.on_event(lambda topic, payload: self.note(topic))
        self.plugin.on_key(lambda screen_id, key: self.note(str(key)))
        self.plugin.cli("usage")(lambda argv: self.note(argv[0]))
        self.plugin.action("act")(lambda payload: self.note(payload.decode()))
        self.plugin.action("ask")(lambda payload: self.note("ask" + payload.decode()))

    def note(self, name):
        self.order.append(name)
        if name.startswith("ask"):
            try:
                self.order.append((name, self.plugin.host.snapshot.get("t")))
            except duplex.HostGone:
                self.order.append((name, "gone"))

    def serve(self, *pieces):
        """Run the plugin; each read brings one of the *pieces*, then the end. Return its status and what it said.

        A piece that is a function is called with all that the plugin has said so far, and returns the bytes.
        """
        coming, has_ended = iter(pieces), False
        with (
            pytest.MonkeyPatch.context() as patch,
            tempfile.TemporaryFile() as unread,
            tempfile.TemporaryFile() as taken,
        ):

            def said():
                taken.seek(0)
                return unframe(taken.read())

            def read(fd, size):
                nonlocal has_ended
                assert not has_ended, "it reads after the end"
                piece = next(coming, b"")
                data = piece(said()) if callable(piece) else piece
                has_ended = not data
                return data

            patch.setattr(os, "read", read)
            status = self.plugin.serve(os.dup(unread.fileno()), os.dup(taken.fileno()))
            return status, said()


def wire(*messages):
    return b"".join(each if isinstance(each, bytes) else frame(each) for each in messages)


def ids(said):
    return [each.get("id") for each in said]


def cut_up(data, places):
    """Return *data* in pieces that end at the *places*, and are no longer than a read."""
    ends = sorted({*places, *range(READ_SIZE, len(data), READ_SIZE), len(data)} - {0})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


# Order


def test_requests_that_come_at_once_are_handled_and_answered_in_order():
    recorder = Recorder()
    many = [cli(number, argv=[str(number)]) for number in range(150)]
    status, said = recorder.serve(wire(init(1_000), *many[:75]), wire(*many[75:]))
    assert status == EXIT_OK
    assert recorder.order == [str(number) for number in range(150)]
    assert ids(said) == [1_000, *range(150)]


def test_notifications_between_requests_are_handled_in_their_turn():
    recorder = Recorder()
    _, said = recorder.serve(wire(event("a"), cli(1, argv=["b"]), event("c"), key(), cli(2, argv=["d"])))
    assert recorder.order == ["a", "b", "c", "esc", "d"]
    assert ids(said) == [1, 2]


def test_a_request_is_answered_before_the_next_of_the_same_read_is_handled():
    plugin, may_return = duplex.Plugin("probe", version="1.0.0"), threading.Event()

    @plugin.cli("usage")
    def usage(argv):
        if argv == ["second"]:
            may_return.wait(timeout=250)

    with connected(plugin) as host:
        host.send_bytes(wire(cli(1, argv=["first"]), cli(2, argv=["second"]), cli(3, argv=["third"])))
        assert host.receive()["id"] == 1  # while the second handler runs, or before
        may_return.set()
        assert [host.receive()["id"], host.receive()["id"]] == [2, 3]


# Calls from within handlers


def test_a_response_may_be_in_the_same_read_behind_other_messages():
    recorder = Recorder()
    status, said = recorder.serve(
        wire(
            event("a"),
            cli(5, argv=["ask"]),
            cli(6, argv=["b"]),
            event("c"),
            result(1, FOUND),
            cli(7, argv=["d"]),
            event("e"),
        )
    )
    assert status == EXIT_OK
    assert recorder.order == ["a", "ask", ("ask", (b"hi", 7)), "b", "c", "d", "e"]
    assert ids(said) == [1, 5, 6, 7]


def test_handlers_of_one_read_may_all_call_the_host():
    recorder = Recorder()
    asked = [f"ask{number}" for number in range(20)]
    calls = [cli(100 + number, argv=[name]) for number, name in enumerate(asked)]
    responses = [result(number + 1, FOUND) for number in range(20)]
    _, said = recorder.serve(wire(*calls, *responses, event("last")))
    assert recorder.order == [part for name in asked for part in (name, (name, (b"hi", 7)))] + ["last"]
    assert ids(said) == [each for number in range(20) for each in (number + 1, 100 + number)]


@pytest.mark.parametrize("behind", [[], [event("a"), cli(6, argv=["b"])]], ids=["alone", "with others"])
def test_a_call_without_an_answer_fails_at_the_end_and_nothing_is_read_after_it(behind):
    recorder = Recorder()
    status, said = recorder.serve(wire(cli(5, argv=["ask"]), *behind))
    assert status == EXIT_OK
    assert recorder.order == ["ask", ("ask", "gone"), *["a", "b"][: len(behind)]]
    assert ids(said) == [1, 5, 6][: 2 + bool(behind)]


def test_an_action_that_comes_behind_in_the_same_read_is_served_while_one_is_awaited():
    recorder, plugin = Recorder(), duplex.Plugin("probe", version="1.0.0")
    order = recorder.order
    plugin.action("inner")(lambda payload: order.append("inner"))
    plugin.on_event(lambda topic, payload: order.append(topic))

    @plugin.action("outer")
    def outer(payload):
        order.append("outer")
        order.append(plugin.host.action.invoke("elsewhere", b""))

    recorder.plugin = plugin
    _, said = recorder.serve(
        wire(
            action(5, "outer"),
            event("later"),
            action(6, "inner"),
            result(1, {"payload": "aGk="}),
            event("last"),
        )
    )
    assert order == ["outer", "inner", b"hi", "later", "last"]
    assert ids(said) == [1, 6, 5]


# What is not a usual request


@pytest.mark.parametrize(
    "odd",
    [
        frame(b"{"),
        frame(b"[]"),
        frame(b""),
        frame(b"\xff"),
        frame(b'{"id":3,"method":"plugin/shutdown","params":NaN}'),
        frame(result(1, FOUND)),
        frame(result("x", FOUND)),
        frame(notification("plugin/nonsense")),
    ],
    ids=repr,
)
def test_a_frame_in_the_middle_that_is_nothing_to_us_is_ignored(odd):
    recorder = Recorder()
    status, said = recorder.serve(wire(init(1), event("a"), odd, odd, cli(2, argv=["b"]), odd, event("c")))
    assert status == EXIT_OK
    assert recorder.order == ["a", "b", "c"]
    assert ids(said) == [1, 2]


@pytest.mark.parametrize(
    "body",
    [b' {"method":"plugin/render","id":7,"params":%b} ', b'{"method":"plugin/render","id":7,"params":%b}'],
)
@pytest.mark.parametrize("head", [b"Content-Length: %d", b"content-length:%d", b"Content-Length: 000%d"])
def test_other_spellings_in_the_middle_are_read_in_their_turn(head, body):
    recorder = Recorder()
    body = body % b'{"viewport":{"width":1,"height":1}}'
    odd = head % len(body) + b"\r\n\r\n" + body
    _, said = recorder.serve(wire(init(1), event("a"), odd, cli(2, argv=["b"])))
    assert recorder.order == ["a", "b"]
    assert ids(said) == [1, 7, 2]


@pytest.mark.parametrize(
    "garbage", [b"hello\n", b"\n", b"\r\n\r\n", b"Content-Length: 9x\r\n\r\n", b"x" * 9_000]
)
def test_what_came_before_garbage_is_answered_and_nothing_after_it(garbage):
    recorder = Recorder()
    status, said = recorder.serve(wire(init(1), cli(2, argv=["a"]), garbage, cli(3, argv=["b"])))
    assert (status, recorder.order, ids(said)) == (EXIT_BROKEN, ["a"], [1, 2])


def test_garbage_behind_whole_frames_ends_the_process_without_waiting_for_more():
    recorder = Recorder()
    with connected(recorder.plugin) as host:
        host.send_bytes(wire(init(1), cli(2, argv=["a"]), b"hello\n"))
        assert [host.receive()["id"], host.receive()["id"], host.receive()] == [1, 2, None]
    assert host.status == EXIT_BROKEN


# Parts of frames


def test_a_run_may_end_anywhere_and_the_next_read_go_on():
    data = wire(init(1), event("a"), cli(2, argv=["b"]), cli(3, argv=["ask"]), event("c"), result(1, FOUND))
    for place in range(1, len(data)):
        recorder = Recorder()
        status, said = recorder.serve(data[:place], data[place:])
        assert (status, ids(said)) == (EXIT_OK, [1, 2, 1, 3])
        assert recorder.order == ["a", "b", "ask", ("ask", (b"hi", 7)), "c"]


def test_an_end_behind_a_run_is_clean_between_frames_and_broken_inside_one():
    frames = [frame(cli(number, argv=[str(number)])) for number in range(3)]
    data = b"".join(frames)
    whole = [sum(map(len, frames[:count])) for count in range(4)]
    for end in range(1, len(data) + 1):
        recorder = Recorder()
        status, said = recorder.serve(data[:end])
        assert ids(said) == list(range(sum(each <= end for each in whole) - 1))
        assert status == (EXIT_OK if end in whole else EXIT_BROKEN)


@pytest.mark.parametrize("size", [READ_SIZE - 1_000, READ_SIZE, 3 * READ_SIZE, 1_000_000])
def test_a_big_frame_behind_small_ones_is_read_whole_and_small_ones_behind_it_too(size):
    recorder = Recorder()
    big = "x" * size
    data = wire(init(1), event("a"), cli(2, argv=[big]), cli(3, argv=["b"]), event("c"))
    status, said = recorder.serve(*cut_up(data, []))
    assert (status, ids(said)) == (EXIT_OK, [1, 2, 3])
    assert recorder.order == ["a", big, "b", "c"]


# All of it at once


def unusual(message):
    return frame(message).replace(b"Content-Length: ", b"content-length:", 1)


MESSAGES = st.one_of(
    st.builds(
        lambda mine, name: frame(cli(mine, argv=[name])), st.integers(0, 999), st.text("abc", max_size=3)
    ),
    st.builds(
        lambda mine, name: frame(cli(mine, argv=["ask" + name])),
        st.integers(0, 999),
        st.text("abc", max_size=2),
    ),
    st.builds(lambda topic: frame(event(topic)), st.sampled_from(["x", "ask", "some/topic"])),
    st.builds(
        lambda mine, name: frame(action(mine, name, "aGk=")),
        st.integers(0, 999),
        st.sampled_from(["act", "ask"]),
    ),
    st.builds(lambda mine: frame(result(mine, FOUND)), st.integers(1, 4)),
    st.builds(lambda topic: unusual(event(topic)), st.sampled_from(["x", "ask"])),
    st.builds(frame, st.sampled_from([b"", b"{", b"[]", b"null", b' {"method":"plugin/nonsense","id":5} '])),
    st.builds(lambda size: frame(event("x" * size)), st.sampled_from([1_000, READ_SIZE, 2 * READ_SIZE])),
)


@given(
    frames=st.lists(MESSAGES, max_size=12),
    tail=st.sampled_from([b"", b"", b"Content-Le", b"Content-Length: 9\r\n\r\n{", b"hello\n", b"\r\n\r\n"]),
    begins=st.booleans(),
    data=st.data(),
)
def test_the_pieces_in_which_it_comes_do_not_matter(frames, tail, begins, data):
    frames = [frame(init(1_000))] * begins + frames
    one_by_one, in_pieces = Recorder(), Recorder()
    expected = one_by_one.serve(*(piece for each in [*frames, tail] if each for piece in cut_up(each, [])))
    whole = b"".join(frames) + tail
    places = data.draw(st.lists(st.integers(0, len(whole)), max_size=8))
    assert in_pieces.serve(*cut_up(whole, places)) == expected
    assert in_pieces.order == one_by_one.order


def test_the_queue_counts_what_waits_decoded_and_a_run_that_is_worked_off_is_not_in_it(monkeypatch):
    monkeypatch.setattr(duplex_conversation, "QUEUE_LIMIT", 10_000)
    recorder = Recorder()
    many = [event(str(number)) for number in range(200)]
    status, said = recorder.serve(wire(*many, request(5, "plugin/nonsense")))
    assert (status, ids(said)) == (EXIT_OK, [5])
    assert recorder.order == [str(number) for number in range(200)]
