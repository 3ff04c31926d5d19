"""The testkit itself: what it promises to authors of plugins and applications."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from plughost import blocking
from plughost.conformance.canaries import execute as canaries
from plughost.contracts.execute.session import ExecuteSession, Terms, prepare
from plughost.contracts.execute.states import State
from plughost.manifest.binding import Binding, of_command
from plughost.testkit import FakeLauncher, FakeProcess, ManualClock, Pair, assert_conforms

MANIFEST = {
    "plugin_id": "p",
    "plugin_version": "1",
    "protocol_version": "rterm.plugin.v1",
    "exposed_tools": ["echo"],
}


@pytest.fixture(autouse=True)
def _no_leaks(leak_check: None) -> None:
    pass


def echo(line: bytes) -> bytes:
    message = json.loads(line)
    if message["type"] == "handshake":
        return json.dumps({"type": "handshake", "manifest": MANIFEST}).encode() + b"\n"
    reply = {
        "type": "response",
        "request_id": message["request_id"],
        "status": "ok",
        "output": message["input"],
    }
    return json.dumps(reply).encode() + b"\n"


def test_a_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(5.0)
    assert clock() == clock() == 5.0
    clock.advance(1.5)
    assert clock() == 6.5


@pytest.mark.parametrize("piece", [0, 1, 7])
def test_a_pair_holds_a_whole_conversation_in_memory(piece: int) -> None:
    clock = ManualClock()
    session = ExecuteSession(Terms(), clock())
    pair = Pair(session, echo, clock, piece=piece)
    session.begin()
    session.execute(prepare("echo", {"a": 1}, {}, "id", 1000), clock())
    pair.run()
    assert session.state is State.CLOSED
    assert session.answer is not None
    assert session.answer.output == {"a": 1}


def test_a_pair_lets_time_pass() -> None:
    clock = ManualClock()
    session = ExecuteSession(Terms(handshake_s=2), clock())
    pair = Pair(session, lambda line: b"", clock)
    session.begin()
    pair.run()
    pair.advance(1.9)
    assert not session.settled
    pair.advance(0.2)
    assert session.settled
    assert pair.exited


def test_a_fake_process_plays_its_part_in_a_real_host(tmp_path: Path) -> None:
    def behave(process: FakeProcess) -> None:
        process.on_line = lambda line: process.say(echo(line))
        process.on_stdin_close = process.exit

    launcher = FakeLauncher(behave)
    binding = Binding(name="p", contract="execute", command=("p",), directory=tmp_path, cwd=tmp_path)
    with blocking.Host(launcher=launcher) as host:
        assert host.add(binding).call("echo", [1]) == [1]
    assert launcher.launched[0].signals == []
    assert launcher.closed


def test_assert_conforms_passes_a_good_plugin_and_names_what_a_bad_one_breaks(greeter: Path) -> None:
    assert_conforms(greeter, tool="greet", input={"name": "Ada"})
    bad = of_command("execute", [sys.executable, str(canaries.__file__), "answer-type"])
    with pytest.raises(AssertionError, match="execute:response:type"):
        assert_conforms(bad)


def test_assert_conforms_names_what_a_bad_duplex_plugin_breaks() -> None:
    with pytest.raises(AssertionError, match="duplex:framing"):
        assert_conforms(of_command("duplex", ["printf", "hello"]))


def test_the_host_fixture_is_there_without_asking(plughost_host: blocking.Host, greeter: Path) -> None:
    assert plughost_host.add(greeter).call("greet", {"name": "Ada"}) == {"text": "Hello Ada"}
