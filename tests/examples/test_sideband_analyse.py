"""The application that works in a session, and the demo: cells run, the figure is a file, the crash is survived."""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
import zlib
from importlib.util import find_spec
from pathlib import Path

import pytest

from plughost import Environment, Text, blocking
from plughost.frontends.cli.commands.demo import BUNDLED
from plughost.frontends.cli.console_demo import ConsoleDemo
from plughost.frontends.cli.terminal import Terminal

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "sideband"
LIMIT_S = 300  # the first figure on a machine takes as long as matplotlib needs to find its fonts

pytestmark = [pytest.mark.timeout(LIMIT_S + 20), pytest.mark.thin(2, "figures in a session")]


def size(png: bytes) -> tuple[int, int]:
    """Return width and height of *png*, whose checksums have to be right."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, kinds = 8, []
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        body = png[at + 4 : at + 8 + length]
        assert struct.unpack_from(">I", png, at + 8 + length) == (zlib.crc32(body),)
        kinds.append(body[:4])
        at += length + 12
    assert (kinds[0], kinds[-1]) == (b"IHDR", b"IEND")
    width, height = struct.unpack_from(">2I", png, 16)
    return width, height


@pytest.fixture
def without_matplotlib(tmp_path: Path) -> Environment:
    """The variables of a worker that finds no matplotlib, whether there is one or not."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "matplotlib.py").write_text("raise ImportError('not here')\n")
    return Environment(set={"PYTHONPATH": str(tmp_path / "hidden")})


def test_the_application_shows_every_reply_and_keeps_the_figure(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "analyse.py"), str(out)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    (picture,) = out.iterdir()
    width, height = size(picture.read_bytes())
    assert width > height > 0
    lines = ran.stdout.splitlines()
    assert f"  image   {picture}" in lines
    assert [line for line in lines if line.startswith("  = ")] == [
        "  = ready, worker 1",
        "  = ready, worker 1",
        "  = ready, worker 1",
        "  = waiting for stdin, worker 1",
        "  = ready, worker 1",
        "  = running, worker 1",
        "  = ready, worker 1, failed",
        "  = ended, worker 1, failed",
        "  = ready, worker 2",
    ]
    assert "  stdout  [30, 10, 40, 10, 50, 90, 20, 60]" in lines
    assert lines[-2:] == ["  stdout  False", "  = ready, worker 2"]
    assert ran.stderr == ""


def test_the_application_says_how_it_is_used(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "analyse.py")], capture_output=True, timeout=250, check=False
    )
    assert ran.returncode == 1
    assert b"analyse.py OUT" in ran.stderr


@pytest.mark.parametrize("has_matplotlib", [False, True])
def test_the_figure_is_drawn_with_matplotlib_and_without(
    has_matplotlib: bool, without_matplotlib: Environment
) -> None:
    if has_matplotlib and find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed")
    with blocking.Host() as host:
        console = host.console(
            sys.executable, **({} if has_matplotlib else {"environment": without_matplotlib})
        )
        reply = console.run((EXAMPLES / "figure.py").read_text(encoding="utf-8"), LIMIT_S)
    (image,) = reply.images
    assert (image.mime_type, size(image.data)) == ("image/png", (640, 360))
    assert isinstance(reply.items[0], Text)
    assert not reply.error


def test_the_demo_shows_where_the_picture_is_and_how_each_cell_ended(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shown = ConsoleDemo(Terminal(), BUNDLED / "sideband" / "figure.py").run()
    picture = Path(shown["picture"])
    size(picture.read_bytes())
    assert picture.is_relative_to(tmp_path)
    printed = capsys.readouterr().out
    assert f"  the picture stays there: {picture}\n" in printed
    assert [reply["state"] for reply in shown["replies"]] == [
        *("ready", "ready", "waiting for stdin", "ready", "running"),
        *("ready", "ready", "ended", "ready"),
    ]
    assert [reply["generation"] for reply in shown["replies"]] == [1, 1, 1, 1, 1, 1, 1, 1, 2]
    assert shown["replies"][0]["text"] == "285\n"
    assert shown["replies"][-1]["text"] == "False\n"
