"""Ten thousand requests: none lost, none over early, none mixed. A gigabyte: none of it kept for long."""

import random

import pytest

from plughost.contracts.base import Channel
from plughost.contracts.sideband.items import Omitted, Text
from plughost.contracts.sideband.news import Completed, How
from plughost.contracts.sideband.session import SidebandSession
from plughost.contracts.sideband.states import State
from plughost.contracts.sideband.terms import Terms
from tests.contracts.sideband.wire import Worker, hello, line

requirement = pytest.mark.requirement

REQUESTS = 10_000


def tiny(at):
    return f"{at}\n"


def multi_line(at):
    return f"if {at}:\n    print('é', {at})\n\n{at}\n"


def deliver(session, worker, chance):
    """Carry bytes both ways, cut and interleaved by *chance*, until there are none; each channel keeps its order."""
    queues = {}
    while True:
        for channel, data in session.data_to_send():
            worker.receive(channel, data)
            session.receive_sent()
        for channel, data in worker.writes:
            queues.setdefault(channel, bytearray()).extend(data)
        worker.writes.clear()
        waiting = [channel for channel, data in queues.items() if data]
        if not waiting:
            return
        channel = chance.choice(waiting)
        size = 4096 if chance.random() < 0.9 else chance.randrange(1, 60)
        piece, queues[channel] = queues[channel][:size], queues[channel][size:]
        session.receive_data(bytes(piece), channel)
        assert session.state is not State.IDLE or not any(queues.values())  # none is over early


@requirement("sideband:request:once", "sideband:request:marked")
@pytest.mark.parametrize("code", [tiny, multi_line])
@pytest.mark.long
def test_ten_thousand_requests_are_each_over_once_with_all_their_output_and_no_other(code):
    chance = random.Random(7)
    session, worker = SidebandSession(Terms(), 0.0), Worker()
    deliver(session, worker, chance)
    for at in range(REQUESTS):
        request_id = session.run(code(at))
        deliver(session, worker, chance)
        news = [each for each in iter(session.next_news, None) if isinstance(each, Completed)]
        assert [(each.request_id, each.how) for each in news] == [(request_id, How.MARKED)]
        shown = {"stdout": "", "stderr": ""}
        for item in session.take():
            assert item.request_id == request_id
            shown[item.stream] += item.text
        assert shown == {"stdout": code(at), "stderr": f"{code(at).count(chr(10))} lines\n"}
    assert [each.decode() for each in worker.ran] == [code(at) for at in range(REQUESTS)]
    assert session.ignored == {}


@requirement("sideband:request:late")
def test_a_thousand_requests_with_the_ends_of_other_ones_between_them_end_none_early():
    session, worker, chance = SidebandSession(Terms(), 0.0), Worker(), random.Random(7)
    deliver(session, worker, chance)
    for at in range(1, 1_001):
        session.run("x")
        old = chance.randrange(at) or at + 1
        session.receive_data(line("request_end", request_id=old, marked=True), Channel.CONTROL_IN)
        assert session.state is State.RUNNING
        deliver(session, worker, chance)
        assert session.state is State.IDLE
        session.take()
    completed = [each.request_id for each in iter(session.next_news, None) if isinstance(each, Completed)]
    assert completed == list(range(1, 1_001))
    assert sum(session.ignored.values()) == 1_000


@requirement("sideband:output:bounded", "sideband:output:spool")
def test_a_gigabyte_of_output_passes_through_to_the_spool():
    size = 0

    def spool(data):
        nonlocal size
        size += len(data)

    session = SidebandSession(Terms(), 0.0, spool=spool, token=lambda: "a" * 32)
    session.receive_data(hello(), Channel.CONTROL_IN)
    session.run("flood")
    chunk = b"0123456789abcde\n" * 1_048_576  # 16 MiB
    for _ in range(64):
        session.receive_data(chunk, Channel.STDOUT)
        assert session.timeline.kept <= 2**21
    for channel in (Channel.STDOUT, Channel.STDERR):
        session.receive_data(b"\x1e" + b"a" * 32 + b"\x1e", channel)
    session.receive_data(line("request_end", request_id=1, marked=True), Channel.CONTROL_IN)
    assert session.state is State.IDLE
    head, omitted, tail = session.take()
    assert (type(head), type(omitted), type(tail)) == (Text, Omitted, Text)
    assert len(head.text) + omitted.chars + len(tail.text) == size == 2**30
    assert omitted.spooled
