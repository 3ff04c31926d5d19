"""Turns SIGINT into KeyboardInterrupt where user code runs, and into a later one anywhere else.

No flag says whether user code runs: between the flag and the code there would always be an instant that is wrong.
The stack says it. The worker's own functions call user code through `invoke` and `invoke_all` alone, and wait on its
behalf through `wait` alone, and expect an interrupt from these. So if the innermost of our frames is one of them, an
interrupt is raised, and if it is any other, none is: our code, what it imports and what it locks are never torn. An
interrupt that came there is owed, and the worker knocks, with a signal to itself, until user code has felt it or is
over.
"""

from __future__ import annotations

# What the module signal is made of, without its enums, which cost a fifth of the start. And by name, as all below: user
# code may put something else in its place.
import _signal  # type: ignore[import-not-found]
from _signal import getsignal, pthread_kill, signal
from _thread import allocate_lock, get_ident, start_new_thread
from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType
    from typing import Any, TypeVar

    from .request import Request

    Result = TypeVar("Result")

SIGINT = int(_signal.SIGINT)
SIGNAL_WAIT_S = 0.1  # from the interrupt message to the signal that comes with it; then the worker knocks
KNOCK_S = 0.01  # from an interrupt that came in our own code to the knock: that code is never longer
COROUTINE = 0x80  # of a code object's flags: there is a top-level await in it
OURS = __file__[: -len("interrupt.py")]  # where the worker's own code comes from


def invoke(work: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
    """Run *work*, which is no function of the worker's own, as user code: an interrupt is raised in it."""
    return work(*arguments, **named)


def wait(work: Callable[..., Result], *arguments: Any) -> Result:
    """Run *work*, which waits on behalf of user code: an interrupt ends it."""
    return work(*arguments)


async def invoke_all(codes: list[CodeType], names: dict[str, Any]) -> None:
    """Run *codes*, some of which await, as user code in one task: an interrupt is raised in them, never between."""
    for code in codes:
        result = eval(code, names)  # noqa: S307  - it is what we are for
        if code.co_flags & COROUTINE:
            await result


def is_ours(code: CodeType) -> bool:
    """Tell whether *code* is the worker's own."""
    return code.co_filename.startswith(OURS)


class Interrupts:
    """Whom an interrupt concerns, and how it reaches them. Lives in the main thread."""

    def __init__(self) -> None:
        self.main = get_ident()
        self.request: Request | None = None  # the latest: running, or over
        self._lock = allocate_lock()  # around the end of a request, and the knocks that are meant for it
        self._knocked = False  # the next signal is our own
        self._leaving = False  # the session is ending: user code is to be told once
        self.install()

    def install(self) -> None:
        """Be the handler: at the start, and again after user code that has put its own in place."""
        if getsignal(SIGINT) != self.handle:
            signal(SIGINT, self.handle)

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt (or SystemExit, if the session is ending) in user code; owe it to it elsewhere."""
        del signum
        knocked, self._knocked = self._knocked, False
        request = self.request
        if request is None or request.over:
            if not knocked:
                if request is not None:
                    request.late = True
                if reaches_user_code(frame):  # exit handlers
                    raise KeyboardInterrupt
        elif knocked:
            if self._is_due(request) and reaches_user_code(frame):
                self._raise(request, announced=not request.deferred)
        elif request.excused and request.raised >= request.asked:
            request.excused -= 1  # it belongs to a message whose interrupt was felt already
        elif reaches_user_code(frame):
            self._raise(request, announced=False)
        else:
            request.deferred = True
            self._see_to(request)

    def begin(self, request: Request) -> None:
        """Raise now what came too early: before a line of user code has run."""
        if request.deferred or request.raised < request.asked or self._leaving:
            self._raise(request, announced=request.raised < request.asked)

    def finish(self, request: Request) -> None:
        """*request* is over: no knock that is meant for it comes any more."""
        request.private = getsignal(SIGINT) != self.handle
        with self._lock:
            request.over = True
            self._knocked = False

    def announce(self, request: Request | None, *, signalled: bool) -> bool:
        """Tell whether an interrupt that the host has announced reaches *request*. Called by the control thread.

        *signalled* says that the host believes that the request runs: then it sends a signal too.
        """
        if request is None:
            return False
        request.asked += 1
        if request.raised >= request.asked:
            return True  # the signal was faster than the message
        if not request.over:
            self._see_to(request)
            return True
        return signalled and request.private and self._was_private(request)

    def _was_private(self, request: Request) -> bool:
        """Tell whether a handler of user code's own has had the signal: it has not if the signal comes only now.

        The first such interrupt decides: whoever sends many must not hold us up.
        """
        if not request.settled:
            request.settled = True
            for _ in range(round(SIGNAL_WAIT_S / KNOCK_S)):
                if request.late:
                    break
                sleep(KNOCK_S)
            return not request.late
        return False

    def leave(self) -> None:
        """Tell user code, if any runs, that the session is ending. Called by the control thread."""
        self._leaving = True
        if self.request is not None:
            self._see_to(self.request)
        self._knock()

    def stay(self) -> None:
        """User code has ended, or need not: from here on an interrupt is only that."""
        self._leaving = False

    def _see_to(self, request: Request) -> None:
        if not request.watched:
            request.watched = True
            try:
                start_new_thread(self._watch, (request,))
            except (
                RuntimeError,
                MemoryError,
            ):  # no more threads: knock once, now. The next interrupt tries again
                request.watched = False
                if get_ident() != self.main:
                    with self._lock:
                        if request is self.request and not request.over and getsignal(SIGINT) == self.handle:
                            self._knock()

    def _watch(self, request: Request) -> None:
        """Knock until *request* has felt what it is owed: the host's signal may not come, or has come too early."""
        while True:
            sleep(KNOCK_S if request.deferred or self._leaving else SIGNAL_WAIT_S)
            with self._lock:
                if request.over or getsignal(SIGINT) != self.handle:
                    break  # user code with a handler of its own has had its signal
                if not self._is_due(request):
                    request.watched = False
                    if not self._is_due(request):  # now that the next interrupt would start another thread
                        return
                if request is self.request:
                    self._knock()
        request.watched = False

    def _is_due(self, request: Request) -> bool:
        return request.deferred or request.raised < request.asked or self._leaving

    def _knock(self) -> None:
        """Send the main thread a signal, which also ends most blocking calls."""
        self._knocked = True
        pthread_kill(self.main, SIGINT)

    def _raise(self, request: Request, *, announced: bool) -> None:
        request.deferred = False
        if self._leaving:
            self._leaving = False
            raise SystemExit(0)
        request.raised += 1
        request.excused += announced  # the signal of the host may still come
        request.discard()
        raise KeyboardInterrupt


def reaches_user_code(frame: FrameType | None) -> bool:
    """Tell whether what runs is user code, or waits for it, rather than ours."""
    if frame is not None and frame.f_code is invoke_all.__code__:
        return False  # between its codes: one that was made and not yet awaited would be lost
    while frame is not None:
        code = frame.f_code
        if code in _OPEN:
            return True
        if code.co_filename.startswith(OURS):
            return False
        frame = frame.f_back
    return True  # a stack that user code has made itself: a greenlet's


_OPEN = frozenset((invoke.__code__, wait.__code__, invoke_all.__code__))  # an interrupt may come in these
