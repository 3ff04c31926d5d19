"""Turns SIGINT into KeyboardInterrupt where user code runs, and into a later one anywhere else.

No flag says whether user code runs: between the flag and the code there would always be an instant that is wrong.
The stack says it. The worker's own functions call user code through `invoke` and `invoke_all` alone, and wait on its
behalf through `wait` alone, and expect an interrupt from these. So if the innermost of our frames is one of them, an
interrupt is raised, and if it is any other, none is: our code, what it imports and what it locks are never torn. An
interrupt that came there is owed, and the worker knocks, with a signal to itself, until user code has felt it or is
over.

A handler that user code installs is called by ours, so that it is known whether it has run. A signal alone is not
enough for that: one that comes between Python's last look for signals and a call that blocks is handled only when that
call returns.

Nor is raising enough. Python drops an exception that leaves a `__del__` or a weakref's callback, and reports it to
`sys.unraisablehook`: an interrupt that was dropped is raised once more. And asyncio only logs what a callback raises: a
handler that may raise is not called while asyncio's own code runs a callback, but at the next knock.
"""

from __future__ import annotations

# What the module signal is made of, without its enums, which cost a fifth of the start. And by name, as all below: user
# code may put something else in its place.
import _signal  # type: ignore[import-not-found]
import sys
from _signal import SIG_BLOCK, getsignal, pthread_kill, pthread_sigmask, signal
from _thread import allocate_lock, get_ident, start_new_thread
from sys import __unraisablehook__
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from sys import UnraisableHookArgs
    from types import CodeType, FrameType
    from typing import Any, TypeVar

    from .request import Request

    Result = TypeVar("Result")

SIGINT = int(_signal.SIGINT)
SIGNAL_WAIT_S = 0.1  # from the interrupt message to the signal that comes with it; then the worker knocks
KNOCK_S = 0.01  # from an interrupt that came in our own code to the knock: that code is never longer
FASTER_S = 1.0  # by which a signal may be faster than the message that it belongs to
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


