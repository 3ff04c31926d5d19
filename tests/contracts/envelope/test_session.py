"""The `envelope` conversation in memory: what is read, when it is told, and how long it may take."""

import pytest

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel, EndWanted, FramePassed, InputEnded, Rung, StateChanged
from plughost.contracts.envelope.session import Mode
from plughost.contracts.envelope.states import State
from plughost.errors import LocalProtocolError
from plughost.failures import FailureCode, Stage
from tests.contracts.envelope.wire import FAILED, QUESTION, REQUEST, SUCCESS, VALIDATED, message

CRASHED = FailureCode.CRASHED
MALFORMED = FailureCode.MALFORMED_RESPONSE
TIMEOUT = FailureCode.TIMEOUT

# What is sent


def test_the_request_is_sent_as_it_is_and_then_the_input_ends(talk):
    conversation = talk().tell()
    assert conversation.sent == REQUEST
    assert conversation.events == [
        StateChanged("started", "working"),
        FramePassed("out", REQUEST[:-1]),
        InputEnded(),
    ]


def test_nothing_is_sent_before_a_worker_is_told(talk):
    conversation = talk().collect()
    assert (conversation.sent, conversation.events) == (b"", [])
    assert conversation.outcome == ("unsettled", Stage.IDLE)


def test_the_request_is_handed_out_once(talk):
    conversation = talk().tell().tick(1.0).hear(SUCCESS).exit()
    assert conversation.sent == REQUEST
    assert conversation.events.count(InputEnded()) == 1


@pytest.mark.parametrize("heard", [b"", SUCCESS])
def test_telling_twice_is_our_own_fault_and_does_no_harm(talk, heard):
    conversation = talk().tell().hear(heard)
    with pytest.raises(LocalProtocolError):
        conversation.tell(5.0)
    assert conversation.session.next_deadline() == 30.0
    assert conversation.hear(b"" if heard else SUCCESS).exit().outcome == "success"
    assert conversation.sent == REQUEST


def test_every_frame_that_passes_is_an_event(talk):
    frames = [event for event in talk().tell().hear(b"\n" + SUCCESS).events if isinstance(event, FramePassed)]
    assert frames == [FramePassed("out", REQUEST[:-1]), FramePassed("in", SUCCESS[:-1])]


# The order of the end


def test_nothing_is_decided_before_the_exit(talk):
    conversation = talk().tell().hear(SUCCESS).end_output()
    assert conversation.outcome == ("unsettled", Stage.TEARDOWN)
    assert conversation.session.reply.result == "success"
    assert not any(isinstance(event, EndWanted) for event in conversation.events)
    assert conversation.exit().outcome == "success"


def test_the_end_of_output_decides_nothing(talk):
    conversation = talk().tell().end_output()
    assert conversation.outcome == ("unsettled", Stage.EXECUTE)
    assert conversation.exit(3).outcome == (CRASHED, Stage.EXECUTE)


@pytest.mark.parametrize(("heard", "code"), [(SUCCESS, 0), (FAILED, 1), (QUESTION, 2)])
def test_a_good_end_asks_for_nothing_more(talk, heard, code):
    conversation = talk().tell().hear(heard).exit(code)
    assert conversation.events[-1] == StateChanged("answered", "closed")
    assert conversation.session.stage is Stage.TEARDOWN


def test_other_channels_mean_nothing_to_the_conversation(talk):
    conversation = talk().hear(b"log\n", Channel.STDERR).tell()
    conversation.hear(SUCCESS, Channel.STDERR)
    for channel in (Channel.STDERR, Channel.STDIN):
        conversation.session.receive_eof(channel)
    assert conversation.outcome == ("unsettled", Stage.EXECUTE)
    assert conversation.hear(SUCCESS).hear(b"log\n", Channel.STDERR).exit().outcome == "success"


def test_a_worker_that_crashed_gets_the_time_to_exit_and_any_other_failed_one_does_not(talk):
    assert talk().tell().hear(b'{"res').end_output().events[-1] == EndWanted(Rung.CLOSE_STDIN)
    assert talk().tell().hear(b"garbage\n").events[-1] == EndWanted(Rung.TERMINATE)
    assert talk().tell().tick(30.0).events[-1] == EndWanted(Rung.TERMINATE)


def test_a_broken_pipe_decides_nothing(talk):
    conversation = talk().tell()
    conversation.session.receive_broken_pipe()
    assert conversation.outcome == ("unsettled", Stage.EXECUTE)
    assert conversation.hear(SUCCESS).exit().outcome == "success"


# Time


@pytest.mark.requirement("envelope:exit:deadline")
def test_time_runs_only_from_the_request_on(talk):
    conversation = talk(timeout_s=5.0).tick(1e6)
    assert conversation.session.next_deadline() is None
    assert conversation.outcome == ("unsettled", Stage.IDLE)
    assert conversation.tell(1e6).session.next_deadline() == 1e6 + 5


