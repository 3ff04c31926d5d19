"""Turns requests into effects in one namespace, one after the other, and says when each is over. The main thread.

Ends with the user's `sys.exit`, when the host asks for it, or when it is gone; and then within a bound, whatever
user code does at its exit.
"""

from __future__ import annotations

import os
import sys
from _queue import SimpleQueue
from _thread import get_ident, start_new_thread
from os import _exit  # now, as the next: user code may put something else in their place
from sys import __displayhook__, getrecursionlimit, modules, setrecursionlimit, settrace

from . import VERSION
from .cell import Cells
from .control import Control
from .imports import Watch
from .interrupt import COROUTINE, Interrupts, invoke, invoke_all, leave_signals
from .link import connect
from .output import Output
from .stdin import Answers, Stdin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType

    from .loop import Loop
    from .pictures import Pictures
    from .request import Request
    from .wire import Value

STATUS = {
    "asked": 0,
    "host_gone": 0,
    "protocol_error": 76,  # the usual status of a broken protocol
    "worker_error": 70,  # of software that fails
}
DEPTH = 200  # calls that must be possible at the end of a request, whatever limit user code has set


class Session:
    """One interpreter for one host."""

    def __init__(self) -> None:
        self._interrupts = Interrupts()
        self._link = connect()
        self._output = Output()
        self._stdin = Stdin(lambda: Answers(self._link, self._interrupts, self._before_asking))
        self._cells = Cells()
        self._queue: SimpleQueue[Request | None] = SimpleQueue()
        self._loop: Loop | None = None
        self._pictures: Pictures | None = None
        self._ending: str | None = None  # why
        self._program = sys.modules["__main__"]  # ours: kept, or its names would be cleared
        self._names = _fresh_main().__dict__
        self._needed = {name: modules[name] for name in ("__main__", "builtins", "sys")}  # by Python itself
        self._modules = 0  # how many were loaded when C output was last looked at

    def run(self) -> None:
        """Serve the host. Does not return."""
        self._link.send(
            {
                "type": "backend_info",
                "language": "python",
                "supports_images": True,
                "plughost": {
                    "worker": "python",
                    "version": VERSION,
                    "request_ids": True,
                    "marks": True,
                    "image_marks": True,
                    "order_marks": True,
                    "pid": os.getpid(),
                },
            }
        )
        self._prepare()
        control = Control(self._link, self._interrupts, self._queue.put, self._end, self._output.say)
        start_new_thread(self._listen, (control,))
        while True:
            request = self._queue.get()
            if request is None or self._ending is not None:
                reason = self._ending or "asked"
                self._leave(reason, STATUS[reason], None)
            else:
                self._serve(request)

    def _listen(self, control: Control) -> None:
        """Serve as the control thread. Without it nothing would ever be heard again, so if it fails all ends."""
        leave_signals()
        try:
            control.run()
        finally:  # it never returns: control ends with the process
            status = STATUS["worker_error"]
            try:
                self._link.send(self._farewell("worker_error", status))
            finally:
                _exit(status)

    def _prepare(self) -> None:
        """Put in place what user code will meet, and load what it may leave no room for."""
        sys.displayhook = self._display
        self._interrupts.attend()
        from .standard import Standard

        self._standard = Standard()  # before the next, which is then asked first
        watch = Watch()
        watch.after("linecache", self._cells.fill)
        watch.after("getpass", self._stdin.patch_getpass)
        watch.after("ctypes", self._output.attend_c)
        with self._standard:
            from . import late
        self._late = late
        watch.after("bdb", late.patch)
        watch.after("matplotlib", self._choose_backend)
        os.register_at_fork(before=self._output.flush_own, after_in_child=self._forget_host)
        self._modules = len(modules)

    def _forget_host(self) -> None:
        """Be a forked child of the worker: the host is not its host."""
        self._link.forget()
        self._output.order.begin(None)
        self._output.reset_locks()

    def _serve(self, request: Request) -> None:
        self._interrupts.request = request
        self._output.order.begin(request)
        if self._pictures is not None:
            self._pictures.begin()
        status, error = self._perform(request)
        if self._link.forked:  # a child of the worker, at the end of its cell: it has nobody to answer
            self._output.flush_own()
            _exit(status if status is not None else int(error))
        if self._ending is not None:
            self._leave(self._ending, STATUS[self._ending], request)
        if status is not None:
            self._leave("exit", status, request)
        self._finish(request, error=error)

    def _perform(self, request: Request) -> tuple[int | None, bool]:
        """Run the request. Return the status to exit with, if it is to, and whether it failed. Raises nothing."""
        if request.flaw:
            self._output.say(request.flaw)
            return None, True
        status, error = None, False
        try:
            self._interrupts.begin(request)
            self._execute(self._cells.compile(request.text))
        except BaseException as problem:
            error = not issubclass(type(problem), SystemExit)  # isinstance would ask the problem itself
            status = self._show(problem)
        for step in (self._show_figures, self._output.flush):
            try:
                step()
            except BaseException as problem:
                error = True
                self._show(problem)
        return status, error

    def _execute(self, codes: list[CodeType]) -> None:
        if not any(code.co_flags & COROUTINE for code in codes):
            for code in codes:
                invoke(eval, code, self._names)
            return
        if self._loop is None:  # if any part of a cell awaits, all of it runs on the loop
            with self._standard:
                from .loop import Loop

            self._loop = Loop()
        self._loop.run(invoke_all(codes, self._names))

    def _show(self, problem: BaseException) -> int | None:
        """Write *problem* to stderr; return the status, if it is an exit. Raises nothing."""
        try:
            self._make_room()
            if issubclass(type(problem), SystemExit):
                return self._late.status_of(problem)
            self._late.show(problem, self._output, self._standard)
        except BaseException:
            self._output.say(self._late.name_of(problem) + " (could not be shown)\n")
        return None

    def _make_room(self) -> None:
        """Raise a limit of recursion that is too low for us: nothing could be shown or told any more."""
        if getrecursionlimit() < DEPTH:
            setrecursionlimit(DEPTH)

    def _finish(self, request: Request, *messages: dict[str, Value], error: bool) -> None:
        """End *request*: what is its output, and then that it is over; *messages* follow in the same write."""
        self._make_room()
        self._interrupts.finish(request)
        request.close()
        settrace(None)  # a debugger that was left stepping would step through us
        self._interrupts.install()
        self._stdin.clear()
        self._output.mend()
        if not hasattr(sys, "displayhook"):
            sys.displayhook = self._display
        for name, module in self._needed.items():
            modules.setdefault(name, module)
        if len(modules) != self._modules:
            self._attend_c()
        self._output.order.end()
        self._output.flush_own()
        told: dict[str, Value] = request.tagged(type="request_end")
        if request.mark is not None:
            self._output.mark(request.mark)
            told["marked"] = True
        if error:
            told["error"] = True
        self._link.send(told, *messages)

    def _attend_c(self) -> None:
        """User code has loaded modules, which may be C and print: see to their output too."""
        try:
            with self._standard:
                import ctypes
            self._output.attend_c(ctypes)
        except Exception:  # noqa: S110  - a Python without it, or no room for it now
            pass
        self._modules = len(modules)

    # What user code meets

    def _display(self, value: object) -> None:
        invoke(__displayhook__, value)
        if value is not None and get_ident() == self._interrupts.main:
            self._images().show_value(value)

    def _before_asking(self) -> None:
        if get_ident() == self._interrupts.main:
            self._show_figures()
        self._output.flush()

    def _show_figures(self) -> None:
        if "matplotlib._pylab_helpers" in modules:
            self._images().show_open(force=False)

    def _images(self) -> Pictures:
        if self._pictures is None:
            self._pictures = self._late.Pictures(self._send_image)
        return self._pictures

    def _send_image(self, **members: Value) -> None:
        self._output.flush()
        request = self._interrupts.request
        if request is not None:
            mark = request.next_image_mark()
            if mark is not None and self._output.mark_here(mark.encode("ascii")):
                members["mark"] = mark
            members = request.tagged(**members)
        self._link.send(members)

    def _choose_backend(self, matplotlib: ModuleType) -> None:
        """Be matplotlib's backend, unless someone has chosen one. It is loaded when a figure is made."""
        self._images().serve()
        if "MPLBACKEND" not in os.environ:
            matplotlib.use(f"module://{__package__}.canvas")

    # The end

    def _end(self, reason: str) -> None:
        """Begin the end, and see to it that it comes: the control thread calls it, and has nothing else to do."""
        self._ending = reason
        self._late.stop_by(self._late.ASKED_S)
        self._interrupts.leave()
        self._queue.put(None)
        status = STATUS[reason]
        self._late.leave_after(
            self._late.ASKED_S, lambda: self._link.send(self._farewell(reason, status)), status
        )

    def _leave(self, reason: str, status: int, request: Request | None) -> None:
        """Run what user code has left for its exit, then go."""
        late = self._late
        if self._ending is None:
            late.leave_by(late.EXIT_S, lambda: self._link.send(self._farewell(reason, status)), status)
        self._interrupts.stay()
        try:
            late.depart(in_haste=self._ending is not None)
        except BaseException as problem:
            self._show(problem)
        farewell = self._farewell(reason, status)
        if request is not None:
            self._finish(request, farewell, error=False)
        else:
            self._output.flush_own()
            self._link.send(farewell)
        _exit(status)

    def _farewell(self, reason: str, status: int) -> dict[str, Value]:
        told: dict[str, Value] = {"type": "session_end", "reason": reason, "status": status}
        if self._link.ignored:
            told["ignored"] = self._link.ignored
        return told


def _fresh_main() -> ModuleType:
    """Return a new `__main__` for user code: without a file, as in any interactive Python."""
    import builtins

    main = type(sys)("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return main
