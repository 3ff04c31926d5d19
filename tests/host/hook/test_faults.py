"""Every way a provider can misbehave gets one clear code, at the stage where it happened, by either host."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from plughost import FailureCode, PluginFailure, Stage
from plughost.manifest.binding import Binding
from tests.host.hook.lab import QUICK, Lab, generated, gone, info, rounds, write

CRASHED, MALFORMED, TIMEOUT = FailureCode.CRASHED, FailureCode.MALFORMED_RESPONSE, FailureCode.TIMEOUT
TEXT = "write:" + b"Hello world\n".hex()
HEADER = "write:00000400"  # promises a kibibyte
SHAKE = ["read", write(info())]


def fail(lab: Lab, binding: Binding, phase: str = "generate") -> PluginFailure:
    """Connect and ask, and return the failure; it can be written down, whatever the provider wrote."""
    with pytest.raises(PluginFailure) as caught:
        lab.connect(binding).ask(phase)
    assert json.dumps(caught.value.to_dict())
    assert [event.what.failure for event in lab.events if event.name == "failed"] == [caught.value]
    return caught.value


# What may be played instead of an introduction, and instead of a result.
FAULTS: dict[str, tuple[Sequence[str], FailureCode, dict[str, Any]]] = {
    "silent": (["stay"], TIMEOUT, {}),
    "a header that promises bytes that never come": ([HEADER, "stay"], TIMEOUT, {}),
    "half a body, and silence": ([HEADER, "write:0a0a", "stay"], TIMEOUT, {}),
    "a header over the limit": (["write:00a00001", "stay"], MALFORMED, {}),
    "garbage": (["write:deadbeefdeadbeef", "stay"], MALFORMED, {}),
    "a body that is no message": (["write:00000002ffff", "stay"], MALFORMED, {}),
    "text": ([TEXT, "stay"], MALFORMED, {"hint": "stderr"}),
    "text, and an end": ([TEXT, "exit:0"], MALFORMED, {"hint": "stderr"}),
    "exit 0": (["exit:0"], CRASHED, {"exit": 0}),
    "exit 1": (["say:oh no\n", "exit:1"], CRASHED, {"exit": 1, "stderr": "oh no\n"}),
    "exit 1 in the middle of a header": (["write:0000", "exit:1"], CRASHED, {"exit": 1}),
    "exit 1 in the middle of a body": ([HEADER, "write:0a0a", "exit:1"], CRASHED, {"exit": 1}),
    "a segmentation fault": (["die:11"], CRASHED, {"signal": "SIGSEGV"}),
    "a kill": (["die:9"], CRASHED, {"signal": "SIGKILL"}),
    "stdout closed, and alive": (["close:1", "stay"], CRASHED, {"rung": "terminate"}),
    "stdout closed, and stubborn": (["ignore:15", "close:1", "stay"], CRASHED, {"rung": "kill"}),
    "a flood": (["write:7fffffff", "flood"], MALFORMED, {}),
}


@pytest.mark.requirement(
    "hook:failure:codes", "hook:failure:exit-before-answer", "hook:deadline:owner", "hook:frame:malformed"
)
@pytest.mark.thin(3)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("stage", [Stage.HANDSHAKE, Stage.EXECUTE])
def test_instead_of_an_answer(fault: str, stage: Stage, both: Lab) -> None:
    words, code, expected = FAULTS[fault]
    before = ["read"] if stage is Stage.HANDSHAKE else [*SHAKE, "read"]
    limits = {**QUICK, "handshake_s": 10.0} if stage is Stage.EXECUTE else QUICK
    if code is not TIMEOUT:
        limits = {**limits, "handshake_s": 10.0, "timeout_s": 10.0}
    if expected.get("rung") == "terminate":
        limits = {**limits, "terminate_s": 10.0}
    failure = fail(both, both.play(*before, *words, **limits))
    assert (failure.code, failure.stage) == (code, stage)
    autopsy = failure.autopsy
    assert autopsy.exit is not None
    if code is not TIMEOUT:
        assert autopsy.delivered == (stage is Stage.EXECUTE)
    if "exit" in expected:
        assert autopsy.exit.code == expected["exit"]
    if "signal" in expected:
        assert autopsy.exit.signal_name == expected["signal"]
    assert autopsy.rung == expected.get("rung", autopsy.rung)
    assert expected.get("hint", "") in autopsy.hint
    assert autopsy.stderr_tail == expected.get("stderr", "")


@pytest.mark.requirement("hook:handshake:silent-mismatch")
def test_one_that_refuses_our_protocol_on_stderr_is_a_mismatch(both: Lab) -> None:
    said = "say:Error: Protocol version mismatch: core=1, plugin=2\n"
    failure = fail(both, both.play("read", said, "exit:1"))
    assert (failure.code, failure.stage) == (FailureCode.PROTOCOL_VERSION_MISMATCH, Stage.HANDSHAKE)
    assert "core=1" in failure.autopsy.stderr_tail
    assert failure.autopsy.exit is not None
    assert failure.autopsy.exit.code == 1


@pytest.mark.requirement("hook:handshake:silent-mismatch")
def test_one_that_does_so_before_it_has_read_the_greeting_is_a_mismatch_too(both: Lab) -> None:
    failure = fail(both, both.play("say:protocol version mismatch\n", "exit:1"))
    assert failure.code is FailureCode.PROTOCOL_VERSION_MISMATCH


@pytest.mark.requirement("hook:handshake:order")
@pytest.mark.parametrize(
    ("introduction", "bound", "code"),
    [
        (b"", {}, FailureCode.PROTOCOL_VERSION_MISMATCH),
        (info(protocol=2), {}, FailureCode.PROTOCOL_VERSION_MISMATCH),
        (info(name=""), {}, FailureCode.HANDSHAKE_FAILED),
        (info(name="provider/other"), {"name": "provider/raw"}, FailureCode.HANDSHAKE_FAILED),
        (info(capabilities=["a:b"]), {"allow": ("c:d",)}, FailureCode.CAPABILITY_NOT_ALLOWED),
        (info(), {"allow": ("c:d",)}, FailureCode.CAPABILITY_NOT_DECLARED),
        (info(capabilities=["a:b", "a:b"]), {}, FailureCode.CAPABILITY_NOT_DECLARED),
        (info(phases="paint"), {}, FailureCode.HANDSHAKE_FAILED),
        (info(phases="plan"), {"phases": ("generate",)}, FailureCode.HANDSHAKE_FAILED),
    ],
)
def test_an_introduction_that_is_refused(introduction: Any, bound: Any, code: FailureCode, both: Lab) -> None:
    failure = fail(both, both.play("read", write(introduction), "stay", **bound, terminate_s=10))
    assert (failure.code, failure.stage) == (code, Stage.HANDSHAKE)
    assert failure.autopsy.rung == "terminate"


@pytest.mark.requirement("hook:frame:unasked")
@pytest.mark.parametrize("tail", [b"\0", b"\0\0\0\0", b"Starting provider\n"])
def test_what_comes_with_the_introduction_is_not_the_first_result(tail: bytes, both: Lab) -> None:
    both_at_once = write(info()) + tail.hex()
    failure = fail(both, both.play("read", both_at_once, "read", "stay"))
    assert (failure.code, failure.stage) == (MALFORMED, Stage.IDLE)


@pytest.mark.requirement("hook:frame:unasked")
def test_what_comes_with_a_result_is_not_the_next_one(both: Lab) -> None:
    twice = write(generated()) + write(generated(("evil", "x"))).removeprefix("write:")
    provider = both.connect(both.play(*SHAKE, "read", twice, "read", "stay"))
    with pytest.raises(PluginFailure) as caught:  # both come in one piece
        provider.ask("generate")
    assert (caught.value.code, caught.value.stage) == (MALFORMED, Stage.IDLE)


@pytest.mark.requirement("hook:frame:unasked")
def test_what_was_written_while_nothing_was_asked_is_found_before_the_next_request_is_sent(both: Lab) -> None:
    go, written = both.pipe("go"), both.pipe("written")
    evil = write(generated(("evil", "x")))
    provider = both.connect(both.play(*SHAKE, f"await:{go}", evil, f"signal:{written}", "read", "stay"))
    go.write_text("go")
    written.read_text()
    with pytest.raises(PluginFailure) as caught:
        provider.ask("generate")
    assert (caught.value.code, caught.value.stage) == (MALFORMED, Stage.IDLE)
    assert not caught.value.autopsy.delivered


@pytest.mark.requirement("hook:failure:exit-before-answer")
@pytest.mark.parametrize("code", [0, 7])
def test_one_that_ends_while_nothing_is_asked_has_crashed(code: int, both: Lab) -> None:
    go = both.pipe("go")
    provider = both.connect(both.play(*SHAKE, f"await:{go}", f"exit:{code}"))
    go.write_text("go")
    assert gone(both.spawned()[0])
    with pytest.raises(PluginFailure) as caught:
        provider.ask("generate")
    assert (caught.value.code, caught.value.stage) == (CRASHED, Stage.IDLE)
    assert caught.value.autopsy.exit is not None
    assert caught.value.autopsy.exit.code == code


@pytest.mark.requirement("hook:frame:malformed")
@pytest.mark.parametrize("body", [b"\x0a\x05\x0a\x03\xff\xfe\xfd", b"\x12\x02\x0a\x00", b"\x0a\x02\x18"])
def test_a_result_that_is_none_of_its_kind_is_malformed(body: bytes, both: Lab) -> None:
    failure = fail(both, both.play(*SHAKE, "read", write(body), "stay"))
    assert (failure.code, failure.stage) == (MALFORMED, Stage.EXECUTE)


def test_one_that_answers_byte_by_byte_is_answered_for(both: Lab) -> None:
    slow = "dribble:" + write(generated(("a", "b"))).removeprefix("write:")
    introduction = "dribble:" + write(info()).removeprefix("write:")
    with both.connect(both.play("read", introduction, "read", slow, "read")) as provider:
        assert provider.ask("generate") == generated(("a", "b"))


def test_a_command_that_does_not_exist_is_a_launch_that_failed(both: Lab) -> None:
    binding = both.play()
    missing = Binding(
        name="",
        contract="hook",
        command=("./missing",),
        directory=both.home,
        cwd=both.home,
        limits=binding.limits,
    )
    assert fail(both, missing).code is FailureCode.LAUNCH_FAILED


def test_what_it_says_on_stderr_is_heard_line_by_line(both: Lab) -> None:
    words = rounds(generated())
    words[1:1] = ["say:Starting provider\nand more\n"]
    words[-1] = "again:3"
    with both.connect(both.play(*words)) as provider:
        provider.ask("generate")
    lines = [event.what.text for event in both.events if event.name == "log"]
    assert lines == ["Starting provider", "and more"]
