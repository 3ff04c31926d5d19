"""Hosts that announce no text, or another than they write: code runs and is answered, or an error says why not."""

import pytest

from tests.sdk.sideband_wire import Worker

ANNOUNCED = {"an empty text": True, "no announcement": False}


@pytest.fixture
def worker(leak_check, tmp_path):
    worker = Worker(cwd=tmp_path)
    worker.message("backend_info")
    yield worker
    worker.close()


def write(worker, text, *, announced):
    if announced:
        worker.tell(type="stdin_write", text="")
    worker.payload(text.encode())


@pytest.mark.parametrize("announced", ANNOUNCED.values(), ids=ANNOUNCED)
def test_code_runs_and_is_answered(worker, announced):
    for code, out in [
        ("x = 6 * 7\nx\n", "42\n"),
        ("def f():\n\n    return 'é'\nf()\n", "'é'\n"),
        ("x\n", "42\n"),
    ]:
        write(worker, code, announced=announced)
        assert worker.message("request_end") == {"type": "request_end"}
        worker.printed(out)
        assert (bytes(worker.held["out"]).decode(), bytes(worker.held["err"])) == (out, b"")
        worker.held["out"].clear()


@pytest.mark.parametrize("announced", ANNOUNCED.values(), ids=ANNOUNCED)
def test_a_question_is_answered(worker, announced):
    write(worker, "name = input('who? ')\nprint('hello', name)\n", announced=announced)
    assert worker.message("readline_start")["prompt"] == "who? "
    write(worker, "Ada\n", announced=announced)
    assert worker.message("readline_result")["line"] == "Ada\n"
    worker.printed("hello Ada\n")
    worker.message("request_end")


@pytest.mark.parametrize("announced", ANNOUNCED.values(), ids=ANNOUNCED)
def test_a_question_ends_the_request_for_a_host_that_waits_for_nothing_else(worker, announced):
    write(worker, "name = input('who? ')\nprint('hello', name)\n", announced=announced)
    assert worker.message("readline_start")["prompt"] == "who? "
    assert worker.message("request_end") == {"type": "request_end"}
    write(worker, "Ada\n", announced=announced)
    assert worker.message("request_end") == {"type": "request_end"}
    worker.printed("hello Ada\n")


UNENDED = {"announced so": "Ada", "announced with it": "Ada\n", "an empty text": "", "no announcement": None}


@pytest.mark.parametrize("announced", UNENDED.values(), ids=UNENDED)
def test_an_answer_without_its_line_feed_is_a_line(worker, announced):
    worker.payload(b"input('who? ')\n")
    worker.message("readline_start")
    if announced is not None:
        worker.tell(type="stdin_write", text=announced)
    worker.payload(b"Ada")
    assert worker.message("readline_result")["line"] == "Ada\n"
    worker.printed("'Ada'\n")
    worker.payload(b"\n")  # which comes too late to be a part of anything
    write(worker, "2\n", announced=announced is not None)
    worker.printed("2\n")


def test_a_question_ends_no_request_of_a_host_that_announces_its_text(worker):
    worker.tell(type="stdin_write", text="input('who? ')\n")
    worker.payload(b"input('who? ')\n")
    worker.message("readline_start")
    worker.tell(type="stdin_write", text="Ada\n")
    worker.payload(b"Ada\n")
    worker.message("request_end")
    worker.printed("'Ada'\n")
    worker.tell(type="session_end")
    assert worker.drain() == 0
    assert [each for each in worker.messages if each["type"] == "request_end"] == []


@pytest.mark.parametrize("announced", ANNOUNCED.values(), ids=ANNOUNCED)
def test_a_missing_line_feed_is_an_error_that_says_so_and_the_session_goes_on(worker, announced):
    write(worker, "print(1)", announced=announced)
    end = worker.message("request_end")
    assert end["error"] is True
    worker.printed("does not end in a line feed", "err")
    write(worker, "\nprint(2)\n", announced=announced)
    worker.message("request_end")
    worker.printed("2\n")
    assert b"1" not in worker.held["out"]


def test_a_line_feed_that_was_announced_and_does_not_come_is_one_too(worker):
    worker.tell(type="stdin_write", text="print(1)\n", request_id=1)
    worker.payload(b"print(1)")
    assert worker.message("request_end")["error"] is True
    worker.printed("does not end in a line feed", "err")
    worker.tell(type="stdin_write", text="print(2)\n", request_id=2)
    worker.payload(b"print(2)\n")
    assert worker.message("request_end", request_id=2) == {"type": "request_end", "request_id": 2}
    worker.printed("2\n")


def test_a_line_feed_that_was_not_announced_is_no_part_of_the_next_input(worker):
    for number in (1, 2, 3):
        worker.tell(type="stdin_write", text=f"print({number})")
        worker.payload(f"print({number})\n".encode())
        assert worker.message("request_end") == {"type": "request_end"}
        worker.printed(f"{number}\n")


def test_an_announcement_that_comes_a_moment_after_its_input_is_its_announcement(worker):
    for number in range(20):
        worker.payload(b"7\n")
        worker.tell(type="stdin_write", text="7\n")
        assert worker.message("request_end") == {"type": "request_end"}, number
    worker.tell(type="session_end")
    assert worker.drain() == 0
    assert bytes(worker.held["out"]) == b"7\n" * 20


def test_input_other_than_announced_is_refused_with_a_sentence(worker):
    worker.tell(type="stdin_write", text="print(1)\n")
    worker.payload(b"print(2)\n")
    assert worker.drain() == 76
    assert b"not what stdin_write announced" in worker.held["err"]
    assert not worker.held["out"]


def test_a_host_with_ids_is_held_to_what_it_announces(worker):
    worker.run("1")
    worker.payload(b"print(2)\n")
    worker.tell(type="stdin_write", text="print(3)\n", request_id=2)
    assert worker.drain() == 76
    assert b"2\n" not in worker.held["out"]


def test_large_input_without_an_announcement_is_whole(worker):
    text = "x = '''" + "a" * 300_000 + "'''\nlen(x)\n"
    worker.payload(text.encode())
    worker.message("request_end")
    worker.printed("300000\n")
