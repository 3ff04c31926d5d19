"""Thousands of requests, one behind the other: none is lost, none ends early, none gets what belongs to another."""

import pytest

from tests.sdk.sideband_wire import Worker


@pytest.fixture
def worker(leak_check, tmp_path):
    """A worker of the test's own."""
    worker = Worker(cwd=tmp_path)
    worker.message("backend_info")
    yield worker
    worker.close()


def tiny(worker, count):
    for at in range(count):
        reply = worker.run(str(at))
        assert (reply.out, reply.err, reply.messages) == (f"{at}\n", "", [])
        assert reply.end == {"type": "request_end", "request_id": worker.number, "marked": True}
    assert not worker.held["out"]


def many_lines(worker, count):
    for at in range(count):
        code = (
            f"import sys\ndef f(n):\n    for i in range(n):\n        print({at}, i)\n\n    return n\n"
            f"f(5)\nsys.stderr.write('e{at}\\n')\n\nf(2)"
        )
        reply = worker.run(code)
        assert reply.out == "".join(f"{at} {i}\n" for n in (5, 2) for i in range(n)) + "2\n"
        assert (reply.err, reply.messages) == (f"e{at}\n", [])
        assert reply.end["request_id"] == worker.number
    assert not worker.held["out"]


def test_two_thousand_tiny_requests_each_end_with_their_own_output(worker):
    tiny(worker, 2_000)


def test_five_hundred_requests_of_many_lines_each_end_with_their_own_output(worker):
    many_lines(worker, 500)


@pytest.mark.long
def test_ten_thousand_of_each_end_with_their_own_output(worker):
    tiny(worker, 10_000)
    many_lines(worker, 10_000)


def test_requests_sent_all_at_once_run_in_turn(worker):
    for at in range(100):
        worker.send(f"print({at})")
    for number in range(1, 101):
        assert worker.finish(number).out == f"{number - 1}\n"
