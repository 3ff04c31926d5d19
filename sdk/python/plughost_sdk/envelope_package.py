"""A plugin's directory, or the name of its module, to its class. Puts nothing on the import path.

The package is loaded from its own directory, so a neighbour of it cannot stand in for another module, and
its own name cannot stand in for one of the standard library. It is compiled before it is needed, while a worker that
was started early waits for its request; nothing of it runs before it is loaded.
"""

import os
import sys

# What importlib.machinery offers, from where it has them: importing that would cost more than most plugins.
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)

from .envelope import Plugin
from .envelope_source import code_of

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any

FILES = ("__init__.py", "plugin.py")  # what is loaded, the first there is


class PackageRefused(Exception):
    """There is no plugin in what was named."""


class _Loader(SourceFileLoader):
    """Loads a file of the package; what is kept compiled of it counts, as with any import."""

    prepared: "CodeType | None" = None

    def prepare(self) -> None:
        """Compile it, if that can be done; if not, whoever executes it is told why."""
        try:
            self.prepared = self.get_code(self.name)
        except Exception:
            self.prepared = None

    def get_code(self, fullname: str) -> "CodeType | None":
        code, self.prepared = self.prepared, None  # once: whoever loads it again means what it is then
        return super().get_code(fullname) if code is None else code

    def source_to_code(self, data: "Any", path: "Any") -> "CodeType":  # type: ignore[override]  # its bases disagree too
        return code_of(data, path)


class Package:
    """The package in *directory*, compiled. What keeps it from that is not said before it is loaded."""

    def __init__(self, directory: str) -> None:
        self._directory = os.path.abspath(directory)
        self._loader: _Loader | None = None
        for name in FILES:
            path = os.path.join(self._directory, name)
            if os.path.isfile(path):
                self._loader = _Loader(_module_name(self._directory), path)
                self._loader.prepare()
                break

    def load(self) -> "type[Plugin]":
        """Run it, and return its plugin class. Raises PackageRefused, and what the code raises."""
        if self._loader is None:
            raise PackageRefused(f"{self._directory} holds neither {FILES[0]} nor {FILES[1]}")
        return find_class(_execute(self._loader, self._directory))


def load(directory: str) -> "type[Plugin]":
    """Return the plugin class of the package in *directory*. Raises like `Package.load`. For tests of a plugin."""
    return Package(directory).load()


def load_by_name(name: object) -> "type[Plugin]":
    """Return the plugin class of the module that an older host names. Raises like `load`."""
    if not isinstance(name, str) or not name:
        raise PackageRefused("no plugin is named: neither a directory in the command nor plugin_module")
    from importlib import import_module

    return find_class(import_module(name))


def find_class(module: "ModuleType") -> "type[Plugin]":
    """Return the class called `Plugin`, or the only one that a host could use. Raises PackageRefused."""
    named = getattr(module, "Plugin", None)
    if named is not None and named is not Plugin:
        if isinstance(named, type) and issubclass(named, Plugin):
            return named
        raise PackageRefused(f"{_name(module)}.Plugin is not a subclass of plughost_sdk.envelope.Plugin")
    found = {each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Plugin)}
    usable = [each for each in found - {Plugin} if not each.__abstractmethods__]
    if len(usable) == 1:
        return usable[0]
    names = ", ".join(sorted(each.__name__ for each in usable)) or "none"
    raise PackageRefused(
        f"{_name(module)} exports no class called Plugin, and its subclasses of plughost_sdk.envelope.Plugin "
        f"that have all their methods are not exactly one: {names}"
    )


def own_modules() -> "dict[str, ModuleType]":
    """Return the modules that were loaded from packages of plugins, by name."""
    kind = type(sys)
    return {
        name: module
        for name, module in sys.modules.items()
        if type(module) is kind and type(vars(module).get("__loader__")) is _Loader
    }


def _execute(loader: "_Loader", directory: str) -> "ModuleType":
    """Return the module of *loader*, executed as the package in *directory*."""
    name, path = loader.name, loader.path
    kinds = (
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (_Loader, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    )
    sys.path_importer_cache[directory] = FileFinder(directory, *kinds)  # for the other modules of the package
    spec = ModuleSpec(name, loader, origin=path, is_package=True)
    spec.submodule_search_locations = [directory]
    spec.has_location = True
    module = type(sys)(name)  # by hand: importlib.util would cost more than most plugins
    module.__dict__.update(
        __spec__=spec, __loader__=loader, __package__=name, __file__=path, __path__=[directory]
    )
    sys.modules[name] = module
    loader.exec_module(module)
    return sys.modules.get(name, module)  # a module may replace itself


def _module_name(directory: str) -> str:
    """Return the directory's own name, or one made of it that no other module has."""
    name = os.path.basename(directory)
    taken = name in sys.modules or name in sys.stdlib_module_names or name == __package__
    if name.isidentifier() and not taken:
        return name
    return "plugin_" + "".join(char if char.isascii() and char.isalnum() else "_" for char in name)


def _name(module: object) -> str:
    return str(getattr(module, "__name__", "the module"))
