"""The program that a host starts to run a plugin's package. Started by path or with -m; imported only to be compiled.

    python -I envelope_worker.py [PACKAGE_DIR] [--mode validate] [--ahead]

Theory of operation: most of what a worker does before it can answer is to import modules of this package. All of them
are beside this file, so nobody has to look for them: while they are imported, `Siblings` stands before the finders of
Python, and reads what Python keeps compiled of each. It takes only what Python would take. Whatever is missing, stale,
damaged or of another Python is left to the usual import. It is gone before any code of the plugin's runs.

None of these modules imports `__future__`, which would take as long as any of them: annotations are in quotes instead.
"""

import os
import sys

# What importlib.machinery and importlib.util offer, from where they have it: importing them costs more than is won.
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
from _imp import _fix_co_filename  # type: ignore[attr-defined]  # nobody else offers it
from marshal import loads

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from types import CodeType

PACKAGE = "plughost_sdk"
HEADER = 16  # bytes before the code: magic number, flags, and the source's time and size, as PEP 552 has them
CHECKED_BY_TIME = bytes(
    4
)  # the flags of what is as old as its source; others are the usual import's business
LARGEST = 65_536  # bytes of a compiled module; our own have less than 16 KiB


class Siblings:
    """Finds this package in *directory*, and those of its modules there that are kept compiled."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._kept_here = not sys.flags.optimize and sys.pycache_prefix is None  # else under other names

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return where module *name* is, and with it its code; None leaves it to the usual import."""
        package, _, last = name.partition(".")
        if package != PACKAGE:
            return None
        last = last or "__init__"
        source = f"{self._directory}/{last}.py"
        compiled = f"{self._directory}/__pycache__/{last}.{sys.implementation.cache_tag}.pyc"
        code = _kept(source, compiled) if self._kept_here else None
        if code is None and name != PACKAGE:  # the package itself is here also if there is nothing kept of it
            return None
        spec = ModuleSpec(name, _Loader(name, source, code), origin=source)
        spec.has_location = True
        if name == PACKAGE:
            spec.submodule_search_locations = [self._directory]
        if code is not None:
            spec.cached = compiled
        return spec


class _Loader(SourceFileLoader):
    """Loads a module whose code may be there already; from then on, one like any other."""

    def __init__(self, name: str, path: str, code: "CodeType | None") -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> "CodeType | None":
        code, self._code = self._code, None  # once: whoever loads it again means what it is then
        return super().get_code(fullname) if code is None else code


def _kept(source: str, compiled: str) -> "CodeType | None":
    """Return the code in *compiled* if it is that of *source* as it is now."""
    try:
        fd = os.open(compiled, os.O_RDONLY | os.O_CLOEXEC)
        try:
            data = os.read(fd, LARGEST)
        finally:
            os.close(fd)
        now = os.stat(source)
        numbers = [(each & 0xFFFFFFFF).to_bytes(4, "little") for each in (int(now.st_mtime), now.st_size)]
        if len(data) == LARGEST or data[:HEADER] != b"".join((MAGIC_NUMBER, CHECKED_BY_TIME, *numbers)):
            return None
        code: CodeType = loads(memoryview(data)[HEADER:])  # noqa: S302  as Python does, from the same file
        _fix_co_filename(code, source)  # it may have been compiled elsewhere
    except (OSError, ValueError, TypeError, EOFError):  # there is none, or only a part of it
        return None
    return code


def main() -> None:
    """Import what it takes, and serve one request with the plugin that the command line names."""
    siblings = Siblings(os.path.dirname(os.path.abspath(__file__)))
    sys.meta_path.insert(0, siblings)
    try:
        from plughost_sdk.envelope_command import run_command

        if "validate" not in sys.argv:  # who only validates needs neither
            from plughost_sdk import envelope_exit, envelope_lifecycle  # noqa: F401
    finally:
        sys.meta_path.remove(siblings)
    run_command(sys.argv[1:])


if __name__ == "__main__":
    main()
