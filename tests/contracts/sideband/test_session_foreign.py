"""Workers without ids are served as well as they allow: windows instead of marks, and no guess from any text."""

import pytest

from plughost.contracts.base import Channel
from plughost.contracts.sideband.input import PIECE_BYTES
from plughost.contracts.sideband.items import Image, Notice, Prompt
from plughost.contracts.sideband.messages import Reason
from plughost.contracts.sideband.news import (
    Completed,
    How,
    InterruptTold,
    Outcome,
    Ready,
    SignalWanted,
    Waiting,
)
from plughost.contracts.sideband.states import State
from plughost.contracts.sideband.terms import Terms, Windows
from plughost.errors import LocalProtocolError
from tests.contracts.sideband.wire import FOREIGN, MARK, PNG, image, line

requirement = pytest.mark.requirement

END = line("request_end")


def ask(prompt="> "):
    return line("readline_start", prompt=prompt)


def read(text="1 + 1\n", prompt="> "):
    return line("readline_result", prompt=prompt, line=text)


def test_the_windows_are_those_of_the_contract():
    assert Windows() == Windows(0.010, 0.030, 0.015, 0.120)
    assert Terms().ask_s == 0.020


@requirement("sideband:hello:prompt")
@pytest.mark.parametrize("data", [FOREIGN + ask(), ask() + FOREIGN], ids=["after", "before"])
def test_it_is_ready_with_its_first_prompt(talk, data):
    worker = talk().tell(data)
    assert worker.state is State.IDLE
    assert len(worker.heard(Ready)) == 1
    assert worker.session.reading.prompt == "> "


@requirement("sideband:hello:prompt")
def test_one_that_shows_two_prompts_at_once_is_given_no_request_between_them(talk):
    assert Terms().prompt_quiet_s == 0.010
    worker = talk(prompt_quiet_s=0.010).at(1.0).tell(FOREIGN + ask(">>> "))
    assert worker.state is State.STARTING
    worker.at(1.005).tell(ask("... ")).tick(1.0149)
    assert worker.state is State.STARTING
    worker.tick(1.015)
    assert len(worker.heard(Ready)) == 1
    worker.run().tell(ask(">>> ") + END).tick(1.03)
    assert list(worker.over) == [1]


@requirement("sideband:hello:prompt")
def test_one_that_shows_prompts_without_end_is_ready_half_a_second_later(talk):
    worker = talk(prompt_quiet_s=0.010).tell(FOREIGN)
    for at in range(0, 500, 5):
        worker.at(at / 1000).tell(ask())
    assert worker.state is State.STARTING
    worker.tick(0.5)
    assert worker.state is State.IDLE


@requirement("sideband:hello:prompt")
def test_one_that_shows_no_prompt_is_ready_half_a_second_later(talk):
    worker = talk().at(1.0).tell(FOREIGN)
    assert worker.state is State.STARTING
    with pytest.raises(LocalProtocolError):
        worker.run()
    assert worker.session.next_deadline() == 1.5
    worker.tick(1.499)
    assert worker.heard(Ready) == []
    worker.tick(1.5)
    assert len(worker.heard(Ready)) == 1
    assert worker.state is State.IDLE


@requirement("sideband:request:announced")
def test_it_is_told_the_text_and_nothing_that_it_does_not_know(foreign):
    foreign.run("1 + 1").tell(read()).tell(ask() + END).tick(0.015)
    foreign.interrupt().end()
    assert foreign.told == [
        {"type": "stdin_write", "text": "1 + 1\n"},
        {"type": "interrupt"},
        {"type": "session_end"},
    ]


# (what happens when, when it is over). Times in milliseconds after request_end.
TOLD, SHOWN = "told", "shown"
SETTLINGS = {
    "quiet": ([], 15),
    "one more message": ([(4, TOLD)], 15),
    "a late message": ([(9, TOLD)], 19),
    "messages for ever": ([(at, TOLD) for at in range(5, 30, 5)], 30),
    "one more print": ([(10, SHOWN)], 25),
    "prints for ever": ([(at, SHOWN) for at in range(10, 120, 10)], 120),
    "both": ([(9, TOLD), (14, SHOWN), (18, TOLD)], 29),
}


