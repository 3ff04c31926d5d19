"""Conversations in memory: a session, and someone who does what it asks for."""

import pytest

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel
from plughost.contracts.duplex.news import Answered
from plughost.contracts.duplex.session import DuplexSession
from plughost.contracts.duplex.terms import Terms
from tests.contracts.duplex.wire import INIT, NEW, frame, frames


class Talk:
    """One conversation. Its clock begins at 0. What was written stays in `written`, as messages."""

    def __init__(self, terms):
        self.session = DuplexSession(terms, 0.0)
        self.written = []
        self.events = []
        self.news = []

    # What the host does

    def begin(self, init=INIT):
        self.session.begin(init)
        return self.collect()

    def run(self, result=NEW):
        """Begin, and hear the answer to init."""
        return self.begin().hear(frame(id=1, result=result))

    def call(self, method="plugin/render", timeout_s=None, params=None, *, collect=True):
        """Make a call; returns its id."""
        call_id = self.session.call(method, params, timeout_s)
        if collect:
            self.collect()
        return call_id

    def shutdown(self):
        self.session.shutdown()
        return self.collect()

    # What happens to it

    def hear(self, data, channel=Channel.STDOUT):
        self.session.receive_data(data, channel)
        return self.collect()

    def end_output(self, channel=Channel.STDOUT):
        self.session.receive_eof(channel)
        return self.collect()

    def exit(self, code=0):
        self.session.receive_exit(ExitStatus(code))
        return self.collect()

    def tick(self, now):
        self.session.receive_tick(now)
        return self.collect()

    def collect(self):
        """Take what the session asks for and write it all."""
        while self.step():
            self.session.receive_sent()
        self.listen()
        return self

    def step(self):
        """Take one piece, and do not say that it was written. Returns its messages."""
        pieces = self.session.data_to_send()
        assert len(pieces) <= 1
        taken = frames(b"".join(data for _, data in pieces))
        self.written += taken
        return taken

    def listen(self):
        self.events.extend(iter(self.session.next_event, None))
        self.news.extend(iter(self.session.next_news, None))

    # What came of it

    @property
    def outcome(self):
        """What the conversation came to: a code and a stage, or the state it is in."""
        fault = self.session.fault
        return self.session.state if fault is None else (fault.code, fault.stage)

    def told(self, kind):
        """Return the news of *kind*."""
        return [news for news in self.news if isinstance(news, kind)]

    def answers(self):
        """Return the outcomes of calls by id; each call has one at most."""
        answered = self.told(Answered)
        assert len({news.call_id for news in answered}) == len(answered)
        return {news.call_id: news.outcome for news in answered}

    def methods(self):
        return [message.get("method", "reply") for message in self.written]


@pytest.fixture(scope="session")
def talk():
    """Return a function that makes a conversation under given terms."""
    return lambda **terms: Talk(Terms(**terms))
