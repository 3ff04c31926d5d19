"""A process that is none: real pipes, so that every driver can watch it, and a behaviour you choose.

    def greeter(process):
        process.on_line = lambda line: process.say(b'{"type":"handshake", …}\\n')

    launcher = FakeLauncher(greeter)
    with plughost.blocking.Host(launcher=launcher) as host: …

What the host writes is handed to `on_data` or, line by line, to `on_line`, at once and in the same thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from ..autopsy import ExitStatus, Survivor
from ..contracts.base import Channel
from ..manifest.binding import Binding
from ..process.launcher import READ_SIZE

_FAKE_PID = 2**22 + 1  # above Linux's highest process id: a signal sent to it by mistake hits nobody


class FakeProcess:
    """A plugin made of callbacks.

    Knobs: `reads` False and its stdin fills up after `stdin_holds` bytes; `ignores` is a set of signal numbers
    that do nothing; `survivors` is what it leaves behind. `signals` and `received` record what it was told.
    """

    def __init__(self, command: tuple[str, ...] = ("fake",)) -> None:
        self.pid = _FAKE_PID
        self.command = command
        self.reads = True
        self.stdin_holds = 65_536
        self.stdin_open = True
        self.ignores: set[int] = set()
        self.survivors: list[Survivor] = []
        self.signals: list[int] = []
        self.received = bytearray()
        self.on_data: Callable[[bytes], None] | None = None
        self.on_line: Callable[[bytes], None] | None = None
        self.on_stdin_close: Callable[[], None] | None = None
        self._status: ExitStatus | None = None
        self._said = {Channel.STDOUT: bytearray(), Channel.STDERR: bytearray()}
        self._ours: dict[Channel, int] = {}
        self._theirs: dict[Channel, int] = {}
        for channel in (Channel.STDOUT, Channel.STDERR):
            self._ours[channel], self._theirs[channel] = os.pipe()
            os.set_blocking(self._ours[channel], False)
        # Readable at its end of file, which is when the other end is closed: at exit, like a pidfd.
        self.exit_fd: int | None
        self.exit_fd, self._alive = os.pipe()
        # Only there to be watched: full exactly while the plugin does not read. The data go to `received`.
        self._theirs[Channel.STDIN], self._ours[Channel.STDIN] = os.pipe()
        for fd in (self._theirs[Channel.STDIN], self._ours[Channel.STDIN]):
            os.set_blocking(fd, False)
        self._partial = b""

    # What a behaviour does

    def say(self, data: bytes) -> None:
        """Write *data* to stdout."""
        self._write(Channel.STDOUT, data)

    def log(self, data: bytes) -> None:
        """Write *data* to stderr."""
        self._write(Channel.STDERR, data)

    def close_stdout(self) -> None:
        self._close_theirs(Channel.STDOUT)

    def close_stdin(self) -> None:
        """Stop reading: the host's next write finds a broken pipe."""
        self.stdin_open = False

    def read_on(self) -> None:
        """Read again, after `reads` was False."""
        self.reads = True
        with suppress(BlockingIOError):
            while os.read(self._theirs[Channel.STDIN], 65_536):
                pass

    def exit(self, code: int = 0, *, signal: int | None = None) -> None:
        """End. Its pipes end with it, unless it has survivors, who hold them."""
        if self._status is not None:
            return
        self._status = ExitStatus(code=None if signal is not None else code, signal=signal)
        if not self.survivors:
            for channel in tuple(self._theirs):
                self._close_theirs(channel)
        os.close(self._alive)

    # What the host sees

    def fileno(self, channel: Channel) -> int:
        return self._ours.get(channel, -1)

    def read(self, channel: Channel, size: int = READ_SIZE) -> bytes | None:
        said = self._said[channel]
        if not said:
            try:
                return os.read(self._ours[channel], 1)  # nothing, or the end
            except BlockingIOError:
                return None
        data = bytes(said[:size])
        del said[:size]
        if not said:
            os.read(self._ours[channel], 1)  # the mark that there was something
        return data

    def write(self, data: bytes | memoryview, channel: Channel = Channel.STDIN) -> int:
        if channel is not Channel.STDIN or not self.stdin_open or self._status is not None:
            raise BrokenPipeError
        if not self.reads:
            taken = bytes(data[: max(0, self.stdin_holds - len(self.received))])
            self.received += taken
            with suppress(BlockingIOError):
                while os.write(self._ours[Channel.STDIN], bytes(65_536)):
                    pass
            return len(taken)
        self.received += data
        self._hear(bytes(data))
        return len(data)

    def unread(self) -> int:
        return 0 if self.reads else len(self.received)

    def close(self, channel: Channel) -> None:
        fd = self._ours.pop(channel, -1)
        if fd < 0:
            return
        os.close(fd)
        if channel is Channel.STDIN and self.on_stdin_close is not None:
            self.on_stdin_close()

    def peak_memory_kib(self) -> int | None:
        return None

    def has_exited(self) -> bool:
        return self._status is not None

    def send_signal(self, number: int) -> None:
        self.signals.append(number)
        if number == 9 or (number == 15 and 15 not in self.ignores):
            self.exit(signal=number)

    def begin_search(self, *, held: bool) -> int | None:
        return None

    def find_survivors(self, *, held: bool) -> list[Survivor]:
        return self.survivors

    def reap(self) -> ExitStatus:
        assert self._status is not None
        return self._status

    def dispose(self) -> None:
        for channel in tuple(self._ours):
            os.close(self._ours.pop(channel))
        for channel in tuple(self._theirs):
            self._close_theirs(channel)
        if self._status is None:
            os.close(self._alive)
            self._status = ExitStatus()
        if self.exit_fd is not None:
            os.close(self.exit_fd)
            self.exit_fd = None

    def _write(self, channel: Channel, data: bytes) -> None:
        """Say *data* in memory; the pipe only carries a mark, so that it never fills up."""
        if data and not self._said[channel]:
            os.write(self._theirs[channel], b"!")
        self._said[channel] += data

    def _hear(self, data: bytes) -> None:
        if self.on_data is not None:
            self.on_data(data)
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            if self.on_line is not None:
                self.on_line(line)

    def _close_theirs(self, channel: Channel) -> None:
        fd = self._theirs.pop(channel, None)
        if fd is not None:
            with suppress(OSError):
                os.close(fd)


class FakeLauncher:
    """Launches fake processes, each prepared by *behaviour*; raises *error* instead if there is one."""

    def __init__(
        self, behaviour: Callable[[FakeProcess], None] | None = None, *, error: OSError | None = None
    ) -> None:
        self.behaviour = behaviour
        self.error = error
        self.launched: list[FakeProcess] = []
        self.closed = False
        self.before_return: Callable[[], None] | None = None  # for instance: let the clock advance

    def launch(self, binding: Binding) -> FakeProcess:
        if self.error is not None:
            raise self.error
        process = FakeProcess(binding.command)
        process.pid += len(self.launched)
        self.launched.append(process)
        if self.behaviour is not None:
            self.behaviour(process)
        if self.before_return is not None:
            self.before_return()
        return process

    def diagnose(self, binding: Binding, error: Exception) -> str:
        return str(error)

    def close(self) -> None:
        self.closed = True