@requirement("sideband:request:settled")
@pytest.mark.parametrize("name", SETTLINGS)
def test_a_request_is_over_when_the_worker_has_been_quiet_for_its_windows(foreign, name):
    happenings, over_at = SETTLINGS[name]
    began = 100.0
    foreign.run().at(began).show(b"out").tell(END)
    for after, what in happenings:
        now = began + after / 1000
        foreign.tick(now)
        assert foreign.state is State.SETTLING
        foreign.tell(ask()) if what == TOLD else foreign.show(b".")
    assert foreign.session.next_deadline() == pytest.approx(began + over_at / 1000)
    foreign.tick(began + over_at / 1000 - 0.0005)
    assert not foreign.over
    foreign.tick(began + over_at / 1000 + 0.000001)
    assert foreign.over[1].how is How.SETTLED
    assert foreign.text(of=1).startswith("out")


def test_a_late_tick_finds_what_a_punctual_one_would_have(foreign):
    foreign.run().tell(END).tick(1e6)
    assert foreign.over == {1: Completed(1, How.SETTLED, finished=True, error=False, prompt="")}


def test_the_last_prompt_that_is_not_empty_is_told_with_the_end(foreign):
    foreign.run().tell(read() + ask("> ") + END + ask("")).tick(0.030)
    assert foreign.over[1].prompt == "> "


@requirement("sideband:request:late")
def test_an_end_while_nothing_runs_or_before_anything_was_sent_ends_nothing(foreign):
    foreign.tell(END)
    foreign.session.run("x")
    foreign.session.receive_data(END, Channel.CONTROL_IN)
    foreign.collect()
    assert foreign.state is State.RUNNING
    assert foreign.session.ignored == {Reason.LATE: 2}
    foreign.tell(END)
    assert foreign.state is State.SETTLING
    foreign.tell(END)
    assert foreign.session.ignored == {Reason.LATE: 2, Reason.REPEATED: 1}
    foreign.tick(0.030).tell(END)
    assert foreign.session.ignored[Reason.LATE] == 3
    foreign.session.run("y")
    foreign.session.receive_data(END, Channel.CONTROL_IN)
    assert foreign.session.ignored[Reason.LATE] == 4
    assert foreign.state is State.RUNNING
    assert list(foreign.over) == [1]


def test_ids_of_a_worker_that_is_not_said_to_know_them_mean_nothing(foreign):
    foreign.run().tell(line("request_end", request_id=77, marked=True)).tick(0.015)
    assert foreign.over[1].how is How.SETTLED
    foreign.tell(line("interrupted", outcome="idle"))
    assert foreign.session.ignored == {Reason.UNKNOWN_TYPE: 1}


@requirement("sideband:output:cut")
def test_nothing_is_cut_out_of_its_output(foreign):
    foreign.run().show(MARK)
    assert foreign.text() == MARK.decode()


@requirement("sideband:output:utf8")
def test_a_character_that_is_cut_off_at_the_end_of_a_request_is_not_completed_by_the_next(foreign):
    foreign.run().show(b"\xe2\x82").tell(END).tick(0.015)
    foreign.run().show(b"\xac!")
    assert [(item.text, item.request_id) for item in foreign.session.take()] == [
        ("\ufffd", 1),
        ("\ufffd!", 2),
    ]


@requirement("sideband:image:late")
def test_a_picture_belongs_to_the_request_that_runs_or_to_none(foreign):
    foreign.tell(image("a")).run().tell(image("b") + END + image("c")).tick(0.030)
    assert foreign.session.take() == (
        Image("a", "image/png", PNG, True, None),
        Image("b", "image/png", PNG, True, 1),
        Image("c", "image/png", PNG, True, 1),
    )


# Reading