@pytest.mark.requirement("envelope:exit:deadline")
@pytest.mark.parametrize("late", [0, 100])
@pytest.mark.parametrize(("heard", "stage"), [(b"", Stage.EXECUTE), (SUCCESS, Stage.TEARDOWN)])
def test_one_deadline_bounds_the_work_and_the_exit(talk, heard, stage, late):
    conversation = talk(timeout_s=5.0).tell(1.0).hear(heard)
    assert conversation.session.next_deadline() == 6.0
    assert conversation.tick(5.999).outcome == ("unsettled", stage)
    assert conversation.tick(6.0 + late).outcome == (TIMEOUT, stage)
    assert conversation.session.fault.limit == "isolation.timeout_seconds"
    assert conversation.session.next_deadline() is None


def test_the_hint_for_a_late_validation_names_no_limit_that_could_be_raised(talk):
    fault = talk(Mode.VALIDATE, timeout_s=5.0).tell(1.0).tick(6.0).session.fault
    assert fault.limit is None
    assert "isolation.timeout_seconds" not in fault.hint


def test_what_was_heard_is_judged_before_the_time_at_which_it_was_heard(talk):
    conversation = talk(timeout_s=5.0).tell()
    conversation.session.note_time(7.0)
    assert conversation.hear(SUCCESS).exit().tick(7.0).outcome == "success"


def test_an_exit_after_the_reply_that_is_too_late_is_still_a_timeout(talk):
    conversation = talk(timeout_s=5.0).tell().hear(SUCCESS).tick(5.0).exit(0)
    assert conversation.outcome == (TIMEOUT, Stage.TEARDOWN)


def test_a_late_reply_is_dropped_and_the_timeout_stays_the_only_outcome(talk):
    conversation = talk(timeout_s=5.0).tell().hear(SUCCESS[:9]).tick(5.0)
    before = list(conversation.events)
    conversation.hear(SUCCESS[9:]).end_output().exit(0).tick(9.0)
    assert conversation.outcome == (TIMEOUT, Stage.EXECUTE)
    assert conversation.session.reply is None
    assert conversation.session.exit == ExitStatus(0)
    assert conversation.events == before


def test_time_never_runs_backwards(talk):
    conversation = talk().tell()
    conversation.session.note_time(1.5)
    conversation.session.note_time(0.5)
    assert conversation.hear(SUCCESS).session.marks["answered"] == 1.5


# Workers that were started early


@pytest.mark.parametrize("how", [{"code": 0}, {"code": 1}, {"code": 124}, {"signal": 9}])
def test_a_worker_that_ends_before_it_was_told_fails_the_request(talk, how):
    conversation = talk().exit(**how).tell(3.0)
    assert conversation.outcome == (CRASHED, Stage.IDLE)
    assert conversation.sent == b""
    assert conversation.session.next_deadline() is None
    assert not conversation.session.delivered


@pytest.mark.parametrize("end", ["hangs", "ends its output", "exits"])
@pytest.mark.parametrize("heard", [SUCCESS, b"Loading...\n", b"\xff\n", b"\n \nLoading\n"])
def test_a_worker_that_speaks_before_it_was_told_is_malformed(talk, heard, end):
    conversation = talk().hear(heard)
    if end != "hangs":
        conversation.end_output()
    if end == "exits":
        conversation.exit()
    assert conversation.tell().outcome == (MALFORMED, Stage.IDLE)
    assert conversation.sent == b""


def test_a_worker_that_speaks_before_it_was_told_is_malformed_without_a_line_feed_too(talk):
    assert talk().hear(b"Loading").end_output().outcome == (MALFORMED, Stage.IDLE)


def test_blank_lines_and_the_end_of_output_before_the_request_mean_nothing(talk):
    assert talk().hear(b"\n \r\n").end_output().outcome == ("unsettled", Stage.IDLE)


def test_a_flood_before_the_request_is_bounded(talk):
    conversation = talk(line_bytes=1000).hear(b"x" * 1001)
    assert conversation.outcome == (MALFORMED, Stage.IDLE)
    assert conversation.session.fault.limit == "limits.line_bytes"


@pytest.mark.parametrize("how", [{"code": 0}, {"code": 1}, {"signal": 9}])
def test_a_worker_that_is_let_go_has_not_failed_whatever_it_does(talk, how):
    conversation = talk().retire()
    assert conversation.events == [StateChanged("started", "retiring"), EndWanted(Rung.KILL)]
    conversation.hear(b"garbage\n" + SUCCESS).end_output().tick(1e6)
    assert conversation.outcome == ("unsettled", Stage.IDLE)
    assert conversation.session.next_deadline() is None
    assert conversation.exit(**how).outcome == "let go"
    assert conversation.sent == b""


