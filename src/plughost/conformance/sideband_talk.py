"""One conversation of a check with a `sideband` worker: requests it, answers it, interrupts it, waits for what comes.

Every conversation is a process of its own, spoken to in raw lines, because a session would hide what it puts up with.
All waiting is bounded, and no process outlives its conversation.
"""

from __future__ import annotations

from dataclasses import dataclass
from signal import SIGINT
from types import TracebackType
from typing import Self

from msgspec import UNSET

from ..contracts.base import Channel
from ..contracts.sideband import messages as wire
from ..manifest.binding import Binding
from ..process.launcher import Launcher
from ..process.stderr import printable
from .sideband_hearing import SEPARATOR, SHOWN, Asked, Hearing, image_mark
from .sideband_probe import LINES, SidebandProbe

EXITING_S = 2.0  # for a process that has closed the sideband to be gone
FIRST_PROMPT_S = 0.5  # for a worker without ids to show its first prompt: what the contract gives it


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited, in seconds: for the introduction, for a request, for an exit, and where silence is right."""

    hello_s: float = 10.0
    call_s: float = 10.0
    exit_s: float = 5.0  # the contract says 2: the rest is for a busy machine
    quiet_s: float = 0.05


class Talk(Hearing):
    """A conversation. *when* completes a sentence about it, such as "interrupted, it does not end"."""

    def __init__(self, launcher: Launcher, binding: Binding, when: str, patience: Patience) -> None:
        super().__init__(when)
        self.patience = patience
        self.probe = SidebandProbe(launcher, binding, self.hear)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.probe.is_long:
            self.flaw("line:limit", f"it writes a line of more than {wire.LINE_BYTES} bytes")
        if self.probe.flooded:
            self.flaw("line:limit", f"it writes more than {LINES} lines")
        self.probe.__exit__(kind, error, trace)

    # What is known

    @property
    def is_gone(self) -> bool:
        return self.probe.exit is not None

    @property
    def ending(self) -> str:
        """Say how it stands with the process, for a sentence that ends with it."""
        if self.probe.exit is not None:
            said = printable(bytes(self.probe.stderr[-SHOWN:])).strip()
            return f"it ended with {self.probe.exit.meaning}" + (f", saying {said!r}" if said else "")
        if self.probe.is_long or self.probe.flooded:
            return "what it writes cannot be followed"
        return f"nothing came for {self.patience.call_s:g} s"

    # What the host says

    def begin(self) -> bool:
        """Wait for its introduction, and for the first prompt of a worker without ids."""
        known = self.probe.work(
            lambda: self.backend is not None or self.probe.is_silent, self.patience.hello_s
        )
        if self.backend is None and self.probe.is_silent:
            self.probe.wait_exit(EXITING_S)
        if known and self.backend is not None and not self.has_ids:
            self.probe.work(lambda: self.asking is not None, FIRST_PROMPT_S)
        return self.backend is not None

    def send(self, text: str, *, hold: bool = False, more: bytes = b"") -> Asked:
        """Announce *text*, with *more* members, and write it; with *hold*, nothing is written yet."""
        whole = text if text.endswith("\n") else text + "\n"
        number = len(self.asked) + 1
        mark = f"{number:032x}"
        asked = Asked(
            number, SEPARATOR + mark.encode() + SEPARATOR, len(self.probe.stdout), len(self.probe.stderr)
        )
        self.asked.append(asked)
        self.asking = None  # of a worker without ids: its own prompt
        message = wire.StdinWrite(
            whole,
            number if self.has_ids else UNSET,
            mark if self.has_ids and self.has_marks else UNSET,
            image_mark(number, 0) if self.has_image_marks else UNSET,
        )
        self.probe.post(Channel.CONTROL_OUT, wire.encode(message).removesuffix(b"}\n") + more + b"}\n")
        if not hold:
            self.probe.post(Channel.STDIN, whole.encode())
        return asked

    def answer(self, text: str) -> None:
        """Give the request that runs a line, or several."""
        number = self.asked[-1].number if self.has_ids else UNSET
        self.asking = None if not self.has_ids else self.asking
        self.probe.post(Channel.CONTROL_OUT, wire.encode(wire.StdinWrite(text, number)))
        self.probe.post(Channel.STDIN, text.encode())

    def interrupt(self, asked: Asked | None, *, signalled: bool = True) -> None:
        """Interrupt as a host does: by a message, and by a signal if something runs."""
        number = asked.number if asked is not None and self.has_ids else UNSET
        self.unanswered += 1
        self.probe.post(Channel.CONTROL_OUT, wire.encode(wire.Interrupt(number)))
        self.probe.work(self.probe.written, self.patience.call_s)
        if signalled:
            self.probe.process.send_signal(SIGINT)

    def tell(self, line: bytes) -> None:
        """Write any bytes to the sideband. If they are an interrupt, it may be answered."""
        self.unanswered += b"interrupt" in line
        self.probe.post(Channel.CONTROL_OUT, line)

    def end(self) -> None:
        self.probe.post(Channel.CONTROL_OUT, wire.encode(wire.HostSessionEnd()))

    # What is waited for

    def run(self, text: str) -> Asked | None:
        """Send *text* and return it when it is over; None if it is not in time."""
        return self.finish(self.send(text))

    def finish(self, asked: Asked) -> Asked | None:
        """Wait for the end of *asked*."""
        return asked if self.probe.work(lambda: asked.end is not None, self.patience.call_s) else None

    def shows(self, asked: Asked, word: str, *, stderr: bool = False) -> bool:
        """Wait until *word* was printed since *asked* was sent, on time or too late."""
        return self.counts(asked, word, 1, stderr=stderr)

    def counts(self, asked: Asked, word: str, times: int, *, stderr: bool = False) -> bool:
        """Tell whether *word* was printed so often since *asked* was sent; wait for it if more may still come."""
        stream, start = (self.probe.stderr, asked.err_from) if stderr else (self.probe.stdout, asked.out_from)
        data = word.encode()
        is_complete = asked.end is not None and self.has_marks
        within = 0.0 if is_complete else self.patience.call_s
        return self.probe.work(lambda: stream.count(data, start) >= times, within)

    def asks(self, asked: Asked, prompt: str = "") -> bool:
        """Wait until the request waits for a line, with *prompt* in its own; False if it is over, or neither."""

        def is_asking() -> bool:
            return self.asking is not None and prompt in self.asking.prompt

        self.probe.work(lambda: is_asking() or asked.end is not None, self.patience.call_s)
        return is_asking() and asked.end is None

    def listen(self) -> None:
        """Hear what comes for a moment."""
        self.probe.work(lambda: False, self.patience.quiet_s)

    def output(self, asked: Asked) -> str:
        """Return all that was printed to both streams since *asked* was sent."""
        return printable(bytes(self.probe.stdout[asked.out_from :] + self.probe.stderr[asked.err_from :]))
