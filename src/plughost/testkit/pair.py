"""A session and a plugin joined in memory: no process, no pipe, no clock but the one moved by hand."""

from __future__ import annotations

from collections.abc import Callable

from ..autopsy import ExitStatus
from ..contracts.base import Channel, EndWanted, Event, Rung, Session
from .clock import ManualClock

Script = Callable[[bytes], bytes | None]


class Pair:
    """Joins *session* to *plugin*, a function from a line it is sent to the bytes it says, or None to exit.

    `piece` cuts what the plugin says into pieces of that many bytes. `ends` records every wish of the session to
    end the process; the plugin exits with `exit_code` when its input is closed or its script returns None.
    """

    def __init__(
        self, session: Session, plugin: Script, clock: ManualClock | None = None, *, piece: int = 0
    ) -> None:
        self.session = session
        self.plugin = plugin
        self.clock = clock or ManualClock()
        self.piece = piece
        self.exit_code = 0
        self.exited = False
        self.events: list[Event] = []
        self.ends: list[Rung] = []
        self._partial = b""

    def run(self) -> None:
        """Pass messages back and forth until neither has anything more to say."""
        busy = True
        while busy:
            busy = False
            for _, data in self.session.data_to_send():
                busy = True
                self.session.receive_sent()
                self._hear(data)
            while (event := self.session.next_event()) is not None:
                busy = True
                self.events.append(event)
                if isinstance(event, EndWanted):
                    self.ends.append(event.rung)
                    self.exit(self.exit_code)

    def say(self, data: bytes) -> None:
        """Let the plugin say *data* on its own account."""
        size = self.piece or max(1, len(data))
        for start in range(0, len(data), size):
            self.session.receive_data(data[start : start + size], Channel.STDOUT)

    def exit(self, code: int) -> None:
        """Let the plugin end."""
        if not self.exited:
            self.exited = True
            self.session.receive_eof(Channel.STDOUT)
            self.session.receive_exit(ExitStatus(code=code))

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)
        self.session.receive_tick(self.clock())
        self.run()

    def _hear(self, data: bytes) -> None:
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            if self.exited:
                return
            said = self.plugin(line)
            if said is None:
                self.exit(self.exit_code)
            else:
                self.say(said)
