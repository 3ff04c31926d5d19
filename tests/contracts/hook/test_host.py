"""What a binding demands of a conversation, and what its outcome means to the caller."""

from pathlib import Path

import pytest
from plughost_sdk import hook_messages as wire

from plughost.autopsy import ExitStatus, Survivor
from plughost.contracts.base import Evidence
from plughost.contracts.hook import host
from plughost.contracts.hook.messages import EXCHANGES, FRAME_BYTES, Phase
from plughost.contracts.hook.session import Terms
from plughost.errors import LocalProtocolError, ManifestError
from plughost.failures import FailureCode, ProtocolVersionMismatch, Stage
from plughost.manifest import binding as bindings
from plughost.manifest.binding import Binding, Environment, HookLimits, HookOptions
from tests.contracts.hook.wire import EMPTY, NAME, REQUESTS, STRAY, info

HERE = Path("/plugins/github")
NAMED = Binding(NAME, "hook", ("github",), HERE, HERE)
MISMATCH = "Error: Protocol version mismatch: core=2, plugin=1\n"


def bound(**changes):
    return Binding(
        **{"name": NAME, "contract": "hook", "command": ("x",), "directory": HERE, "cwd": HERE, **changes}
    )


def failure_of(conversation, binding=NAMED, **evidence):
    return host.failure(binding, conversation.session, Evidence(**evidence))


# Terms


def test_the_terms_are_those_of_the_binding():
    binding = bound(
        allow=("a:b",),
        limits=HookLimits(timeout_s=9, handshake_s=8, frame_bytes=7),
        environment=Environment(inherit=("HOME", "GONE"), set={"CI": "1"}),
        hook=HookOptions(phases=("plan", "generate")),
    )
    assert host.terms(binding, {"HOME": "/home", "SECRET": "s"}, "1.2") == Terms(
        name=NAME,
        allow=("a:b",),
        phases=(Phase.PLAN, Phase.GENERATE),
        version="1.2",
        env={"HOME": "/home", "CI": "1"},
        timeout_s=9,
        handshake_s=8,
        frame_bytes=7,
    )


def test_the_defaults_of_a_binding_and_of_the_terms_are_the_same():
    assert host.terms(bound(name=""), {}, "") == Terms()


@pytest.mark.parametrize("contract", ["execute", "envelope", "duplex"])
def test_a_binding_of_another_contract_is_our_own_fault(contract):
    with pytest.raises(LocalProtocolError):
        host.terms(bound(contract=contract), {}, "")


def test_a_bare_command_has_no_allow_list_and_a_binding_without_one_allows_nothing():
    assert host.terms(bindings.of_command("hook", ["x"]), {}, "").allow is None
    assert host.terms(bound(), {}, "").allow == ()


@pytest.mark.requirement("hook:handshake:env")
@pytest.mark.parametrize(
    ("inherit", "given", "told"),
    [
        ((), {}, {}),
        (("HOME",), {}, {"HOME": "/home"}),
        (("HOME", "HOME"), {}, {"HOME": "/home"}),
        (("HOME",), {"HOME": "/other"}, {"HOME": "/other"}),
        (("MISSING",), {}, {}),
        (("*", "HO?E", ""), {}, {}),
        (("HO*",), {}, {"HOME": "/home"}),
        (("ODD",), {}, {}),
        ((), {"ODD": "\udcff"}, {}),
        ((), {"EMPTY": ""}, {"EMPTY": ""}),
    ],
)
def test_only_the_variables_that_are_listed_or_set_are_told(inherit, given, told):
    ours = {"HOME": "/home", "TOKEN": "secret", "ODD": "caf\udce9"}
    binding = bound(environment=Environment(inherit=inherit, set=given))
    assert host.terms(binding, ours, "").env == told


# Rounds


@pytest.mark.parametrize(
    ("phases", "value"),
    [((), "declared"), (("generate",), "generate"), (("plan", "generate"), "plan,generate")],
)
def test_the_variable_of_the_round_says_what_was_chosen(phases, value):
    binding = host.bound(bound(hook=HookOptions(phases=phases), environment=Environment(set={"A": "1"})))
    assert binding.environment.set == {"A": "1", "PLUGHOST_HOOK_ROUND": value}


def test_a_variable_of_that_name_in_the_binding_does_not_overrule_what_was_chosen():
    binding = host.bound(bound(environment=Environment(set={"PLUGHOST_HOOK_ROUND": "preflight"})))
    assert binding.environment.set["PLUGHOST_HOOK_ROUND"] == "declared"


@pytest.mark.parametrize(
    "phases", [("paint",), ("generate", "plan"), ("plan", "plan"), ("plan", "preflight"), ("",), "plan"]
)
def test_a_choice_that_makes_no_sense_is_refused(phases):
    with pytest.raises(ManifestError):
        host.choose(NAMED, phases)


def test_a_choice_replaces_that_of_the_binding():
    chosen = host.choose(bound(hook=HookOptions(phases=("plan", "generate"))), ["detect"])
    assert chosen.hook.phases == ("detect",)


