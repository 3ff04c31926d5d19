"""What both hosts share: starting links, knowing which are alive, telling what happens. It never waits."""

from __future__ import annotations

import errno
import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from signal import SIGKILL
from typing import Generic, TypeVar

from ..contracts import outcome
from ..contracts.base import Event as SessionEvent
from ..contracts.base import Session
from ..contracts.execute import host as execute
from ..contracts.execute.session import ExecuteSession
from ..errors import HostClosed, LocalProtocolError, Unsupported
from ..failures import PluginFailure
from ..manifest import binding as bindings
from ..manifest import project
from ..manifest.binding import Binding
from ..process.ladder import Grace
from ..process.launcher import Launcher, Process
from ..process.link import Link
from ..process.local import LocalLauncher
from ..process.news import ProcessNews, StderrLine
from ..process.watcher import Watcher
from . import monkey_patching
from .events import Event, EventBus, Failed, Listener

ABORT_S = 2.0  # for the kernel to take away what was killed when the interpreter ends
_grace = lru_cache(maxsize=64)(Grace)  # most plugins have the same, and share it


S = TypeVar("S", bound=Session)


@contextmanager
def with_descriptors(what: str) -> Iterator[None]:
    """Let a LocalProtocolError come of an import, or a file, for which there is no descriptor: *what* cannot begin."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        problem = "this host has no descriptors left: raise its `ulimit -n`"
        raise LocalProtocolError(f"{what} cannot begin: {problem}") from error


class BoundLink(Link, Generic[S]):
    """A link that knows its binding and the kind of its session."""

    __slots__ = ("binding", "conversation", "keeper")

    conversation: S
    binding: Binding
    keeper: object  # the host, while a call is in progress: it must not be collected under it


ExecuteLink = BoundLink[ExecuteSession]


class _Witness:
    """Tells everybody what happens to one process. A `partial` would be four times as large, for every process."""

    __slots__ = ("_engine", "_pid", "_plugin")

    def __init__(self, engine: Engine, plugin: str, pid: int) -> None:
        self._engine = engine
        self._plugin = plugin
        self._pid = pid

    def __call__(self, what: SessionEvent | ProcessNews) -> None:
        engine = self._engine
        if not engine.bus.quiet or type(what) is StderrLine:
            engine.bus.publish(Event(self._plugin, self._pid, engine.clock(), what))


class Engine:
    """The part of a host that does not wait."""

    def __init__(
        self,
        launcher: Launcher | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_event: Listener | None = None,
    ) -> None:
        monkey_patching.check()
        self.launcher = launcher if launcher is not None else LocalLauncher()
        self.clock = clock
        self.bus = EventBus()
        self.links: set[Link] = set()
        self.closed = False
        # For launching and the set of links. A signal handler may close the host while its thread holds it.
        self.lock = threading.RLock()
        self.owner = os.getpid()
        if on_event is not None:
            self.bus.subscribe(on_event)

    def check_open(self) -> None:
        """Raise HostClosed if the host is."""
        if self.closed:
            raise HostClosed("the host is closed")

    def bind(self, plugin: str | os.PathLike[str] | Binding) -> Binding:
        """Return the binding that *plugin* means. Raises ManifestError, or HostClosed."""
        self.check_open()
        if not isinstance(plugin, Binding):
            return project.resolve(os.fspath(plugin), Path())
        bindings.check(plugin, named=bool(plugin.name))
        return plugin

    def start(self, binding: Binding, watcher: Watcher, session: Callable[[float], S]) -> BoundLink[S]:
        """Start a process for *binding*, and join it to the *session* that begins then. Raises LaunchFailed."""
        started = self.clock()
        try:
            with self.lock:
                if self.closed:
                    raise HostClosed("the host is closed")
                process = self.launcher.launch(binding)
        except (OSError, Unsupported, ValueError) as error:  # ValueError: words that cannot be encoded
            raise self.launch_failure(binding, error) from error
        link = self._join(binding, process, session(started), watcher)
        spawned = self.clock()
        link.conversation.note_time(spawned)
        link.conversation.marks["spawned"] = spawned
        if spawned - started > binding.limits.launch_s:
            self._discard(process)
            late = outcome.launch_failure(binding, "starting it took too long", limit="limits.launch_s")
            raise self.fail(late)
        with self.lock:
            self.links.add(link)
        return link

    def start_execute(self, binding: Binding, watcher: Watcher) -> ExecuteLink:
        """Start a process of the `execute` contract and shake hands with it. Raises LaunchFailed."""
        link = self.start(binding, watcher, partial(ExecuteSession, execute.terms(binding)))
        link.conversation.begin()
        return link

    def finish(self, link: Link) -> None:
        """Forget a link whose process is gone."""
        with self.lock:
            self.links.discard(link)

    def fail(self, failure: PluginFailure) -> PluginFailure:
        """Tell everybody about *failure*, and return it."""
        self.bus.publish(Event(failure.plugin, None, self.clock(), Failed(failure)))
        return failure

    def launch_failure(self, binding: Binding, error: Exception) -> PluginFailure:
        """Tell everybody that *binding* could not be started because of *error*, and return the failure."""
        reason = self.launcher.diagnose(binding, error)
        hint = None if isinstance(error, OSError) else "Change the binding, or the host, as it says."
        return self.fail(outcome.launch_failure(binding, f"it could not be started: {reason}", hint=hint))

    def conclude(self, link: ExecuteLink) -> execute.Result:
        """Return what a finished link brought. Raises PluginFailure or RemoteError."""
        try:
            return execute.conclude(link.binding, link.conversation, link.evidence())
        except PluginFailure as failure:
            self.fail(failure)
            raise

    @property
    def forked(self) -> bool:
        """This is a forked copy of the host: the plugins are not ours to touch."""
        return self.owner != os.getpid()

    def end_rest(self) -> None:
        """Kill what is left when a host closes: a link that an interrupt has torn from its call."""
        with self.lock:
            links, self.links = self.links, set()
        for link in links:
            if not link.finished:
                self._discard(link.process)

    def abort(self) -> None:
        """Kill everything at once, with no driver to help: the interpreter is going down."""
        if self.forked:
            return
        self.closed = True
        for link in self.links:
            if not link.finished:
                link.process.send_signal(SIGKILL)  # all of them, before the first is waited for
        self.end_rest()
        self.launcher.close()

    def _join(self, binding: Binding, process: Process, session: S, watcher: Watcher) -> BoundLink[S]:
        limits = binding.limits
        link: BoundLink[S] = BoundLink(
            process,
            session,
            _grace(limits.teardown_s, limits.terminate_s, limits.reap_s),
            watcher,
            self.clock,
            _Witness(self, binding.name, process.pid),
            limits.stderr_bytes,
        )
        link.conversation = session
        link.binding = binding
        link.keeper = None
        return link

    def _discard(self, process: Process) -> None:
        """Kill and reap *process* here and now; bounded."""
        process.send_signal(SIGKILL)
        until = time.monotonic() + ABORT_S
        while not process.has_exited() and (left := until - time.monotonic()) > 0:
            if process.exit_fd is not None:
                poll = select.poll()  # `select` knows no descriptor above 1023
                poll.register(process.exit_fd, select.POLLIN)
                poll.poll(left * 1000)
            else:
                time.sleep(0.01)
        if process.has_exited():
            process.find_survivors(held=False)
            process.reap()
        process.dispose()
