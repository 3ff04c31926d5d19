"""Turns the first import of a module into a call, so that what concerns it costs nothing until it is used.

Imports nothing that is watched, and refuses nothing: a module that cannot be found or fails stays as it is.
"""

from __future__ import annotations

import sys

from .interrupt import invoke, reaches_user_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    Then = Callable[[ModuleType], None]


class Watch:
    """A finder that finds nothing itself, but learns of the modules it was told to watch."""

    def __init__(self) -> None:
        self._watched: dict[str, Then] = {}
        sys.meta_path.insert(0, self)

    def after(self, name: str, then: Then) -> None:
        """Call *then* with the module *name*: now if it is loaded, else when it is."""
        if name in sys.modules:
            then(sys.modules[name])
        else:
            self._watched[name] = then

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Let the other finders find a watched module, and stay at its side while it loads."""
        if name not in self._watched:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self, name)  # type: ignore[assignment]
                return spec
        return None

    def loaded(self, module: ModuleType, name: str) -> None:
        """Make the call that was promised."""
        then = self._watched.pop(name, None)
        if then is not None:
            then(module)


class _Loader:
    """A loader that tells when it is done, and leaves no trace of itself."""

    def __init__(self, real: Any, watch: Watch, name: str) -> None:
        self._real, self._watch, self._name = real, watch, name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._real, attribute)

    def create_module(self, spec: Any) -> Any:
        return self._real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._real
        if module.__spec__ is not None:
            module.__spec__.loader = self._real
        if reaches_user_code(sys._getframe(1)):
            invoke(self._real.exec_module, module)
        else:  # the worker imports something for itself: no interrupt may come between
            self._real.exec_module(module)
        self._watch.loaded(module, self._name)
