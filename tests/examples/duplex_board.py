"""The board in Go, for tests: where it is, how it is built, and what a host does to it."""

from __future__ import annotations

import fcntl
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.examples.duplex_talk import Talk, b64, unb64
from tests.sdk.duplex_wire import event, notification

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
FOLDER = EXAMPLES / "duplex" / "board-go"
PROGRAM = FOLDER / "board-go"
BUILD_SECONDS = 600  # a cold build compiles the standard library
CARDS, INBOX = "board.cards", "board.inbox"
INIT = {"manifest_path": "/nowhere/manifest.toml", "granted_capabilities": ["event_bus"], "abi_version": 2}
MARKS = [pytest.mark.needs("go"), pytest.mark.timeout(BUILD_SECONDS + 60)]


def build(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Build the program; whichever test process comes first does."""
    lock = tmp_path_factory.getbasetemp().parent / "examples.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        command = [EXAMPLES / "build", "board-go"]
        subprocess.run(command, check=True, capture_output=True, timeout=BUILD_SECONDS)


def press(board: Talk, *keys: str, **more: Any) -> None:
    for name in keys:
        code = {"type": "char", "ch": name} if len(name) == 1 else {"type": name}
        params = {"screen_id": "board", "key": {"code": code, **more}, "generation": 0}
        board.send(notification("plugin/handle_key", params))


def run(board: Talk, *argv: str) -> tuple[bytes, bytes, int]:
    done = board.result("plugin/cli_dispatch", {"namespace": "board", "argv": list(argv)})
    return unb64(done["stdout"]), unb64(done["stderr"]), done["exit_code"]


def cards(board: Talk) -> list[tuple[int, str, str]]:
    output, _, status = run(board, "list", "--json")
    assert status == 0
    return [(each["id"], each["column"], each["title"]) for each in json.loads(output)]


def screen(board: Talk, width: int = 80, height: int = 24) -> list[str]:
    """Return the rows of the screen. A cell outside it fails the test."""
    buffer = board.result("plugin/render", {"viewport": {"width": width, "height": height}})["buffer"]
    assert (buffer["width"], buffer["height"]) == (width, height)
    rows: dict[int, dict[int, str]] = {}
    for place, cell in buffer["cells"]:
        assert 0 <= place["x"] < width
        assert 0 <= place["y"] < height
        rows.setdefault(place["y"], {})[place["x"]] = cell["symbol"]
    found = []
    for y in range(max(rows, default=-1) + 1):
        row = rows.get(y, {})
        found.append("".join(row.get(x, " ") for x in range(max(row, default=-1) + 1)))
    return found


def chunk(*titles: Any, index: int = 0, final: bool = True, batch: int = 7, version: int = 1) -> bytes:
    data = [{"title": title} for title in titles]
    envelope = {
        "version": version,
        "published_ns": batch,
        "chunk_index": index,
        "is_final": final,
        "data": data,
    }
    return json.dumps(envelope).encode()


def tell(board: Talk, *payloads: bytes) -> None:
    for payload in payloads:
        board.send(event(INBOX, b64(payload)))
