"""A raw conversation with a worker: lines come whole, after what was printed before them, and never without end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plughost.conformance import sideband_probe
from plughost.conformance.sideband_probe import SidebandProbe
from plughost.conformance.sideband_talk import Patience, Talk
from plughost.contracts.base import Channel
from plughost.manifest.binding import Binding, of_command
from plughost.process.local import LocalLauncher

WITHIN = 50.0  # seconds; an upper bound that is never reached
HEAD = """\
import os, sys
told = int(os.environ["MCP_CONSOLE_IPC_WRITE_FD"])
heard = int(os.environ["MCP_CONSOLE_IPC_READ_FD"])
def tell(data):
    while data:
        data = data[os.write(told, data):]
"""


@pytest.fixture
def worker(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Return the binding of a worker with this code."""

    def make(code: str) -> Binding:
        file = tmp_path / "worker.py"
        file.write_text(HEAD + code, encoding="utf-8")
        return of_command("sideband", [sys.executable, "-I", "-S", str(file)])

    return make


def lines_of(launcher: LocalLauncher, found: Binding) -> tuple[list[bytes], SidebandProbe]:
    heard: list[bytes] = []
    with SidebandProbe(launcher, found, heard.append) as probe:
        probe.work(lambda: probe.exit is not None, WITHIN)
    return heard, probe


def test_lines_come_whole_however_they_are_written_and_the_last_may_lack_its_end(launcher, worker):  # type: ignore[no-untyped-def]
    code = 'for byte in b\'{"a": 1}\\r\\n\\n  \\n{"b"\': tell(bytes([byte]))\ntell(b": 2}\\nlast")\n'
    heard, probe = lines_of(launcher, worker(code))
    assert heard == [b'{"a": 1}', b'{"b": 2}', b"last"]
    assert not probe.is_long


def test_what_was_printed_before_a_line_is_there_when_the_line_is(launcher, worker):  # type: ignore[no-untyped-def]
    seen: list[tuple[int, int]] = []
    code = (
        "for _ in range(200):\n    os.write(1, b'o' * 50)\n    os.write(2, b'e' * 50)\n    tell(b'{}\\n')\n"
        "os.read(heard, 1)\n"
    )
    with SidebandProbe(
        launcher, worker(code), lambda _: seen.append((len(probe.stdout), len(probe.stderr)))
    ) as probe:
        assert probe.work(lambda: len(seen) == 200, WITHIN)
    assert all(out >= 50 * (at + 1) and err >= 50 * (at + 1) for at, (out, err) in enumerate(seen))


def test_a_line_over_the_limit_is_noticed_before_it_ends(launcher, worker, monkeypatch):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(sideband_probe, "LINE_BYTES", 1_000)
    heard: list[bytes] = []
    code = "tell(b'x' * 1000 + b'\\n')\ntell(b'y' * 1001)\nos.read(heard, 1)\n"
    with SidebandProbe(launcher, worker(code), heard.append) as probe:
        probe.work(lambda: False, WITHIN)
        assert probe.is_long
        assert probe.exit is None
    assert heard == [b"x" * 1000]


def test_a_worker_that_writes_without_end_is_heard_for_so_long(launcher, worker, monkeypatch):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(sideband_probe, "LINES", 100)
    heard: list[bytes] = []
    with SidebandProbe(launcher, worker("while True:\n    tell(b'{}\\n' * 50)\n"), heard.append) as probe:
        probe.work(lambda: False, WITHIN)
        assert probe.flooded
    assert len(heard) == 100


def test_output_is_kept_as_far_as_its_bound(launcher, worker, monkeypatch):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(sideband_probe, "HEARD_BYTES", 1_000)
    _, probe = lines_of(launcher, worker("os.write(1, b'x' * 5000)\nos.write(2, b'y' * 5000)\n"))
    assert (len(probe.stdout), len(probe.stderr)) == (1_000, 1_000)


def test_what_is_posted_goes_to_its_pipe_however_much_it_is(launcher, worker):  # type: ignore[no-untyped-def]
    code = (
        "line = b''\nwhile not line.endswith(b'\\n'): line += os.read(heard, 65536)\n"
        "data = sys.stdin.buffer.read(1000000)\n"
        "tell(b'%d %d\\n' % (len(line), len(data)))\n"
    )
    heard: list[bytes] = []
    with SidebandProbe(launcher, worker(code), heard.append) as probe:
        probe.post(Channel.CONTROL_OUT, b"x" * 300_000 + b"\n")
        probe.post(Channel.STDIN, b"y" * 1_000_000)
        assert probe.work(lambda: bool(heard), WITHIN)
        assert probe.written()
    assert heard == [b"300001 1000000"]


def test_a_worker_that_is_gone_is_not_waited_for(launcher, worker):  # type: ignore[no-untyped-def]
    with Talk(launcher, worker("sys.exit('no')\n"), "started", Patience(hello_s=WITHIN)) as talk:
        assert not talk.begin()
        assert talk.run("anything") is None
        assert "no" in talk.ending


@pytest.mark.parametrize(
    ("line", "clause"),
    [
        (b"[]", "line:json"),
        (b"nonsense", "line:json"),
        (b"\\xff", "line:json"),
        (b'{"type": "readline_start"}', "line:json"),
        (b'{"type": "backend_info", "language": "x"}', "hello:first"),
        (b'{"type": "interrupted", "outcome": "idle"}', "interrupt:answered"),
        (b'{"type": "request_end", "request_id": 7}', "request:ids"),
        (b'{"type": "readline_result", "prompt": "", "line": "x", "request_id": 1}', "input:asked"),
        (
            b'{"type": "plot_image", "id": "a", "mime_type": "x", "data": "", "is_new": true}',
            "image:background",
        ),
    ],
)
def test_a_message_at_the_wrong_time_breaks_its_clause(launcher, worker, line, clause):  # type: ignore[no-untyped-def]
    info = '{"type": "backend_info", "language": "x", "plughost": {"request_ids": true, "marks": true}}'
    code = f"tell({info!r}.encode() + b'\\n')\ntell({line!r} + b'\\n')\n"
    with Talk(launcher, worker(code), "started", Patience(hello_s=WITHIN)) as talk:
        assert talk.begin()
        talk.probe.work(lambda: talk.is_gone, WITHIN)
    assert f"sideband:{clause}" in {flaw.clause for flaw in talk.flaws}