@requirement("sideband:input:waiting")
def test_it_waits_if_it_has_read_all_that_it_was_given_and_asks_for_more(foreign):
    foreign.run("x <- readline('name? ')").tell(read("x <- readline('name? ')\n") + ask("name? "))
    assert foreign.state is State.RUNNING
    assert foreign.session.next_deadline() == 0.020
    foreign.tick(0.019)
    assert foreign.heard(Waiting) == []
    foreign.tick(0.020)
    assert foreign.heard(Waiting) == [Waiting(1, "name? ")]
    assert foreign.session.take() == (Prompt("name? ", 1),)
    foreign.answer("Ada")
    assert foreign.told[-1] == {"type": "stdin_write", "text": "Ada\n"}
    foreign.tick(9.0)
    assert foreign.state is State.RUNNING
    foreign.tell(read("Ada\n", "name? ") + ask() + END).tick(9.1)
    assert foreign.over[1].prompt == "> "


@requirement("sideband:input:waiting")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sleep()\n", ask()),  # the prompt of a line that it has, and does not report
        ("a\nb\n", read("a\n") + ask()),  # the prompt of its second line
        ("for x in y:\n  z\n\n", ask("... ") * 3),
        ("a\n", read("a\n")),
    ],
    ids=["reports nothing", "has another line", "a block", "asks for nothing"],
)
def test_it_does_not_wait_while_it_may_have_something_to_read(foreign, text, told):
    foreign.run(text).tell(told).tick(1e6)
    assert foreign.state is State.RUNNING
    assert foreign.session.next_deadline() is None


def test_a_prompt_with_its_end_behind_it_is_no_wait(foreign):
    foreign.run().tell(read() + ask()).at(0.019).tell(END).tick(1.0)
    assert foreign.heard(Waiting) == []
    assert list(foreign.over) == [1]


def test_a_prompt_from_before_the_request_is_no_wait(foreign):
    foreign.tell(ask()).run().tell(read()).tick(1.0)
    assert foreign.state is State.RUNNING


# Interrupts


@requirement("sideband:interrupt:sent", "sideband:interrupt:told")
def test_it_is_sent_a_signal_too_and_nobody_pretends_to_know_the_outcome(foreign):
    foreign.run().interrupt()
    assert foreign.told[-1] == {"type": "interrupt"}
    assert foreign.news[-2:] == [SignalWanted(), InterruptTold(1, Outcome.SENT)]
    assert foreign.state is State.INTERRUPTING
    foreign.tell(ask() + END).tick(0.1)
    assert foreign.over[1].finished
    foreign.interrupt()
    assert foreign.news[-2:] == [SignalWanted(), InterruptTold(None, Outcome.SENT)]
    assert foreign.state is State.IDLE


@requirement("sideband:interrupt:withdrawn")
def test_input_that_was_not_handed_out_is_withdrawn_by_an_interrupt(foreign):
    foreign.session.run("x" * (3 * PIECE_BYTES))
    foreign.step()
    foreign.session.interrupt()
    foreign.session.receive_sent()
    foreign.collect()
    assert foreign.typed == b"x" * PIECE_BYTES
    foreign.tell(ask() + END).tick(0.1).run("y")
    assert foreign.typed == b"x" * PIECE_BYTES + b"y\n"


@requirement("sideband:input:waiting")
def test_a_request_whose_end_was_never_said_can_be_interrupted_and_the_worker_used_again(foreign):
    foreign.run("1 + 1").tell(ask()).tick(60.0)
    assert foreign.state is State.RUNNING
    foreign.interrupt().tell(ask()).tick(60.02)
    assert foreign.heard(Waiting) == [Waiting(1, "> ")]
    foreign.answer("2 + 2").tell(ask() + END).tick(60.1)
    assert list(foreign.over) == [1]
    assert foreign.state is State.IDLE


# Workers that say request_end where they wait for input, and workers whose announcement and input race


@requirement("sideband:input:unended")
def test_an_end_with_a_prompt_that_is_none_for_code_is_a_question(foreign):
    foreign.run("x = input('name? ')").tell(ask("name? ") + END)
    assert foreign.heard(Waiting) == [Waiting(1, "name? ")]
    foreign.tell(END)  # it may say so again
    assert foreign.state is State.WAITING
    assert not foreign.session.ignored
    foreign.answer("Ada").tell(read("Ada\n", "name? ") + ask() + END).tick(1.0)
    assert foreign.over[1].prompt == "> "
    assert foreign.typed == b"x = input('name? ')\nAda\n"


