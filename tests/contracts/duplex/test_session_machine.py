"""Whatever happens to a session, in whatever order: every call is over once, and nothing is mixed up.

The model is a plugin that answers a call with the number it was called with, numbers its own calls and logs, and
checks what it is told: init first, keys and events in order.
"""

import json

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from plughost_sdk.frames.content_length import ContentLengthDecoder

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel, EndWanted, Fault, StateChanged
from plughost.contracts.duplex.lanes import Bounds, Lane
from plughost.contracts.duplex.messages import FRAME_BYTES
from plughost.contracts.duplex.news import Answered, Called, InitDone, Told
from plughost.contracts.duplex.session import DuplexSession
from plughost.contracts.duplex.states import INITIAL, TRANSITIONS, State
from plughost.contracts.duplex.terms import Terms
from plughost.messages.jsonrpc import Response
from tests.contracts.duplex.wire import INIT, NEW, frame, framed

ODD = st.sampled_from(
    [
        framed(b"[]"),
        framed(b""),
        frame(id="1", result={}),
        frame(id=2**40, result={}),
        frame(id=0, result={}),
        frame(method=5),
        frame(id=2**50, error=5),
    ]
)
GARBAGE = st.sampled_from(
    [b"Hello world\n", b"Content-Length: -1\r\n\r\n", b"Content-Length: 99999999\r\n\r\n", b"\n"]
)


class Plugin:
    """The other side, written from the contract."""

    def __init__(self):
        self.frames = ContentLengthDecoder(FRAME_BYTES)
        self.initialised = False  # it has answered init
        self.unanswered = []  # requests of the host, not answered yet
        self.unsent = b""
        self.made = 0  # its own calls
        self.replies = {}
        self.last = {"key": -1, "event": -1}
        self.logged = 0

    def receive(self, data):
        self.frames.receive_data(data)
        for body in iter(self.frames.next_frame, None):
            message = json.loads(body)
            method = message.get("method")
            if method is None:
                assert ("error" in message) != ("result" in message)
                assert message["id"] not in self.replies
                self.replies[message["id"]] = message.get("result")
            elif "id" in message:
                self.unanswered.append(message)
                assert method in ("plugin/init", "plugin/shutdown") or self.initialised
            else:
                assert self.initialised
                assert message["params"] > self.last[method]
                self.last[method] = message["params"]

    def answer(self, index):
        message = self.unanswered.pop(index % len(self.unanswered))
        init = message["method"] == "plugin/init"
        self.initialised |= init
        self.unsent += frame(id=message["id"], result=NEW if init else message["params"])

    def call(self):
        self.unsent += frame(id=self.made, method="host/snapshot/get", params=self.made)
        self.made += 1

    def log(self):
        self.unsent += frame(method="host/log", params=self.logged)
        self.logged += 1

    def take(self, size):
        data, self.unsent = self.unsent[:size], self.unsent[size:]
        return data


