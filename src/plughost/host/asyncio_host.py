"""The host for asyncio: `Host` and its plugins. It waits; what to wait for is decided by the sessions."""

from __future__ import annotations

import asyncio
import os
import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from ..contracts.base import Rung
from ..contracts.execute import host as execute
from ..contracts.execute.messages import Manifest
from ..contracts.execute.states import State
from ..errors import HostClosed, LocalProtocolError
from ..manifest.binding import Binding
from ..process.launcher import Launcher
from .asyncio_driver import AsyncioDriver
from .engine import Engine, ExecuteLink, with_descriptors
from .event_stream import EventStream
from .events import Listener
from .pool import Pool

if TYPE_CHECKING:
    from plughost_sdk import hook_messages as wire

    from ..manifest.envelope_manifest import EnvelopeManifest
    from ..manifest.sideband_binding import Worker
    from ..pipeline import Pipeline
    from .duplex.asyncio_fleet import AsyncFleet
    from .duplex.options import FleetKeywords, Place
    from .envelope.options import AsyncAsk, PassKeywords, PassResult
    from .hook.asyncio_rounds import AsyncioRounds
    from .hook.generation import Generation
    from .hook.providers import AsyncProvider
    from .sideband.asyncio_console import AsyncConsole
    from .sideband.options import ConsoleKeywords


