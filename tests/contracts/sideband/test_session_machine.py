"""Whatever happens to a session, in whatever order: every request is over once, and no output is lost or misplaced.

The model is a worker with ids and marks whose pipes are emptied at any moment and in any pieces. Threads of its code
print whenever they like, also while nothing runs.
"""

import json

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel, EndWanted, StateChanged
from plughost.contracts.sideband.items import Text
from plughost.contracts.sideband.news import Completed, Gone, How, Waiting
from plughost.contracts.sideband.output import sequence
from plughost.contracts.sideband.session import SidebandSession
from plughost.contracts.sideband.states import BUSY, FINAL, INITIAL, OPEN, TRANSITIONS, State
from plughost.contracts.sideband.terms import Terms
from tests.contracts.sideband.wire import hello, line

OUTPUTS = {"stdout": Channel.STDOUT, "stderr": Channel.STDERR}
PRINTED = st.sampled_from(["a", "bc\n", "é", "€𝄞", "\x1e", "\x1e0000", "\x1e" + "f" * 32 + "\x1e"])
ODD = st.sampled_from(
    [b"?\n", b"[1]\n", b"\n", b'{"type": "later"}\n', b'{"type": "request_end"}\n', b"\xff\n"]
)


class Worker:
    """The other side, written from the contract."""

    def __init__(self):
        self.pipes = {channel: bytearray() for channel in (*OUTPUTS.values(), Channel.CONTROL_IN)}
        self.printed = dict.fromkeys(OUTPUTS, "")
        self.marked_at = {}  # (request, stream): how much was printed before its mark
        self.announced = []
        self.stdin = b""
        self.control = b""
        self.request = None  # what runs, and its mark
        self.asking = False
        self.tell(hello())

    def tell(self, data):
        self.pipes[Channel.CONTROL_IN] += data

    def print(self, stream, text):
        self.printed[stream] += text
        self.pipes[OUTPUTS[stream]] += text.encode()

    def receive(self, channel, data):
        if channel is Channel.STDIN:
            self.stdin += data
        else:
            *lines, self.control = (self.control + data).split(b"\n")
            for message in map(json.loads, lines):
                if message["type"] == "interrupt":
                    self.interrupt(message.get("request_id"))
                elif message["type"] == "stdin_write":
                    self.announced.append(message)
        while self.announced and len(self.stdin) >= len(self.announced[0]["text"]):
            message = self.announced.pop(0)
            text, self.stdin = self.stdin[: len(message["text"])], self.stdin[len(message["text"]) :]
            assert text.decode() == message["text"]
            self.start(message)

    def start(self, message):
        if "mark" in message:
            assert self.request is None
            self.request = (message["request_id"], message["mark"])
        elif self.request is not None and self.request[0] == message["request_id"] and self.asking:
            self.asking = False
            self.tell(line("readline_result", prompt="? ", line=message["text"], request_id=self.request[0]))

    def interrupt(self, meant):
        running = self.request is not None and self.request[0] == meant
        self.asking = self.asking and not running
        about = {} if meant is None else {"request_id": meant}
        self.tell(line("interrupted", outcome="delivered" if running else "idle", **about))

    def ask(self):
        self.asking = True
        self.tell(line("readline_start", prompt="? ", request_id=self.request[0]))

    def finish(self):
        request_id, mark = self.request
        for stream, channel in OUTPUTS.items():
            self.marked_at[request_id, stream] = len(self.printed[stream])
            self.pipes[channel] += sequence(mark)
        self.tell(line("request_end", request_id=request_id, marked=True))
        self.request, self.asking = None, False


