"""The worker's command line to a conversation with the host: [PACKAGE_DIR] [--mode validate] [--ahead]."""

import os
import sys

from .envelope_conversation import LENIENT, flush, serve
from .envelope_frame import EXIT_CRASHED
from .envelope_package import Package, load_by_name, own_modules

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .envelope import Plugin

USAGE = "usage: envelope_worker.py [PACKAGE_DIR] [--mode validate] [--ahead] [--lenient]\n"
INTRODUCTION = "This runs plugins of the envelope contract. A host starts it; it does not run by itself.\n"


def run_command(arguments: list[str]) -> "NoReturn":
    """Serve one request with the plugin that *arguments* name, or else the request, then exit."""
    directory, mode, ahead = parse(arguments)
    clean_path()
    sys.dont_write_bytecode = True  # the plugin may lie in the directory that it works on

    package = Package(directory) if directory else None

    def find(request: "dict[str, Any]") -> "type[Plugin]":
        return load_by_name(request.get("plugin_module")) if package is None else package.load()

    if mode == "validate":
        status = serve(find, validate=True, introduction=INTRODUCTION)
        flush()
        os._exit(status)  # nothing was done that an exit handler would have to finish, and the host waits
    from .envelope_exit import leave

    known = set(sys.modules)
    status = serve(find, validate=False, introduction=INTRODUCTION, ahead=ahead)
    leave(status, known, own_modules())


def parse(arguments: list[str]) -> tuple[str, str, bool]:
    """Return the package's directory, empty if none is named, the mode, and whether we were started ahead.

    That means before there is a request, which will name files. Exits if the arguments make no sense.
    """
    directory, mode, ahead = "", "transform", False
    words = iter(arguments)
    for word in words:
        if word == "--mode":
            mode = next(words, "")
        elif word == "--ahead":
            ahead = True
        elif word == LENIENT:
            continue  # it is looked for where the request is read
        elif word.startswith("-") or directory:
            mode = ""
        else:
            directory = word
        if mode not in ("transform", "validate"):
            sys.stderr.write(USAGE)
            sys.exit(EXIT_CRASHED)
    return directory, mode, ahead


def clean_path() -> None:
    """Take the working directory and our own off the import path.

    In the first are the files to be transformed, which nobody wrote for Python to import. The second is
    there when the worker was started by its path; its modules are parts of a package.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    unwanted = {here}
    try:
        unwanted |= {os.getcwd()} - {os.path.dirname(here)}
    except OSError:
        pass  # it was removed: nothing can be imported from it
    sys.path[:] = [each for each in sys.path if each and os.path.abspath(each) not in unwanted]