class Host:
    """Runs plugins in processes of their own.

    Use it as `async with plughost.Host() as host:`. Leaving the block, or `aclose`, ends every process.
    """

    def __init__(
        self,
        *,
        launcher: Launcher | None = None,
        on_event: Listener | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = Engine(launcher, clock, on_event)
        self._driver: AsyncioDriver | None = None
        self._plugins: list[Plugin] = []
        self._passes: set[asyncio.Task[Any]] = set()
        self._rounds: set[AsyncioRounds] = set()
        self._fleets: set[AsyncFleet] = set()
        self._consoles: set[AsyncConsole] = set()
        self._closing: asyncio.Task[None] | None = None
        self._streams: list[EventStream] = []
        self._abort = weakref.finalize(self, Engine.abort, self._engine)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        abort = getattr(self, "_abort", None)  # none if the constructor was called wrongly
        if abort is not None and abort.alive and self._engine.links:
            warnings.warn("a plughost.Host was not closed", ResourceWarning, source=self, stacklevel=2)

    async def add(self, plugin: str | os.PathLike[str] | Binding) -> Plugin:
        """Return a handle for *plugin*: a directory, a binding file, a name in plughost.toml, or a Binding.

        Nothing is started yet, except the spares that the binding asks for.
        Raises ManifestError if there is no such plugin, or its binding is wrong.
        """
        added = Plugin(self, self._engine, self._on_this_loop(), self._engine.bind(plugin))
        self._plugins.append(added)
        return added

    async def run_pass(
        self,
        directory: str | os.PathLike[str],
        plugins: Sequence[str | os.PathLike[str] | EnvelopeManifest],
        *,
        on_input_required: AsyncAsk | None = None,
        **options: Unpack[PassKeywords],
    ) -> PassResult:
        """Run `envelope` *plugins* over the files of *directory*, one after the other, and write the record.

        *plugins* are directories, or names in plughost.toml; those in *order* run first, the rest by name.
        *on_input_required* is called with a `Question` and returns the answers, or None to give up; without it,
        a plugin that asks fails. The other options are those of `PassKeywords`. Returns what became of each
        plugin: their failures are results, not exceptions. Raises ManifestError, TreeError, LocalProtocolError,
        Unsupported and HostClosed; the tree is then as it was.
        """
        from .envelope.asyncio_steps import AsyncioSteps, cancel
        from .envelope.flow import Pass
        from .envelope.options import plan

        driver = self._on_this_loop()
        self._engine.check_open()
        planned = plan(directory, plugins, options, on_input_required)
        steps = AsyncioSteps(self._engine, driver, planned, on_input_required)
        task = asyncio.ensure_future(steps.drive(Pass(planned, self._engine).flow()))
        self._passes.add(task)
        task.add_done_callback(self._passes.discard)
        try:
            result: PassResult = await asyncio.shield(task)
        except asyncio.CancelledError:
            if self._engine.closed:
                raise HostClosed("the host was closed during the pass") from None
            await cancel(task)
            raise
        return result

    async def connect(
        self, plugin: str | os.PathLike[str] | Binding, *, phases: Sequence[str] = ()
    ) -> AsyncProvider:
        """Start a plugin of the `hook` contract, shake hands with it, and return a handle for its process.

        *phases* chooses what it will be asked for, in turns; otherwise what it declares, or plan and generate.
        Raises ManifestError and PluginFailure.
        """
        from ..contracts.hook import host as hook
        from .hook.asyncio_rounds import AsyncioRounds
        from .hook.providers import AsyncProvider

        binding = self._engine.bind(plugin)
        rounds = AsyncioRounds(self._engine, self._on_this_loop())
        self._rounds.add(rounds)
        try:
            (link,) = await rounds.connect([hook.choose(binding, phases) if phases else binding])
        except BaseException:
            self._rounds.discard(rounds)
            raise
        return AsyncProvider(rounds, link, lambda: self._rounds.discard(rounds))

    async def generate(
        self,
        plugins: Sequence[str | os.PathLike[str] | Binding],
        schema: str | os.PathLike[str] | Pipeline | wire.CigenSchema,
        out: str | os.PathLike[str] | None = None,
        *,
        write: bool = True,
        root: str | os.PathLike[str] | None = None,
        facts: Mapping[str, str] | None = None,
        flags: Mapping[str, str] | None = None,
        work_signatures: Mapping[str, bytes] | None = None,
    ) -> Generation:
        """Run providers of the `hook` contract over *schema*, all at once, and write what they generate below *out*.

        *schema* is a pipeline file, or what was read from one. Without *out*, or with `write=False`, nothing is
        written; the result says what would change. *root* is the directory whose file names plugins are told in
        Detect, the current one otherwise. Work signatures are computed from the jobs if none are given. All files
        are written or none: none if a provider reports an error, which the result then holds.
        Raises ManifestError, PluginFailure, FragmentError, TreeError, LocalProtocolError and HostClosed.
        """
        from .hook.asyncio_rounds import AsyncioRounds
        from .hook.flow import Run, plan

        if isinstance(plugins, str | os.PathLike):
            raise LocalProtocolError("give a list of plugins, also for one")
        bindings = [self._engine.bind(plugin) for plugin in plugins]
        planned = plan(
            bindings,
            schema,
            out,
            write=write,
            root=root,
            facts=facts,
            flags=flags,
            work_signatures=work_signatures,
        )
        rounds = AsyncioRounds(self._engine, self._on_this_loop())
        self._rounds.add(rounds)
        try:
            generation: Generation = await rounds.drive(Run(planned).flow())
        finally:
            self._rounds.discard(rounds)
        return generation

    async def fleet(self, *places: Place, **options: Unpack[FleetKeywords]) -> AsyncFleet:
        """Return the plugins of the `duplex` contract in *places*: they live as long as they are needed.

        A place is a directory of plugins, one plugin's own directory, or a `DuplexBinding`. Eager plugins are started
        at once, the others when they are first needed. The options are those of `FleetKeywords`. One that cannot be
        used is among the fleet's `rejected`, with the reason. Raises LocalProtocolError and HostClosed.
        """
        from .duplex.asyncio_fleet import AsyncFleet
        from .duplex.options import plan

        driver = self._on_this_loop()
        self._engine.check_open()
        fleet = AsyncFleet(plan(places, options), self._engine, driver, self._fleets.discard, self)
        self._fleets.add(fleet)
        return fleet

    async def console(
        self, worker: Worker | None = None, *, name: str = "", **options: Unpack[ConsoleKeywords]
    ) -> AsyncConsole:
        """Start a worker of the `sideband` contract, and return a console that runs code in it.

        *worker* is a Python interpreter, a virtual environment, `python`, `r`, a plugin's directory or its name in
        plughost.toml, the words of a command, or a binding; without one, the nearest `.venv` above the working
        directory, `python3` on the PATH, or this interpreter. *name* tells it from the other consoles of this host.
        The options are those of `ConsoleKeywords`.
        Raises ManifestError, PluginFailure, LocalProtocolError and HostClosed.
        """
        with with_descriptors("a console"):
            from .sideband.asyncio_console import AsyncConsole
            from .sideband.options import plan

            driver = self._on_this_loop()
            self._engine.check_open()
            planned = plan(worker, name, options, {console.name for console in self._consoles})
        console = AsyncConsole(planned, self._engine, driver, self._consoles.discard, self)
        self._consoles.add(console)
        try:
            await console.start()
        except BaseException:
            await console.close()
            raise
        return console

    def _forget(self, plugin: Plugin) -> None:
        if plugin in self._plugins:
            self._plugins.remove(plugin)

    def events(self) -> EventStream:
        """Return everything that happens from now on, for `async for`; it ends when the host is closed.

        A reader that falls far behind loses the oldest events, and is told how many.
        """
        stream = EventStream(self._engine.bus)
        if self._engine.closed:
            stream.end()
        self._streams.append(stream)
        return stream

    async def aclose(self) -> None:
        """End every plugin and let go of everything. Idempotent, from any task; bounded by the bindings' limits."""
        if self._engine.forked:
            self._abort.detach()
            return
        self._on_this_loop()
        if self._closing is None or self._closing.cancelled():
            self._engine.closed = True
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._passes:
            from .envelope.asyncio_steps import cancel

            await asyncio.gather(*(cancel(task) for task in tuple(self._passes)))
        await asyncio.gather(*(rounds.end() for rounds in tuple(self._rounds)))
        await asyncio.gather(*(plugin.close() for plugin in tuple(self._plugins)))
        await asyncio.gather(*(fleet.close() for fleet in tuple(self._fleets)))
        await asyncio.gather(*(console.close() for console in tuple(self._consoles)))
        if self._driver is not None:
            self._driver.stop()
        self._engine.end_rest()
        self._engine.launcher.close()
        self._abort.detach()
        for stream in self._streams:
            stream.end()

    def _on_this_loop(self) -> AsyncioDriver:
        if self._driver is None:
            self._driver = AsyncioDriver(self._engine.clock)
        elif self._driver.loop is not asyncio.get_running_loop():
            raise LocalProtocolError("this host belongs to another event loop")
        return self._driver


class Plugin:
    """A plugin of the `execute` contract, by way of `Host.add`. Each call is a process of its own."""

    def __init__(self, host: Host, engine: Engine, driver: AsyncioDriver, binding: Binding) -> None:
        execute.terms(binding)  # raises for another contract
        self.binding = binding
        self._host = weakref.ref(host)
        self._engine = engine
        self._driver = driver
        self._links: set[ExecuteLink] = set()
        self._closed = False
        self._pool = Pool(engine, binding, self._start, self._dismiss)
        self._pool.refill()

    @property
    def name(self) -> str:
        return self.binding.name

    async def call(
        self,
        tool: str,
        input: Any = None,
        *,
        context: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Call *tool* and return its output.

        *timeout* is in seconds, for the whole invocation; the binding's `timeout_s` otherwise.
        Raises PluginFailure, RemoteError for the plugin's own error, LocalProtocolError if the request cannot
        be sent, HostClosed.
        """
        return (await self.invoke(tool, input, context=context, timeout=timeout)).output

    async def invoke(
        self,
        tool: str,
        input: Any = None,
        *,
        context: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> execute.Result:
        """Call *tool* and return its output with metadata, timings and warnings. Raises like `call`."""
        self._check_open()
        request = execute.call(self.binding, tool, input, context, timeout)
        self._pool.retire_stale()
        began = self._engine.clock()
        link = self._pool.take()
        link.keeper = self._host()
        try:
            link.conversation.execute(request, began, timeout)
            link.pump()
            self._pool.refill()
        except BaseException:
            link.end(Rung.KILL)
            raise
        await self._finished(link)
        result = self._engine.conclude(link)
        self._pool.note_success()
        return result

    async def describe(self) -> Manifest:
        """Start the plugin, shake hands, and return what it says about itself. Raises PluginFailure."""
        self._check_open()
        link = self._pool.take()
        link.keeper = self._host()
        try:
            await self._until(link, lambda: link.finished or link.conversation.state is not State.HANDSHAKING)
        finally:
            link.conversation.retire()
            link.pump()
        self._pool.refill()
        await self._finished(link)
        if link.conversation.fault is not None:
            self._engine.conclude(link)
        assert link.conversation.manifest is not None
        return link.conversation.manifest

    async def close(self) -> None:
        """End every process of this plugin; calls in progress raise HostClosed. Idempotent; bounded."""
        if self._engine.forked:
            return
        self._closed = True
        if (host := self._host()) is not None:
            host._forget(self)
        self._pool.close()
        for link in tuple(self._links):
            link.end(Rung.TERMINATE if link.conversation.state is State.EXECUTING else Rung.CLOSE_STDIN)
        for link in tuple(self._links):
            await self._gone(link)

    def _check_open(self) -> None:
        if self._closed or self._engine.closed:
            raise HostClosed(f"{self.name} is closed")
        if asyncio.get_running_loop() is not self._driver.loop:
            raise LocalProtocolError("this host belongs to another event loop")

    def _start(self) -> ExecuteLink:
        link = self._engine.start_execute(self.binding, self._driver)
        self._links.add(link)
        self._driver.adopt(link, partial(self._forget, link))
        return link

    def _forget(self, link: ExecuteLink) -> None:
        self._links.discard(link)
        self._engine.finish(link)
        self._pool.note_gone(link)
        link.keeper = None  # last: the host may go with it

    def _dismiss(self, links: list[ExecuteLink]) -> None:
        for link in links:
            link.conversation.retire()
            link.pump()

    async def _until(self, link: ExecuteLink, reached: Callable[[], bool]) -> None:
        try:
            await self._driver.until(link, reached)
        except asyncio.CancelledError:
            link.end(Rung.KILL)
            await self._gone(link)
            raise

    async def _finished(self, link: ExecuteLink) -> None:
        await self._until(link, lambda: link.finished)
        if self._closed:
            raise HostClosed(f"{self.name} was closed during the call")

    async def _gone(self, link: ExecuteLink) -> None:
        """Wait for the process to be gone, however often we are cancelled: the ladder bounds it."""
        cancelled = False
        while not link.finished:
            gone = asyncio.ensure_future(self._driver.until(link, lambda: link.finished))
            try:
                await asyncio.shield(gone)
            except asyncio.CancelledError:
                cancelled = True
        if cancelled:
            raise asyncio.CancelledError
