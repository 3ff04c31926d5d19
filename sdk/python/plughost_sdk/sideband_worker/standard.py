"""Turns an import of the worker's own into one from where Python's own modules are, whatever lies where the user is.

A file named `types.py` in the working directory is the user's. The worker must neither run it nor fail by it, and user
code that imports it must get it: what the worker has loaded under such a name gives way. Refuses nothing: a module that
is found nowhere else comes from where any import finds it.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import BuiltinImporter, FrozenImporter  # of which the module importlib is made
from _frozen_importlib_external import PathFinder
from _thread import get_ident
from sys import modules  # now: user code may put something else in its place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any


class Standard:
    """A finder that is at work only between its `with` and the end of it, and in that thread only."""

    def __init__(self) -> None:
        here = _here()
        self._path = [each for each in sys.path if each and os.path.abspath(each) != here]
        self._thread: int | None = None
        self._found: list[str] = []  # modules of this `with`, packages before what is in them
        sys.meta_path.insert(0, self)

    def __enter__(self) -> None:
        self._found = []
        self._thread = get_ident()

    def __exit__(self, *_: object) -> None:
        self._thread = None
        self._give_way()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module that is in no package; those in packages are where their package is."""
        if self._thread != get_ident():
            return None
        if path is not None:
            self._found.append(name)
            return None
        if BuiltinImporter.find_spec(name) is not None or FrozenImporter.find_spec(name) is not None:
            return None  # no file hides these from anyone
        spec: ModuleSpec | None = PathFinder.find_spec(name, self._path, target)
        if spec is not None:
            self._found.append(name)
        return spec

    def _give_way(self) -> None:
        """Take out of `sys.modules` what has now another meaning there than an import of the user's would give it."""
        hidden: set[str] = set()
        for name in self._found:
            top = name.partition(".")[0]
            if top == name and _is_hidden(name):
                hidden.add(name)
            if top in hidden:
                modules.pop(name, None)


def _is_hidden(name: str) -> bool:
    """Tell whether the user has a module of that name that comes before the one which is loaded."""
    try:
        spec = PathFinder.find_spec(name)
        ours = modules[name].__spec__
        return spec is not None and ours is not None and spec.origin not in (None, ours.origin)
    except Exception:  # user code has put something else in the place of sys.path, or of the module
        return False


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""