@requirement("sideband:input:unended")
def test_a_question_that_is_asked_again_is_a_question_again(foreign):
    foreign.run("f()").tell(ask("y/n? ") + END)
    for _ in range(3):
        foreign.answer("maybe").tell(read("maybe\n", "y/n? ") + ask("y/n? ") + END)
        assert foreign.state is State.WAITING
    assert not foreign.over


@requirement("sideband:input:unended")
def test_code_at_a_question_whose_request_has_said_its_end_is_the_next_request_and_a_notice_says_so(foreign):
    foreign.run("x = input('name? ')").tell(ask("name? ") + END)
    foreign.session.take()
    foreign.run("y")
    assert foreign.over == {1: Completed(1, How.SETTLED, finished=True, error=False, prompt="name? ")}
    (notice,) = foreign.session.take()
    assert isinstance(notice, Notice)
    assert notice.request_id == 1
    assert "'name? '" in notice.text
    foreign.tell(read("y\n", "name? ") + ask() + END).tick(1.0)
    assert list(foreign.over) == [1, 2]
    foreign.run("f()").tell(ask("name? ") + END)  # it was a question, and is one still
    assert foreign.state is State.WAITING


@requirement("sideband:input:unended")
def test_code_that_is_refused_leaves_the_question_open(talk):
    worker = talk(line_bytes=1024).begin_foreign().run("f()").tell(ask("name? ") + END)
    with pytest.raises(LocalProtocolError):
        worker.run("x" * 2000)
    assert worker.state is State.WAITING
    assert worker.answer("Ada").typed == b"f()\nAda\n"


@requirement("sideband:input:unended")
def test_code_at_a_question_without_an_end_is_refused(foreign):
    foreign.run("f()").tell(read("f()\n") + ask("name? ") + END).answer("Ada")
    foreign.tell(read("Ada\n", "name? ") + ask("age? ")).tick(0.1)
    assert foreign.state is State.WAITING
    with pytest.raises(LocalProtocolError, match="waits for an answer"):
        foreign.run("y")


@requirement("sideband:input:unended")
def test_prompts_that_differ_in_their_numbers_are_one_prompt(talk):
    worker = talk().tell(FOREIGN + ask("In [1]: "))
    for number in range(2, 40):
        worker.run("x").tell(read("x\n", f"In [{number - 1}]: ") + ask(f"In [{number}]: ") + END).tick(number)
        assert (worker.state, worker.session.reading.prompt) == (State.IDLE, f"In [{number}]: ")


@requirement("sideband:input:unended")
@pytest.mark.parametrize("before", [b"", read("x > 1\n", "> ")], ids=["unreported", "reported"])
def test_the_first_prompt_of_all_is_one_for_code_at_the_end_of_the_first_request(talk, before):
    worker = talk().tell(FOREIGN).tick(0.5)
    for number in (1, 2, 3):
        worker.run("x > 1").tell(before + ask("> ") + END).tick(number)
        assert worker.state is State.IDLE
    worker.run("f()").tell(ask("name? ") + END)
    assert worker.state is State.WAITING


@requirement("sideband:input:unended")
@pytest.mark.parametrize("question", ["", "name? "])
def test_the_first_prompt_of_all_is_a_question_if_the_code_spells_it_or_it_is_empty(talk, question):
    worker = talk().tell(FOREIGN).tick(0.5).run(f"x = input('{question}')").tell(ask(question) + END)
    assert worker.heard(Waiting) == [Waiting(1, question)]
    worker.answer("Ada").tell(ask("> ") + END).tick(1.0)
    assert worker.over[1].prompt == "> "


@requirement("sideband:input:unended")
def test_every_prompt_is_a_question_for_one_that_has_ended_a_request_without_any(talk):
    worker = talk().tell(FOREIGN).tick(0.5).run("def f(): ...").tell(END).tick(1.0)
    worker.run("f()").tell(ask("name? ") + END)
    assert worker.heard(Waiting) == [Waiting(2, "name? ")]