# Requests


@pytest.mark.parametrize("timeout", [0, -1, 86_401, float("nan"), float("inf"), "5", b"", [], 1j])
def test_a_timeout_that_is_none_is_our_own_fault(timeout):
    with pytest.raises(LocalProtocolError):
        host.ask(NAMED, Phase.PLAN, REQUESTS[Phase.PLAN], timeout)


@pytest.mark.parametrize("timeout", [None, 0.001, 1, 86_400])
def test_a_timeout_of_up_to_a_day_is_taken(timeout):
    assert host.ask(NAMED, Phase.PLAN, REQUESTS[Phase.PLAN], timeout).phase is Phase.PLAN


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("given", Phase)
def test_a_request_is_of_its_phase(phase, given):
    if phase is given:
        assert host.ask(NAMED, phase, REQUESTS[given]).phase is phase
    else:
        with pytest.raises(LocalProtocolError):
            host.ask(NAMED, phase, REQUESTS[given])


def test_the_limit_of_a_request_is_that_of_the_binding():
    short = bound(limits=HookLimits(frame_bytes=1))
    with pytest.raises(LocalProtocolError):
        host.ask(short, Phase.PLAN, REQUESTS[Phase.PLAN])
    assert host.ask(short, Phase.PLAN, wire.PlanRequest()).frame == EMPTY


def test_it_is_checked_whose_turn_it_is_before_anything_is_sent(talk):
    conversation = talk().shake()
    host.check_turn(conversation.session, host.ask(NAMED, Phase.PLAN, wire.PlanRequest()))
    with pytest.raises(LocalProtocolError):
        host.check_turn(conversation.session, host.ask(NAMED, Phase.GENERATE, wire.GenerateRequest()))
    conversation.ask("plan")
    with pytest.raises(LocalProtocolError):  # it would be due next, but the last one is under way
        host.check_turn(conversation.session, host.ask(NAMED, Phase.GENERATE, wire.GenerateRequest()))


@pytest.mark.parametrize("phase", Phase)
def test_a_failed_process_has_no_turns_left_its_failure_is_the_answer(phase, talk):
    conversation = talk().shake().ask("plan").exit(1)
    host.check_turn(conversation.session, host.ask(NAMED, phase, REQUESTS[phase]))


def test_every_phase_has_a_request_and_a_result_of_its_own():
    assert set(EXCHANGES) == set(Phase)
    assert len({kind for each in EXCHANGES.values() for kind in (each.request, each.result)}) == 2 * len(
        Phase
    )
    assert FRAME_BYTES == 10_485_760


# Failures


@pytest.mark.requirement("hook:failure:codes")
def test_a_failure_has_the_exit_status_and_the_end_of_stderr(talk):
    conversation = talk(name=NAME).shake().ask("plan").end_output().exit(3)
    failure = failure_of(conversation, exit=ExitStatus(3), stderr_tail="boom\n")
    assert (failure.code, failure.stage) == (FailureCode.CRASHED, Stage.EXECUTE)
    assert failure.plugin == NAME
    assert failure.autopsy.exit == ExitStatus(3)
    assert failure.autopsy.stderr_tail == "boom\n"
    assert failure.autopsy.delivered
    assert "exit status 3" in str(failure)


@pytest.mark.requirement("hook:handshake:silent-mismatch")
@pytest.mark.parametrize("end", ["output", "exit"])
@pytest.mark.parametrize("said", [MISMATCH, "log\n" + MISMATCH.upper() + "more\n"])
def test_one_that_exits_and_names_a_mismatch_is_a_mismatch(end, said, talk):
    conversation = talk().begin()
    conversation.end_output() if end == "output" else conversation.exit(1)
    failure = failure_of(conversation, exit=ExitStatus(1), stderr_tail=said)
    assert isinstance(failure, ProtocolVersionMismatch)
    assert failure.stage is Stage.HANDSHAKE
    assert failure.autopsy.exit == ExitStatus(1)
    assert "core=2" in str(failure).lower()


@pytest.mark.requirement("hook:handshake:silent-mismatch")
@pytest.mark.parametrize(
    ("exit", "said"),
    [
        (ExitStatus(1), "Error: something else\n"),
        (ExitStatus(1), ""),
        (ExitStatus(0), MISMATCH),
        (ExitStatus(None, 11), MISMATCH),
        (ExitStatus(), MISMATCH),
        (None, MISMATCH),
    ],
)
def test_any_other_end_before_the_introduction_is_a_crash(exit, said, talk):
    failure = failure_of(talk().begin().end_output(), exit=exit, stderr_tail=said)
    assert failure.code is FailureCode.CRASHED


@pytest.mark.requirement("hook:handshake:silent-mismatch")
def test_after_the_handshake_a_mismatch_on_stderr_is_mere_text(talk):
    conversation = talk().shake().ask("plan").exit(1)
    assert failure_of(conversation, exit=ExitStatus(1), stderr_tail=MISMATCH).code is FailureCode.CRASHED


