"""The source of a file to its code, as `compile` returns it, sooner. Runs none of it.

Theory of operation: the first `compile` of a process makes a class for every kind of syntax node, which takes longer
than most plugins are to compile. `exec` makes none, but it can be given no file's name. So `exec` is stopped before
the first instruction, by a trace function that takes the code from it, and the code is given its name then. Whatever
does not go that way, such as an error or a warning that must name the file, is left to `compile`.

There is no `from __future__` here: `exec` would pass it on to the plugin.
"""

import _warnings  # where the filters are until somebody imports `warnings`, which would cost a good part of it
import sys

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

NAMELESS = "<string>"  # what `exec` calls the file of what it compiles
STRICT = ("error", None, Warning, None, 0)  # a filter, as `warnings` writes them


def code_of(source: bytes, path: str) -> "CodeType":
    """Return the code of the module *source*, which stands in the file *path*. Raises what `compile` raises."""
    code = _taken(source)
    return compile(source, path, "exec", dont_inherit=True) if code is None else _named(code, path)


def _taken(source: bytes) -> "CodeType | None":
    """Return the code that `exec` makes of *source*, without a name; None if it made none, or had to warn."""
    found: list[CodeType] = []

    def stop(frame: "FrameType", event: str, _argument: "Any") -> None:
        if event == "call" and frame.f_code.co_filename == NAMELESS:  # and no destructor that came in between
            found.append(frame.f_code)
            raise InterruptedError

    tracer = sys.gettrace()
    filters: list[Any] = sys.modules.get("warnings", _warnings).filters
    filters.insert(0, STRICT)
    sys.settrace(stop)
    try:
        exec(source, {})  # noqa: S102  it is stopped before it does anything
    except Exception:  # noqa: S110  ours, or one that `compile` will raise again
        pass
    finally:
        sys.settrace(tracer)
        filters.remove(STRICT)
    return found[0] if found else None


def _named(code: "CodeType", path: str) -> "CodeType":
    """Return *code*, and all code in it, as that of the file *path*."""
    constants = tuple(_named(each, path) if isinstance(each, type(code)) else each for each in code.co_consts)
    return code.replace(co_filename=path, co_consts=constants)