def leave_signals() -> None:
    """Let no SIGINT come to this thread, which is one of ours: the main thread would not wake up."""
    pthread_sigmask(SIG_BLOCK, (SIGINT,))


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
        self._own: Callable[[int, FrameType | None], object] | None = None  # the handler of user code
        self._dropped: BaseException | None = None  # what Python has dropped of it
        self.install()

    def install(self) -> None:
        """Be the handler: at the start, and again after user code that has put its own in place."""
        if self._own is not None or getsignal(SIGINT) != self.handle:
            self._own = None
            signal(SIGINT, self.handle)

    def attend(self) -> None:
        """Be asked when user code installs a handler, and told when Python drops an exception."""
        _signal.signal, _signal.getsignal = self._set_handler, self._get_handler
        sys.unraisablehook = self._raise_again

    def _raise_again(self, dropped: UnraisableHookArgs, /) -> None:
        """Owe an interrupt that Python has dropped to the request once more; report any other exception."""
        request, error = self.request, dropped.exc_value
        if error is None or request is None or request.over or not self._has_raised(error):
            __unraisablehook__(dropped)
            return
        self._dropped = error.with_traceback(None)
        request.raised -= 1
        request.deferred = True
        self._see_to(request)

    def _has_raised(self, error: BaseException) -> bool:
        """Tell whether *error* came out of the handler."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not Interrupts.handle.__code__:
            trace = trace.tb_next
        return trace is not None

    def _set_handler(self, signum: int, handler: Any, /) -> Any:
        """Set the handler for a signal and return the one before."""
        if signum != SIGINT:
            return signal(signum, handler)
        before = self._get_handler(SIGINT)
        signal(SIGINT, self.handle if callable(handler) else handler)
        self._own = handler if callable(handler) and handler != self.handle else None
        return before

    def _get_handler(self, signum: int, /) -> Any:
        """Return the handler for a signal."""
        return self._own if signum == SIGINT and self._own is not None else getsignal(signum)

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt (or SystemExit, if the session is ending) in user code; owe it to it elsewhere.

        Where user code has a handler of its own, that one is called instead.
        """
        knocked, self._knocked = self._knocked, False
        request = self.request
        if request is None or request.over:
            if not knocked:
                if request is not None:
                    request.late = True
                if reaches_user_code(frame):  # exit handlers
                    self._deliver(signum, frame)
        elif knocked:
            if self._is_due(request) and self._reaches(request, frame):
                self._feel(request, announced=not request.deferred)
                self._deliver(signum, frame)
        elif request.excused and request.raised >= request.asked:
            request.excused -= 1  # it belongs to a message whose interrupt was felt already
        elif self._reaches(request, frame):
            self._feel(request, announced=False)
            self._deliver(signum, frame)
        else:
            request.deferred = True
            self._see_to(request)

    def _reaches(self, request: Request, frame: FrameType | None) -> bool:
        """Tell whether *request* would feel an interrupt now: once, it is held back where asyncio would only log it."""
        if not reaches_user_code(frame):
            return False
        own = self._own
        if own is None or request.held_back or str(getattr(own, "__module__", "")).startswith("asyncio."):
            return True  # asyncio lets KeyboardInterrupt through, and its own handlers raise nothing else
        request.held_back = in_callback(frame)
        return not request.held_back

    def begin(self, request: Request) -> None:
        """Raise now what came too early: before a line of user code has run."""
        if request.deferred or request.raised < request.asked or self._leaving:
            self._feel(request, announced=request.raised < request.asked)
            raise KeyboardInterrupt

    def finish(self, request: Request) -> None:
        """*request* is over: no knock that is meant for it comes any more."""
        request.private = getsignal(SIGINT) != self.handle
        with self._lock:
            request.over = True
            self._knocked = False
        self._dropped = None

    def announce(self, request: Request | None, *, signalled: bool) -> bool:
        """Tell whether an interrupt that the host has announced reaches *request*. Called by the control thread.

        *signalled* says that the host believes that the request runs: then it sends a signal too.
        """
        if request is None:
            return False
        request.asked += 1
        if request.raised >= request.asked:
            if monotonic() - request.raised_at < FASTER_S:
                return True  # the signal was faster than the message
            request.raised = request.asked - 1  # those before were of its own making
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
        leave_signals()
        while True:
            sleep(KNOCK_S if request.deferred or self._leaving else SIGNAL_WAIT_S)
            with self._lock:
                if request.over or getsignal(SIGINT) != self.handle:
                    break  # it ignores signals, or lets them end it
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

    def _feel(self, request: Request, *, announced: bool) -> None:
        """Count an interrupt that *request* is about to feel. Raises SystemExit if the session is ending instead."""
        request.deferred = request.held_back = False
        if self._leaving:
            self._leaving = False
            raise SystemExit(0)
        request.raised += 1
        request.raised_at = monotonic()
        request.excused += announced  # the signal of the host may still come
        request.discard()

    def _deliver(self, signum: int, frame: FrameType | None) -> None:
        dropped, self._dropped = self._dropped, None
        if dropped is not None:
            raise dropped
        if self._own is None:
            raise KeyboardInterrupt
        invoke(self._own, signum, frame)


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


def in_callback(frame: FrameType | None) -> bool:
    """Tell whether *frame* is asyncio's own code in a callback of an event loop: it logs exceptions."""
    while frame is not None:
        name = frame.f_code.co_filename
        if frame.f_code.co_name == "_run" and name.endswith("/asyncio/events.py"):
            return True
        if not ("/asyncio/" in name or name.endswith(_OF_ASYNCIO)):
            return False
        frame = frame.f_back
    return False


_OF_ASYNCIO = ("/selectors.py", "/weakref.py", "/_weakrefset.py")  # modules that it uses in callbacks
_OPEN = frozenset((invoke.__code__, wait.__code__, invoke_all.__code__))  # an interrupt may come in these
