"""Conversations in memory: a session, and someone who does what it asks for."""

import pytest

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel
from plughost.contracts.hook.messages import Phase
from plughost.contracts.hook.session import HookSession, Terms, prepare
from tests.contracts.hook.wire import INFO, REQUESTS, frame


class Talk:
    """One conversation. Its clock begins at 0."""

    def __init__(self, terms):
        self.terms = terms
        self.session = HookSession(terms, 0.0)
        self.sent = b""
        self.events = []

    # What the host does

    def begin(self):
        """Say hello. Returns the talk."""
        self.session.begin()
        return self.collect()

    def shake(self, introduction=INFO):
        """Say hello, and hear an introduction: a message, or bytes."""
        heard = introduction if isinstance(introduction, bytes) else frame(introduction)
        return self.begin().hear(heard)

    def ask(self, phase="plan", request=None, now=0.0, timeout_s=None):
        phase = Phase(phase)
        ready = prepare(phase, REQUESTS[phase] if request is None else request, self.terms.frame_bytes)
        self.session.ask(ready, now, timeout_s)
        return self.collect()

    def retire(self):
        self.session.retire()
        return self.collect()

    # What happens to it

    def hear(self, data, channel=Channel.STDOUT):
        self.session.receive_data(data, channel)
        return self.collect()

    def end_output(self, channel=Channel.STDOUT):
        self.session.receive_eof(channel)
        return self.collect()

    def exit(self, code=0, signal=None):
        self.session.receive_exit(ExitStatus(None if signal else code, signal))
        return self.collect()

    def tick(self, now):
        self.session.receive_tick(now)
        return self.collect()

    def collect(self, *, written=True):
        """Take what the session asks for, and say that it was done, unless it was not."""
        outgoing = self.session.data_to_send()
        for channel, data in outgoing:
            assert channel is Channel.STDIN
            self.sent += data
        if outgoing and written:
            self.session.receive_sent()
        self.events.extend(iter(self.session.next_event, None))
        return self

    @property
    def outcome(self):
        """What the conversation came to: a code and a stage, or the state it is in."""
        session = self.session
        if session.fault is not None:
            return session.fault.code, session.fault.stage
        return session.state


@pytest.fixture(scope="session")
def talk():
    """Return a function that makes a conversation under given terms."""
    return lambda **terms: Talk(Terms(**{"allow": None, **terms}))
