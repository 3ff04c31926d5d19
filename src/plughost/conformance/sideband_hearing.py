"""What a `sideband` worker says in one conversation: lines to requests with what was said about them, and to flaws.

Each message is judged by itself; what a request showed is judged elsewhere. A request that is ended in a wrong way is
ended all the same, so that one fault is not found everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import UNSET, UnsetType

from ..contracts.sideband import messages as wire
from ..messages.quoting import quote
from ..process.stderr import printable
from .sideband_probe import SidebandProbe
from .verdict import Flaw

SEPARATOR = b"\x1e"
SHOWN = 120  # characters of what came


@dataclass(slots=True)
class Asked:
    """A request that was sent, and what was said about it so far."""

    number: int
    mark: bytes
    out_from: int
    err_from: int
    messages: list[wire.WorkerMessage] = field(default_factory=list)
    end: wire.RequestEnd | None = None
    is_marked: bool = False  # both marks were there at its end


class Hearing:
    """All that one worker has said. *when* begins a sentence about it."""

    probe: SidebandProbe

    def __init__(self, when: str) -> None:
        self.when = when
        self.flaws: list[Flaw] = []  # in single messages
        self.backend: wire.BackendInfo | None = None
        self.asking: wire.ReadlineStart | None = None  # a line is waited for
        self.outcomes: list[str] = []  # of interrupts
        self.farewell: wire.SessionEnd | None = None
        self.unknown: set[str] = set()  # messages of no known name
        self.asked: list[Asked] = []
        self.unanswered = 0  # interrupts without their answer

    @property
    def has_ids(self) -> bool:
        return self.backend is not None and self.backend.plughost.request_ids

    @property
    def has_marks(self) -> bool:
        return self.backend is not None and self.backend.plughost.marks

    @property
    def has_image_marks(self) -> bool:
        return self.has_ids and self.backend is not None and self.backend.plughost.image_marks

    @property
    def has_order_marks(self) -> bool:
        return self.has_ids and self.backend is not None and self.backend.plughost.order_marks

    def flaw(self, clause: str, what: str) -> None:
        """Note that *clause* is broken."""
        self.flaws.append(Flaw(f"sideband:{clause}", f"{self.when}: {what}"))

    def hear(self, line: bytes) -> None:
        """Take a line of the sideband."""
        message = wire.decode(line)
        if isinstance(message, wire.Refused):
            if message.reason is wire.Reason.UNKNOWN_TYPE:
                self.unknown.add(message.type[:SHOWN])
            else:
                self.flaw(
                    "line:json", f"{quote(printable(line[:SHOWN]))} is no message: {message.detail[:200]}"
                )
            return
        if self.farewell is not None:
            self.flaw("end:announced", f"it says {_name(message)} after session_end")
            return
        if self.backend is None and not isinstance(message, wire.BackendInfo):
            self.flaw("hello:first", f"it says {_name(message)} before backend_info")
        self._take(message)

    def _take(self, message: wire.WorkerMessage) -> None:
        match message:
            case wire.BackendInfo():
                if self.backend is not None:
                    self.flaw("hello:first", "it introduces itself a second time")
                self.backend = self.backend or message
            case wire.RequestEnd():
                self._take_end(message)
            case wire.ReadlineStart():
                self._note(message, message.request_id)
                self.asking = message
            case wire.ReadlineResult():
                self._note(message, message.request_id)
                if self.asking is None and self.has_ids:
                    self.flaw("input:asked", "it reports a line that it did not ask for")
                self.asking = None
            case wire.PlotImage():
                if self._running is None:
                    self.flaw("image:background", "it sends a picture while no request runs")
                else:
                    self._note(message, message.request_id)
                    self._look_for_mark(self._running, message)
            case wire.Interrupted():
                if not self.unanswered:
                    self.flaw("interrupt:answered", "it answers an interrupt that nobody sent")
                self.unanswered = max(0, self.unanswered - 1)
                self.outcomes.append(message.outcome)
            case wire.SessionEnd():
                self.farewell = message

    @property
    def _running(self) -> Asked | None:
        return self.asked[-1] if self.asked and self.asked[-1].end is None else None

    def _note(self, message: wire.WorkerMessage, number: int | UnsetType) -> None:
        """Keep *message* with its request, if it names the right one."""
        running = self._running
        if running is not None:
            running.messages.append(message)
        if not self.has_ids:
            return
        if running is None:
            self.flaw("request:ids", f"it says {_name(message)} while no request runs")
        elif number != running.number:
            told = "no id" if number is UNSET else f"the id {number}"
            self.flaw("request:ids", f"it says {_name(message)} with {told} in request {running.number}")

    def _look_for_mark(self, running: Asked, picture: wire.PlotImage) -> None:
        """Note a picture that does not stand in the output where it belongs."""
        if not self.has_image_marks:
            return
        number = sum(isinstance(each, wire.PlotImage) for each in running.messages)
        expected = image_mark(running.number, number)
        if picture.mark != expected:
            self.flaw("image:sent", f"picture {number} of its request does not name its mark")
        elif self.probe.stdout.find(SEPARATOR + expected.encode() + SEPARATOR, running.out_from) < 0:
            self.flaw("image:sent", "it sends a picture before its mark is written")

    def _take_end(self, message: wire.RequestEnd) -> None:
        running = self._running
        number = message.request_id
        is_old = isinstance(number, int) and number < len(self.asked)
        self._note(message, number)
        if running is None or (self.has_ids and is_old):
            return
        running.end = message
        out = bytes(self.probe.stdout[running.out_from :])
        err = bytes(self.probe.stderr[running.err_from :])
        running.is_marked = running.mark in out and running.mark in err


def image_mark(request: int, number: int) -> str:
    """Return the mark of a picture of *request*, from 1; that of picture 0 is the one that is sent.

    The first is at the end of what eight digits can count, so that who does not count round is found out.
    """
    return f"{request:024x}{(0xFFFF_FFFF + number) % 2**32:08x}"


def _name(message: wire.WorkerMessage) -> str:
    return str(message.__struct_config__.tag)
