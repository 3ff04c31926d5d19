"""The host for ordinary code: the same verbs as the asyncio host, worked on the caller's own thread.

Threads may share a host: each call is a process of its own, and the thread that made it does its work.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from signal import SIGKILL
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from ..contracts.base import Rung
from ..contracts.execute import host as execute
from ..contracts.execute.messages import Manifest
from ..contracts.execute.states import State
from ..errors import HostClosed, LocalProtocolError, PlughostError
from ..manifest.binding import Binding
from ..process.launcher import Launcher
from .deferral import Deferral
from .engine import Engine, ExecuteLink, with_descriptors
from .events import Listener
from .poll_driver import PollDriver
from .pool import Pool

if TYPE_CHECKING:
    from plughost_sdk import hook_messages as wire

    from ..manifest.envelope_manifest import EnvelopeManifest
    from ..manifest.sideband_binding import Worker
    from ..pipeline import Pipeline
    from .duplex.blocking_fleet import BlockingFleet
    from .duplex.options import FleetKeywords, Place
    from .envelope.blocking_steps import BlockingSteps
    from .envelope.options import Ask, PassKeywords, PassResult
    from .hook.blocking_rounds import BlockingRounds
    from .hook.generation import Generation
    from .hook.providers import BlockingProvider
    from .sideband.blocking_console import BlockingConsole
    from .sideband.options import ConsoleKeywords

PASS_END_S = 60.0  # for a pass in another thread to put its directory back when the host is closed
TAKING_TURNS_S = 0.02  # for one round over several processes that are brought down together


class Host:
    """Runs plugins in processes of their own, for code without an event loop.

    Use it as `with plughost.blocking.Host() as host:`. Leaving the block, or `close`, ends every process.
    """

    def __init__(
        self,
        *,
        launcher: Launcher | None = None,
        on_event: Listener | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = Engine(launcher, clock, on_event)
        self._plugins: list[Plugin] = []
        self._passes: set[BlockingSteps] = set()
        self._rounds: set[BlockingRounds] = set()
        self._fleets: set[BlockingFleet] = set()
        self._consoles: set[BlockingConsole] = set()
        self._abort = weakref.finalize(self, Engine.abort, self._engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        abort = getattr(self, "_abort", None)  # none if the constructor was called wrongly
        if abort is not None and abort.alive and self._engine.links:
            warnings.warn(
                "a plughost.blocking.Host was not closed",
                ResourceWarning,
                source=self,
                stacklevel=2,
            )

    def add(self, plugin: str | os.PathLike[str] | Binding) -> Plugin:
        """Return a handle for *plugin*: a directory, a binding file, a name in plughost.toml, or a Binding.

        Nothing is started yet, except the spares that the binding asks for.
        Raises ManifestError if there is no such plugin, or its binding is wrong.
        """
        with Deferral():
            added = Plugin(self, self._engine, self._engine.bind(plugin))
            self._plugins.append(added)
        return added

    def run_pass(
        self,
        directory: str | os.PathLike[str],
        plugins: Sequence[str | os.PathLike[str] | EnvelopeManifest],
        *,
        on_input_required: Ask | None = None,
        **options: Unpack[PassKeywords],
    ) -> PassResult:
        """Run `envelope` *plugins* over the files of *directory*, one after the other, and write the record.

        *plugins* are directories, or names in plughost.toml; those in *order* run first, the rest by name.
        *on_input_required* is called with a `Question` and returns the answers, or None to give up; without it,
        a plugin that asks fails. The other options are those of `PassKeywords`. Returns what became of each
        plugin: their failures are results, not exceptions. Raises ManifestError, TreeError, LocalProtocolError,
        Unsupported and HostClosed; the tree is then as it was.
        """
        from .envelope import blocking_steps
        from .envelope.flow import Pass
        from .envelope.options import plan

        self._engine.check_open()
        with Deferral():
            planned = plan(directory, plugins, options, on_input_required)
        steps = blocking_steps.BlockingSteps(self._engine, planned, on_input_required)
        self._passes.add(steps)
        try:
            result: PassResult = steps.drive(Pass(planned, self._engine).flow())
        except PlughostError as error:
            if self._engine.closed:
                raise HostClosed("the host was closed during the pass") from error
            raise
        finally:
            self._passes.discard(steps)
        return result

    def connect(
        self, plugin: str | os.PathLike[str] | Binding, *, phases: Sequence[str] = ()
    ) -> BlockingProvider:
        """Start a plugin of the `hook` contract, shake hands with it, and return a handle for its process.

        *phases* chooses what it will be asked for, in turns; otherwise what it declares, or plan and generate.
        Raises ManifestError and PluginFailure.
        """
        from ..contracts.hook import host as hook
        from .hook.blocking_rounds import BlockingRounds
        from .hook.providers import BlockingProvider

        with Deferral():
            binding = self._engine.bind(plugin)
        rounds = BlockingRounds(self._engine)
        self._rounds.add(rounds)
        try:
            (link,) = rounds.connect([hook.choose(binding, phases) if phases else binding])
        except BaseException:
            rounds.end()  # a signal that was put off is raised when all are connected
            self._rounds.discard(rounds)
            raise
        return BlockingProvider(rounds, link, lambda: self._rounds.discard(rounds))

    def generate(
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
        from .hook.blocking_rounds import BlockingRounds
        from .hook.flow import Run, plan

        if isinstance(plugins, str | os.PathLike):
            raise LocalProtocolError("give a list of plugins, also for one")
        with Deferral():
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
        rounds = BlockingRounds(self._engine)
        self._rounds.add(rounds)
        try:
            generation: Generation = rounds.drive(Run(planned).flow())
        finally:
            self._rounds.discard(rounds)
        return generation

    def fleet(self, *places: Place, **options: Unpack[FleetKeywords]) -> BlockingFleet:
        """Return the plugins of the `duplex` contract in *places*: they live as long as they are needed.

        A place is a directory of plugins, one plugin's own directory, or a `DuplexBinding`. Eager plugins are started
        at once, the others when they are first needed. The options are those of `FleetKeywords`. One that cannot be
        used is among the fleet's `rejected`, with the reason. Raises LocalProtocolError and HostClosed.
        """
        with with_descriptors("a fleet"):
            from .duplex.blocking_fleet import BlockingFleet
            from .duplex.options import plan

        self._engine.check_open()
        with Deferral():
            planned = plan(places, options)
            try:
                fleet = BlockingFleet(planned, self._engine, self._fleets.discard, self)
            except OSError as error:  # no descriptors to wait with
                raise LocalProtocolError(f"a fleet cannot begin: {error.strerror}") from error
            self._fleets.add(fleet)
        return fleet

    def console(
        self, worker: Worker | None = None, *, name: str = "", **options: Unpack[ConsoleKeywords]
    ) -> BlockingConsole:
        """Start a worker of the `sideband` contract, and return a console that runs code in it.

        *worker* is a Python interpreter, a virtual environment, `python`, `r`, a plugin's directory or its name in
        plughost.toml, the words of a command, or a binding; without one, the nearest `.venv` above the working
        directory, `python3` on the PATH, or this interpreter. *name* tells it from the other consoles of this host.
        The options are those of `ConsoleKeywords`.
        Raises ManifestError, PluginFailure, LocalProtocolError and HostClosed.
        """
        with with_descriptors("a console"):
            from .sideband.blocking_console import BlockingConsole
            from .sideband.options import plan

        self._engine.check_open()
        with Deferral(), with_descriptors("a console"):
            planned = plan(worker, name, options, {console.name for console in self._consoles})
            try:
                console = BlockingConsole(planned, self._engine, self._consoles.discard, self)
            except OSError as error:  # no descriptors to wait with
                raise self._engine.launch_failure(planned.binding, error) from error
            self._consoles.add(console)
        try:
            console.start()
        except BaseException:
            console.close()
            raise
        return console

    def _forget(self, plugin: Plugin) -> None:
        if plugin in self._plugins:
            self._plugins.remove(plugin)

    def close(self) -> None:
        """End every plugin and let go of everything. Idempotent, from any thread; bounded by the bindings' limits."""
        if self._engine.forked:
            self._abort.detach()
            return
        self._engine.closed = True
        with Deferral() as deferral:
            for steps in tuple(self._passes):
                deferral.interruptible(steps.abort, PASS_END_S)
            for rounds in tuple(self._rounds):
                rounds.abort(PASS_END_S)
            self._rounds.clear()
            for plugin in tuple(self._plugins):
                plugin.close()
            for console in tuple(self._consoles):
                console.let_go()  # all are told before the first is waited for
            for fleet in tuple(self._fleets):
                fleet.close()
            for console in tuple(self._consoles):
                console.close()
            self._engine.end_rest()
            self._engine.launcher.close()
            self._abort.detach()