@pytest.mark.parametrize("heard", [b"", SUCCESS])
def test_a_worker_that_was_told_cannot_be_let_go(talk, heard):
    conversation = talk().tell().hear(heard)
    before = (conversation.session.state, list(conversation.events))
    conversation.retire()
    assert (conversation.session.state, conversation.events) == before


def test_letting_go_twice_or_of_what_is_over_changes_nothing(talk):
    for conversation in (talk().retire(), talk().retire().exit(), talk().exit(1)):
        before = list(conversation.events)
        assert conversation.retire().events == before


# Delivery


def test_a_request_is_delivered_when_it_was_written_and_not_when_it_was_said(talk):
    session = talk().session
    session.tell(REQUEST, 1.0)
    assert session.data_to_send() == [(Channel.STDIN, REQUEST)]
    assert not session.delivered
    session.note_time(1.5)
    session.receive_sent()
    assert session.delivered
    assert session.marks["delivered"] == 1.5


def test_a_worker_that_was_told_nothing_was_delivered_nothing(talk):
    session = talk().session
    session.receive_sent()
    assert not session.delivered
    assert "delivered" not in session.marks


# Validation


def validation(talk, heard, code):
    return talk(Mode.VALIDATE).tell().hear(heard).end_output().exit(code)


@pytest.mark.parametrize("errors", [[], ["x is missing"], ["a", "b"]])
def test_a_validation_is_answered_by_a_list_of_sentences_and_exit_0(talk, errors):
    conversation = validation(talk, message(errors=errors), 0)
    assert conversation.outcome == "validated"
    assert conversation.session.validation.errors == tuple(errors)
    assert conversation.session.reply is None


@pytest.mark.parametrize(
    "heard",
    [
        b"{}\n",
        b"[]\n",
        message(result="fine"),
        message(errors="x"),
        message(errors=[5]),
        b'{"errors":null}\n',
        message(errors=[], plugin=[]),
        message(errors=[], plugin={"name": 5}),
        message(errors=[], plugin={"supported_extensions": ".txt"}),
        VALIDATED + VALIDATED,
    ],
)
def test_a_validation_that_answers_anything_else_is_malformed(talk, heard):
    assert validation(talk, heard, 0).outcome[0] is MALFORMED


@pytest.mark.parametrize(("code", "fault"), [(1, MALFORMED), (2, MALFORMED), (3, CRASHED), (124, CRASHED)])
def test_a_validation_that_does_not_exit_with_0_has_failed(talk, code, fault):
    assert validation(talk, VALIDATED, code).outcome == (fault, Stage.TEARDOWN)
    assert validation(talk, b"", code).outcome == (CRASHED, Stage.EXECUTE)


def test_a_validation_without_an_answer_has_crashed_even_with_exit_0(talk):
    assert validation(talk, b"", 0).outcome == (CRASHED, Stage.EXECUTE)


def test_a_transformation_is_not_answered_by_a_validation(talk):
    assert talk().tell().hear(VALIDATED).outcome == (MALFORMED, Stage.EXECUTE)


# Timings


def test_the_start_the_work_and_the_whole_are_measured(talk):
    conversation = talk()
    conversation.session.marks["spawned"] = 0.25
    conversation.tell(1.0).tick(2.0).hear(SUCCESS).tick(2.5).exit()
    assert conversation.session.timings_ms == {"launch": 250.0, "work": 1000.0, "total": 1500.0}


def test_the_work_of_one_that_failed_ends_with_its_failure(talk):
    conversation = talk(timeout_s=5.0).tell(1.0).tick(6.0)
    assert conversation.session.timings_ms == {"work": 5000.0}
    conversation.session.note_time(7.0)
    assert conversation.exit(signal=15).session.timings_ms == {"work": 5000.0, "total": 6000.0}


def test_a_worker_that_was_told_nothing_has_not_worked(talk):
    assert talk().exit(1).tell(2.0).session.timings_ms == {}
    assert talk().retire().exit().session.timings_ms == {}


def test_the_first_exit_is_the_one_that_is_timed(talk):
    conversation = talk().tell().hear(SUCCESS).tick(1.0).exit().tick(2.0).exit()
    assert conversation.session.marks["exited"] == 1.0
    assert conversation.session.state is State.CLOSED


def test_half_a_line_before_it_was_told_is_malformed(talk):
    worker = talk()
    worker.hear(b'{"result": ')
    worker.tell()
    assert worker.session.fault is not None
    assert worker.session.fault.code is FailureCode.MALFORMED_RESPONSE


@pytest.mark.parametrize(("heard", "code"), [(SUCCESS, 0), (FAILED, 1)])
def test_a_worker_that_knows_no_modes_answers_a_validation_with_an_envelope(talk, heard, code):
    worker = validation(talk, heard, code)
    assert worker.session.fault is None
    assert worker.session.validation.errors is None


def test_of_a_worker_that_knows_no_modes_the_pair_must_agree_too(talk):
    assert validation(talk, SUCCESS, 1).outcome[0] is MALFORMED
