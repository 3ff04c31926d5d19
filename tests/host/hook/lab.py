"""Raw providers, and conversations with them by either host: the same verbs, whichever it is."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

import plughost
from plughost import blocking
from plughost.contracts.hook.messages import EXCHANGES, Phase
from plughost.host.hook.generation import Generation
from plughost.manifest.binding import Binding, Environment, HookLimits, HookOptions
from tests.files.portrait import portrait

PLAYER = Path(__file__).parent / "player.py"
SCHEMA = wire.CigenSchema(version="1", jobs=[wire.JobDefinition(id="test"), wire.JobDefinition(id="lint")])
# For what must run into its limit; everything else has the limits of the contract.
QUICK = {"handshake_s": 0.3, "timeout_s": 0.3, "teardown_s": 0.2, "terminate_s": 0.2}


def write(body: Message | bytes) -> str:
    """Return the word that writes *body* as a frame."""
    return f"write:{frame(body).hex()}"


def frame(body: Message | bytes) -> bytes:
    data = body if isinstance(body, bytes) else body.SerializeToString(deterministic=True)
    return len(data).to_bytes(4, "big") + data


def info(name: str = "provider/raw", phases: str | None = "generate", **changes: Any) -> wire.PluginInfo:
    metadata = {"plughost.phases": phases} if phases is not None else {}
    metadata.update(changes.pop("metadata", {}))
    return wire.PluginInfo(**{"name": name, "version": "1.0", "protocol": 1, "metadata": metadata, **changes})


def generated(*fragments: tuple[str, str], **changes: Any) -> wire.GenerateResult:
    """Return a result with fragments that replace: paths and contents."""
    made = [wire.Fragment(path=path, content=content) for path, content in fragments]
    return wire.GenerateResult(fragments=made, **changes)


def rounds(*results: Message, introduction: wire.PluginInfo | None = None, read: str = "read") -> list[str]:
    """Return the words of a provider that introduces itself and answers with *results*, in turns, for ever."""
    turns = [word for result in results for word in (read, write(result))]
    return ["read", write(introduction or info()), *turns, "again:2"]


@dataclass
class Lab:
    """One host, blocking or asyncio, and a directory to generate into."""

    home: Path
    kind: str = "blocking"
    events: list[Any] = field(default_factory=list)
    listener: Callable[[Any], None] | None = None
    _host: Any = None
    _runner: asyncio.Runner | None = None

    @property
    def out(self) -> Path:
        return self.home / "out"

    # Providers

    def play(self, *words: str, name: str = "", **options: Any) -> Binding:
        """Return the binding of a provider that plays *words*; keywords are limits and parts of the binding."""
        parts = {key: options.pop(key) for key in ("survivors", "allow") if key in options}
        environment = options.pop("environment", Environment())
        phases = options.pop("phases", ())
        return Binding(
            name=name,
            contract="hook",
            command=(sys.executable, "-I", "-S", str(PLAYER), *words),
            directory=self.home,
            cwd=self.home,
            source="(command line)",
            environment=environment,
            limits=HookLimits(**options),
            hook=HookOptions(phases=phases),
            **parts,
        )

    def file(self, body: Message | bytes, name: str = "frame") -> str:
        """Return the word that writes *body* as a frame, for one that is too long for a command line."""
        path = self.home / name
        path.write_bytes(frame(body))
        return f"file:{path}"

    def pipe(self, name: str) -> Path:
        """Return a named pipe, by which providers and tests wait for each other."""
        path = self.home / name
        if not path.exists():
            os.mkfifo(path)
        return path

    def heard(self, name: str = "heard") -> list[bytes]:
        """Return the frames that a provider noted with `read:PATH`, in order."""
        data = (self.home / name).read_bytes()
        found = []
        while data:
            size = int.from_bytes(data[:4], "big")
            found.append(data[4 : 4 + size])
            data = data[4 + size :]
        return found

    def noting(self, name: str = "heard") -> str:
        """Return the word that reads a frame and notes it."""
        return f"read:{self.home / name}"

    # The host

    @property
    def host(self) -> Any:
        if self._host is None:
            if self.kind == "asyncio":
                self._runner = asyncio.Runner()
                self._host = self._runner.run(self._make())
            else:
                self._host = blocking.Host(on_event=self._note)
        return self._host

    async def _make(self) -> plughost.Host:
        return plughost.Host(on_event=self._note)

    def _note(self, event: Any) -> None:
        self.events.append(event)
        if self.listener is not None:
            self.listener(event)

    def run(self, verb: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a verb of either host, and return what it returns."""
        if self._runner is None:
            return verb(*arguments, **options)
        return self._runner.run(_called(verb, arguments, options))

    def connect(self, binding: Any, phases: Sequence[str] = ()) -> Handle:
        return Handle(self, self.run(self.host.connect, binding, phases=phases))

    def generate(self, *bindings: Binding, schema: Any = SCHEMA, **options: Any) -> Generation:
        """Run providers over a schema into `out`."""
        out = options.pop("out", self.out)
        found: Generation = self.run(self.host.generate, list(bindings), schema, out, **options)
        return found

    def close(self) -> None:
        """Close the host, and the loop that it ran on."""
        if self._host is not None:
            self.run(self._host.close if self._runner is None else self._host.aclose)
        if self._runner is not None:
            self._runner.close()
        self._host = self._runner = None

    # Looking

    def write(self, files: dict[str, str]) -> None:
        """Put files into the output directory, which is made."""
        self.out.mkdir(exist_ok=True)
        for name, content in files.items():
            path = self.out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def files(self) -> dict[str, str]:
        """Return the files of the output directory, with their contents."""
        if not self.out.exists():
            return {}
        return {
            str(path.relative_to(self.out)): path.read_text()
            for path in self.out.rglob("*")
            if path.is_file()
        }

    def portrait(self) -> dict[bytes, tuple[Any, ...]]:
        """Return all that can be seen of the output directory; nothing if there is none."""
        return portrait(self.out) if self.out.exists() else {}

    def spawned(self) -> list[int]:
        """Return the ids of all processes that were started."""
        return [event.pid for event in self.events if event.name == "spawned"]


class Handle:
    """One connected provider, by either host."""

    def __init__(self, lab: Lab, provider: Any) -> None:
        self.lab = lab
        self.provider = provider

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close() if error is None else self.abort()

    def ask(self, phase: str, request: Message | None = None, **options: Any) -> Any:
        """Ask, with an empty request if none is given."""
        asked = EXCHANGES[Phase(phase)].request() if request is None else request
        return self.lab.run(self.provider.ask, phase, asked, **options)

    def close(self) -> None:
        self.lab.run(self.provider.close)

    def abort(self) -> None:
        self.lab.run(self.provider.abort)

    @property
    def warnings(self) -> tuple[str, ...]:
        found: tuple[str, ...] = self.provider.warnings
        return found


async def _called(verb: Callable[..., Any], arguments: Any, options: Any) -> Any:
    return await verb(*arguments, **options)


def is_alive(pid: int) -> bool:
    """Tell whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid: int) -> bool:
    """Wait until a process is gone, or a zombie; False if it is still there after 10 s."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([pidfd], [], [], 200)[0])
    finally:
        os.close(pidfd)
