"""Real frames at the real limit, both ways; requests that nobody reads; floods that nobody drowns in."""

from __future__ import annotations

import pytest
from plughost_sdk import hook_messages as wire

from plughost import FailureCode, LocalProtocolError, PluginFailure, Stage
from tests.host.hook.lab import QUICK, Lab, generated, info, rounds, write

LIMIT = 10_485_760  # bytes of a message
SHAKE = ["read", write(info())]


def result_of(size: int) -> wire.GenerateResult:
    """Return a result that is *size* bytes on the wire."""
    result = generated(("big", "x" * (size - 20)))
    result.fragments[0].content += "x" * (size - result.ByteSize())
    assert result.ByteSize() == size
    return result


def request_of(size: int) -> wire.GenerateRequest:
    request = wire.GenerateRequest(target="x" * (size - 20))
    request.target += "x" * (size - request.ByteSize())
    assert request.ByteSize() == size
    return request


@pytest.mark.requirement("hook:frame:bounded")
@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT])
def test_a_result_of_up_to_ten_mebibytes_is_taken(size: int, both: Lab) -> None:
    result = result_of(size)
    with both.connect(both.play(*SHAKE, "read", both.file(result), "read")) as provider:
        assert provider.ask("generate") == result


@pytest.mark.requirement("hook:frame:bounded", "hook:frame:malformed")
def test_a_result_of_one_byte_more_is_refused(both: Lab) -> None:
    provider = both.connect(both.play(*SHAKE, "read", both.file(result_of(LIMIT + 1)), "read"))
    with pytest.raises(PluginFailure) as caught:
        provider.ask("generate")
    assert (caught.value.code, caught.value.stage) == (FailureCode.MALFORMED_RESPONSE, Stage.EXECUTE)
    assert caught.value.autopsy.limit == "limits.frame_bytes"


@pytest.mark.requirement("hook:frame:bounded")
def test_a_request_of_one_byte_more_is_never_sent_and_harms_nothing(both: Lab) -> None:
    words = rounds(generated(), read=both.noting())
    with both.connect(both.play(*words)) as provider:
        with pytest.raises(LocalProtocolError):
            provider.ask("generate", request_of(LIMIT + 1))
        assert provider.ask("generate") == generated()
    assert both.heard() == [b""]


@pytest.mark.requirement("hook:frame:bounded")
def test_a_request_of_ten_mebibytes_arrives(both: Lab) -> None:
    request = request_of(LIMIT)
    with both.connect(both.play(*rounds(generated(), read=both.noting()))) as provider:
        provider.ask("generate", request)
    assert both.heard() == [request.SerializeToString()]


def test_nine_megabytes_go_both_ways_in_several_rounds(both: Lab) -> None:
    request, result = request_of(9_000_000), result_of(9_000_000)
    with both.connect(both.play(*SHAKE, "read", both.file(result), "again:2")) as provider:
        for _ in range(3):
            assert provider.ask("generate", request) == result


def test_a_lower_limit_is_that_of_the_binding(both: Lab) -> None:
    provider = both.connect(
        both.play(*SHAKE, "read", write(generated(("a", "x" * 200))), "read", frame_bytes=150)
    )
    with pytest.raises(LocalProtocolError):
        provider.ask("generate", request_of(151))
    with pytest.raises(PluginFailure) as caught:
        provider.ask("generate", request_of(150))
    assert caught.value.code is FailureCode.MALFORMED_RESPONSE


@pytest.mark.requirement("hook:deadline:owner")
def test_a_request_that_nobody_reads_runs_into_the_time_of_its_hook(both: Lab) -> None:
    provider = both.connect(both.play(*SHAKE, "stay", **{**QUICK, "handshake_s": 5.0}))
    with pytest.raises(PluginFailure) as caught:
        provider.ask("generate", request_of(9_000_000))
    assert (caught.value.code, caught.value.stage) == (FailureCode.TIMEOUT, Stage.EXECUTE)
    assert not caught.value.autopsy.delivered


@pytest.mark.requirement("hook:deadline:owner")
def test_a_time_of_the_call_s_own_overrules_that_of_the_binding(both: Lab) -> None:
    provider = both.connect(both.play(*SHAKE, "read", "stay", timeout_s=600))
    with pytest.raises(PluginFailure) as caught:
        provider.ask("generate", timeout=0.2)
    assert caught.value.code is FailureCode.TIMEOUT


def test_a_request_that_is_half_read_by_one_that_dies_is_a_crash(both: Lab) -> None:
    provider = both.connect(both.play(*SHAKE, "sip", "exit:3"))
    with pytest.raises(PluginFailure) as caught:
        provider.ask("generate", request_of(9_000_000))
    assert (caught.value.code, caught.value.stage) == (FailureCode.CRASHED, Stage.EXECUTE)
    assert caught.value.autopsy.exit is not None
    assert caught.value.autopsy.exit.code == 3
    assert not caught.value.autopsy.delivered


@pytest.mark.parametrize("chunks", [300, pytest.param(16_000, marks=pytest.mark.long)], ids=["20 MB", "1 GB"])
def test_a_flood_of_stderr_does_not_hold_up_the_answer_and_is_kept_in_bounds(chunks: int, both: Lab) -> None:
    words = [
        *SHAKE,
        "read",
        f"shout:{chunks}",
        write(generated(("a", "b"))),
        "read",
        f"shout:{chunks}",
        "exit:3",
    ]
    provider = both.connect(both.play(*words, timeout_s=300, stderr_bytes=10_000))
    assert provider.ask("generate") == generated(("a", "b"))
    with pytest.raises(PluginFailure) as caught:
        provider.ask("generate")
    assert caught.value.code is FailureCode.CRASHED
    assert 0 < len(caught.value.autopsy.stderr_tail) <= 10_200


def test_five_million_parts_are_refused_by_either_host(both: Lab) -> None:
    provider = both.connect(both.play(*SHAKE, "read", both.file(b"\x0a\0" * 5_000_000), "read"))
    with pytest.raises(PluginFailure) as caught:
        provider.ask("generate")
    assert (caught.value.code, caught.value.stage) == (FailureCode.MALFORMED_RESPONSE, Stage.EXECUTE)
