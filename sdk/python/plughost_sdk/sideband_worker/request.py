"""What a host asked for, and how far it has come: its payload, its answers, its interrupts."""

from __future__ import annotations

from _queue import Empty, SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .wire import Value

END_OF_INPUT = (b"", b"\x04", b"\x04\n", b"\x04\r\n")  # answers that stand for Ctrl-D


class Request:
    """One request. The control thread makes it; the main thread runs it."""

    def __init__(self, number: int | None, mark: bytes | None, text: str) -> None:
        self.number, self.mark, self.text = number, mark, text
        self.lines: SimpleQueue[bytes | None] = SimpleQueue()
        self.waiting = 0  # readers that wait for an answer
        self.over = False  # user code has ended: there is nothing left to interrupt
        self.pending = False  # an interrupt came before the first line of user code
        self.asked = 0  # interrupts that the host has announced
        self.raised = 0  # and those that user code has felt

    def tagged(self, **members: Value) -> dict[str, Value]:
        """Return a message of this request."""
        if self.number is not None:
            members["request_id"] = self.number
        return members

    def answer(self, data: bytes) -> None:
        """Add what the host sent for whoever reads stdin: line by line, or its end."""
        if data in END_OF_INPUT:
            self.lines.put(b"")
            return
        *whole, rest = data.split(b"\n")
        for line in whole:
            self.lines.put(line + b"\n")
        if rest:
            self.lines.put(rest)

    def discard(self) -> None:
        """Forget answers that nobody has read."""
        while not self.lines.empty():
            try:
                self.lines.get_nowait()
            except Empty:  # another thread was faster
                pass

    def close(self) -> None:
        """Let whoever still waits for an answer find the end of its input, now and later."""
        self.discard()
        self.lines.put(None)
