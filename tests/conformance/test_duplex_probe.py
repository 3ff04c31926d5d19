"""Raw Content-Length frames to and from a process, bounded whatever it does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from plughost.conformance.duplex import examine
from plughost.conformance.duplex_examination import Examination
from plughost.conformance.duplex_frames import frame, largest
from plughost.conformance.duplex_framing import output
from plughost.conformance.duplex_probe import DuplexProbe, Hearing
from plughost.conformance.duplex_subject import of_command
from plughost.conformance.duplex_talk import Patience, Talk
from plughost.conformance.report import Status
from plughost.contracts.duplex.messages import FRAME_BYTES
from plughost.process.local import LocalLauncher

WITHIN = 10.0  # seconds; an upper bound that is never reached
PATIENT = Patience(init_s=WITHIN, call_s=WITHIN, exit_s=WITHIN, quiet_s=0.02)

Start = Callable[..., DuplexProbe]
Say = Callable[[bytes], Talk]


def test_frames_come_back_whole_and_in_order(launcher: LocalLauncher, tmp_path: Path) -> None:
    bodies: list[bytes] = []
    binding = of_command(["cat"], tmp_path).process
    assert binding is not None
    with DuplexProbe(launcher, binding, bodies.append) as echo:
        sent = [b"", b"x", b"y" * 70_000, b"{}"]
        for body in sent:
            echo.post(frame(body))
        assert echo.work(lambda: len(bodies) == len(sent), WITHIN)
        assert bodies == sent
        assert echo.dribble(frame(b"drop by drop"), WITHIN)
        assert echo.work(lambda: bodies[-1] == b"drop by drop", WITHIN)
        assert (echo.broken, echo.pending, bytes(echo.unframed)) == (None, 0, b"")


def test_what_is_posted_while_a_frame_goes_out_byte_by_byte_comes_after_it(
    launcher: LocalLauncher, tmp_path: Path
) -> None:
    bodies: list[bytes] = []

    def receive(body: bytes) -> None:
        bodies.append(body)
        if body == b"question":
            echo.post(frame(b"answer"))

    binding = of_command(["cat"], tmp_path).process
    assert binding is not None
    with DuplexProbe(launcher, binding, receive) as echo:
        echo.post(frame(b"question"))
        assert echo.dribble(frame(b"drop by drop"), WITHIN)
        assert echo.work(lambda: len(bodies) == 3, WITHIN)
    assert bodies == [b"question", b"drop by drop", b"answer"]


def test_a_body_of_the_greatest_length_is_exactly_that_long() -> None:
    head, body = largest("a/method", 7).split(b"\r\n\r\n", 1)
    assert head == b"Content-Length: %d" % FRAME_BYTES
    assert len(body) == FRAME_BYTES


def said(data: bytes, launcher: LocalLauncher, tmp_path: Path) -> Talk:
    """Return a conversation with a program that writes *data* and ends."""
    file = tmp_path / "data"
    file.write_bytes(data)
    binding = of_command(["cat", str(file)], tmp_path).process
    assert binding is not None
    with Talk(launcher, binding, "started", PATIENT) as talk:
        talk.listen(WITHIN)
        talk.probe.wait_exit(WITHIN)
    return talk


GOOD = frame(b'{"jsonrpc":"2.0","method":"host/log","params":{}}')


@pytest.mark.parametrize(
    ("data", "clause"),
    [
        pytest.param(b"Hello\n", "duplex:frame:clean-stdout", id="a-line"),
        pytest.param(GOOD + b"Hello\n", "duplex:frame:clean-stdout", id="a-line-between"),
        pytest.param(b"usage: this\n", "duplex:frame:clean-stdout", id="a-line-with-a-colon"),
        pytest.param(b"{}", "duplex:frame:clean-stdout", id="a-body-alone"),
        pytest.param(b"\r\n", "duplex:frame:clean-stdout", id="a-blank-line"),
        pytest.param(b"\xff\xfe\x00\n", "duplex:frame:clean-stdout", id="binary"),
        pytest.param(b"Content-Length: 2\n\n{}", "duplex:frame:header", id="line-feeds"),
        pytest.param(b"Content-Length: +2\r\n\r\n{}", "duplex:frame:header", id="a-sign"),
        pytest.param(b"Content-Length: -2\r\n\r\n{}", "duplex:frame:header", id="negative"),
        pytest.param(
            b"Content-Type: x\r\nContent-Length: 2\r\n\r\n{}", "duplex:frame:header", id="two-headers"
        ),
        pytest.param(b"Content-Length: 2\r\n" * 2 + b"\r\n{}", "duplex:frame:header", id="twice"),
        pytest.param(b"Content-Le", "duplex:frame:header", id="half-a-header"),
        pytest.param(GOOD[:-1], "duplex:frame:header", id="half-a-body"),
        pytest.param(
            b"Content-Length: 2" + b" " * 8192 + b"\r\n\r\n{}", "duplex:frame:header", id="a-long-header"
        ),
        pytest.param(b"Content-Length: 16777217\r\n\r\n", "duplex:frame:limit", id="a-byte-too-long"),
        pytest.param(
            b"Content-Length: 99999999999999999999\r\n\r\n", "duplex:frame:limit", id="far-too-long"
        ),
    ],
)
def test_what_comes_in_place_of_a_frame_is_told_apart(
    data: bytes, clause: str, launcher: LocalLauncher, tmp_path: Path
) -> None:
    found = output(said(data, launcher, tmp_path))
    assert found is not None
    assert found.clause == clause


@pytest.mark.parametrize(
    "data", [b"", GOOD, GOOD * 3, frame(b"")], ids=["nothing", "one", "three", "empty-body"]
)
def test_frames_and_silence_are_no_fault(data: bytes, launcher: LocalLauncher, tmp_path: Path) -> None:
    assert output(said(data, launcher, tmp_path)) is None


@pytest.mark.parametrize(
    ("body", "clause"),
    [
        pytest.param(b"", "duplex:rpc:version", id="nothing"),
        pytest.param(b"[]", "duplex:rpc:version", id="a-batch"),
        pytest.param(b"\xff", "duplex:rpc:version", id="no-utf-8"),
        pytest.param(b"[" * 100_000, "duplex:rpc:version", id="nested-deep"),
        pytest.param(b'{"method":"host/log"}', "duplex:rpc:version", id="no-version"),
        pytest.param(b'{"jsonrpc":2.0,"method":"host/log"}', "duplex:rpc:version", id="version-is-a-number"),
        pytest.param(b'{"jsonrpc":"2.0","method":5}', "duplex:rpc:version", id="method-is-a-number"),
        pytest.param(b'{"jsonrpc":"2.0","id":[1],"method":"host/x"}', "duplex:rpc:ids", id="id-is-a-list"),
        pytest.param(b'{"jsonrpc":"2.0","id":-1,"method":"host/x"}', "duplex:rpc:ids", id="id-is-negative"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1.5,"method":"host/x"}', "duplex:rpc:ids", id="id-is-a-fraction"
        ),
        pytest.param(b'{"jsonrpc":"2.0","id":true,"method":"host/x"}', "duplex:rpc:ids", id="id-is-a-flag"),
        pytest.param(b'{"jsonrpc":"2.0","id":null,"method":"host/x"}', "duplex:rpc:ids", id="id-is-null"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":18446744073709551616,"method":"host/x"}',
            "duplex:rpc:ids",
            id="id-of-65-bits",
        ),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"result":{}}', "duplex:rpc:reply", id="answer-to-nobody"),
        pytest.param(b'{"jsonrpc":"2.0","id":null,"error":{}}', "duplex:rpc:reply", id="error-to-nobody"),
        pytest.param(b'{"jsonrpc":"2.0"}', "duplex:rpc:reply", id="nothing-but-a-version"),
    ],
)
def test_a_message_that_is_none_is_told_apart(
    body: bytes, clause: str, launcher: LocalLauncher, tmp_path: Path
) -> None:
    talk = said(frame(body), launcher, tmp_path)
    assert [flaw.clause for flaw in talk.flaws] == [clause]
    assert talk.is_broken


@pytest.mark.parametrize("number", [0, 1, 2**63, 2**64 - 1])
def test_every_id_of_64_bits_is_one(number: int, launcher: LocalLauncher, tmp_path: Path) -> None:
    body = b'{"jsonrpc":"2.0","id":%d,"method":"host/x"}' % number
    assert said(frame(body), launcher, tmp_path).flaws == []


def test_a_process_that_writes_without_end_is_stopped(launcher: LocalLauncher, tmp_path: Path) -> None:
    endless = f"import os\nwhile True: os.write(1, {frame(b'{}')!r})"
    binding = of_command([sys.executable, "-c", endless], tmp_path).process
    assert binding is not None
    with Talk(launcher, binding, "started", PATIENT, hearing=Hearing(size=10_000)) as talk:
        talk.listen(WITHIN)
        found = output(talk)
    assert found is not None
    assert found.clause == "duplex:frame:limit"


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_so_many_bodies_are_heard_of_one_process_and_no_more(
    over: int, launcher: LocalLauncher, tmp_path: Path
) -> None:
    file, bodies = tmp_path / "data", list[bytes]()
    file.write_bytes(GOOD * (5 + over))
    binding = of_command(["cat", str(file)], tmp_path).process
    assert binding is not None
    with DuplexProbe(launcher, binding, bodies.append, Hearing(bodies=5)) as probe:
        probe.wait_exit(WITHIN)
    assert len(bodies) == min(5, 5 + over)
    assert probe.flooded == (over > 0)


FLOOD = """
import json, sys
def send(**message):
    body = json.dumps({"jsonrpc": "2.0", **message})
    sys.stdout.write(f"Content-Length: {len(body)}\\r\\n\\r\\n{body}")
length = int(sys.stdin.readline().partition(":")[2]) + len("\\r\\n")
send(id=json.loads(sys.stdin.read(length))["id"], result={"name": "flood", "version": "1.0.0"})
while True:
    send(method="host/log", params={"level": "info", "message": "more"})
"""


def test_a_flood_of_messages_is_one_flaw_and_is_heard_less_of_each_time(
    launcher: LocalLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("USUAL", 500), ("BRIEF", 50)):
        monkeypatch.setattr(f"plughost.conformance.duplex_examination.{name}", Hearing(bodies=most))
    subject = of_command([sys.executable, "-ISc", FLOOD], tmp_path)
    found = Examination(subject, launcher, PATIENT, large=False)
    report = examine(found)
    failed = [each for each in report.axes if each.status is Status.FAILED]
    assert [each.id for each in failed] == ["duplex:framing"]
    assert "duplex:frame:limit" in failed[0].detail
    first, *others = [len(talk.calls) for talk in found.talks]
    assert first >= 400
    assert len(others) > 3
    assert max(others) <= 50