class DuplexMachine(RuleBasedStateMachine):
    """A host that does as it likes, and a plugin that keeps to the contract until it does not."""

    @initialize(running=st.sampled_from([True, True, False]))
    def start(self, running):
        terms = Terms(handshake_s=10.0, write_s=3.0, bounds=Bounds(keys=3, events=3))
        self.session = DuplexSession(terms, 0.0)
        self.plugin = Plugin()
        self.now = 0.0
        self.walked = INITIAL
        self.ends = []
        self.calls = {}
        self.forgotten = set()
        self.asked = []
        self.logs = 0
        self.told = 0
        self.unwritten = False
        self.pure = True  # the plugin has kept to the contract so far
        self.session.begin(INIT)
        if running:
            self.write()
            self.plugin.answer(0)
            self.read(10_000)

    # The host

    @precondition(lambda self: self.session.state not in (State.SHUTTING_DOWN, State.CLOSED))
    @rule(timeout_s=st.sampled_from([None, 1.0, 5.0]))
    def call(self, timeout_s):
        call_id = self.session.call("plugin/echo", 1000 + len(self.calls), timeout_s, now=self.now)
        assert call_id not in self.calls
        self.calls[call_id] = []

    def begin_call(self, timeout_s):
        body = self.session.call_at_once("plugin/echo", 1000 + len(self.calls), timeout_s, self.now)
        call_id = self.session.calls.next_id - 1
        assert call_id not in self.calls
        self.calls[call_id] = []
        return call_id, body

    def write_at_once(self, data, written):
        self.plugin.receive(data)
        if not written:
            self.session.postpone()
            self.unwritten = True

    @precondition(lambda self: self.session.at_rest or self.session.come_to_rest())
    @precondition(lambda self: not self.session.lanes)
    @rule(timeout_s=st.sampled_from([None, 1.0, 5.0]), written=st.sampled_from([True, True, False]))
    def call_at_once(self, timeout_s, written):
        _, body = self.begin_call(timeout_s)
        self.write_at_once(framed(body), written)

    @precondition(lambda self: self.session.at_rest or self.session.come_to_rest())
    @rule(timeout_s=st.sampled_from([None, 1.0, 5.0]), count=st.integers(1, 20))
    def call_together(self, timeout_s, count):
        for _ in range(count):
            call_id, body = self.begin_call(timeout_s)
            self.session.lanes.put_call(call_id, framed(body), body)

    @precondition(lambda self: self.session.at_rest and self.session.lanes.calls)
    @rule(written=st.sampled_from([True, True, False]))
    def write_calls(self, written):
        joined, shown = self.session.lanes.take_calls()
        assert joined == b"".join(map(framed, shown))
        self.write_at_once(joined, written)

    @precondition(lambda self: self.calls)
    @rule(index=st.integers(0, 20))
    def forget(self, index):
        call_id = list(self.calls)[index % len(self.calls)]
        self.session.forget(call_id)
        if not self.calls[call_id]:
            self.forgotten.add(call_id)

    @rule(lane=st.sampled_from([Lane.KEY, Lane.EVENT]))
    def notify(self, lane):
        taken = self.session.notify(lane.value, self.told, lane)
        self.told += 1
        assert taken == (self.session.state in (State.INITIALISING, State.RUNNING))

    @precondition(lambda self: self.asked)
    @rule(index=st.integers(0, 20), refuse=st.booleans())
    def reply(self, index, refuse):
        called = self.asked.pop(index % len(self.asked))
        if refuse:
            self.session.refuse(called, -32001, "no")
        else:
            self.session.answer(called, called)

    @rule()
    def shutdown(self):
        self.session.shutdown(now=self.now)

    # The pipes

    @rule(written=st.sampled_from([True, True, False]))
    def write_once(self, written):
        pieces = self.session.data_to_send()
        assert len(pieces) <= 1
        for channel, data in pieces:
            assert channel is Channel.STDIN
            self.plugin.receive(data)
        self.unwritten = self.unwritten or bool(pieces)
        if written:
            self.session.receive_sent()
            self.unwritten = False

    @rule()
    def write(self):
        self.unwritten = False
        self.session.receive_sent()
        for _ in range(100):
            for _channel, data in self.session.data_to_send():
                self.plugin.receive(data)
            self.session.receive_sent()

    @rule(size=st.sampled_from([1, 20, 1000, 10_000]))
    def read(self, size):
        data = self.plugin.take(size)
        if data:
            self.session.receive_data(data, Channel.STDOUT)

    # The plugin

    @precondition(lambda self: self.plugin.unanswered)
    @rule(index=st.integers(0, 20))
    def answer(self, index):
        self.plugin.answer(index)

    @rule()
    def plugin_calls(self):
        self.plugin.call()

    @rule()
    def plugin_logs(self):
        self.plugin.log()

    @rule(data=ODD)
    def plugin_is_odd(self, data):
        self.plugin.unsent += data

    @rule(data=GARBAGE)
    def plugin_writes_garbage(self, data):
        self.pure = False
        self.plugin.unsent += data

    @rule(channel=st.sampled_from([Channel.STDOUT, Channel.STDERR]))
    def end(self, channel):
        self.pure = self.pure and (channel is Channel.STDERR or self.session.state is State.SHUTTING_DOWN)
        self.session.receive_eof(channel)

    @precondition(lambda self: "exited" not in self.session.marks)
    @rule(code=st.sampled_from([0, 1]))
    def exit(self, code):
        self.pure = self.pure and self.session.state is State.SHUTTING_DOWN
        self.session.receive_exit(ExitStatus(code))

    @rule()
    def break_pipe(self):
        self.pure = self.pure and self.session.state in (State.SHUTTING_DOWN, State.CLOSED)
        self.session.receive_broken_pipe()

    @rule(passed=st.sampled_from([0.0, 0.1, 1.0, 11.0]))
    def wait(self, passed):
        self.now += passed
        deadline = self.session.next_deadline()
        if deadline is not None and deadline <= self.now:  # that of a call costs the process nothing
            self.pure = self.pure and self.session.state is not State.INITIALISING and not self.unwritten
        self.session.receive_tick(self.now)
        deadline = self.session.next_deadline()
        assert deadline is None or deadline > self.now

    # What is always true

    @invariant()
    def it_tells_the_truth(self):
        for news in iter(self.session.next_news, None):
            match news:
                case Answered(call_id, method, outcome, sent):
                    assert method == "plugin/echo"
                    self.calls[call_id].append(outcome)
                    if isinstance(outcome, Response):
                        assert sent
                        assert int(bytes(outcome.result)) == 1000 + list(self.calls).index(call_id)
                case Called(id, _, params):
                    assert int(bytes(params)) == id
                    self.asked.append(id)
                case Told(method, params):
                    assert (method, int(bytes(params))) == ("host/log", self.logs)
                    self.logs += 1
                case InitDone():
                    assert self.plugin.initialised

    @invariant()
    def every_call_is_over_once_or_under_way(self):
        self.it_tells_the_truth()
        under_way = [
            call for call, outcomes in self.calls.items() if not outcomes and call not in self.forgotten
        ]
        assert all(len(outcomes) <= 1 for outcomes in self.calls.values())
        assert not any(self.calls[call] for call in self.forgotten)
        assert len(self.session.calls) == len(under_way)
        if self.session.settled:
            assert under_way == []

    @invariant()
    def at_rest_nothing_is_half_done(self):
        self.it_tells_the_truth()
        self.it_walks_along_the_table()
        if self.session.at_rest:
            assert self.session.is_listening
            assert self.session.has_to_say == bool(self.session.lanes.calls)
            assert not self.session.lanes.has_more_than_calls
            assert set(self.session.lanes.calls) <= set(self.session.calls.methods)

    @invariant()
    def it_walks_along_the_table(self):
        for event in iter(self.session.next_event, None):
            if isinstance(event, EndWanted):
                self.ends.append(event)
            if isinstance(event, StateChanged):
                followers = {after for (before, _, _), after in TRANSITIONS.items() if before is self.walked}
                assert event.before == self.walked.value
                self.walked = State(event.after)
                assert self.walked in followers
        assert self.walked is self.session.state

    @invariant()
    def one_that_keeps_to_the_contract_does_not_fail(self):
        if self.pure:
            assert self.session.fault is None

    @invariant()
    def it_has_a_fault_if_and_only_if_it_failed(self):
        assert (self.session.fault is not None) == (self.session.state is State.FAILED)
        if self.session.fault is not None:
            assert isinstance(self.session.fault, Fault)
            assert self.session.stage is self.session.fault.stage

    @invariant()
    def one_that_is_gone_wants_nothing(self):
        if self.session.settled:
            assert self.session.next_deadline() is None
            assert self.session.data_to_send() == []

    @invariant()
    def it_is_ended_at_most_once_by_each_rung(self):
        assert len(self.ends) == len(set(self.ends)) <= 2


TestDuplexMachine = DuplexMachine.TestCase
TestDuplexMachine.settings = settings(max_examples=25, stateful_step_count=40)
