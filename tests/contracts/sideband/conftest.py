"""Conversations in memory: a session, and someone who does what it asks for."""

import json

import pytest

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel, EndWanted
from plughost.contracts.sideband.items import Text
from plughost.contracts.sideband.news import Completed, Gone, Ignored
from plughost.contracts.sideband.session import SidebandSession
from plughost.contracts.sideband.terms import Terms
from tests.contracts.sideband.wire import FOREIGN, MARK, TOKEN, hello, line


class Talk:
    """One conversation. Its clock begins at 0. What was written stays in `told` (messages) and `typed` (input)."""

    def __init__(self, terms, spool=None):
        self.session = SidebandSession(terms, 0.0, spool=spool, token=lambda: TOKEN)
        self.told = []
        self.typed = b""
        self.events = []
        self.news = []

    # What the host does

    def begin(self):
        """Hear the introduction of a worker with ids and marks."""
        return self.tell(hello())

    def begin_foreign(self):
        """Hear the introduction of a worker without ids, and its first prompt."""
        return self.tell(FOREIGN + line("readline_start", prompt="> "))

    def run(self, text="1 + 1\n", request_id=None):
        self.session.run(text, request_id)
        return self.collect()

    def answer(self, text):
        self.session.answer(text)
        return self.collect()

    def interrupt(self):
        self.session.interrupt()
        return self.collect()

    def end(self):
        self.session.end()
        return self.collect()

    # What happens to it

    def tell(self, data):
        """The worker writes *data* to the sideband."""
        self.session.receive_data(data, Channel.CONTROL_IN)
        return self.collect()

    def show(self, data, channel=Channel.STDOUT):
        self.session.receive_data(data, channel)
        return self.collect()

    def mark(self, before=b""):
        """Both streams come to the mark."""
        return self.show(before + MARK).show(MARK, Channel.STDERR)

    def close(self, channel):
        self.session.receive_eof(channel)
        return self.collect()

    def exit(self, code=0, *, signal=None):
        """It ends, as a link tells it: everything is read, then it is gone."""
        for channel in (Channel.STDERR, Channel.STDOUT, Channel.CONTROL_IN):
            self.session.receive_eof(channel)
        self.session.receive_exit(ExitStatus(None if signal else code, signal))
        return self.collect()

    def tick(self, now):
        self.session.receive_tick(now)
        return self.collect()

    def at(self, now):
        self.session.note_time(now)
        return self

    def collect(self):
        """Take what the session asks for and write it all."""
        while self.step():
            self.session.receive_sent()
        self.listen()
        return self

    def step(self):
        """Take what is to be written now, and do not say that it was. Returns the channels."""
        pieces = self.session.data_to_send()
        for channel, data in pieces:
            if channel is Channel.STDIN:
                self.typed += data
            else:
                assert channel is Channel.CONTROL_OUT
                assert data.endswith(b"\n")
                self.told.append(json.loads(data))
        return [channel for channel, _ in pieces]

    def listen(self):
        self.events.extend(iter(self.session.next_event, None))
        self.news.extend(iter(self.session.next_news, None))

    # What came of it

    @property
    def state(self):
        return self.session.state

    @property
    def outcome(self):
        """What the conversation came to: a code and a stage, or the state it is in."""
        fault = self.session.fault
        return self.session.state if fault is None else (fault.code, fault.stage)

    def heard(self, kind):
        """Return the news of *kind*."""
        return [news for news in self.news if isinstance(news, kind)]

    @property
    def over(self):
        """The requests that are over, by id: each once."""
        completed = self.heard(Completed)
        assert len({news.request_id for news in completed}) == len(completed)
        return {news.request_id: news for news in completed}

    @property
    def gone(self):
        """How it ended: once."""
        (found,) = self.heard(Gone)
        return found

    @property
    def rungs(self):
        return [event.rung for event in self.events if isinstance(event, EndWanted)]

    @property
    def ignored(self):
        return [news.reason for news in self.heard(Ignored)]

    def text(self, *, of=...):
        """Take what was shown and return its text, of one request if given."""
        return "".join(
            item.text
            for item in self.session.take()
            if isinstance(item, Text) and of in (..., item.request_id)
        )


@pytest.fixture(scope="session")
def talk():
    """Return a function that makes a conversation under given terms."""

    def make(spool=None, lead_s=0.0, prompt_quiet_s=0.0, **terms):
        return Talk(Terms(lead_s=lead_s, prompt_quiet_s=prompt_quiet_s, **terms), spool)

    return make


@pytest.fixture
def ours(talk):
    """A worker with ids and marks, idle."""
    return talk().begin()


@pytest.fixture
def foreign(talk):
    """A worker without ids, idle."""
    return talk().begin_foreign()
