"""A fleet of raw `duplex` plugins for `test_003_duplex`: five manifests, one program."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plughost import HostAction, blocking

PROGRAM = Path(__file__).with_name("raw_duplex_plugin.py").read_text(encoding="utf-8")
WAIT_S = 30.0
GRANTED = """
[capabilities]
read_sessions = true
write_plugin_data = true
event_bus = true
network = ["listed.example", "127.0.0.1"]
spawn_subprocess = true
read_claude_logs = true
read_codex_logs = true
"""
PROVIDES = """
[provides]
screens = ["{0}"]
commands = ["{0}.act", "{0}.slow"]
cli_namespaces = ["{0}"]
"""


def manifest(name: str, more: str = "") -> str:
    return f'[plugin]\nname = "{name}"\nversion = "1.0.0"\nabi_version = 2\n{more}{PROVIDES.format(name)}'


def stage(root: Path, name: str, text: str, narrow: str = "") -> Path:
    """Lay a raw plugin into *root* as the document has it, beside what its host says about it."""
    home = root / name
    home.mkdir(parents=True)
    (home / "manifest.toml").write_text(text, encoding="utf-8")
    (home / name).write_text(f"#!{sys.executable}\n{PROGRAM}", encoding="utf-8")
    (home / name).chmod(0o755)
    if narrow:
        (home / "narrow.toml").write_text(narrow, encoding="utf-8")
    return home


class Events:
    """What a host told, for a test that waits for it."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self._grown = threading.Condition()

    def __call__(self, event: Any) -> None:
        with self._grown:
            self.told.append(event)
            self._grown.notify_all()

    def until(self, reached: Callable[[], Any]) -> None:
        """Wait until *reached*, which looks at these events alone, is true."""
        with self._grown:
            assert self._grown.wait_for(reached, WAIT_S), self.told

    def of(self, kind: str, plugin: str) -> list[Any]:
        return [each.what for each in self.told if type(each.what).__name__ == kind and each.plugin == plugin]

    def states(self, plugin: str) -> list[str]:
        return [each.after for each in self.of("PluginState", plugin)]


class Raw:
    """A fleet, what its host told, and shorthands for the commands of the raw plugin."""

    def __init__(self, fleet: Any, home: Path, events: Events | None = None) -> None:
        self.fleet, self.home, self.events = fleet, home, events or Events()

    def run(self, plugin: str, verb: str, *given: Any, timeout: float = WAIT_S) -> bytes:
        result = self.fleet.cli(plugin, [verb, *map(json.dumps, given)], timeout=timeout)
        found: bytes = result.stdout
        return found

    def ask(self, plugin: str, method: str, params: Any, id: Any = None) -> dict[str, Any]:
        given = (method, params) if id is None else (method, params, id)
        found: dict[str, Any] = json.loads(self.run(plugin, "ask", *given))
        return found

    def heard(self, plugin: str, method: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.run(plugin, "heard", method))
        return found


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raw]:
    home = tmp_path_factory.mktemp("duplex")
    root = home / "dist" / "plugins"
    stage(root, "granted", manifest("granted", GRANTED))
    stage(root, "denied", manifest("denied"))
    stage(
        root,
        "listener",
        manifest("listener", '[capabilities]\nevent_bus = true\n[subscribes]\nsnapshots = ["decl.topic"]\n'),
    )
    stage(root, "deaf", manifest("deaf", '[subscribes]\nsnapshots = ["decl.topic"]\n'))
    stage(root, "eager", manifest("eager", '[lifecycle]\nspawn = "eager"\n'))
    places = {}
    for name in ("read_sessions", "read_claude_logs", "read_codex_logs"):
        (home / name / "below").mkdir(parents=True)
        (home / name / "below" / "a.txt").write_text(name, encoding="utf-8")
        places[name] = [str(home / name)]
    events = Events()
    actions = {
        "own.write": HostAction(lambda payload: b"written", "write_plugin_data"),
        "own.spawn": HostAction(lambda payload: b"spawned", "spawn_subprocess"),
    }
    with blocking.Host(on_event=events) as host:
        yield Raw(host.fleet(root, roots=places, actions=actions, log_level="warn"), home, events)
