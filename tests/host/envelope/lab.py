"""A tree, plugins that are written for one test, and passes of them over the tree by either host."""

from __future__ import annotations

import asyncio
import json
import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import plughost
from plughost import blocking
from plughost.host.envelope.options import PassResult
from plughost.record.schema import Applied
from tests.files.portrait import portrait
from tests.record import original

HEAD = """\
import json, os, shutil, signal, subprocess, sys, time
from pathlib import Path
from plughost_sdk.envelope import FileChange, PluginError, PluginInputRequired, field
from plughost_sdk.envelope import Plugin as Base
"""
CLASS = """
class Plugin(Base):
    name, version, supported_extensions = {name!r}, "1.0", {extensions!r}

    def can_handle(self, path, variables):
        return True

    def transform(self, path, ctx):
        path.write_text(path.read_text() + self.name + "\\n")

"""
RAW = """\
import json, os, signal, sys, time
told = json.loads(sys.stdin.readline())

def answer(code=0, **reply):
    if "result" in reply:
        reply.setdefault("per_file", [])
    data = (json.dumps(reply) + "\\n").encode()
    while data:
        data = data[os.write(1, data):]
    os._exit(code)

if sys.argv[1:] == ["--mode", "validate"]:
    answer(errors=[])
root, files = told["context"]["dst_root"], told["files"]
"""


@dataclass
class Lab:
    """One tree under `home`, and the plugins beside it. *kind* is the host: blocking or asyncio."""

    home: Path
    kind: str = "blocking"
    events: list[Any] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.home / "tree"

    # Writing

    def write(self, files: dict[str, str | bytes]) -> None:
        """Put files into the tree."""
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def plugin(
        self,
        name: str,
        body: str = "",
        *,
        extensions: Sequence[str] = (".txt",),
        top: str = "",
        **manifest: Any,
    ) -> Path:
        """Write a plugin for our Python worker, with hooks in *body*, and return its directory."""
        directory = self._manifest(name, extensions, manifest)
        head = CLASS.format(name=name, extensions=list(extensions))
        code = textwrap.indent(textwrap.dedent(body), "    ")
        (directory / "__init__.py").write_text(HEAD + textwrap.dedent(top) + head + code)
        return directory

    def raw(
        self, name: str, body: str, *, extensions: Sequence[str] = (".txt",), head: str = RAW, **manifest: Any
    ) -> Path:
        """Write a worker of its own, without any SDK: `answer(code, **reply)` ends it."""
        own = {"command": ["python", "worker.py"], "validates": True}
        directory = self._manifest(name, extensions, {**own, **manifest})
        (directory / "worker.py").write_text(head + textwrap.dedent(body))
        return directory

    def _manifest(self, name: str, extensions: Sequence[str], more: dict[str, Any]) -> Path:
        directory = self.home / "plugins" / name
        directory.mkdir(parents=True)
        document = {
            "name": name,
            "version": "1.0",
            "api_version": "1",
            "supported_extensions": list(extensions),
        }
        (directory / "manifest.yml").write_text(json.dumps({**document, **more}))
        return directory

    # Running

    def run(self, *plugins: Path, ask: Callable[..., Any] | None = None, **options: Any) -> PassResult:
        """Run a pass."""
        options = {**self.options, **options}
        if self.kind == "asyncio":
            return asyncio.run(self.arun(*plugins, ask=ask, **options))
        with blocking.Host(on_event=self.events.append) as host:
            return host.run_pass(self.root, plugins, on_input_required=ask, **options)

    async def arun(self, *plugins: Path, ask: Callable[..., Any] | None = None, **options: Any) -> PassResult:
        """Run a pass by the asyncio host, on the loop that is running."""
        async with plughost.Host(on_event=self.events.append) as host:
            return await host.run_pass(self.root, plugins, on_input_required=ask, **options)

    def one(self, plugin: Path, **options: Any) -> Applied:
        """Run a pass of one plugin, and return its entry, which is also the last of the record."""
        (entry,) = self.run(plugin, **options).plugins_applied
        if not options.get("dry_run"):
            assert self.entries[-1] == entry.to_dict()
        return entry

    # Looking

    def portrait(self) -> dict[bytes, tuple[Any, ...]]:
        """Return all that can be seen of the tree, but for what the host itself writes there."""
        seen = portrait(self.root)
        ours = (b".exlab-wizard",)
        kept = {path: look for path, look in seen.items() if not path.startswith(ours)}
        top = list(kept[b"."])
        top[4] = None  # the time of the root: the host makes its own directory there
        return {**kept, b".": tuple(top)}

    @property
    def record(self) -> dict[str, Any]:
        """The record, which every other reader can read too."""
        data = (self.root / ".exlab-wizard/creation.json").read_bytes()
        original.read(data)
        found: dict[str, Any] = json.loads(data)
        return found

    @property
    def entries(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.record["plugins_applied"]
        return found

    @property
    def log(self) -> list[str]:
        """The lines of the log."""
        (path,) = (self.root / ".exlab-wizard").glob("wizard.*.log")
        return path.read_text().split("\n")[:-1]

    def raw_stderr(self, plugin: str) -> list[bytes]:
        """What the workers of *plugin* wrote to stderr, by attempt."""
        files = (self.root / ".exlab-wizard/plugins" / plugin).glob("*.stderr")
        return [path.read_bytes() for path in sorted(files)]

    def text(self, name: str) -> str:
        return (self.root / name).read_text()

    # What must not be left

    def left_behind(self) -> list[str]:
        """Return what a pass has no business to leave: stores, temporary directories, processes."""
        stores = [path.name for path in self.home.iterdir() if "plughost" in path.name]
        temporary = [path.name for path in (self.home / "tmp").iterdir()]
        return stores + temporary + [f"process {pid}" for pid in self.workers()]

    def workers(self) -> list[int]:
        """Return the living processes that were told the temporary directory of a pass here."""
        mark = f"TMPDIR={self.home}/tmp/plughost-pass-".encode()
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _carries(pid, mark)]


def outcome(entry: dict[str, Any]) -> str:
    """Return how a plugin came out by its *entry* of the record, where an aborted one is a failed one."""
    return "aborted" if entry.get("aborted") else str(entry["status"])


def _carries(pid: int, mark: bytes) -> bool:
    try:
        dead = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        return not dead and mark in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
