"""Turns an exception of user code into what is shown of it: a traceback without the frames of the worker.

A `sys.excepthook` of the user's own is asked first.
"""

from __future__ import annotations

import ast  # noqa: F401  - traceback imports it for the marks below a line, when it may be too late
import sys
import traceback
from linecache import getline
from sys import __excepthook__

from .cell import is_cell
from .interrupt import invoke, is_ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from .output import Output
    from .standard import Standard


FRAMES = 50  # the innermost, of a traceback of our own making: enough to see where it was


def show(error: BaseException, output: Output, standard: Standard) -> None:
    """Write *error* to stderr, and keep it for a post-mortem. Raises what there is no room for: memory, or depth."""
    output.flush_own()  # what was printed before the error comes before it
    hook = getattr(sys, "excepthook", __excepthook__)
    if hook is not __excepthook__:
        try:
            _clean(error)
            invoke(hook, type(error), error, error.__traceback__)
        except BaseException as second:
            with standard:
                text = f"Error in sys.excepthook:\n{_text(second)}\nOriginal exception was:\n{_text(error)}"
        else:
            _keep(error)
            return
    else:
        with standard:
            text = _text(error)
    _keep(error)
    _write(text, output)


_NAME = type.__dict__["__name__"].__get__  # a metaclass may have put something else in its place


def _keep(error: BaseException) -> None:
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    sys.last_exc = error  # type: ignore[attr-defined,unused-ignore]


def _text(error: BaseException) -> str:
    """Return the traceback of *error*, or as much as can be said where its own code fails or is interrupted."""
    try:
        _clean(error)
        return "".join(
            invoke(traceback.format_exception, type(error), error, error.__traceback__)  # its __str__
        )
    except BaseException as second:
        try:
            if issubclass(type(second), Exception):  # and no interrupt
                return _plain(error)
        except BaseException:  # noqa: S110  - no more than its name, then
            pass
        return f"{name_of(error)} (not shown: {name_of(second)})\n"


def _plain(error: BaseException) -> str:
    """Return a traceback that is made without the module of that name: user code may have broken what that needs."""
    frames, tb = [], error.__traceback__
    while tb is not None:
        code, line = tb.tb_frame.f_code, tb.tb_lineno
        source = getline(code.co_filename, line).strip()
        frames.append(f'  File "{code.co_filename}", line {line}, in {code.co_name}\n    {source}\n')
        tb = tb.tb_next
    head = "Traceback (most recent call last):\n"
    return head + "".join(frames[-FRAMES:]) + f"{name_of(error)}: {invoke(str, error)}\n"


def name_of(error: BaseException) -> str:
    """Return the name of the type of *error*, past whatever its own code says of it."""
    name: str = _NAME(type(error))
    return name


def _write(text: str, output: Output) -> None:
    try:
        if sys.stderr is output.stderr:
            output.stderr.write(text)
        else:
            invoke(sys.stderr.write, text)
    except BaseException:  # user code has put something else in its place, or closed it
        output.mend()
        try:
            output.stderr.write(text)
        except (OSError, ValueError):  # the host reads no more
            pass


def _clean(error: BaseException) -> None:
    """Take our frames out of *error* and of all that it came from."""
    waiting, seen = [error], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = _without_ours(each.__traceback__)
        related = [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]
        waiting += [other for other in related if isinstance(other, BaseException)]


def _without_ours(tb: TracebackType | None) -> TracebackType | None:
    """Return *tb* from the first frame of a cell on, if there is one, and without our frames in any case."""
    frames = []
    while tb is not None:
        frames.append(tb)
        tb = tb.tb_next
    first = next((at for at, each in enumerate(frames) if is_cell(each.tb_frame.f_code.co_filename)), None)
    if first is None and any(is_ours(each.tb_frame.f_code) for each in frames):
        return (
            None  # it never reached a cell: an error in its syntax, an interrupt of an event loop that waits
        )
    kept = [each for each in frames[first or 0 :] if not is_ours(each.tb_frame.f_code)]
    following = None
    for each in reversed(kept):
        each.tb_next = following
        following = each
    return following
