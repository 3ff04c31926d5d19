"""A plugin's `serve` in a thread, joined to a session by two pipes: passes bytes until something is so. No process.

Theory of operation. The plugin's side is the real one: it blocks on descriptors in a thread of its own. The host's
side runs in the thread of the test, and only while the test waits for something, so a test never races with its own
host. Every wait has an end. The thread is a daemon: one that hangs is left behind, with where it stands told in the
error, and finds the end of its input if it ever looks.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
import traceback
from collections.abc import Callable

from ..autopsy import ExitStatus
from ..contracts.base import Channel, EndWanted
from ..contracts.duplex.news import News
from ..contracts.duplex.session import DuplexSession

READ_BYTES = 65_536  # at a time: what a pipe holds
CLOSED = -1  # in place of a descriptor
GIVE_UP_S = 600.0  # seconds: what a session waits for has a deadline of its own, long before this one


class Wire:
    """The two ends of one conversation. *serve* is the plugin's; *hear* is told the news of *session*."""

    def __init__(
        self,
        serve: Callable[[int, int], int],
        session: DuplexSession,
        hear: Callable[[News], None],
        name: str,
    ) -> None:
        self.status: int | None = None  # what the plugin's process would have exited with
        self.crash = ""  # the traceback that ended the plugin's thread, if one did
        self._session = session
        self._hear = hear
        self._unsent = memoryview(b"")
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._thread = threading.Thread(
            target=self._serve, args=(serve, theirs_in, theirs_out), name=f"plugin {name}", daemon=True
        )
        self._thread.start()

    def run_until(self, done: Callable[[], bool], timeout_s: float = GIVE_UP_S) -> None:
        """Pass bytes both ways until *done*, until the session is over, or for *timeout_s* seconds."""
        until = time.monotonic() + timeout_s
        while True:
            while (news := self._session.next_news()) is not None:
                self._hear(news)
            if done() or self._session.settled or time.monotonic() >= until:
                return
            self._step(until)

    def join(self, timeout_s: float) -> bool:
        """Wait for the plugin's thread. Returns whether it ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Close this side's ends: the plugin finds the end of its input, and nobody to write to."""
        self._close_input()
        if self._in != CLOSED:
            os.close(self._in)
            self._in = CLOSED

    def stack(self) -> str:
        """Return where the plugin's thread stands; empty if it has ended."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        return "" if frame is None else "".join(traceback.format_stack(frame))

    def _serve(self, serve: Callable[[int, int], int], read: int, write: int) -> None:
        try:
            self.status = serve(read, write)
        except SystemExit as ended:
            self.status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
            self.crash = traceback.format_exc() if self.status else ""
        except BaseException:  # whatever would have ended its process
            self.status = 1
            self.crash = traceback.format_exc()

    def _step(self, until: float) -> None:
        """Write and read what can be, or wait for it: until then, or the session's next deadline."""
        if not self._unsent:
            self._unsent = memoryview(b"".join(data for _, data in self._session.data_to_send()))
        poller = select.poll()
        if self._in != CLOSED:
            poller.register(self._in, select.POLLIN)
        if self._unsent and self._out != CLOSED:
            poller.register(self._out, select.POLLOUT)
        deadline = min(until, self._session.next_deadline() or until)
        ready = {fd for fd, _ in poller.poll(max(0.0, deadline - time.monotonic()) * 1000 + 1)}
        self._session.note_time(time.monotonic())
        if self._in in ready:
            self._read()
        if self._out in ready:
            self._write()
        self._session.receive_tick(time.monotonic())
        while (event := self._session.next_event()) is not None:
            if isinstance(event, EndWanted):
                self._close_input()

    def _read(self) -> None:
        data = os.read(self._in, READ_BYTES)
        if data:
            self._session.receive_data(data, Channel.STDOUT)
            return
        os.close(self._in)
        self._in = CLOSED
        self._session.receive_eof(Channel.STDOUT)
        self._session.receive_exit(ExitStatus(code=0))  # how it really ended is told by `status`

    def _write(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._out, self._unsent) :]
        except BrokenPipeError:
            self._unsent = memoryview(b"")
            self._session.receive_broken_pipe()
            return
        if not self._unsent:
            self._session.receive_sent()

    def _close_input(self) -> None:
        if self._out != CLOSED:
            os.close(self._out)
            self._out = CLOSED
