"""Order marks: what tells the host in which order stdout and stderr were written.

Two pipes keep no order between them. So where code changes from one stream to the other, a numbered mark is written to
both. Each stream then carries every number, in order, and the host shows all that comes before a number, on either
stream, before what comes behind it.

Writes to stdout cost nothing: its `write` is replaced by one that marks only while stderr is the stream that was
written last. Where user code has a `write` of its own in that place, it stays, and a text for stderr has a mark on
either side.
"""

from __future__ import annotations

import io
from _thread import RLock

from .link import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .output import Output
    from .request import Request

SEPARATOR = b"\x1e"  # on either side of a mark
# For another thread to finish its mark. A signal handler that raises at the wrong moment can leave the lock held.
LOCK_S = 1.0
_write_text = io.TextIOWrapper.write


class Order:
    """The order marks of the request that runs. *fds* are private copies of the descriptors of *output*."""

    def __init__(self, output: Output, fds: tuple[int, int]) -> None:
        self._output = output
        self._fds = fds
        self._armed: io.TextIOWrapper | None = None  # stdout, while stderr was written last
        self.begin(None)

    def begin(self, request: Request | None) -> None:
        """Mark from now on what is written for *request*, if the host wants its marks; nothing if it is None."""
        self._disarm()
        self._request = request if request is not None and request.has_order_marks else None
        self._lock = RLock()
        self._inside = False  # a mark is being written

    def end(self) -> None:
        """Mark nothing more, once the mark that another thread writes is whole."""
        if self._enter():
            self._request = None
            self._leave()
        self._request = None
        self._disarm()

    def to_stderr(self) -> bool:
        """What is written next goes to stderr. Tell whether `to_stdout` has to be called behind it."""
        if self._request is None or self._is_armed() or not self._enter():
            return False
        try:
            if self._is_armed():  # another thread was faster
                return False
            self._output.flush_stdout()
            self._mark()
            return not self._arm(self._output.stdout)
        except BaseException:  # of a signal's handler: the streams may not have the same marks any more
            self._request = None
            raise
        finally:
            self._leave()

    def to_stdout(self) -> None:
        """What is written next goes to stdout."""
        if self._enter():
            try:
                self._disarm()
                self._mark()
            except BaseException:  # as above
                self._request = None
                raise
            finally:
                self._leave()

    def _write_stdout(self, text: str, /) -> int:
        """Be the `write` of stdout while stderr is the stream that was written last."""
        stdout = self._armed
        if stdout is not None:
            self.to_stdout()
        return _write_text(stdout or self._output.stdout, text)

    def _arm(self, stdout: io.TextIOWrapper) -> bool:
        """Let the next write to *stdout* be marked, unless user code has a `write` of its own there."""
        if stdout.__dict__.get("write", self._write_stdout) != self._write_stdout:
            return False
        stdout.write = self._write_stdout  # type: ignore[method-assign]
        self._armed = stdout
        return True

    def _disarm(self) -> None:
        stdout, self._armed = self._armed, None
        if stdout is not None and stdout.__dict__.get("write") == self._write_stdout:
            del stdout.__dict__["write"]

    def _is_armed(self) -> bool:
        """Tell whether the next write to stdout is marked: user code may have put another in its place."""
        return self._armed is not None and self._armed.__dict__.get("write") == self._write_stdout

    def _mark(self) -> None:
        if self._request is not None:
            mark = self._request.next_order_mark().encode("ascii")
            for fd in self._fds:
                write_mark(fd, mark)

    def _enter(self) -> bool:
        if not self._lock.acquire(True, LOCK_S):
            return False
        if self._inside:  # a signal handler interrupts a mark of its own thread
            self._lock.release()
            return False
        self._inside = True
        return True

    def _leave(self) -> None:
        self._inside = False
        self._lock.release()


def write_mark(fd: int, mark: bytes) -> bool:
    """Write *mark* to *fd*, and tell whether the host can see it."""
    try:
        write_all(fd, SEPARATOR + mark + SEPARATOR)
    except OSError:  # the host has closed this stream: its end is its mark
        return False
    return True
