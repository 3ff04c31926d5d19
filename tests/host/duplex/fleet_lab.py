"""Fleets of real plugins, by either host: the same verbs, whichever it is."""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import os
import select
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import plughost
from plughost import blocking
from plughost.errors import PlughostError
from plughost.host.events import EventBus

PUPPET = Path(__file__).parent / "hostile_duplex.py"
EVERY = 19  # one in so many of these tests runs every day: each starts programs. Odd, so that both hosts have turns
PATIENCE_S = 200.0  # for what must come; longer, and it never will
# For what must run into its limit; everything else has the limits of the contract.
QUICK = {"handshake_s": 0.3, "teardown_s": 0.2, "terminate_s": 0.2}
AT_ONCE = {"backoff_s": [0.001], "failures_to_quarantine": 1000}  # it may crash as often as it likes


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def frame(**members: Any) -> bytes:
    return framed(json.dumps({"jsonrpc": "2.0", **members}).encode())


def written(data: bytes, **more: Any) -> dict[str, Any]:
    """Return the parameters of `do/write`."""
    return {"data": b64(data), **more}


def is_alive(pid: int) -> bool:
    """Tell whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid: int) -> bool:
    """Wait until a process is gone, or a zombie; False if it is still there after a while."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([pidfd], [], [], PATIENCE_S)[0])
    finally:
        os.close(pidfd)


