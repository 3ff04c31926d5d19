"""Raw `hook` providers for `test_002_hook`: protobuf made by hand, under the public host or command."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from plughost import PluginFailure, blocking

WAIT_S = 30  # for a process to end that ends by itself
PIPELINE = "jobs:\n  build:\n    steps:\n      - run: make\n"

# Protobuf by hand, for both the providers below and the raw host: numbers as varints, the rest with its length.
WIRE = """
def varint(number):
    low = []
    while number > 127:
        low.append(number & 127 | 128)
        number >>= 7
    return bytes([*low, number])

def part(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    body = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(body)) + body

def frame(body):
    return len(body).to_bytes(4, "big") + body

def parts(data):
    found, at = {}, 0
    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        tag = number()
        value = number()
        if tag & 7 == 2:
            value, at = data[at : at + value], at + value
        found.setdefault(tag >> 3, []).append(value)
    return found
"""
PRELUDE = (
    WIRE
    + """
import os, sys, time

log = open("log", "ab", buffering=0)

def read():
    head = sys.stdin.buffer.read(4)
    body = sys.stdin.buffer.read(int.from_bytes(head, "big")) if head else None
    log.write(frame(body) if head else b"")
    if body is None:
        open("ended", "w").close()
    return body

def send(body):
    os.write(1, frame(body))

def info(name="provider/raw", protocol=1, *more):
    return part(1, name) + part(2, "0.1.0") + part(3, protocol) + b"".join(part(4, each) for each in more)

def greet(*words):
    hello = read()
    send(info(*words))
    return hello

def file(path, content):
    return part(1, part(1, path) + part(2, content) + part(3, 1))

def rounds(result):
    while read() is not None:
        send(b"")
        if read() is None:
            break
        send(result)
"""
)
ORDINARY = "greet(); rounds(file('a.txt', 'made'))"
# A provider of the document's conversation: Hello, then Generate, and nothing else.
GENERATE_ONLY = """
greet()
while (body := read()) is not None:
    schema = parts(body).get(4)
    said = part(1, 1) + part(4, "there is no schema")
    send(file("a.txt", "made") if schema else part(2, said))
"""
peer: dict[str, Any] = {}
exec(WIRE, peer)  # the raw host speaks the same bytes
part, frame, parts = peer["part"], peer["frame"], peer["parts"]


@dataclass
class Outcome:
    """What a run over one provider brought, and what the provider saw."""

    directory: Path
    generation: Any = None
    error: PluginFailure | None = None
    frames: list[bytes] = field(default_factory=list)

    @property
    def code(self) -> str | None:
        return None if self.error is None else str(self.error.code)

    @property
    def made(self) -> str | None:
        path = self.directory / "out" / "a.txt"
        return path.read_text() if path.exists() else None

    @property
    def warnings(self) -> str:
        return " ".join(each for report in self.generation.providers for each in report.warnings)


Generate = Callable[..., Outcome]


def split(data: bytes) -> list[bytes]:
    found = []
    while data:
        size = int.from_bytes(data[:4], "big")
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found


def bound(where: Path, body: str, table: str = "", command: str = "") -> Path:
    """Lay a raw provider into *where*, with its binding and a pipeline."""
    where.mkdir()
    (where / "raw.py").write_text(PRELUDE + body)
    (where / "pipeline.yml").write_text(PIPELINE)
    started = command or json.dumps([sys.executable, "raw.py"])
    head = f'[plugin]\nname = "provider/raw"\ncontract = "hook"\ncommand = {started}\n'
    (where / "plugin.toml").write_text(f"{head}{table}\n")
    return where


def generate_below(directory: Path) -> Generate:
    made = iter(range(1_000))

    def generate(
        body: str, table: str = "", *, command: str = "", files: dict[str, bytes] | None = None
    ) -> Outcome:
        outcome = Outcome(bound(directory / str(next(made)), body, table, command))
        for name, data in (files or {}).items():
            (outcome.directory / name).write_bytes(data)
            (outcome.directory / name).chmod(0o755)
        try:
            with blocking.Host() as host:
                where = outcome.directory
                outcome.generation = host.generate([where], where / "pipeline.yml", where / "out")
        except PluginFailure as error:
            outcome.error = error
        log = outcome.directory / "log"
        outcome.frames = split(log.read_bytes()) if log.exists() else []
        return outcome

    return generate


@pytest.fixture
def generate(tmp_path: Path) -> Generate:
    return generate_below(tmp_path)


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "plughost", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