@requirement("sideband:input:unended")
@pytest.mark.parametrize("known", [ask("> "), b""], ids=["known", "none known"])
def test_a_prompt_that_the_code_has_changed_is_one_for_code_the_second_time(talk, known):
    worker = talk().tell(FOREIGN + known).tick(0.5)
    worker.run("options(prompt='R> ')").tell(ask("R> ") + END)
    assert worker.state is State.WAITING
    worker.run("1").tell(read("1\n", "R> ") + ask("R> ") + END).tick(1.0)
    assert list(worker.over) == [1, 2]
    assert worker.state is State.IDLE
    worker.run("2").tell(ask("R> ") + END).tick(2.0)
    assert worker.state is State.IDLE


@requirement("sideband:input:unended")
def test_an_end_that_comes_after_the_question_was_seen_is_one_too(foreign):
    foreign.run("x").tell(read("x\n") + ask("name? ")).tick(0.020)
    assert foreign.state is State.WAITING
    foreign.tell(END).tick(1.0)
    assert foreign.state is State.WAITING
    assert not foreign.over


@requirement("sideband:input:unended")
def test_after_an_interrupt_an_end_is_an_end_and_its_prompt_is_one_for_code(foreign):
    foreign.run("sys.ps1 = '$ '").tell(ask("$ ") + END)
    assert foreign.state is State.WAITING
    foreign.interrupt().tell(ask("$ ") + END).tick(1.0)
    assert foreign.over[1].prompt == "$ "
    foreign.run("1").tell(ask("$ ") + END).tick(2.0)
    assert list(foreign.over) == [1, 2]


@requirement("sideband:input:unended")
def test_after_an_interrupt_that_only_shows_the_prompt_again_code_is_taken_still(foreign):
    foreign.run("sys.ps1 = '$ '").tell(ask("$ ") + END).interrupt().tell(ask("$ ")).tick(1.0)
    assert foreign.state is State.WAITING
    foreign.run("1").tell(ask("$ ") + END).tick(2.0)
    assert list(foreign.over) == [1, 2]


@requirement("sideband:input:unended")
def test_a_prompt_that_comes_behind_an_end_is_one_for_code(foreign):
    foreign.run("1").tell(END + ask("next> ")).tick(1.0)
    foreign.run("2").tell(ask("next> ") + END).tick(2.0)
    assert list(foreign.over) == [1, 2]


@requirement("sideband:input:waiting")
def test_one_that_shows_no_prompt_for_code_waits_where_it_asks_whatever_it_has_not_reported(talk):
    worker = talk().tell(FOREIGN).tick(0.5).run("x = input()\nprint(x)\n").tell(ask("? ")).tick(0.52)
    assert worker.heard(Waiting) == [Waiting(1, "? ")]


@requirement("sideband:request:lead")
def test_input_follows_its_announcement_after_a_moment(talk):
    assert Terms().lead_s == 0.005
    worker = talk(lead_s=0.005).begin_foreign().run("1")
    assert (worker.told[-1]["text"], worker.typed) == ("1\n", b"")
    assert worker.session.next_deadline() == 0.005
    assert worker.tick(0.005).typed == b"1\n"
    worker.tell(read("1\n") + ask("? ")).tick(0.1).answer("2")
    assert worker.typed == b"1\n"
    assert worker.tick(0.106).typed == b"1\n2\n"


@requirement("sideband:request:lead")
def test_one_with_ids_does_not_wait_for_its_input(talk):
    assert talk(lead_s=0.005).begin().run("1").typed == b"1\n"


@requirement("sideband:request:late")
def test_an_end_before_all_of_the_input_was_handed_out_ends_nothing_and_loses_nothing(foreign):
    text = "x" * (2 * PIECE_BYTES) + "\n"
    foreign.session.run(text)
    foreign.step()
    foreign.session.receive_data(END, Channel.CONTROL_IN)
    assert foreign.session.ignored == {Reason.LATE: 1}
    foreign.session.receive_sent()
    foreign.collect().tell(END).tick(1.0)
    assert foreign.typed == text.encode()
    assert list(foreign.over) == [1]
