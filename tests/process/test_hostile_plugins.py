"""Every way a plugin can misbehave gets one clear code, while a healthy plugin beside it keeps answering."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import plughost
from plughost import FailureCode, PluginFailure, Stage
from plughost.manifest.binding import Binding

QUICK = {"timeout_s": 0.4, "handshake_s": 0.4, "teardown_s": 0.2, "terminate_s": 0.1}
BETWEEN_CALLS_S = (
    0.1  # of the healthy plugin: it answers all the while, and leaves the processor to the other
)
Make = Callable[..., Binding]


async def fail(binding: Binding, greeter: Path, tool: str = "echo", input: object = None) -> PluginFailure:
    """Call a hostile plugin and return its failure; a healthy one must answer all the while."""
    async with plughost.Host() as host:
        healthy, hostile = await host.add(greeter), await host.add(binding)
        task = asyncio.ensure_future(hostile.call(tool, input))
        over: set[asyncio.Future[object]] = set()
        while not over:
            assert await healthy.call("greet", {"name": "Ada"}) == {"text": "Hello Ada"}
            over, _ = await asyncio.wait({task}, timeout=BETWEEN_CALLS_S)
        with pytest.raises(PluginFailure) as caught:
            await task
        assert await healthy.call("greet", {"name": "Bob"}) == {"text": "Hello Bob"}
        return caught.value


async def succeed(binding: Binding, greeter: Path, input: object = None) -> plughost.Result:
    """Call a plugin that is odd but keeps the contract; a healthy one must answer too."""
    async with plughost.Host() as host:
        healthy, odd = await host.add(greeter), await host.add(binding)
        task = asyncio.ensure_future(odd.invoke("echo", input))
        assert await healthy.call("greet", {"name": "Ada"}) == {"text": "Hello Ada"}
        return await task


@pytest.mark.requirement("execute:frame:malformed")
@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "what",
    [
        "empty-line", "array", "null", "text", "content-length", "length-prefix", "bom", "utf-16", "latin-1",
        "surrogate-bytes", "surrogate-escape", "nan", "two-objects", "trailing-garbage", "pretty", "deep", "deep-raw",
        "huge-int-name", "name-is-true",
    ],
)  # fmt: skip
async def test_a_line_that_is_not_a_strict_json_object_is_malformed(
    what: str, hostile: Make, greeter: Path
) -> None:
    failure = await fail(hostile(f"raw-{what}"), greeter)
    assert (failure.code, failure.stage) == (FailureCode.MALFORMED_RESPONSE, Stage.HANDSHAKE)
    assert json.dumps(failure.to_dict()).encode()  # whatever it wrote, the autopsy can be written down


async def test_a_flood_without_a_newline_is_malformed_at_the_limit(hostile: Make, greeter: Path) -> None:
    failure = await fail(hostile("flood"), greeter)
    assert failure.code is FailureCode.MALFORMED_RESPONSE
    assert failure.autopsy.limit == "limits.line_bytes"


async def test_a_flood_of_lines_is_malformed_at_the_first(hostile: Make, greeter: Path) -> None:
    failure = await fail(hostile("flood-lines"), greeter)
    assert failure.code is FailureCode.HANDSHAKE_FAILED


@pytest.mark.parametrize("fault", ["deep-output", "infinite-float"])
async def test_an_output_that_cannot_be_decoded_is_malformed(
    fault: str, hostile: Make, greeter: Path
) -> None:
    failure = await fail(hostile(fault), greeter)
    assert (failure.code, failure.stage) == (FailureCode.MALFORMED_RESPONSE, Stage.EXECUTE)
    assert failure.autopsy.delivered


async def test_a_million_bytes_of_empty_lists_are_decoded(hostile: Make, greeter: Path) -> None:
    # The host decodes it while the plugin exits, and looks at the clock only then.
    result = await succeed(hostile("wide-output", teardown_s=200, timeout_s=200), greeter)
    assert len(result.output) == 340_001


@pytest.mark.requirement("execute:failure:exit-before-answer")
@pytest.mark.parametrize("code", [0, 1, 124])
async def test_an_exit_before_the_handshake_is_a_crash_whatever_its_status(
    code: int, hostile: Make, greeter: Path
) -> None:
    failure = await fail(hostile(f"exit-{code}"), greeter)
    assert (failure.code, failure.stage) == (FailureCode.CRASHED, Stage.HANDSHAKE)
    assert failure.autopsy.exit is not None
    assert failure.autopsy.exit.code == code
    assert failure.autopsy.rung is None


@pytest.mark.parametrize(
    ("fault", "delivered"), [("exits-after-handshake", None), ("exits-after-request", True)]
)
async def test_an_exit_before_the_answer_is_a_crash(
    fault: str, delivered: bool | None, hostile: Make, greeter: Path
) -> None:
    failure = await fail(hostile(fault, "0"), greeter)
    assert failure.code is FailureCode.CRASHED
    assert delivered is None or failure.autopsy.delivered is delivered


async def test_half_a_line_and_then_the_end_is_a_crash_not_a_message(hostile: Make, greeter: Path) -> None:
    failure = await fail(hostile("half-line"), greeter)
    assert (failure.code, failure.stage) == (FailureCode.CRASHED, Stage.HANDSHAKE)


@pytest.mark.requirement("execute:deadline:hard", "execute:deadline:owner")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("fault", "stage"),
    [
        ("slow-loris", Stage.HANDSHAKE),
        ("silent", Stage.HANDSHAKE),
        ("stops-itself", Stage.HANDSHAKE),
        ("silent-after-handshake", Stage.EXECUTE),
        ("stops-itself-later", Stage.EXECUTE),
        ("ignores-sigterm", Stage.EXECUTE),
        ("late", Stage.EXECUTE),
    ],
)
async def test_one_that_does_not_answer_in_time_is_a_timeout(
    fault: str, stage: Stage, hostile: Make, greeter: Path
) -> None:
    limits = {**QUICK, "handshake_s": 5.0, "timeout_s": 0.6} if stage is Stage.EXECUTE else QUICK
    failure = await fail(hostile(fault, **limits), greeter)
    assert (failure.code, failure.stage) == (FailureCode.TIMEOUT, stage)
    assert failure.answer is None


async def test_one_that_ignores_sigterm_is_killed(hostile: Make, greeter: Path) -> None:
    failure = await fail(hostile("ignores-sigterm", **{**QUICK, "timeout_s": 0.6, "handshake_s": 5}), greeter)
    assert failure.autopsy.rung == "kill"
    assert failure.autopsy.exit is not None
    assert failure.autopsy.exit.signal_name == "SIGKILL"


async def test_one_that_never_reads_is_a_timeout_and_the_request_was_not_delivered(
    hostile: Make, greeter: Path
) -> None:
    failure = await fail(hostile("never-reads", **QUICK), greeter, input="x" * 1_000_000)
    assert (failure.code, failure.stage) == (FailureCode.TIMEOUT, Stage.EXECUTE)
    assert not failure.autopsy.delivered


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "fault",
    ["closes-stdin", "closes-stdin-after-handshake", "closes-stdout", "closes-stdout-after-handshake"],
)
@pytest.mark.long
async def test_one_that_closes_a_pipe_and_stays_is_a_crash_and_is_ended(
    fault: str, hostile: Make, greeter: Path
) -> None:
    limits = {**QUICK, "handshake_s": 5, "timeout_s": 5}
    failure = await fail(hostile(fault, **limits), greeter)
    assert failure.code in (FailureCode.CRASHED, FailureCode.TIMEOUT)
    if "stdout" in fault:
        assert failure.code is FailureCode.CRASHED
    assert failure.autopsy.rung == "terminate"


async def test_a_segmentation_fault_is_named(hostile: Make, greeter: Path) -> None:
    failure = await fail(hostile("segfaults"), greeter)
    assert failure.code is FailureCode.CRASHED
    assert failure.autopsy.exit is not None
    assert failure.autopsy.exit.signal_name == "SIGSEGV"


@pytest.mark.requirement("execute:exit:kept-answer")
@pytest.mark.parametrize(("fault", "arguments"), [("answers-exit", ["7"]), ("lingers", [])])
async def test_a_bad_end_after_an_ok_is_a_crash_that_keeps_the_answer(
    fault: str, arguments: list[str], hostile: Make, greeter: Path
) -> None:
    failure = await fail(hostile(fault, *arguments, teardown_s=0.2), greeter, input={"kept": 1})
    assert (failure.code, failure.stage) == (FailureCode.CRASHED, Stage.TEARDOWN)
    assert failure.answer == {"kept": 1}


async def test_the_invocation_deadline_while_waiting_for_the_exit_is_a_timeout(
    hostile: Make, greeter: Path
) -> None:
    limits = {"timeout_s": 0.5, "teardown_s": 30, "terminate_s": 0.1}
    failure = await fail(hostile("lingers", **limits), greeter, input=1)
    assert (failure.code, failure.stage) == (FailureCode.TIMEOUT, Stage.TEARDOWN)
    assert failure.answer == 1


@pytest.mark.requirement("execute:response:error")
async def test_its_own_error_is_a_remote_error_and_ends_it_at_once(hostile: Make) -> None:
    async with plughost.Host() as host:
        plugin = await host.add(hostile("error-and-lingers"))
        with pytest.raises(plughost.RemoteError) as caught:
            await plugin.call("echo")
    assert (caught.value.code, caught.value.message) == ("mine", "no")


@pytest.mark.requirement("execute:handshake:order", "execute:capabilities:no-self-grant")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"type": "hello"}, FailureCode.HANDSHAKE_FAILED),
        ({"manifest": {"protocol_version": "v0", "plugin_id": ""}}, FailureCode.PROTOCOL_VERSION_MISMATCH),
        ({"manifest": {"plugin_id": ""}}, FailureCode.HANDSHAKE_FAILED),
        ({"manifest": {"plugin_version": " "}}, FailureCode.HANDSHAKE_FAILED),
        ({"manifest": {"exposed_tools": []}}, FailureCode.HANDSHAKE_FAILED),
        ({"manifest": {"plugin_id": "another"}}, FailureCode.HANDSHAKE_FAILED),
        ({"manifest": {"exposed_tools": ["other"], "capabilities": ["x"]}}, FailureCode.TOOL_NOT_EXPOSED),
        ({"manifest": {"capabilities": ["x"]}}, FailureCode.CAPABILITY_NOT_ALLOWED),
        ({"manifest": {"capabilities": ["Read"]}}, FailureCode.CAPABILITY_NOT_ALLOWED),
        ({"manifest": {"capabilities": [" read"]}}, FailureCode.CAPABILITY_NOT_DECLARED),
        ({"manifest": {"capabilities": ["read", "read"]}}, FailureCode.CAPABILITY_NOT_DECLARED),
    ],
)
async def test_a_handshake_is_judged_in_order(
    changes: dict[str, object], code: FailureCode, hostile: Make, greeter: Path
) -> None:
    allow = ("read",) if "read" in json.dumps(changes).lower() else ()
    failure = await fail(hostile(f"manifest-{json.dumps(changes)}", allow=allow), greeter)
    assert (failure.code, failure.stage) == (code, Stage.HANDSHAKE)
    assert not failure.autopsy.delivered


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "changes",
    [
        {"type": "result"},
        {"request_id": "plugin_req_0000000000000000"},
        {"request_id": True},
        {"status": "fine"},
        {"error": {"code": "x", "message": "y"}},
        {"status": "error"},
        {"status": "error", "error": {"code": "x", "message": " "}},
        {"metadata": [1]},
    ],
)
async def test_a_response_that_breaks_a_rule_is_malformed(
    changes: dict[str, object], hostile: Make, greeter: Path
) -> None:
    failure = await fail(hostile(f"answer-{json.dumps(changes)}"), greeter)
    assert (failure.code, failure.stage) == (FailureCode.MALFORMED_RESPONSE, Stage.EXECUTE)


@pytest.mark.requirement("execute:frame:lenient")
async def test_unknown_fields_are_ignored_and_the_last_of_repeated_keys_counts(
    hostile: Make, greeter: Path
) -> None:
    changes = '{"x": {"status": "error"}, "status": "ok", "metadata": {"m": 1}, "error": null}'
    assert (await succeed(hostile(f"answer-{changes}"), greeter, input=1)).metadata == {"m": 1}
    assert (await succeed(hostile("repeats-keys"), greeter)).output == "last"


@pytest.mark.requirement("execute:handshake:blames")
async def test_a_failure_names_the_binding_before_a_manifest_and_the_manifest_after_it(hostile: Make) -> None:
    nameless = plughost.manifest.binding.replace(hostile("exits-after-request", "1"), name="")
    early = plughost.manifest.binding.replace(hostile("exit-1"), name="bound")
    async with plughost.Host() as host:
        with pytest.raises(PluginFailure) as caught:
            await (await host.add(early)).call("echo")
        assert caught.value.plugin == "bound"
        with pytest.raises(PluginFailure) as caught:
            await (await host.add(nameless)).call("echo")
        assert caught.value.plugin == "hostile"


@pytest.mark.requirement("execute:request:shape")
async def test_exactly_one_request_is_sent_with_a_fresh_id_and_whole_context(hostile: Make) -> None:
    frames: list[dict[str, object]] = []

    def listen(event: plughost.Event) -> None:
        if event.name == "frame" and event.to_dict()["direction"] == "out":
            frames.append(json.loads(event.to_dict()["text"]))

    async with plughost.Host(on_event=listen) as host:
        plugin = await host.add(hostile("well"))
        await plugin.call("echo", context={"workspace_id": "w", "role_id": "", "extra": [1]})
        await plugin.call("echo")
    hello, request, _, second = frames
    assert hello == {"type": "handshake", "protocol_version": "rterm.plugin.v1"}
    assert request.pop("request_id") != second.pop("request_id")
    assert request == {
        "type": "request",
        "tool_name": "echo",
        "context": {"workspace_id": "w", "extra": [1]},
        "input": {},
    }
    assert second["context"] == {}


@pytest.mark.requirement("execute:failure:binding")
@pytest.mark.parametrize(
    "change", [{"name": " "}, {"command": ()}, {"allow": ("a", "a")}, {"allow": (" a",)}]
)
async def test_a_wrong_binding_is_refused_before_anything_is_started(
    change: dict[str, object], hostile: Make
) -> None:
    with pytest.raises(plughost.ManifestError):
        plughost.manifest.binding.replace(hostile("well"), **change)


async def test_a_response_before_the_request_is_malformed(hostile: Make, greeter: Path) -> None:
    failure = await fail(hostile("early-response"), greeter)
    assert failure.code is FailureCode.MALFORMED_RESPONSE


@pytest.mark.requirement("execute:response:trailing")
async def test_a_second_answer_is_a_warning_and_under_strict_a_failure(hostile: Make, greeter: Path) -> None:
    result = await succeed(hostile("answers-twice"), greeter, input=1)
    assert result.output == 1
    assert len(result.warnings) == 1
    failure = await fail(hostile("answers-twice", strict=True), greeter)
    assert (failure.code, failure.stage) == (FailureCode.MALFORMED_RESPONSE, Stage.TEARDOWN)


@pytest.mark.parametrize(
    "fault", ["well", "no-newline", "crlf", "split-writes", "answers-and-dies", "flips-flags"]
)
async def test_one_that_is_odd_but_within_the_contract_is_understood(
    fault: str, hostile: Make, greeter: Path
) -> None:
    result = await succeed(hostile(fault), greeter, input={"a": [1, "ü"]})
    assert result.output == {"a": [1, "ü"]}
    assert result.warnings == ()


@pytest.mark.requirement("execute:frame:bounded")
@pytest.mark.parametrize("extra", [-1, 0, 1])
async def test_a_line_may_be_exactly_as_long_as_the_limit(extra: int, hostile: Make, greeter: Path) -> None:
    binding = hostile("sized", str(1_048_576 + extra))
    if extra <= 0:
        assert len((await succeed(binding, greeter)).output) > 1_000_000
    else:
        failure = await fail(binding, greeter)
        assert failure.code is FailureCode.MALFORMED_RESPONSE
        assert failure.autopsy.limit == "limits.line_bytes"


async def test_a_request_over_the_limit_is_refused_before_anything_is_started(hostile: Make) -> None:
    events: list[plughost.Event] = []
    async with plughost.Host(on_event=events.append) as host:
        plugin = await host.add(hostile("well"))
        with pytest.raises(plughost.LocalProtocolError):
            await plugin.call("echo", "x" * 1_048_576)
        with pytest.raises(plughost.LocalProtocolError):
            await plugin.call("echo", object())
        with pytest.raises(plughost.LocalProtocolError):
            await plugin.call(" ")
    assert events == []


async def test_a_request_of_nearly_the_limit_arrives_whole(hostile: Make, greeter: Path) -> None:
    big = "x" * 1_000_000
    assert (await succeed(hostile("well"), greeter, input=big)).output == big


async def test_escape_sequences_on_stderr_never_reach_a_listener(hostile: Make) -> None:
    lines: list[str] = []

    def listen(event: plughost.Event) -> None:
        if event.name == "log":
            lines.append(event.what.text)  # type: ignore[union-attr]

    async with plughost.Host(on_event=listen) as host:
        await (await host.add(hostile("stderr-escapes"))).call("echo")
    assert lines
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) < 20_000


@pytest.mark.parametrize("kib", [20_000, pytest.param(100_000, marks=pytest.mark.long)])
async def test_a_flood_on_stderr_blocks_nobody_and_is_bounded(kib: int, hostile: Make, greeter: Path) -> None:
    seen = 0

    def listen(event: plughost.Event) -> None:
        nonlocal seen
        seen += event.name == "log"

    async with plughost.Host(on_event=listen) as host:
        healthy, hostile_one = await host.add(greeter), await host.add(hostile("stderr-flood", str(kib)))
        task = asyncio.ensure_future(hostile_one.call("echo", 1))
        assert await healthy.call("greet", {"name": "Ada"}) == {"text": "Hello Ada"}
        assert await task == 1
    assert 0 < seen < 1_000


async def test_a_plugin_sees_only_its_three_pipes_and_the_allowed_environment(
    hostile: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("ALLOWED", "yes")
    environment = plughost.manifest.binding.Environment(inherit=("ALLOWED", "NOT_THERE"), set={"GIVEN": "1"})
    async with plughost.Host() as host:
        plugin = await host.add(hostile("surroundings", environment=environment))
        found = await plugin.call("echo")
    marker = found["environment"].pop("PLUGHOST_RUN")
    assert marker
    found["environment"].pop("LC_CTYPE", None)  # Python sets it for itself in a C locale
    assert found["environment"] == {"ALLOWED": "yes", "GIVEN": "1", "NO_COLOR": "1", "TERM": "dumb"}
    assert set(found["fds"]) == {"0", "1", "2"}
    assert all(what.startswith("pipe:") for what in found["fds"].values())
    assert found["cwd"] == str(tmp_path)
    assert found["sid"]


async def test_a_plugin_that_opens_everything_hits_its_own_limit_only(hostile: Make, greeter: Path) -> None:
    result = await succeed(hostile("opens-everything", open_files=64), greeter)
    assert result.output["opened"] < 64


async def test_memory_beyond_the_limit_is_refused_to_the_plugin(hostile: Make) -> None:
    async with plughost.Host() as host:
        plugin = await host.add(hostile("eats-memory", "400", memory_mb=200))
        with pytest.raises(plughost.RemoteError) as caught:
            await plugin.call("echo")
        assert caught.value.code == "memory"
        roomy = await host.add(hostile("eats-memory", "100", memory_mb=200))
        assert await roomy.call("echo") == 100 << 20


async def test_cpu_time_beyond_the_limit_is_a_crash_that_names_the_limit(
    hostile: Make, greeter: Path
) -> None:
    failure = await fail(hostile("burns-cpu", cpu_s=1, timeout_s=30), greeter)
    assert failure.code is FailureCode.CRASHED
    assert failure.autopsy.exit is not None
    assert failure.autopsy.exit.signal_name == "SIGXCPU"
    assert failure.autopsy.limit == "limits.cpu_s"


async def test_a_file_beyond_the_limit_is_a_crash(hostile: Make, greeter: Path, tmp_path: Path) -> None:
    failure = await fail(hostile("writes-file", str(tmp_path / "big"), file_mb=1), greeter)
    assert failure.code is FailureCode.CRASHED
    assert (tmp_path / "big").stat().st_size <= 1_048_576
