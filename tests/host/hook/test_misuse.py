"""Applications that go astray: whatever they do, the error names them, and no innocent provider is blamed or ended."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import Any

import pytest
from plughost_sdk import hook_messages as wire

import plughost
from plughost import HostClosed, LocalProtocolError, ManifestError, PluginFailure, blocking
from plughost.failures import FailureCode
from plughost.manifest.binding import Environment
from tests.host.hook.lab import Lab, generated, info, rounds, write

SHAKE = ["read", write(info())]
SECRET = "s3cr3t-token"


@pytest.mark.requirement("hook:handshake:env")
def test_the_values_of_variables_are_shown_to_nobody(both: Lab) -> None:
    environment = Environment(set={"DEPLOY_TOKEN": SECRET})
    with pytest.raises(PluginFailure) as caught:
        both.connect(both.play("read", "exit:3", environment=environment))
    frames = [event.what.frame for event in both.events if event.name == "frame"]
    assert any(b"DEPLOY_TOKEN" in frame for frame in frames)
    assert SECRET not in str(caught.value.to_dict())
    assert not any(SECRET.encode() in frame for frame in frames)


@pytest.mark.parametrize(
    "introduction",
    [
        {"name": "x" * 201},
        {"version": "1" * 201},
        {"capabilities": [f"c:{number}" for number in range(1_001)]},
        {"requires": ["c:" + "x" * 200]},
        {"conflicts_with": [f"c:{number}" for number in range(60_000)]},
    ],
    ids=["name", "version", "capabilities", "requires", "conflicts"],
)
def test_an_introduction_that_nobody_could_read_is_no_handshake(
    introduction: dict[str, Any], lab: Lab
) -> None:
    with pytest.raises(PluginFailure) as caught:
        lab.connect(lab.play("read", lab.file(info(**introduction)), "stay"))
    assert caught.value.code is FailureCode.HANDSHAKE_FAILED
    assert len(str(caught.value)) < 500


def test_threads_that_share_a_handle_are_told_that_it_is_not_their_turn_and_end_nothing(lab: Lab) -> None:
    provider = lab.connect(lab.play(*rounds(wire.PlanResult(), generated(), introduction=info(phases=None))))
    wrong: list[BaseException] = []

    def ask() -> None:
        for phase in ("plan", "generate") * 50:
            try:
                provider.ask(phase)
            except LocalProtocolError:
                pass
            except BaseException as error:  # kept for the assertion
                wrong.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []
    provider.close()
    assert provider.warnings == ()


def test_a_forked_copy_neither_asks_nor_ends_the_parents_provider(lab: Lab) -> None:
    with lab.connect(lab.play(*rounds(generated()))) as provider:
        child = os.fork()
        if not child:
            status = 1
            try:
                try:
                    provider.provider.ask("generate", wire.GenerateRequest())
                except HostClosed:
                    provider.provider.close()
                    provider.provider.abort()
                    status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert provider.ask("generate") == generated()
    assert provider.warnings == ()


async def test_after_a_cancelled_request_the_handle_blames_nobody(tmp_path: Any) -> None:
    lab = Lab(tmp_path)
    async with plughost.Host() as host:
        provider = await host.connect(lab.play(*SHAKE, "read", "stay"))
        asking = asyncio.ensure_future(provider.generate(wire.GenerateRequest()))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        with pytest.raises(HostClosed, match="interrupted"):
            await provider.generate(wire.GenerateRequest())
        await provider.close()


async def test_one_who_closes_while_another_asks_waits_and_only_the_other_hears_of_a_failure(
    tmp_path: Any,
) -> None:
    lab = Lab(tmp_path)
    async with plughost.Host() as host:
        provider = await host.connect(lab.play(*SHAKE, "read", "stay", timeout_s=0.2))
        asking = asyncio.ensure_future(provider.generate(wire.GenerateRequest()))
        await asyncio.sleep(0)
        await provider.close()
        with pytest.raises(PluginFailure) as caught:
            await asking
        assert caught.value.code is FailureCode.TIMEOUT


def test_an_interrupted_request_closes_its_handle(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = lab.connect(lab.play(*SHAKE, "read", "stay"))
    rounds_ = provider.provider._rounds
    monkeypatch.setattr(type(rounds_), "_until", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        provider.ask("generate")
    monkeypatch.undo()
    with pytest.raises(HostClosed, match="interrupted"):
        provider.ask("generate")
    provider.close()


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "options",
    [
        {"facts": {"a": 1}},
        {"facts": {1: "a"}},
        {"facts": {"a": "\ud800"}},
        {"flags": {"a": None}},
        {"work_signatures": {"a": "text"}},
        {"work_signatures": {1: b"bytes"}},
        {"root": "a\0b"},
        {"out": "a\0b"},
    ],
    ids=["number", "name", "surrogate", "none", "text", "key", "root", "out"],
)
def test_options_that_cannot_be_sent_start_nothing(options: dict[str, Any], both: Lab) -> None:
    with pytest.raises(LocalProtocolError):
        both.generate(both.play(*rounds(generated())), **options)
    assert both.spawned() == []


def test_plugins_are_a_list_also_if_there_is_one(lab: Lab) -> None:
    with blocking.Host() as host, pytest.raises(LocalProtocolError):
        host.generate("provider", wire.CigenSchema())


def test_a_truth_is_no_timeout(both: Lab) -> None:
    with both.connect(both.play(*rounds(generated()))) as provider, pytest.raises(LocalProtocolError):
        provider.ask("generate", timeout=True)


def test_one_that_answers_preflight_only_has_nothing_to_generate(both: Lab) -> None:
    with pytest.raises(ManifestError, match="preflight only"):
        both.generate(both.play("read", write(info(phases="preflight")), "read", "stay"))
    assert both.files() == {}


def test_nobody_works_for_a_directory_that_cannot_be_used(both: Lab) -> None:
    both.out.write_text("a file")
    with pytest.raises(plughost.TreeError):
        both.generate(both.play(*rounds(generated(("a", "b")))))
    assert both.spawned() == []


def test_advice_about_a_frame_of_another_kind_speaks_of_phases_and_not_of_prints(lab: Lab) -> None:
    answer = wire.PreflightResult(should_run=True, reason="no result of generate")
    with lab.connect(lab.play(*SHAKE, "read", write(answer), "stay")) as provider:
        with pytest.raises(PluginFailure) as caught:
            provider.ask("generate")
    assert caught.value.code is FailureCode.MALFORMED_RESPONSE
    assert "phase" in caught.value.hint
    assert "stdout" not in caught.value.hint
