"""Every fault has one outcome, in every state; and whatever was printed before it is delivered."""

import pytest

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel, Rung
from plughost.contracts.sideband.items import Text
from plughost.contracts.sideband.messages import LINE_BYTES, Reason
from plughost.contracts.sideband.news import Completed, Gone, How, Ignored
from plughost.contracts.sideband.states import State
from plughost.errors import LocalProtocolError
from plughost.failures import FailureCode, Stage
from tests.contracts.sideband.wire import FOREIGN, hello, line

requirement = pytest.mark.requirement

END = line("request_end", request_id=1, marked=True)
ASK = line("readline_start", prompt="? ", request_id=1)
STAGES = {  # how to bring a worker there, the state, whether a request is not over
    "starting": (lambda talk: talk, State.STARTING, False),
    "idle": (lambda talk: talk.begin(), State.IDLE, False),
    "running": (lambda talk: talk.begin().run(), State.RUNNING, True),
    "waiting": (lambda talk: talk.begin().run().tell(ASK), State.WAITING, True),
    "interrupting": (lambda talk: talk.begin().run().interrupt(), State.INTERRUPTING, True),
    "settling": (lambda talk: talk.begin().run().tell(END), State.SETTLING, True),
}
OPEN = [stage for stage in STAGES if stage != "starting"]


@pytest.fixture
def worker(talk, stage):
    """A worker at a stage, which has printed something."""
    reach, state, _ = STAGES[stage]
    found = reach(talk()).show(b"printed")
    assert found.state is state
    return found


def is_over(worker, stage, how):
    """Tell whether the request of the stage, if there was one, is over once and by *how*, and then the session."""
    requests = {1: how} if STAGES[stage][2] else {}
    last = [type(news) for news in worker.news if isinstance(news, Completed | Gone)]
    return (
        {each: news.how for each, news in worker.over.items()} == requests
        and last == [Completed] * len(requests) + [Gone]
        and worker.session.request_id is None
        and worker.session.next_deadline() is None
    )


# Lines


@requirement("sideband:line:skipped")
@pytest.mark.parametrize("stage", STAGES)
def test_lines_that_are_no_messages_are_counted_and_the_session_goes_on(worker, stage):
    state = worker.state
    odd = [
        b"Hello\n",
        b"[1]\n",
        b'{"type": 5}\n',
        b'{"type": "x"}\n',
        b'{"type": "request_end", "marked": 1}\n',
    ]
    worker.tell(b"".join(odd) + b"\xff\n\x00\n" + b"\n \r\n\r\n")
    assert worker.state is state
    assert worker.session.ignored == {
        Reason.NOT_JSON: 3,
        Reason.NOT_OBJECT: 1,
        Reason.NO_TYPE: 1,
        Reason.UNKNOWN_TYPE: 1,
        Reason.MALFORMED: 1,
    }


@requirement("sideband:line:skipped")
def test_a_flood_of_nonsense_is_told_of_rarely(ours):
    ours.tell(b"x\n" * 10_000)
    assert ours.session.ignored[Reason.NOT_JSON] == 10_000
    assert [news.count for news in ours.heard(Ignored)] == [2**power for power in range(14)]


@requirement("sideband:line:skipped")
def test_a_last_line_without_its_end_counts(ours):
    ours.run().mark().tell(END.rstrip(b"\n"))
    assert not ours.over
    ours.exit(0)
    assert ours.over[1].finished


@requirement("sideband:line:over-long")
@pytest.mark.parametrize("stage", STAGES)
def test_a_line_over_the_limit_ends_the_worker_before_it_is_read_to_its_end(talk, stage):
    reach, _, _ = STAGES[stage]
    worker = reach(talk(line_bytes=500)).show(b"printed")
    worker.tell(b" " * 500)
    assert worker.session.fault is None
    worker.tell(b" ")
    assert worker.outcome[0] is FailureCode.MALFORMED_RESPONSE
    assert worker.rungs == [Rung.TERMINATE]
    assert is_over(worker, stage, How.FAILED)
    assert worker.text() == "printed"


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_the_limit_of_a_line_is_exact(talk, over):
    message = line("readline_start", prompt="x" * 300)
    worker = talk(line_bytes=len(message) - 1 - over).tell(message)
    assert (worker.session.fault is None) == (over <= 0)


def test_the_largest_line_is_32_mib():
    assert LINE_BYTES == 33_554_432


# Introduction


@requirement("sideband:hello:deadline")
def test_a_worker_that_does_not_introduce_itself_in_time_is_given_up(talk):
    worker = talk().tell(line("readline_start", prompt=">>> ")).tick(9.999)
    assert worker.state is State.STARTING
    worker.tick(10.0)
    assert worker.outcome == (FailureCode.TIMEOUT, Stage.HANDSHAKE)
    assert worker.rungs == [Rung.TERMINATE]
    assert worker.gone.status is None


BAD = {
    "no language": line("backend_info"),
    "wrong ids": hello(request_ids="yes"),
    "ended instead": line("session_end", reason="no module named x", status=1),
}