@pytest.mark.parametrize("fault", ["timeout", "stray text"])
def test_a_mismatch_on_stderr_hides_no_other_fault(fault, talk):
    conversation = talk().begin()
    conversation.tick(1e6) if fault == "timeout" else conversation.hear(STRAY)
    code = FailureCode.TIMEOUT if fault == "timeout" else FailureCode.MALFORMED_RESPONSE
    assert failure_of(conversation, exit=ExitStatus(1), stderr_tail=MISMATCH).code is code


def test_what_it_said_about_a_mismatch_is_shown_in_one_line(talk):
    said = "protocol version mismatch \x1b]52;c;ZXZpbA==\x07" + "y" * 5000
    failure = failure_of(talk().begin().exit(1), exit=ExitStatus(1), stderr_tail=said)
    assert str(failure).isprintable()
    assert len(str(failure)) < 1000


# Timings


def test_the_stages_and_the_last_hook_are_timed(talk):
    conversation = talk()
    session = conversation.session
    session.marks["spawned"] = 0.001
    session.note_time(0.003)
    conversation.shake().ask("plan", now=1.0)
    session.note_time(1.004)
    conversation.hear(EMPTY).ask("generate", now=2.0)
    session.note_time(2.5)
    conversation.hear(EMPTY).retire()
    session.note_time(2.6)
    conversation.exit(0)
    assert host.timings(session) == {"launch": 1.0, "handshake": 2.0, "execute": 500.0, "teardown": 100.0}


def test_a_hook_that_failed_is_timed_until_then(talk):
    conversation = talk().shake().ask("plan", now=1.0).tick(31.0)
    assert host.timings(conversation.session)["execute"] == 30_000.0


def test_a_request_that_is_under_way_has_no_time_yet(talk):
    conversation = talk().shake().ask("plan", now=1.0).hear(EMPTY).ask("generate", now=2.0)
    assert "execute" not in host.timings(conversation.session)


# The end


@pytest.mark.requirement("hook:exit:gone")
@pytest.mark.parametrize(
    ("evidence", "count"),
    [
        (Evidence(exit=ExitStatus(0)), 0),
        (Evidence(exit=ExitStatus(1)), 1),
        (Evidence(exit=ExitStatus(None, 11)), 1),
        (Evidence(exit=ExitStatus(None, 9), rung="kill"), 1),
        (Evidence(exit=ExitStatus(0), rung="terminate"), 1),
        (
            Evidence(exit=ExitStatus(0), survivors=(Survivor(7, "sleep", True), Survivor(8, "sleep", False))),
            2,
        ),
        (Evidence(), 0),
    ],
)
def test_how_it_ended_is_a_warning(evidence, count):
    assert len(host.warnings(evidence)) == count


# What it says about itself


@pytest.mark.requirement("hook:round:graph")
@pytest.mark.parametrize(
    ("name", "target"),
    [("provider/github", "github"), ("github", "github"), ("a/b/c", "c"), ("a/", ""), ("/", "")],
)
def test_the_target_is_the_last_part_of_its_name(name, target):
    assert host.target(info(name=name)) == target


@pytest.mark.requirement("hook:round:matrix")
@pytest.mark.parametrize(
    ("metadata", "native"),
    [
        ({}, False),
        ({"plughost.matrix": "native"}, True),
        ({"plughost.matrix": "expanded"}, False),
        ({"plughost.matrix": "Native"}, False),
        ({"plughost.matrix": ""}, False),
    ],
)
def test_matrices_are_given_as_written_only_to_those_who_say_so(metadata, native):
    assert host.wants_native_matrix(info(metadata=metadata)) is native


# Sets


def loaded(*infos):
    return [
        (bound(name=each.name, source=f"/plugins/{number}/plugin.toml"), each)
        for number, each in enumerate(infos)
    ]


@pytest.mark.requirement("hook:set:names", "hook:set:requires", "hook:set:conflicts")
@pytest.mark.parametrize(
    ("infos", "key"),
    [
        ([info(name="a"), info(name="a")], "name"),
        ([info(name="a"), info(name="b", requires=["lang:go"])], "requires"),
        ([info(name="a", capabilities=["x:y"]), info(name="b", conflicts_with=["x:y"])], "conflicts_with"),
    ],
)
def test_a_set_that_cannot_work_together_is_refused_with_an_explanation(infos, key):
    with pytest.raises(ManifestError) as caught:
        host.check_set(loaded(*infos))
    assert caught.value.key == key
    assert caught.value.source == ("/plugins/0" if key == "name" else "/plugins/1")
    assert caught.value.remedy


def test_all_problems_of_a_set_are_told_at_once():
    with pytest.raises(ManifestError) as caught:
        host.check_set(loaded(info(name="a", requires=["r:1"]), info(name="b", requires=["r:2"])))
    assert "r:1" in caught.value.problem
    assert "r:2" in caught.value.problem


def test_a_set_that_can_work_together_is_accepted():
    host.check_set([])
    host.check_set(loaded(info(name="a", capabilities=["lang:go"]), info(name="b", requires=["lang:*"])))
