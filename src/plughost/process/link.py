"""One process and its session, joined: moves bytes between them and steps down the ladder. Never waits.

Theory of operation. A driver (asyncio, poll, a test) owns the waiting. It calls `on_readable`,
`on_writable`, `on_exit` and `on_tick`, and learns from `next_deadline` when to call the last. The link reads
and writes without blocking, feeds the session, does what the session asks, and is `finished` when the
process is reaped and nothing can change the outcome. When a process has ended, everything it ever wrote
is already in the pipe, so the rest is read until the pipe is empty, not until its end: the end may never
come while a grandchild holds it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any, assert_never

from ..autopsy import ExitStatus, Survivor
from ..contracts.base import (
    Channel,
    EndWanted,
    Event,
    Evidence,
    FramePassed,
    HandshakeDone,
    InputEnded,
    Rung,
    Session,
    StateChanged,
)
from .appetite import LEAST_READ, appetite_after
from .input_end import is_closed
from .ladder import Grace, Ladder
from .launcher import READ_SIZE, Process
from .news import Exited, ProcessNews, Spawned, StderrLine, SurvivorFound
from .respite import Respite
from .stderr import StderrLog
from .watcher import Watcher
from .wire_log import WireLog

EXIT_POLL_S = 0.02  # how often to look for an exit where the system has no descriptor for it
REST_LIMIT = 2_097_152  # bytes read after the exit: more than a pipe holds is not the dead plugin's any more

_NOTHING = memoryview(b"")
_STDIN, _STDOUT = Channel.STDIN, Channel.STDOUT  # found in a fraction of the time, several times a frame
_HEARD = (Channel.STDERR, Channel.STDOUT, Channel.CONTROL_IN)  # in the order in which the rest is heard
_ALL = frozenset(_HEARD)
_STANDARD = _ALL - {Channel.CONTROL_IN}


class Link:
    """A running plugin, as a driver sees it."""

    __slots__ = (
        "_appetite", "_beside", "_clock", "_ending_input", "_ladder", "_observe", "_open",
        "_peak_kib", "_pending", "_respite", "_search_fd", "_stderr", "_survivors", "_unread", "_watcher", "_writing",
        "_writing_beside", "exit_status", "finished", "just_written", "on_change", "on_stderr", "process", "session",
        "shortcut", "utter", "watch_memory", "wire",
    )  # fmt: skip

    def __init__(
        self,
        process: Process,
        session: Session,
        grace: Grace,
        watcher: Watcher,
        clock: Callable[[], float],
        observe: Callable[[Event | ProcessNews], None],
        stderr_bytes: int = 65_536,
    ) -> None:
        self.process = process
        self.session = session
        self.finished = False
        self.just_written = 0  # bytes to stdin, since somebody set this to 0
        self.exit_status: ExitStatus | None = None
        self.on_change: Callable[[], None] | None = None  # called after every input, by whoever waits
        # Takes the raw bytes, b"" at their end, in place of lines.
        self.on_stderr: Callable[[bytes], None] | None = None
        # Is given us and what came from stdout before the session is; returns how many bytes of that it has dealt with.
        self.shortcut: Callable[[Any, bytes], int] | None = None
        # Is given us where something is to be said; returns whether all of it is written, or on its way.
        self.utter: Callable[[Any], bool] | None = None
        self.wire = WireLog()
        # Whether to look at its memory whenever it says something: what is seen before is that of no plugin yet.
        self.watch_memory = False
        self._peak_kib: int | None = None
        self._ladder = Ladder(grace)
        self._watcher = watcher
        self._clock = clock
        self._observe = observe
        self._stderr = StderrLog(stderr_bytes)
        self._pending = _NOTHING
        self._writing = False
        self._ending_input = False  # stdin is closed when all is written
        self._open = _ALL if process.fileno(Channel.CONTROL_IN) >= 0 else _STANDARD
        self._beside = _NOTHING  # what is still to be written beside stdin; stdin waits for it
        self._writing_beside = False
        self._survivors: tuple[Survivor, ...] = ()
        self._search_fd: int | None = None  # while survivors are being ended: tells when that is over
        self._unread = 0
        self._appetite = READ_SIZE
        self._respite = Respite()

    def start(self) -> None:
        """Begin to watch the process, and send what the session has to say."""
        self._observe(Spawned(self.process.pid, self.process.command))
        self._watcher.watch(self.process.fileno(Channel.STDOUT), self._on_stdout)
        self._watcher.watch(self.process.fileno(Channel.STDERR), self._on_stderr)
        if Channel.CONTROL_IN in self._open:
            self._watcher.watch(self.process.fileno(Channel.CONTROL_IN), self._on_control)
        if self.process.exit_fd is not None:
            self._watcher.watch(self.process.exit_fd, self.on_exit)
        self.pump()

    # What the driver tells

    def _on_stdout(self) -> None:
        began = self._clock()
        if self.watch_memory:
            self._note_memory()  # before it is heard: whoever has seen its answer read may be gone the next moment
        if self.shortcut is None:
            self._read(Channel.STDOUT, self._appetite)
        elif (data := self.process.read(_STDOUT, self._appetite)) is not None:
            heard = self.shortcut(self, data)
            if heard and heard == len(data) <= LEAST_READ:  # nothing more follows, and nobody had to wait
                return
            self._respite.note(began, len(data))
            if not data or heard < len(data):
                self._hear(Channel.STDOUT, data[heard:])
        self.pump()
        self._appetite = appetite_after(self._appetite, self._clock() - began)

    def _on_stderr(self) -> None:
        self._note_memory()
        self._read(Channel.STDERR)
        self.pump()

    def _on_control(self) -> None:
        data = self.process.read(Channel.CONTROL_IN)
        if data is None:
            return
        # What it printed before it said this is in the pipes by now: it is heard first, and no more than fits there.
        for channel in (Channel.STDERR, Channel.STDOUT):
            self._drain(channel)
        self._hear(Channel.CONTROL_IN, data)
        self.pump()

    def _drain(self, channel: Channel) -> None:
        heard = 0
        while heard < REST_LIMIT and (count := self._read(channel)):
            heard += count

    def on_writable(self) -> None:
        self._flush()
        self.pump()

    def hear(self) -> None:
        """Hear what has arrived, before something new is said: what came unasked must not pass for an answer."""
        if not self._is_gone and self._read(Channel.STDOUT):
            self.pump()

    def on_exit(self) -> None:
        """The process may have ended: look."""
        if not self._is_gone and self.process.has_exited():
            self._bury()
            self.pump()

    def on_tick(self, now: float) -> None:
        """Time has passed. On systems without exit descriptors this is also when exits are noticed."""
        self._catch_up()
        if self._search_fd is not None:  # what comes now, or does not, decides nothing any more
            return
        if not self._respite.lasts(self.session.next_deadline(), now):
            self.session.receive_tick(now)
        self.pump()
        rung = self._ladder.tick(now)
        if rung is not None:
            self._step(rung)
        if self._ladder.gave_up and not self.finished:
            self._abandon()

    def _catch_up(self) -> None:
        """Hear what came, no more than a pipe holds, and see what happened, before a deadline is believed."""
        self.on_exit()
        if self._is_gone:
            return
        if Channel.CONTROL_IN in self._open:
            self._on_control()
        self._read(_STDOUT)
        if self._beside:
            self._flush_beside()
            self._note_beside_sent()
        self._flush()  # it may have read meanwhile

    def end(self, rung: Rung) -> None:
        """Bring the process down, beginning at *rung*, whatever the session thinks."""
        stepped = None if self.finished else self._ladder.begin(rung, self._clock())
        if stepped is not None:
            self._step(stepped)
            self._changed()

    # What the driver asks

    @property
    def _is_gone(self) -> bool:
        """The process has ended, and perhaps what it left behind is still being ended."""
        return self.finished or self._search_fd is not None

    def next_deadline(self) -> float | None:
        if self.finished or self._search_fd is not None:
            return None
        at, rung_at = self._respite.moved(self.session.next_deadline()), self._ladder.next_deadline()
        if rung_at is not None and (at is None or rung_at < at):
            at = rung_at
        if self.process.exit_fd is None:
            polling = self._clock() + EXIT_POLL_S
            return polling if at is None else min(at, polling)
        return at

    def evidence(self) -> Evidence:
        """Return what is known about the process, for the autopsy."""
        return Evidence(
            exit=self.exit_status,
            rung=self._rung,
            stderr_tail=self._stderr.tail(),
            frames=self.wire.frames(),
            survivors=self._survivors,
            unread=self._unread,
            command=self.process.command,
        )

    @property
    def _rung(self) -> str | None:
        """Where we ended the process, None if it ended by itself."""
        rung = self._ladder.rung
        return rung.value if rung in (Rung.TERMINATE, Rung.KILL) else None

    # Moving

    def pump(self) -> None:
        """Do what the session asks for, until it asks for nothing more."""
        if self.utter is None or not self.utter(self):
            self._write_out()
        self._do_what_it_asks()
        if self.on_change is not None:
            self.on_change()

    def _do_what_it_asks(self) -> None:
        while (event := self.session.next_event()) is not None:
            self._obey(event)

    def say(self) -> None:
        """Write what the session has to say, and tell nobody: what follows from it is seen when something comes."""
        if self.utter is not None and self.utter(self):
            return
        self._write_out()
        self._do_what_it_asks()
        if self.process.fileno(_STDIN) < 0:  # it does not read any more: that everybody has to know
            self.pump()

    def say_rest(self, rest: memoryview) -> None:
        """Write *rest* when that is possible; the session is told when it is done."""
        self._pending = memoryview(bytes(self._pending) + rest) if self._pending else rest
        self._flush()
        self.pump()

    def _write_out(self) -> None:
        # Some sessions hand out the next piece when one is written.
        while said := self.session.data_to_send():
            for channel, data in said:
                if channel is _STDIN:
                    is_first = not self._pending
                    self._pending = memoryview(data if is_first else bytes(self._pending) + data)
                    self._flush(is_first=is_first)
                else:
                    self._beside = memoryview(bytes(self._beside) + data)
                    self._flush_beside()
            if said[-1][0] is not _STDIN:
                self._note_beside_sent()

    def _obey(self, event: Event) -> None:
        if type(event) is FramePassed:  # nearly all of them: in a third of the time that `match` takes
            self.wire.note(event.direction, event.frame)
            self._observe(event)
            return
        match event:
            case EndWanted(rung):
                stepped = self._ladder.begin(rung, self._clock())
                if stepped is not None and not self.finished:
                    self._step(stepped)
            case InputEnded():
                self._ending_input = True
                self._end_input()
            case StateChanged() | HandshakeDone() | FramePassed():
                pass
            case never:
                assert_never(never)
        self._observe(event)

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()

    def _read(self, channel: Channel, size: int = READ_SIZE) -> int:
        """Read once. Returns how many bytes came; 0 means none, or the end."""
        if channel not in self._open:
            return 0
        data = self.process.read(channel, size)
        if data is None:
            return 0
        self._hear(channel, data)
        return len(data)

    def _hear(self, channel: Channel, data: bytes) -> None:
        now = self._clock()
        self.session.note_time(now)  # what was said in time is heard, however late we read it
        self._respite.note(now, len(data))
        if channel is Channel.STDERR:
            if self.on_stderr is not None:
                self._stderr.keep_data(data)
                self.on_stderr(data)
            else:
                lines = self._stderr.receive_data(data) if data else self._stderr.receive_eof()
                for line in lines:
                    self._observe(StderrLine(line))
        if data:
            self.session.receive_data(data, channel)
        else:
            self._close(channel)
            self.session.receive_eof(channel)

    def _flush_beside(self) -> None:
        """Write what goes beside stdin. Whoever does not read it any more is told by the end of what it writes."""
        fd = self.process.fileno(Channel.CONTROL_OUT)
        try:
            written = self.process.write(self._beside, Channel.CONTROL_OUT) if fd >= 0 else len(self._beside)
        except OSError:
            self._close(Channel.CONTROL_OUT)
            written = len(self._beside)
        self._beside = self._beside[written:]
        if self._beside and not self._writing_beside:
            self._writing_beside = True
            self._watcher.watch_writable(fd, self._on_beside_writable)
        elif not self._beside and self._writing_beside:
            self._writing_beside = False
            self._watcher.unwatch_writable(fd)

    def _on_beside_writable(self) -> None:
        self._flush_beside()
        if self._pending:
            self._flush()
        else:
            self._note_beside_sent()
        self.pump()

    def _note_beside_sent(self) -> None:
        if not self._beside and not self._pending:
            self.session.receive_sent()

    def _flush(self, *, is_first: bool = False) -> None:
        """Write what is pending, as far as that goes. The time to write it begins when that is tried *first*."""
        if not self._pending or self._beside:
            return
        if self.process.fileno(_STDIN) < 0:  # it is being brought down: nobody will read this
            self._pending = _NOTHING
            return
        try:
            written = self.process.write(self._pending)
        except OSError:
            self._lose_input()
            return
        self.just_written += written
        if written < len(self._pending):
            self._pending = self._pending[written:]
            if written or is_first:
                self.session.note_time(self._clock())
                self.session.receive_progress()
            if not self._writing:
                self._writing = True
                self._watcher.watch_writable(self.process.fileno(Channel.STDIN), self.on_writable)
            return
        self._pending = _NOTHING
        if self._writing:
            self._stop_writing()
        self.session.receive_sent()
        if self._ending_input:
            self._end_input()

    def look_at_input(self) -> None:
        """Find out whether the plugin has closed its input: else that is not noticed before something is written."""
        if is_closed(self.process.fileno(_STDIN)):
            self._lose_input()
            self.pump()

    def _lose_input(self) -> None:
        self._stop_writing()
        self._close(Channel.STDIN)
        # Before "it closed its input" is taken for the cause, hear what it said and whether it is dead.
        if not self.process.has_exited():
            self._read(Channel.STDOUT)
            self.session.receive_broken_pipe()

    def _end_input(self) -> None:
        """Close stdin if the session has said all it will, and all of it is written."""
        if self._ending_input and not self._pending:
            self._close(Channel.STDIN)
            self._unread = 0  # it has had no time to read yet: how much it left nobody will ever know

    def _stop_writing(self) -> None:
        self._pending = _NOTHING
        if self._writing:
            self._writing = False
            self._watcher.unwatch_writable(self.process.fileno(Channel.STDIN))

    # Ending

    def _note_memory(self) -> None:
        if self.watch_memory and not self.finished:
            self._peak_kib = max(self.process.peak_memory_kib() or 0, self._peak_kib or 0) or None

    def _step(self, rung: Rung) -> None:
        self._note_memory()
        self._stop_writing()
        self._close(Channel.STDIN)
        self._close(Channel.CONTROL_OUT)
        match rung:
            case Rung.CLOSE_STDIN:
                pass
            case Rung.TERMINATE:
                self.process.send_signal(signal.SIGTERM)
                self.process.send_signal(signal.SIGCONT)  # a stopped process hears nothing but SIGKILL
            case Rung.KILL:
                self.process.send_signal(signal.SIGKILL)
            case never:
                assert_never(never)
        if self.process.exit_fd is None:
            self.on_exit()

    def _bury(self) -> None:
        """The process has ended: hear the rest of it, end what it left behind, and take it away."""
        for channel in _HEARD:
            self._drain(channel)
        self._search_fd = self.process.begin_search(held=bool(self._open))
        if self._search_fd is None:
            self._take_away()
            return
        self._ladder.end()
        for fd in (self.process.exit_fd, *(self.process.fileno(channel) for channel in self._open)):
            if fd is not None:
                self._watcher.unwatch(fd)  # but not closed: who holds the other end is looked for
        self._watcher.watch(self._search_fd, self._take_away)

    def _take_away(self) -> None:
        """What the process left behind is found and ended: nothing is left to be heard."""
        fd, self._search_fd = self._search_fd, None
        if fd is not None:
            self._watcher.unwatch(fd)
        self._survivors = tuple(self.process.find_survivors(held=bool(self._open)))
        for channel in _HEARD:
            if channel in self._open:
                self._hear(channel, b"")
        self._finish(self.process.reap())

    def _abandon(self) -> None:
        """Even SIGKILL did not end it in time: stop waiting, and say that its exit is unknown."""
        for channel in _HEARD:
            if channel in self._open:
                self._hear(channel, b"")
        self._finish(ExitStatus())

    def _finish(self, status: ExitStatus) -> None:
        self._ladder.end()
        self._stop_writing()
        self._close(Channel.STDIN)
        self._close(Channel.CONTROL_OUT)
        if self.process.exit_fd is not None:
            self._watcher.unwatch(self.process.exit_fd)
        if self._peak_kib is not None:
            status = replace(status, peak_memory_kib=max(self._peak_kib, status.peak_memory_kib or 0))
        self.exit_status = status
        self.session.note_time(self._clock())
        self.session.receive_exit(status)
        self.finished = True
        try:
            for survivor in self._survivors:
                self._observe(SurvivorFound(survivor))
            self._observe(Exited(self.process.pid, status, self._rung))
        finally:  # whatever a listener does, whoever waits is told
            self.process.dispose()
            self.pump()

    def _close(self, channel: Channel) -> None:
        fd = self.process.fileno(channel)
        if fd < 0:
            return
        if channel is Channel.STDIN:
            self._unread = self.process.unread()  # only now: afterwards nobody can tell
            if self._writing:
                self._stop_writing()
        elif channel is Channel.CONTROL_OUT:
            self._beside = _NOTHING
            if self._writing_beside:
                self._writing_beside = False
                self._watcher.unwatch_writable(fd)
        else:
            self._open -= {channel}
            self._watcher.unwatch(fd)
        self.process.close(channel)
