"""Conversations in memory: a session, and someone who does what it asks for."""

import pytest

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel
from plughost.contracts.envelope.session import EnvelopeSession, Mode, Terms
from tests.contracts.envelope.wire import REQUEST


class Talk:
    """One conversation. Its clock begins at 0."""

    def __init__(self, mode, terms):
        self.session = EnvelopeSession(mode, terms, 0.0)
        self.sent = b""
        self.events = []

    def tell(self, now=0.0):
        """Send the request. Returns the talk, as all of these do."""
        self.session.tell(REQUEST, now)
        return self.collect()

    def retire(self):
        self.session.retire()
        return self.collect()

    def hear(self, data, channel=Channel.STDOUT):
        self.session.receive_data(data, channel)
        return self.collect()

    def end_output(self):
        self.session.receive_eof(Channel.STDOUT)
        return self.collect()

    def exit(self, code=0, signal=None):
        self.session.receive_exit(ExitStatus(None if signal else code, signal))
        return self.collect()

    def tick(self, now):
        self.session.receive_tick(now)
        return self.collect()

    def collect(self):
        """Take what the session asks for, and say that it was done."""
        outgoing = self.session.data_to_send()
        for channel, data in outgoing:
            assert channel is Channel.STDIN
            self.sent += data
        if outgoing:
            self.session.receive_sent()
        self.events.extend(iter(self.session.next_event, None))
        return self

    @property
    def outcome(self):
        """What the conversation came to: a code and a stage, or what was answered."""
        session = self.session
        if session.fault is not None:
            return session.fault.code, session.fault.stage
        if not session.settled:
            return "unsettled", session.stage
        if session.validation is not None:
            return "validated"
        return session.reply.result if session.reply is not None else "let go"


@pytest.fixture(scope="session")
def talk():
    """Return a function that makes a conversation under given terms."""
    return lambda mode=Mode.TRANSFORM, **terms: Talk(mode, Terms(**terms))
