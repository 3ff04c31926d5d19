"""The end of a worker: as Python ends a process, or at once where that comes to the same.

Theory of operation: the host waits for the exit, and Python gives its memory back piece by piece, which takes as long
as the work on a small file; the kernel does it at once. But exit handlers, threads, files that were not closed and
destructors are the plugin's, and nothing of them may be lost. So only a plugin is ended at once that has imported
nothing but the standard library, and of that nothing that has handlers or threads. What its modules hold is let go
first, as Python would; if a file is open even then, Python ends the process.
"""

import os
import sys

from .envelope_conversation import flush

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn

UNFINISHED = ("atexit", "threading", "_ctypes")  # who imports one of them may have left something to be done
DESCRIPTORS = "/dev/fd"  # what is open in this process; while that is being listed, one more
STANDARD = 3  # descriptors that are always open


def leave(status: int, known: set[str], own: "dict[str, ModuleType]") -> "NoReturn":
    """Exit with *status*, at once if nothing is lost by that.

    The modules *known* were there before the plugin; those of its package are its *own*.
    """
    if _is_plain(known | own.keys()):
        _let_go(own)
        if _holds_no_file():
            flush()
            os._exit(status)
    sys.exit(status)


def _is_plain(known: set[str]) -> bool:
    """Tell whether nothing but what is *known* was imported that could want to do something at the end."""
    if any(name in sys.modules for name in UNFINISHED):
        return False
    library = {*sys.stdlib_module_names, __package__}
    return all(name in known or name.partition(".")[0] in library for name in sys.modules)


def _let_go(own: "dict[str, ModuleType]") -> None:
    """Let go of what modules hold, but for what a destructor may still need: other modules, functions and classes."""
    lasting = (type, type(sys), type(_let_go))
    for module in own.values():
        names = vars(module)
        for name in [name for name, value in names.items() if not isinstance(value, lasting)]:
            if name != "__builtins__":
                names[name] = None


def _holds_no_file() -> bool:
    try:
        return len(os.listdir(DESCRIPTORS)) <= STANDARD + 1
    except OSError:
        return False