class Plugin:
    """A plugin of the `execute` contract, by way of `Host.add`. Each call is a process of its own."""

    def __init__(self, host: Host, engine: Engine, binding: Binding) -> None:
        execute.terms(binding)  # raises for another contract
        self.binding = binding
        self._host = weakref.ref(host)
        self._engine = engine
        self._closed = False
        self._changed = threading.Condition()
        self._running: set[ExecuteLink] = set()  # worked on by the thread that called
        self._drivers: dict[ExecuteLink, PollDriver] = {}
        self._pool = Pool(engine, binding, self._start, self._dismiss)
        with Deferral(), self._changed:
            self._pool.refill()

    @property
    def name(self) -> str:
        return self.binding.name

    def call(
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
        return self.invoke(tool, input, context=context, timeout=timeout).output

    def invoke(
        self,
        tool: str,
        input: Any = None,
        *,
        context: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> execute.Result:
        """Call *tool* and return its output with metadata, timings and warnings. Raises like `call`."""
        request = execute.call(self.binding, tool, input, context, timeout)
        # Ctrl-C waits until nothing is half done: no process may be started of which nobody knows.
        with Deferral() as deferral:
            with self._changed:
                self._pool.retire_stale()
            began = self._engine.clock()
            link = self._take()
            try:
                self._drivers[link].deferral = deferral
                link.conversation.execute(request, began, timeout)
                link.pump()
                self._drivers[
                    link
                ].turn()  # a spare's handshake may still be unread: the request goes out first
                with self._changed:
                    self._pool.refill()
                self._run(link)
            finally:
                self._release(link)
        result = self._conclude(link)
        self._pool.note_success()
        return result

    def describe(self) -> Manifest:
        """Start the plugin, shake hands, and return what it says about itself. Raises PluginFailure."""
        with Deferral() as deferral:
            link = self._take()
            session = link.conversation
            try:
                self._drivers[link].deferral = deferral
                self._run(link, lambda: link.finished or session.state is not State.HANDSHAKING)
                session.retire()
                link.pump()
                with self._changed:
                    self._pool.refill()
                self._run(link)
            finally:
                self._release(link)
        if session.fault is not None:
            self._conclude(link)
        assert session.manifest is not None
        return session.manifest

    def close(self) -> None:
        """End every process of this plugin; calls in other threads raise HostClosed. Idempotent; bounded."""
        if self._engine.forked:
            return
        with Deferral(), self._changed:
            self._closed = True
            if (host := self._host()) is not None:
                host._forget(self)
            for link in self._running:
                if not link.finished:
                    link.process.send_signal(SIGKILL)  # their threads notice the exit, and do the rest
            self._pool.close()
            limits = self.binding.limits
            self._changed.wait_for(lambda: not self._running, limits.reap_s + limits.terminate_s)

    def _take(self) -> ExecuteLink:
        with self._changed:
            if self._closed or self._engine.closed:
                raise HostClosed(f"{self.name} is closed")
            link = self._pool.take()
            link.keeper = self._host()
            self._running.add(link)
            return link

    def _run(self, link: ExecuteLink, reached: Callable[[], bool] | None = None) -> None:
        self._drivers[link].run(link, reached or (lambda: link.finished))

    def _release(self, link: ExecuteLink) -> None:
        """The caller is done with *link*, or was interrupted: make sure that its process is gone."""
        self._drivers[link].deferral = None
        if not link.finished:
            link.end(Rung.KILL)
            self._run(link)
        with self._changed:
            self._forget(link)
            self._changed.notify_all()

    def _conclude(self, link: ExecuteLink) -> execute.Result:
        if self._closed:
            raise HostClosed(f"{self.name} was closed during the call")
        return self._engine.conclude(link)

    def _start(self) -> ExecuteLink:
        driver = PollDriver(self._engine.clock)
        link = self._engine.start_execute(self.binding, driver)
        self._drivers[link] = driver
        link.start()
        return link

    def _dismiss(self, links: list[ExecuteLink]) -> None:
        for link in links:  # all are told before the first is waited for
            link.conversation.retire()
            link.pump()
        pending = [link for link in links if not link.finished]
        while pending:
            for link in pending:
                self._drivers[link].step(link, TAKING_TURNS_S / len(pending))
            pending = [link for link in pending if not link.finished]
        for link in links:
            self._forget(link)

    def _forget(self, link: ExecuteLink) -> None:
        self._running.discard(link)
        self._drivers.pop(link, None)
        self._engine.finish(link)
        link.keeper = None  # last: the host may go with it