@requirement("sideband:hello:deadline")
@pytest.mark.parametrize("name", BAD)
def test_an_introduction_that_is_none_fails_at_once(talk, name):
    worker = talk().tell(BAD[name])
    assert worker.outcome == (FailureCode.HANDSHAKE_FAILED, Stage.HANDSHAKE)
    assert worker.rungs == [Rung.TERMINATE]


@requirement("sideband:hello:deadline")
@pytest.mark.parametrize("how", ["exit", "exit 0", "sideband", "input"])
def test_a_worker_that_goes_before_it_has_introduced_itself_has_crashed(talk, how):
    worker = talk().show(b"Traceback", Channel.STDERR)
    match how:
        case "exit":
            worker.session.receive_exit(ExitStatus(1))
        case "exit 0":
            worker.session.receive_exit(ExitStatus(0))
        case "sideband":
            worker.close(Channel.CONTROL_IN)
        case "input":
            worker.session.receive_broken_pipe()
    worker.collect()
    assert worker.outcome == (FailureCode.CRASHED, Stage.HANDSHAKE)
    assert worker.rungs == [Rung.CLOSE_STDIN]
    assert worker.text() == "Traceback"
    assert worker.gone.fault is worker.session.fault


def test_one_that_waits_for_its_first_prompt_can_still_go(talk):
    worker = talk().tell(FOREIGN).exit(0)
    assert worker.outcome == (FailureCode.CRASHED, Stage.HANDSHAKE)


# Ends


@requirement("sideband:end:exit", "sideband:end:output", "sideband:request:once")
@pytest.mark.parametrize("stage", OPEN)
@pytest.mark.parametrize(("code", "signal"), [(0, None), (3, None), (None, 11), (None, None)])
def test_an_exit_is_told_with_its_status_whatever_ran(worker, stage, code, signal):
    worker.show(b" and more")
    worker.session.receive_exit(ExitStatus(code, signal))
    worker.collect()
    assert worker.gone.status == ExitStatus(code, signal)
    if code == 0:
        assert worker.state is State.ENDED
        assert worker.gone.fault is None
    else:
        stage_of_fault = Stage.EXECUTE if STAGES[stage][2] else Stage.IDLE
        assert worker.outcome == (FailureCode.CRASHED, stage_of_fault)
        assert worker.gone.fault is worker.session.fault
    assert is_over(worker, stage, How.ENDED if code == 0 else How.FAILED)
    assert worker.text() == "printed and more"


@requirement("sideband:end:exit")
def test_a_request_whose_end_and_whose_output_came_to_an_end_before_the_exit_was_over_before_it(ours):
    ours.run().tell(END).exit(3)
    assert ours.over == {1: Completed(1, How.MARKED, finished=True, error=False, prompt="")}
    assert ours.outcome == (FailureCode.CRASHED, Stage.IDLE)


@requirement("sideband:end:said")
@pytest.mark.parametrize("stage", OPEN)
@pytest.mark.parametrize("code", [0, 3])
def test_a_worker_that_says_that_it_ends_has_ended_whatever_its_status(worker, stage, code):
    worker.tell(line("session_end", reason="sys.exit", status=code))
    assert worker.state is State.ENDING
    assert worker.rungs == [Rung.CLOSE_STDIN]
    assert not worker.over
    worker.show(b" goodbye").tell(line("session_end")).exit(code)
    assert worker.state is State.ENDED
    assert worker.gone == Gone(None, ExitStatus(code), "sys.exit", code)
    assert worker.ignored == [Reason.REPEATED]
    assert is_over(worker, stage, How.ENDED)
    assert worker.text() == "printed goodbye"


@requirement("sideband:end:said")
@pytest.mark.parametrize("order", ["end first", "session first"])
def test_the_end_of_the_session_beats_the_end_of_the_request(ours, order):
    said = [END, line("session_end")]
    ours.run().tell(b"".join(said if order == "end first" else said[::-1])).mark()
    assert not ours.over
    ours.exit(0)
    assert ours.over == {1: Completed(1, How.ENDED, finished=True, error=False, prompt="")}


@requirement("sideband:end:closed")
@pytest.mark.parametrize("stage", OPEN)
@pytest.mark.parametrize("what", ["sideband", "input"])
def test_a_worker_that_closes_what_it_needs_and_goes_on_has_crashed(worker, stage, what):
    worker.at(5.0)
    worker.close(Channel.CONTROL_IN) if what == "sideband" else worker.session.receive_broken_pipe()
    worker.collect()
    assert worker.state is State.ENDING
    assert worker.session.next_deadline() == 5.5
    worker.tick(5.499)
    assert worker.rungs == []
    worker.tick(5.5)
    assert worker.outcome[0] is FailureCode.CRASHED
    assert worker.rungs == [Rung.TERMINATE]
    assert is_over(worker, stage, How.FAILED)
    worker.exit(None, signal=15)
    assert len(worker.heard(Gone)) == 1
    assert worker.text() == "printed"


