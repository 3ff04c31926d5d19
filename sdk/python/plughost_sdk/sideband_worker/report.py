"""Turns an exception of user code into what is shown of it: a traceback without the frames of the worker.

Imported with the first error. A `sys.excepthook` of the user's own is asked first.
"""

from __future__ import annotations

import os
import sys
import traceback

from .cell import is_cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, TracebackType

    from .output import Output

OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def show(error: BaseException, output: Output) -> None:
    """Write *error* to stderr, and keep it for a post-mortem."""
    _clean(error, set())
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    sys.last_exc = error  # type: ignore[attr-defined,unused-ignore]
    output.flush_own()  # what was printed before the error comes before it
    if sys.excepthook is not sys.__excepthook__:
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except Exception as second:
            _clean(second, set())
            _write("Error in sys.excepthook:\n", output)
            _write("".join(traceback.format_exception(type(second), second, second.__traceback__)), output)
            _write("\nOriginal exception was:\n", output)
        else:
            return
    _write("".join(traceback.format_exception(type(error), error, error.__traceback__)), output)


def _write(text: str, output: Output) -> None:
    try:
        sys.stderr.write(text)
    except Exception:  # user code has put something else in its place
        output.mend()
        output.stderr.write(text)


def _clean(error: BaseException, seen: set[int]) -> None:
    """Take our frames out of *error* and of all that it came from."""
    waiting = [error]
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


def is_ours(code: CodeType) -> bool:
    """Tell whether *code* is the worker's own."""
    return code.co_filename.startswith(OURS)
