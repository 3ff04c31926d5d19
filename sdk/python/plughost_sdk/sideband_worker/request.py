"""What a host asked for, and how far it has come: its payload, its answers, its interrupts."""

from __future__ import annotations

from _queue import Empty, SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .wire import Value

END_OF_INPUT = (b"", b"\x04", b"\x04\n", b"\x04\r\n")  # answers that stand for Ctrl-D


class Request:
    """One request. The control thread makes it; the main thread runs it."""

    def __init__(
        self,
        number: int | None,
        mark: bytes | None,
        text: str,
        image_mark: str | None = None,
        order_mark: str | None = None,
        flaw: str = "",
        *,
        announced: bool = True,
    ) -> None:
        self.number, self.mark, self.text = number, mark, text
        self.flaw = flaw  # why it cannot be run
        self.announced = announced  # false: by an older host, which waits for request_end alone
        self._image_mark = image_mark  # from which the marks of its pictures are made
        self._images = 0
        self._order_mark = order_mark  # from which its order marks are made
        self._orders = 0
        self.lines: SimpleQueue[bytes | None] = SimpleQueue()
        self.waiting = 0  # readers that wait for an answer
        self.over = False  # user code has ended: there is nothing left to interrupt
        self.asked = 0  # interrupts that the host has announced
        self.raised = 0  # those that user code has felt
        self.raised_at = 0.0  # when it felt the last one
        self.excused = 0  # those of the latter whose signal may still come, and is to do nothing
        self.deferred = False  # a signal came while our own code ran
        self.held_back = False  # it came where asyncio would only have logged what the handler raises
        self.private = False  # it has ended with a handler of its own in place, which tells us nothing
        self.late = False  # a signal came when it was over
        self.settled = False  # an interrupt that came when it was over has waited for its signal
        self.watched = False  # a thread sees to it that user code feels what it is owed

    def tagged(self, **members: Value) -> dict[str, Value]:
        """Return a message of this request."""
        if self.number is not None:
            members["request_id"] = self.number
        return members

    def next_image_mark(self) -> str | None:
        """Return the mark of its next picture, if the host wants pictures marked: it has counted one more."""
        if self._image_mark is None:
            return None
        self._images += 1
        return _counted(self._image_mark, self._images)

    @property
    def has_order_marks(self) -> bool:
        """Whether the host wants the order of stdout and stderr marked."""
        return self._order_mark is not None

    def next_order_mark(self) -> str:
        """Return the next order mark: the request has counted one more."""
        self._orders += 1
        return _counted(self._order_mark or "", self._orders)

    def answer(self, data: bytes) -> None:
        """Add what the host sent for whoever reads stdin: line by line, or its end. The last line may lack its end."""
        if data in END_OF_INPUT:
            self.lines.put(b"")
            return
        *whole, rest = data.split(b"\n")
        for line in whole:
            self.lines.put(line + b"\n")
        if rest:
            self.lines.put(rest + b"\n")

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


def _counted(base: str, number: int) -> str:
    """Return the mark that *number* makes of *base*: it is added to the last eight digits."""
    return base[:-8] + f"{(int(base[-8:], 16) + number) & 0xFFFFFFFF:08x}"
