"""What is known about a failure prints well and is JSON."""

import json
import signal

import pytest

from plughost.autopsy import SIGNAL_MEANINGS, Autopsy, ExitStatus, Stage, Survivor, WireFrame

FULL = Autopsy(
    stage=Stage.EXECUTE,
    hint="Do this.",
    delivered=True,
    exit=ExitStatus(signal=signal.SIGSEGV, peak_memory_kib=1024, cpu_s=0.5),
    rung="terminate",
    limit="limits.timeout_s",
    stderr_tail="first\nlast words\n",
    frames=(WireFrame("out", 10, '{"type":"request"}'), WireFrame("in", 5, "hello")),
    timings_ms={"launch": 1.25, "handshake": 20.0},
    survivors=(Survivor(10, "sleep 9", ended=True), Survivor(11, "daemon", ended=False)),
    command=("greeter", "--now"),
)


@pytest.mark.parametrize(
    ("status", "ok", "name"),
    [
        (ExitStatus(code=0), True, None),
        (ExitStatus(code=1), False, None),
        (ExitStatus(code=255), False, None),
        (ExitStatus(signal=signal.SIGSEGV), False, "SIGSEGV"),
        (ExitStatus(signal=signal.SIGKILL), False, "SIGKILL"),
        (ExitStatus(), False, None),
    ],
)
def test_only_exit_code_zero_is_a_good_end(status, ok, name):
    assert (status.ok, status.signal_name) == (ok, name)


def test_a_signal_without_a_name_is_told_by_its_number():
    assert "40" in ExitStatus(signal=40).signal_name
    assert "40" in ExitStatus(signal=40).meaning


@pytest.mark.parametrize("name", SIGNAL_MEANINGS)
def test_every_explained_signal_exists_and_is_explained(name):
    status = ExitStatus(signal=signal.Signals[name])
    assert name in status.meaning
    assert SIGNAL_MEANINGS[name] in status.meaning


def test_every_end_has_a_meaning_of_its_own():
    ends = [
        ExitStatus(),
        *(ExitStatus(code=code) for code in (0, 1, 139)),
        *(ExitStatus(signal=n) for n in range(1, 32)),
    ]
    assert len({end.meaning for end in ends}) == len(ends)


def test_an_autopsy_is_json_and_holds_everything():
    found = json.loads(json.dumps(FULL.to_dict()))
    assert set(found) == set(Autopsy.__dataclass_fields__)
    assert (found["stage"], found["delivered"], found["rung"]) == ("execute", True, "terminate")
    assert (found["exit"]["signal"], found["exit"]["code"]) == ("SIGSEGV", None)
    assert (found["exit"]["peak_memory_kib"], found["exit"]["cpu_s"]) == (1024, 0.5)
    assert found["frames"][1] == {"direction": "in", "size": 5, "head": "hello"}
    assert found["survivors"][0] == {"pid": 10, "command": "sleep 9", "ended": True}
    assert found["command"] == ["greeter", "--now"]


def test_an_autopsy_of_almost_nothing_is_json_too():
    found = json.loads(json.dumps(Autopsy(Stage.LAUNCH, "Look.").to_dict()))
    assert (found["stage"], found["exit"], found["limit"]) == ("launch", None, None)
    assert found["delivered"] is False


def test_the_lines_for_a_person_hold_everything_and_end_with_the_next_step():
    lines = FULL.lines()
    text = "\n".join(lines)
    for part in (
        "execute",
        "greeter --now",
        "SIGSEGV",
        "terminate",
        "limits.timeout_s",
        "launch 1.2",
        "last words",
    ):
        assert part in text
    for part in ("10 sleep 9", "11 daemon", "hello", '{"type":"request"}'):
        assert part in text
    assert lines[-1].endswith("Do this.")
    assert str(FULL) == text


def test_the_lines_tell_whether_the_request_had_been_delivered():
    delivered, not_delivered = Autopsy(Stage.EXECUTE, "x", delivered=True), Autopsy(Stage.EXECUTE, "x")
    assert delivered.lines() != not_delivered.lines()


def test_what_is_not_known_takes_no_line():
    assert len(Autopsy(Stage.LAUNCH, "Look.").lines()) == 3


def test_the_lines_stand_in_two_columns():
    columns = {len(line) - len(line[2:].lstrip()) for line in FULL.lines()}
    assert columns == {2}
    starts = {
        line.index(value) for line, value in zip(FULL.lines()[:2], ("execute", "delivered"), strict=True)
    }
    assert len(starts) == 1


def test_only_the_last_lines_of_stderr_are_shown_but_all_of_it_is_kept():
    tail = "".join(f"line {number}.\n" for number in range(100))
    autopsy = Autopsy(Stage.EXECUTE, "x", stderr_tail=tail)
    shown = [line for line in autopsy.lines() if "line " in line]
    assert len(shown) == 10
    assert shown[-1].endswith("line 99.")
    assert autopsy.to_dict()["stderr_tail"] == tail
