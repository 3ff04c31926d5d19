"""Turns an exception of user code into what is shown of it: a traceback without the frames of the worker.

Imported with the first error. A `sys.excepthook` of the user's own is asked first.
"""

from __future__ import annotations

import sys
import traceback

from .cell import is_cell
from .interrupt import invoke, is_ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from .output import Output


def show(error: BaseException, output: Output) -> None:
    """Write *error* to stderr, and keep it for a post-mortem. Raises nothing, not even an interrupt."""
    output.flush_own()  # what was printed before the error comes before it
    if sys.excepthook is not sys.__excepthook__:
        try:
            _clean(error)
            invoke(sys.excepthook, type(error), error, error.__traceback__)
        except BaseException as second:
            text = f"Error in sys.excepthook:\n{_text(second)}\nOriginal exception was:\n{_text(error)}"
        else:
            _keep(error)
            return
    else:
        text = _text(error)
    _keep(error)
    _write(text, output)


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
        return f"{type(error).__name__} (not shown: {type(second).__name__})\n"


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