@requirement("sideband:end:closed")
@pytest.mark.parametrize("stage", OPEN)
def test_a_worker_that_closes_it_because_it_exits_is_told_by_its_exit(worker, stage):
    worker.close(Channel.CONTROL_IN).tick(0.4).exit(0)
    assert worker.state is State.ENDED
    assert is_over(worker, stage, How.ENDED)


@requirement("sideband:end:exit")
@pytest.mark.parametrize("stage", OPEN)
def test_a_worker_that_has_exited_badly_is_not_said_to_have_been_ended_by_us(worker, stage):
    worker.exit(3)
    assert worker.outcome[0] is FailureCode.CRASHED
    assert worker.rungs == [Rung.CLOSE_STDIN]
    assert worker.gone.status == ExitStatus(3)
    assert worker.text() == "printed"
    assert STAGES[stage][2] == bool(worker.over)


@requirement("sideband:line:over-long")
def test_a_worker_that_ends_and_still_says_too_much_is_ended_the_hard_way(talk):
    worker = talk(line_bytes=300).begin().run().tell(line("session_end")).tell(b"x" * 301)
    assert worker.outcome[0] is FailureCode.MALFORMED_RESPONSE
    assert worker.rungs == [Rung.CLOSE_STDIN, Rung.TERMINATE]


@requirement("sideband:end:closed")
@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "settling"])
def test_a_worker_that_closes_only_its_output_goes_on(worker, stage):
    state = worker.state
    worker.close(Channel.STDOUT).close(Channel.STDERR).tick(1.0)
    assert worker.state is state
    assert worker.text() == "printed"


@requirement("sideband:end:lost")
@pytest.mark.parametrize("stage", OPEN)
def test_nothing_can_be_asked_of_a_session_that_is_over(worker, stage):
    worker.exit(1)
    for verb in (
        lambda: worker.session.run("x"),
        lambda: worker.session.answer("x"),
        worker.session.interrupt,
    ):
        with pytest.raises(LocalProtocolError):
            verb()
    told = len(worker.told)
    worker.end().tick(1e9).tell(line("request_end", request_id=1)).close(Channel.CONTROL_IN)
    assert len(worker.told) == told
    assert len(worker.heard(Gone)) == 1


@requirement("sideband:end:output")
def test_what_is_read_after_the_end_is_delivered_still(ours):
    ours.run().session.receive_exit(ExitStatus(1))
    ours.show(b"last words")
    assert ours.session.take() == (Text("stdout", "last words", None),)


# Told to end


@requirement("sideband:end:ladder")
@pytest.mark.parametrize("stage", STAGES)
def test_a_worker_that_is_told_to_end_is_let_go_once_that_is_written(worker, stage):
    worker.session.end()
    assert worker.state is State.ENDING
    assert worker.step() == [Channel.CONTROL_OUT]
    worker.listen()
    assert worker.told[-1] == {"type": "session_end"}
    assert worker.rungs == []
    worker.session.receive_sent()
    worker.listen()
    assert worker.rungs == [Rung.CLOSE_STDIN]
    assert worker.session.next_deadline() is None
    worker.session.end()
    worker.show(b" bye").tell(line("session_end")).exit(None, signal=15)
    assert worker.state is State.ENDED
    assert worker.gone.fault is None
    assert is_over(worker, stage, How.ENDED)
    assert worker.text() == "printed bye"


@requirement("sideband:end:ladder")
def test_a_worker_is_not_let_go_because_something_older_was_written(ours):
    ours.session.run("x")
    ours.step()
    ours.session.end()
    ours.session.receive_sent()
    ours.listen()
    assert ours.rungs == []
    assert ours.step() == [Channel.CONTROL_OUT]


@requirement("sideband:end:ladder")
def test_a_worker_that_does_not_even_read_that_is_let_go_half_a_second_later(ours):
    ours.session.run("x" * 1_000_000)
    ours.step()
    ours.session.end()
    assert ours.step() == [Channel.CONTROL_OUT]
    ours.session.receive_tick(0.499)
    ours.listen()
    assert ours.rungs == []
    ours.session.receive_tick(0.5)
    ours.listen()
    assert ours.rungs == [Rung.CLOSE_STDIN]
    assert ours.session.data_to_send() == []


@pytest.mark.parametrize("how", ["sideband", "input", "session_end"])
def test_a_worker_that_goes_as_it_is_told_has_ended(ours, how):
    ours.session.end()
    match how:
        case "sideband":
            ours.session.receive_eof(Channel.CONTROL_IN)
        case "input":
            ours.session.receive_broken_pipe()
        case "session_end":
            ours.session.receive_data(line("session_end"), Channel.CONTROL_IN)
    assert ours.collect().rungs == [Rung.CLOSE_STDIN]
    ours.exit(1)
    assert ours.state is State.ENDED


def test_a_worker_that_was_going_when_it_was_told_to_has_ended(ours):
    ours.close(Channel.CONTROL_IN).end()
    ours.tick(0.5)
    assert ours.rungs == [Rung.CLOSE_STDIN]
    ours.exit(None, signal=9)
    assert ours.state is State.ENDED
    assert ours.told == []
