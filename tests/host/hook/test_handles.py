"""A provider as an application holds it: phases in turns, several rounds, and an end that is told once."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from plughost_sdk import hook_messages as wire

import plughost
from plughost import (
    FailureCode,
    HostClosed,
    LocalProtocolError,
    ManifestError,
    PluginFailure,
    Stage,
)
from plughost.contracts.hook.messages import Phase
from plughost.manifest.binding import Environment
from tests.host.hook.lab import Lab, frame, generated, gone, info, is_alive, rounds, write

SHAKE = ["read", write(info())]
PLAN = wire.PlanResult(resources=[wire.Resource(id="job:test")])
DETECT = wire.DetectResult(signals=["python"], confidence=1.0)
VALIDATE = wire.ValidateResult(diagnostics=[wire.Diagnostic(message="fine")])
PREFLIGHT = wire.PreflightResult(should_run=False, reason="nothing changed", new_signature=b"\x00\xff")
RESULTS = {"detect": DETECT, "plan": PLAN, "generate": generated(("a", "b")), "validate": VALIDATE}


# Rounds


@pytest.mark.parametrize(
    ("declared", "chosen", "turns"),
    [
        (None, (), ["plan", "generate"]),
        (None, ("generate",), ["generate"]),
        ("generate", (), ["generate"]),
        ("detect,plan,generate,validate,preflight", (), ["detect", "plan", "generate", "validate"]),
        ("detect,plan,generate,validate", ("detect",), ["detect"]),
        ("detect,plan,generate,validate", ("plan", "validate"), ["plan", "validate"]),
    ],
)
def test_one_process_answers_several_rounds(
    declared: str | None, chosen: tuple[str, ...], turns: list[str], both: Lab
) -> None:
    words = rounds(*(RESULTS[phase] for phase in turns), introduction=info(phases=declared))
    with both.connect(both.play(*words), phases=chosen) as provider:
        assert list(provider.provider.phases) == turns
        for _ in range(3):
            for phase in turns:
                assert provider.provider.due == phase
                assert provider.ask(phase) == RESULTS[phase]
    assert provider.warnings == ()
    assert len(both.spawned()) == 1


def test_each_phase_has_a_verb_of_its_own(both: Lab) -> None:
    words = rounds(*RESULTS.values(), introduction=info(phases="detect,plan,generate,validate"))
    with both.connect(both.play(*words)) as handle:
        provider = handle.provider
        assert both.run(provider.detect, wire.DetectRequest()) == DETECT
        assert both.run(provider.plan, wire.PlanRequest()) == PLAN
        assert both.run(provider.generate, wire.GenerateRequest()) == RESULTS["generate"]
        assert both.run(provider.validate, wire.ValidateRequest()) == VALIDATE


@pytest.mark.requirement("hook:round:preflight")
def test_preflight_has_a_process_of_its_own_and_its_word_is_passed_on(both: Lab) -> None:
    request = wire.PreflightRequest(job_id="test", previous_signature=b"\xff\x00")
    words = ["read", write(info(phases="generate,preflight")), both.noting(), write(PREFLIGHT), "again:2"]
    with both.connect(both.play(*words), phases=["preflight"]) as handle:
        for _ in range(2):
            result = both.run(handle.provider.preflight, request)
            assert (result.should_run, result.reason, result.new_signature) == (
                False,
                "nothing changed",
                b"\x00\xff",
            )
    assert both.heard() == [request.SerializeToString()] * 2


@pytest.mark.parametrize("phases", [["paint"], ["generate", "plan"], ["plan", "preflight"], ["plan", "plan"]])
def test_a_choice_that_is_no_round_starts_nothing(phases: list[str], both: Lab) -> None:
    with pytest.raises(ManifestError):
        both.connect(both.play("stay"), phases=phases)
    assert both.spawned() == []


@pytest.mark.requirement("hook:round:one-at-a-time")
def test_a_request_out_of_its_turn_is_refused_and_harms_nothing(both: Lab) -> None:
    words = rounds(PLAN, generated(), introduction=info(phases=None), read=both.noting())
    with both.connect(both.play(*words)) as provider:
        for phase in ("generate", "detect", "validate", "preflight"):
            with pytest.raises(LocalProtocolError):
                provider.ask(phase)
        with pytest.raises(LocalProtocolError):
            provider.ask("plan", wire.GenerateRequest())
        with pytest.raises(LocalProtocolError):
            provider.ask("plan", timeout=0)
        with pytest.raises(LocalProtocolError, match="paint"):
            both.run(provider.provider.ask, "paint", wire.PlanRequest())
        assert provider.ask("plan") == PLAN
        assert provider.ask("generate") == generated()
    assert len(both.heard()) == 2


@pytest.mark.requirement("hook:round:one-at-a-time")
async def test_a_second_request_is_refused_while_one_is_under_way(lab: Lab) -> None:
    pipe = lab.pipe("go")
    words = [*SHAKE, lab.noting(), f"await:{pipe}", write(generated()), "read"]
    async with plughost.Host() as host, await host.connect(lab.play(*words)) as provider:
        first = asyncio.ensure_future(provider.generate(wire.GenerateRequest()))
        await asyncio.sleep(0)
        with pytest.raises(LocalProtocolError):
            await provider.generate(wire.GenerateRequest())
        await _say_go(pipe)
        assert await first == generated()
    assert len(lab.heard()) == 1


# What it knows


def test_a_handle_tells_name_version_phases_and_times(both: Lab) -> None:
    with both.connect(both.play(*rounds(generated()))) as handle:
        provider = handle.provider
        assert (provider.name, provider.info.version, provider.phases) == (
            "provider/raw",
            "1.0",
            (Phase.GENERATE,),
        )
        assert provider.timings_ms().keys() == {"launch", "handshake"}
        handle.ask("generate")
        assert provider.timings_ms().keys() == {"launch", "handshake", "execute"}
    assert provider.timings_ms().keys() == {"launch", "handshake", "execute", "teardown"}


def test_a_provider_that_does_not_know_protobuf_maps_is_told_nothing_it_was_not_given(both: Lab) -> None:
    words = ["read:" + str(both.home / "heard"), write(info()), "read"]
    both.connect(both.play(*words, environment=Environment(inherit=(), set={}))).close()
    hello = wire.Hello.FromString(both.heard()[0])
    assert hello.core_protocol == 1
    assert hello.core_version == plughost.__version__
    assert dict(hello.env) == {"PLUGHOST_HOOK_ROUND": "declared"}


# Failures are told once


def test_after_a_failure_the_process_is_gone_and_every_request_fails_alike(both: Lab) -> None:
    provider = both.connect(both.play("read", write(info(phases=None)), "read", "exit:3"))
    for phase in ("plan", "plan", "generate"):
        with pytest.raises(PluginFailure) as caught:
            provider.ask(phase)
        assert (caught.value.code, caught.value.stage) == (FailureCode.CRASHED, Stage.EXECUTE)
        assert not is_alive(both.spawned()[0])
    provider.close()
    with pytest.raises(HostClosed):
        provider.ask("plan")


def test_who_caught_a_failure_inside_a_block_leaves_it_in_peace(both: Lab) -> None:
    with both.connect(both.play(*SHAKE, "read", "exit:3")) as provider:
        with pytest.raises(PluginFailure):
            provider.ask("generate")
    provider.abort()


@pytest.mark.requirement("hook:frame:unasked")
def test_a_failure_that_nobody_has_heard_of_is_told_by_close(both: Lab) -> None:
    go, written = both.pipe("go"), both.pipe("written")
    words = [*SHAKE, f"await:{go}", "write:00", f"signal:{written}", "stay"]
    provider = both.connect(both.play(*words, terminate_s=0.2))
    go.write_text("go")
    written.read_text()
    with pytest.raises(PluginFailure) as caught:
        provider.close()
    assert caught.value.code is FailureCode.MALFORMED_RESPONSE
    provider.close()


@pytest.mark.requirement("hook:failure:exit-before-answer")
def test_one_that_ended_while_idle_has_crashed_for_whoever_asks(both: Lab) -> None:
    go = both.pipe("go")
    provider = both.connect(both.play(*SHAKE, f"await:{go}", "exit:0"))
    go.write_text("go")
    assert gone(both.spawned()[0])
    with pytest.raises(PluginFailure) as caught:
        provider.ask("generate")
    assert (caught.value.code, caught.value.stage) == (FailureCode.CRASHED, Stage.IDLE)
    provider.close()


@pytest.mark.requirement("hook:exit:gone")
@pytest.mark.parametrize("status", [0, 3])
def test_one_that_ended_while_idle_has_only_gone_early_for_whoever_lets_it_go(status: int, both: Lab) -> None:
    go = both.pipe("go")
    provider = both.connect(both.play(*SHAKE, f"await:{go}", f"exit:{status}"))
    go.write_text("go")
    assert gone(both.spawned()[0])
    provider.close()
    assert len(provider.warnings) == (1 if status else 0)


def test_a_host_that_is_dropped_with_a_provider_still_running_says_so(lab: Lab) -> None:
    host = plughost.blocking.Host()
    provider = host.connect(lab.play(*SHAKE, "stay"))
    pid = provider._link.process.pid
    with pytest.warns(ResourceWarning):  # noqa: PT031  the collector is what warns
        del provider, host
        gc.collect()
    assert gone(pid)


# Closing


def test_a_closed_handle_answers_nothing_and_closes_again(both: Lab) -> None:
    provider = both.connect(both.play(*rounds(generated())))
    provider.close()
    provider.close()
    provider.abort()
    assert not is_alive(both.spawned()[0])
    with pytest.raises(HostClosed):
        provider.ask("generate")


def test_an_error_inside_the_block_ends_the_process_at_once(both: Lab) -> None:
    binding = both.play(*SHAKE, "ignore:15", "stay", teardown_s=600, terminate_s=600)
    with pytest.raises(ZeroDivisionError):
        with both.connect(binding):
            raise ZeroDivisionError
    assert not is_alive(both.spawned()[0])


def test_a_handle_outlives_its_host_only_as_a_closed_one(both: Lab) -> None:
    provider = both.connect(both.play(*rounds(generated())))
    both.run(both.host.close if both.kind == "blocking" else both.host.aclose)
    assert not is_alive(both.spawned()[0])
    for phase in ("generate", "plan"):
        with pytest.raises(HostClosed):
            provider.ask(phase)
    provider.close()
    with pytest.raises(HostClosed):
        both.connect(both.play("stay"))


def test_a_closed_host_starts_nothing(both: Lab) -> None:
    both.run(both.host.close if both.kind == "blocking" else both.host.aclose)
    with pytest.raises(HostClosed):
        both.generate(both.play("stay"))
    assert both.spawned() == []


async def test_closing_a_handle_while_another_task_asks_waits_for_the_answer(lab: Lab) -> None:
    pipe = lab.pipe("go")
    words = [*SHAKE, "read", f"await:{pipe}", write(generated(("a", "b"))), "read"]
    async with plughost.Host() as host:
        provider = await host.connect(lab.play(*words))
        asking = asyncio.ensure_future(provider.generate(wire.GenerateRequest()))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(provider.close())
        await asyncio.sleep(0)
        await _say_go(pipe)
        assert await asking == generated(("a", "b"))
        await closing
        with pytest.raises(HostClosed):
            await provider.generate(wire.GenerateRequest())


async def test_aborting_a_handle_while_another_task_asks_ends_both(lab: Lab) -> None:
    async with plughost.Host() as host:
        provider = await host.connect(lab.play(*SHAKE, "ignore:15", "stay", timeout_s=600))
        asking = asyncio.ensure_future(provider.generate(wire.GenerateRequest()))
        await asyncio.sleep(0)
        await provider.abort()
        with pytest.raises(HostClosed):
            await asking


def test_aborting_a_handle_while_another_thread_asks_ends_both(lab: Lab) -> None:
    asked = threading.Event()
    lab.listener = lambda event: (
        asked.set() if event.name == "state" and event.what.after == "asked" else None
    )
    provider = lab.connect(lab.play(*SHAKE, "ignore:15", "stay", timeout_s=600))
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(provider.ask, "generate")
        assert asked.wait(200)
        provider.abort()
        with pytest.raises(HostClosed):
            asking.result(10)


def test_closing_a_handle_while_another_thread_asks_waits_for_the_answer(lab: Lab) -> None:
    asked = threading.Event()
    lab.listener = lambda event: (
        asked.set() if event.name == "state" and event.what.after == "asked" else None
    )
    pipe = lab.pipe("go")
    provider = lab.connect(lab.play(*SHAKE, "read", f"await:{pipe}", write(generated(("a", "b"))), "read"))
    with ThreadPoolExecutor(2) as pool:
        asking = pool.submit(provider.ask, "generate")
        assert asked.wait(200)
        closing = pool.submit(provider.close)
        pipe.write_text("go")
        assert asking.result(10) == generated(("a", "b"))
        closing.result(10)


def test_threads_have_providers_of_their_own_in_one_host(lab: Lab) -> None:
    def work(number: int) -> str:
        result = generated((str(number), "x"))
        with lab.connect(lab.play(*rounds(result))) as provider:
            answers = [provider.ask("generate") for _ in range(3)]
        assert answers == [result] * 3
        return str(answers[0].fragments[0].path)

    lab.host  # noqa: B018  made here, not by one of the threads
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [str(number) for number in range(8)]


def test_a_blocking_handle_needs_no_thread(lab: Lab) -> None:
    threads = threading.active_count()
    with lab.connect(lab.play(*rounds(generated()))) as provider:
        provider.ask("generate")
        assert threading.active_count() == threads


def test_a_provider_of_another_contract_is_refused_before_it_is_started(both: Lab) -> None:
    binding = plughost.manifest.binding.of_command("execute", ["true"])
    with pytest.raises(LocalProtocolError):
        both.connect(binding)
    with pytest.raises(LocalProtocolError):
        both.generate(binding)
    assert both.spawned() == []


def test_frames_are_told_as_they_pass(both: Lab) -> None:
    with both.connect(both.play(*rounds(generated(("a", "b"))))) as provider:
        provider.ask("generate", wire.GenerateRequest(target="t"))
    passed = [event.what for event in both.events if event.name == "frame"]
    assert [(each.direction, each.frame) for each in passed][1:] == [
        ("in", frame(info())[4:]),
        ("out", wire.GenerateRequest(target="t").SerializeToString()),
        ("in", generated(("a", "b")).SerializeToString()),
    ]


async def _say_go(pipe: Path) -> None:
    """Write to a named pipe as soon as somebody reads it. A thread that waits for a dead reader would never end."""
    while True:
        try:
            fd = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody has opened it for reading yet; the test's own timeout bounds this
            await asyncio.sleep(0.005)
            continue
        os.write(fd, b"go")
        os.close(fd)
        return