@dataclass
class Lab:
    """One host, blocking or asyncio, and a directory of plugins."""

    home: Path
    kind: str = "blocking"
    short: bool = False  # calls take the short way although we listen
    events: list[Any] = field(default_factory=list)
    listener: Callable[[Any], None] | None = None
    loops: Callable[[], asyncio.AbstractEventLoop] | None = None
    _host: Any = None
    _fleet: Any = None
    _runner: asyncio.Runner | None = None
    _news: threading.Event = field(default_factory=threading.Event)

    @property
    def root(self) -> Path:
        return self.home / "plugins"

    def plugin(
        self,
        name: str = "puppet",
        *words: str,
        caps: dict[str, Any] | None = None,
        narrowed: dict[str, Any] | None = None,
        commands: tuple[str, ...] = (),
        namespaces: tuple[str, ...] = (),
        hears: tuple[str, ...] = (),
        latest: tuple[str, ...] = (),
        life: dict[str, Any] | None = None,
        command: list[str] | None = None,
        version: str = "1.0.0",
        extra: str = "",
        **limits: Any,
    ) -> Path:
        """Write a puppet with faults *words*; *limits* are the host's."""
        directory = self.root / name
        directory.mkdir(parents=True, exist_ok=True)
        tables = {
            "plugin": {"name": name, "version": version, "abi_version": 2},
            "capabilities": caps or {},
            "provides": {"commands": list(commands), "cli_namespaces": list(namespaces)},
            "subscribes": {"snapshots": list(hears), "latest_state": list(latest)},
            "lifecycle": life or {},
        }
        (directory / "manifest.toml").write_text(_toml(tables) + extra)
        command = command or [sys.executable, "-I", "-S", str(PUPPET), *words]
        narrow = f"command = {json.dumps(command)}\n"
        narrow += _toml({"capabilities": narrowed or {}, "limits": limits})
        (directory / "narrow.toml").write_text(narrow)
        return directory

    def pipe(self, name: str) -> Path:
        """Return a named pipe, by which plugins and tests wait for each other."""
        path = self.home / name
        if not path.exists():
            os.mkfifo(path)
        return path

    def meet(self, pipe: Path) -> None:
        """Wait until a plugin touches *pipe*; the host goes on meanwhile."""
        fd = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        try:
            self.until(lambda: bool(poll.poll(0)))
        finally:
            os.close(fd)

    # The host

    @property
    def host(self) -> Any:
        if self._host is None:
            if self.kind == "asyncio":
                self._runner = asyncio.Runner(loop_factory=self.loops)
                self._host = self._runner.run(self._make())
            else:
                self._host = blocking.Host(on_event=self._note)
        return self._host

    async def _make(self) -> plughost.Host:
        return plughost.Host(on_event=self._note)

    def _note(self, event: Any) -> None:
        self.events.append(event)
        self._news.set()
        if self.listener is not None:
            self.listener(event)

    def fleet(self, *places: Any, **options: Any) -> Any:
        """Return the fleet of the plugins that were written, or of *places*."""
        self._fleet = self.run(self.host.fleet, *(places or (self.root,)), **options)
        if self.short:
            for member in self._fleet._fleet.members.values():
                member.shortcut._bus = EventBus()  # nobody listens to this one
        return self._fleet

    def run(self, verb: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a verb of either host, and return what it returns."""
        if self._runner is None:
            return verb(*arguments, **options)
        return self._runner.run(_called(verb, arguments, options))

    def together(self, *calls: Callable[[], Any]) -> list[Any]:
        """Make *calls* at once; returns what each returned or raised."""
        if self._runner is not None:
            return self._runner.run(_all(calls))
        return self.wait_for(self.begin(*calls))

    def begin(self, *calls: Callable[[], Any]) -> list[Any]:
        """Begin *calls*, each on a task or a thread of its own. For `wait_for`."""
        if self._runner is not None:
            return self._runner.run(_begun(calls))
        begun = [_Thread(call) for call in calls]
        for each in begun:
            each.start()
        return begun

    def wait_for(self, begun: list[Any]) -> list[Any]:
        """Return what became of what was begun."""
        if self._runner is not None:
            return self._runner.run(_ended(begun))
        for each in begun:
            each.join(PATIENCE_S)
            assert not each.is_alive()
        return [each.came for each in begun]

    def until(self, reached: Callable[[], Any]) -> None:
        """Let the host go on until *reached*, which is asked after everything that happens."""
        if self._runner is not None:
            self._runner.run(self._until(reached))
            return
        clock = threading.Event()
        timer = threading.Timer(PATIENCE_S, clock.set)
        timer.start()
        try:
            while not reached():
                assert not clock.is_set(), "it never came"
                self._news.wait(0.01)
                self._news.clear()
        finally:
            timer.cancel()
            timer.join()

    async def _until(self, reached: Callable[[], Any]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not reached():
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.Event().wait(), 0.002)  # the loop goes on meanwhile

    def close(self) -> None:
        """Close the host, and the loop that it ran on."""
        if self._host is not None:
            self.run(self._host.close if self._runner is None else self._host.aclose)
        if self._runner is not None:
            self._runner.close()
        self._host = self._runner = None

    # What its plugins do

    def call(
        self, method: str, params: Any = None, *, of: str = "puppet", timeout: float | None = None
    ) -> Any:
        """Call `do/`*method* of a plugin."""
        return self.run(self._fleet[of].call, f"do/{method}", params or {}, timeout=timeout)

    def calling(
        self, method: str, params: Any = None, *, of: str = "puppet", **more: Any
    ) -> Callable[[], Any]:
        """Return the call of `do/`*method*, for `together`."""
        return lambda: self._fleet[of].call(f"do/{method}", params or {}, **more)

    def asks(self, method: str, params: Any = None, *, of: str = "puppet") -> Any:
        """Let a plugin call the host, and return the whole answer: `{"result": …}` or `{"error": …}`."""
        return self.call("ask", {"method": method, "params": params or {}}, of=of)

    def refused(self, method: str, params: Any = None, *, of: str = "puppet") -> tuple[int, str]:
        """Let a plugin call the host in vain; returns code and message."""
        error = self.asks(method, params, of=of)["error"]
        return error["code"], error["message"]

    def tells(self, method: str, params: Any = None, *, of: str = "puppet", times: int = 1) -> None:
        """Let a plugin notify the host."""
        self.call("tell", {"method": method, "params": params or {}, "times": times}, of=of)

    def publishes(self, topic: str, payload: bytes, *, of: str = "puppet") -> None:
        self.tells("host/snapshot/publish", {"topic": topic, "payload": b64(payload)}, of=of)

    def told(self, *, of: str = "puppet", method: str = "plugin/handle_event") -> list[Any]:
        """Return what a plugin was told, in order."""
        found = self.call("told", of=of)["told"]
        return [each["params"] for each in found if each["method"] == method]

    def heard(self, least: int = 0, *, of: str = "puppet") -> list[tuple[str, bytes]]:
        """Return the events that a plugin was told of, once they are *least*: calls may overtake events."""
        for _ in range(100):
            if len(self.told(of=of)) >= least:
                break
        return [(each["topic"], base64.b64decode(each["payload"])) for each in self.told(of=of)]

    def pid(self, name: str = "puppet") -> int:
        """Return the id of its process, which is started if there is none."""
        return int(self.call("pid", of=name)["pid"])

    # Looking

    def at_each_look(self, note: Callable[[], None]) -> None:
        """Call *note* whenever the host looks who has something to say."""
        if self._runner is None:
            looker, verb = self._fleet._crowd, "_poll"
        else:
            looker, verb = self._runner.get_loop()._selector, "select"  # type: ignore[attr-defined]
        look = getattr(looker, verb)

        def noted(*arguments: Any) -> Any:
            note()
            return look(*arguments)

        setattr(looker, verb, noted)

    def status(self, name: str = "puppet") -> Any:
        return self._fleet[name].status

    def named(self, name: str, *, of: str | None = None) -> list[Any]:
        """Return the events called *name*."""
        return [each for each in tuple(self.events) if each.name == name and of in (None, each.plugin)]

    def spawned(self) -> list[int]:
        """Return the ids of all processes that were started."""
        return [event.pid for event in self.named("spawned")]


class _Thread(threading.Thread):
    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self.came: Any = None

    def run(self) -> None:
        try:
            self.came = self._call()
        except PlughostError as error:
            self.came = error


async def _called(verb: Callable[..., Any], arguments: Any, options: Any) -> Any:
    came = verb(*arguments, **options)
    return await came if inspect.isawaitable(came) else came


async def _begun(calls: Any) -> list[asyncio.Task[Any]]:
    tasks = [asyncio.ensure_future(_called(call, (), {})) for call in calls]
    await asyncio.sleep(0)  # each has made its call
    return tasks


async def _ended(tasks: list[Any]) -> list[Any]:
    async with asyncio.timeout(PATIENCE_S):
        return await asyncio.gather(*tasks, return_exceptions=True)


async def _all(calls: Any) -> list[Any]:
    return await _ended(await _begun(calls))


def _toml(tables: dict[str, dict[str, Any]]) -> str:
    lines = []
    for table, values in tables.items():
        lines.append(f"[{table}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"
