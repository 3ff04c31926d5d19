"""Conversations in memory: a session, and someone who does what it asks for."""

import pytest

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel
from plughost.contracts.execute.session import ExecuteSession, Terms, prepare
from tests.contracts.execute.wire import REQUEST_ID


class Talk:
    """One conversation. Its clock begins at 0."""

    def __init__(self, terms):
        self.session = ExecuteSession(terms, 0.0)
        self.sent = b""
        self.events = []

    def begin(self, tool="echo", **request):
        """Say hello; with a tool, also give the session its call. Returns the talk."""
        self.session.begin()
        if tool is not None:
            self.call(tool, **request)
        self.collect()
        return self

    def call(self, tool="echo", input=None, now=0.0, timeout_s=None):
        call = prepare(tool, {} if input is None else input, {}, REQUEST_ID, 1_048_576)
        self.session.execute(call, now, timeout_s)
        self.collect()

    def hear(self, data, channel=Channel.STDOUT):
        self.session.receive_data(data, channel)
        self.collect()
        return self

    def end_output(self):
        self.session.receive_eof(Channel.STDOUT)
        self.collect()
        return self

    def exit(self, code=0, signal=None):
        self.session.receive_exit(ExitStatus(None if signal else code, signal))
        self.collect()
        return self

    def tick(self, now):
        self.session.receive_tick(now)
        self.collect()
        return self

    def collect(self):
        """Take what the session asks for, and say that it was done."""
        outgoing = self.session.data_to_send()
        for channel, data in outgoing:
            assert channel is Channel.STDIN
            self.sent += data
        if outgoing:
            self.session.receive_sent()
        self.events.extend(iter(self.session.next_event, None))

    @property
    def outcome(self):
        """What the conversation came to: a code and a stage, or what was answered."""
        session = self.session
        if session.fault is not None:
            return session.fault.code, session.fault.stage
        if not session.settled:
            return "unsettled", session.stage
        return "answered" if session.answer is not None else "let go"


@pytest.fixture(scope="session")
def talk():
    """Return a function that makes a conversation under given terms."""
    return lambda **terms: Talk(Terms(**terms))