class Conversations(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.session = SidebandSession(Terms(mark_s=1e9, handshake_s=1e9), 0.0)
        self.worker = Worker()
        self.now = 0.0
        self.state = INITIAL
        self.made = []
        self.over = {}
        self.waited = []
        self.gone = 0
        self.items = []
        self.rungs = 0

    # The host

    @precondition(lambda self: self.session.state is State.IDLE)
    @rule(lines=st.integers(1, 3))
    def run(self, lines):
        self.made.append(self.session.run("x\n" * lines))
        self.pump()

    @precondition(lambda self: self.session.state is State.WAITING)
    @rule()
    def answer(self):
        self.session.answer("y")
        self.pump()

    @precondition(lambda self: self.session.state in OPEN)
    @rule()
    def interrupt(self):
        self.session.interrupt()
        self.pump()

    @rule()
    def take(self):
        self.items += self.session.take()

    @rule(seconds=st.floats(0, 10))
    def tick(self, seconds):
        self.now += seconds
        self.session.receive_tick(self.now)
        self.pump()

    # The worker

    @precondition(lambda self: self.session.state not in FINAL)
    @rule(stream=st.sampled_from(sorted(OUTPUTS)), text=PRINTED)
    def print(self, stream, text):
        self.worker.print(stream, text)

    @precondition(lambda self: self.worker.request is not None and not self.worker.asking)
    @rule()
    def ask(self):
        self.worker.ask()

    @precondition(lambda self: self.worker.request is not None)
    @rule()
    def finish(self):
        self.worker.finish()

    @rule(data=ODD)
    def babble(self, data):
        self.worker.tell(data)

    @rule(channel=st.sampled_from([*OUTPUTS.values(), Channel.CONTROL_IN]), size=st.integers(1, 400))
    def deliver(self, channel, size):
        pipe = self.worker.pipes[channel]
        data, self.worker.pipes[channel] = bytes(pipe[:size]), pipe[size:]
        if data:
            self.session.receive_data(data, channel)
            self.pump()

    @precondition(lambda self: self.session.state not in FINAL)
    @rule(code=st.integers(0, 1))
    def die(self, code):
        self.bury(code)

    # What holds

    @invariant()
    def the_request_that_is_not_over_is_the_last_one(self):
        unfinished = [each for each in self.made if each not in self.over]
        assert unfinished == ([] if self.session.request_id is None else [self.session.request_id])
        assert (self.session.state in (*BUSY, State.SETTLING)) <= bool(unfinished)

    @invariant()
    def it_is_over_only_if_its_output_was_heard_to_its_mark(self):
        for request_id, how in self.over.items():
            assert how is not How.MARKED or (request_id, "stdout") in self.worker.marked_at

    def teardown(self):
        if self.session.state not in FINAL:
            if self.worker.request is not None:
                self.worker.finish()
            for channel in self.worker.pipes:
                self.deliver(channel, 10**9)
            assert self.session.state in (State.IDLE, State.STARTING)
            assert set(self.over.values()) <= {How.MARKED}
            self.bury(0)
        self.take()
        assert sorted(self.over) == self.made
        assert set(self.waited) <= set(self.made)
        assert (self.gone, self.rungs) == (1, 1)
        for stream in OUTPUTS:
            self.compare(stream)

    def compare(self, stream):
        """All that was printed was shown, in order, each piece on the right side of every mark."""
        at = 0
        for item in self.items:
            if isinstance(item, Text) and item.stream == stream:
                end = at + len(item.text)
                if item.request_id is not None:
                    assert at >= self.worker.marked_at.get((item.request_id - 1, stream), 0)
                    assert end <= self.worker.marked_at.get((item.request_id, stream), end)
                at = end
        shown = "".join(each.text for each in self.items if isinstance(each, Text) and each.stream == stream)
        assert shown == self.worker.printed[stream]

    # How

    def bury(self, code):
        for channel in self.worker.pipes:
            self.deliver(channel, 10**9)
        for channel in self.worker.pipes:
            self.session.receive_eof(channel)
        self.session.receive_exit(ExitStatus(code))
        self.worker.request = None  # nothing runs any more
        self.pump()

    def pump(self):
        while pieces := self.session.data_to_send():
            for channel, data in pieces:
                self.worker.receive(channel, data)
            self.session.receive_sent()
        for event in iter(self.session.next_event, None):
            if isinstance(event, StateChanged):
                moves = {(before.value, after.value) for (before, _, _), after in TRANSITIONS.items()}
                assert (event.before, event.after) in moves
                assert event.before == self.state.value
                self.state = State(event.after)
            self.rungs += isinstance(event, EndWanted)
        for news in iter(self.session.next_news, None):
            if isinstance(news, Completed):
                assert news.request_id not in self.over
                self.over[news.request_id] = news.how
            elif isinstance(news, Waiting):
                self.waited.append(news.request_id)
            self.gone += isinstance(news, Gone)
        assert self.state is self.session.state


TestConversations = Conversations.TestCase
TestConversations.settings = settings(stateful_step_count=40)
