"""Turns SIGINT into KeyboardInterrupt where user code runs, and into nothing anywhere else.

No flag says whether user code runs: between the flag and the code there would always be an instant that is wrong. The
stack says it. User code is what `invoke` calls, so the handler looks for that frame. The worker's own code is never
interrupted, except where it waits on behalf of user code; there, `Shield` covers what must not be torn.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what the module signal is made of: without its enums, which cost a fifth of the start
import sys
import time
from _thread import get_ident, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import TypeVar

    from .request import Request

    Result = TypeVar("Result")

SIGINT = int(_signal.SIGINT)
SIGNAL_WAIT_S = (
    0.1  # from the interrupt message to the signal that comes with it; then the worker signals itself
)


def invoke(work: Callable[[], Result]) -> Result:
    """Run *work* as user code: the only place from which an interrupt is raised."""
    return work()


class Interrupts:
    """Whom an interrupt concerns, and how it reaches them. Lives in the main thread."""

    def __init__(self) -> None:
        self.main = get_ident()
        self.request: Request | None = None  # the latest: running, or over
        self.leaving = False  # the session is ending: user code is told to exit
        self.shielded = self._deferred = False
        self._bottom = _bottom(sys._getframe()).f_code
        self.install()

    def install(self) -> None:
        """Be the handler: at the start, and again after user code that has put its own in place."""
        if _signal.getsignal(SIGINT) != self.handle:
            _signal.signal(SIGINT, self.handle)

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt (or SystemExit, if the session is ending) in user code; remember it just before."""
        del signum
        if not self._in_user_code(frame):
            if self.request is not None and not self.request.over:
                self.request.pending = True
        elif self.shielded:
            self._deferred = True
        else:
            self._raise()

    def begin(self, request: Request) -> None:
        """Raise now what came too early: the first line of the code under `invoke`."""
        if request.pending or self.leaving:
            request.pending = False
            self._raise()

    def announced(self, request: Request | None) -> bool:
        """Tell whether an interrupt that the host has announced reaches *request*. Called by the control thread."""
        if request is None:
            return False
        request.asked += 1
        if request.raised >= request.asked:
            return True  # the signal was faster than the message
        if request is not self.request:
            request.pending = True  # it has not begun: the signal, too, may have come before it
        if not request.over:
            start_new_thread(self._see_to, (request, request.asked))
        return not request.over

    def signal_main(self) -> None:
        """Send the main thread a SIGINT, which also ends most blocking calls."""
        _signal.pthread_kill(self.main, SIGINT)

    def _see_to(self, request: Request, asked: int) -> None:
        """Signal the main thread if the host's signal has not: it may be unable to, or was too early."""
        time.sleep(SIGNAL_WAIT_S)
        ours = (
            _signal.getsignal(SIGINT) == self.handle
        )  # user code with a handler of its own has had its signal
        if ours and request.raised < asked and not request.over:
            self.signal_main()

    def _in_user_code(self, frame: FrameType | None) -> bool:
        if frame is None or frame.f_code is invoke.__code__:
            return False
        above: FrameType | None = frame
        while above is not None:
            if above.f_code is invoke.__code__:
                return True
            above = above.f_back
        return (
            _bottom(frame).f_code is not self._bottom
        )  # a stack that user code has made itself: a greenlet's

    def _raise(self) -> None:
        self._deferred = False
        if self.leaving:
            raise SystemExit(0)
        if self.request is not None:
            self.request.raised += 1
            self.request.discard()
        raise KeyboardInterrupt

    def uncover(self) -> None:
        """End a shield, and raise what came meanwhile."""
        self.shielded = False
        if self._deferred:
            self._raise()


class Shield:
    """While it is entered, an interrupt of the main thread waits until it is left."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts

    def __enter__(self) -> None:
        if get_ident() == self._interrupts.main:
            self._interrupts.shielded = True

    def __exit__(self, *_: object) -> None:
        if get_ident() == self._interrupts.main:
            self._interrupts.uncover()


def _bottom(frame: FrameType) -> FrameType:
    while frame.f_back is not None:
        frame = frame.f_back
    return frame
