"""Directories of `duplex` plugins to those that can be used, and those that cannot, each with its reason.

One broken manifest never hides the others. A link may lead from one place of a root to another, as installers
of several versions make them, and never out of it. Nothing of a plugin is run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ..errors import ManifestError
from ..messages.quoting import one_line, quote
from . import duplex_binding, duplex_manifest, duplex_narrowing
from .duplex_binding import DuplexBinding
from .duplex_manifest import FILE_NAME
from .duplex_narrowing import Narrowing


@dataclass(frozen=True, slots=True)
class Rejection:
    """A directory that holds no usable plugin. *name* is the directory's, which should be the plugin's."""

    name: str
    path: Path
    error: ManifestError

    @property
    def reason(self) -> str:
        """The error without the path, which stands beside it."""
        problem = f"{self.error.key}: {self.error.problem}" if self.error.key else self.error.problem
        return f"{problem}. {self.error.remedy}"


@dataclass(frozen=True, slots=True)
class DuplexRegistry:
    """What was found: usable plugins by name, and the rest with reasons by path."""

    loaded: tuple[DuplexBinding, ...]
    rejected: tuple[Rejection, ...]

    def find(self, name: str) -> DuplexBinding | None:
        return next((binding for binding in self.loaded if binding.name == name), None)


def load(directory: Path, narrowings: Mapping[str, Narrowing] | None = None) -> DuplexBinding:
    """Return the one plugin in *directory*. Raises ManifestError."""
    # Whoever names it has chosen it: it may be a link itself. What is in it may lead to its neighbours.
    return _load(directory, os.path.dirname(os.path.realpath(directory)), narrowings or {})


def discover(
    *roots: Path, plugins: Sequence[Path] = (), narrowings: Mapping[str, Narrowing] | None = None
) -> DuplexRegistry:
    """Return the plugins in the direct child directories of *roots*, and in *plugins*. A missing root holds none.

    A narrowing in *narrowings*, by the plugin's name, takes the place of the file beside the manifest. Two
    plugins of one name are both refused: nobody could tell which of them was meant.
    """
    found: list[DuplexBinding] = []
    rejected: list[Rejection] = []
    by_place: dict[str, Path] = {}
    for root in roots:  # the same place under two names counts once
        by_place.setdefault(str(root) if "\0" in str(root) else os.path.realpath(root), root)
    for place, root in by_place.items():
        try:
            children = _children(root)
        except ManifestError as error:
            rejected.append(Rejection(root.name, root, error))
            continue
        for child in children:
            try:
                found.append(_load(child, place, narrowings or {}))
            except ManifestError as error:
                rejected.append(Rejection(child.name, child, error))
    for directory in plugins:
        try:
            binding = load(directory, narrowings)
        except ManifestError as error:
            rejected.append(Rejection(directory.name, directory, error))
            continue
        if not any(_is_same(binding, each) for each in found):
            found.append(binding)
    by_name: dict[str, list[DuplexBinding]] = {}
    for binding in found:
        by_name.setdefault(binding.name, []).append(binding)
    for same in by_name.values():
        if len(same) > 1:
            rejected += [duplicate(binding, same) for binding in same]
    loaded = [same[0] for name, same in sorted(by_name.items()) if len(same) == 1]
    return DuplexRegistry(tuple(loaded), tuple(sorted(rejected, key=lambda each: each.path)))


def _is_same(one: DuplexBinding, other: DuplexBinding) -> bool:
    """Tell whether both are the same place: a plugin may be named beside the root that it is in."""
    return os.path.realpath(one.manifest.directory) == os.path.realpath(other.manifest.directory)


def _children(root: Path) -> list[Path]:
    """Return what in *root* is a plugin or was meant as one. Raises ManifestError if it cannot be listed."""
    try:
        names = sorted(os.listdir(root))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:  # ValueError: no path at all, by a NUL in it
        reason = getattr(error, "strerror", None) or str(error)
        raise ManifestError(str(root), "", f"cannot be listed: {reason}", "Check the path") from error
    return [root / name for name in names if not name.startswith(".") and _is_meant(root / name)]


def _is_meant(child: Path) -> bool:
    if not os.path.isdir(child):
        return os.path.islink(child) and not os.path.exists(child)  # what it led to is gone
    try:
        os.lstat(child / FILE_NAME)
    except FileNotFoundError:
        return os.path.isfile(child / child.name)  # the program is there, the manifest was forgotten
    except OSError:
        return True  # reading it will say why not
    return True


def _load(child: Path, place: str, narrowings: Mapping[str, Narrowing]) -> DuplexBinding:
    """Return the plugin in *child*, of the root whose real path is *place*. Raises ManifestError."""
    for path in (child, child / FILE_NAME):
        _check_link(path, place)
    manifest = duplex_manifest.read(child)
    narrowing = _given(narrowings, manifest.name)
    file = child / duplex_narrowing.FILE_NAME
    if narrowing is None and os.path.lexists(file):
        _check_link(file, place)
        narrowing = duplex_narrowing.read(file)
    binding = duplex_binding.bind(manifest, narrowing)
    if binding.command == duplex_binding.program(manifest):
        _check_program(child / manifest.name, binding.narrowed_in)
    return binding


def _given(narrowings: Mapping[str, Narrowing], name: str) -> Narrowing | None:
    """Return the narrowing of *name*. If it is wrong, whoever gave it is told which of them it was."""
    found = narrowings.get(name)
    if found is None or found.source != duplex_narrowing.IN_CODE:
        return found
    return msgspec.structs.replace(found, source=f"narrowings[{name!r}]")


def _check_link(path: Path, place: str) -> None:
    real = os.path.realpath(path)
    if not os.path.exists(real):
        remedy = "Put it back, or remove the directory"
        raise ManifestError(str(path), "", "there is nothing here, or nothing where it leads", remedy)
    if os.path.commonpath([real, place]) != place:
        remedy = "Move what it leads to into the root, or name that place as a root too"
        raise ManifestError(str(path), "", f"a link that leads out of the root, to {quote(real)}", remedy)


def _check_program(path: Path, narrowed_in: str) -> None:
    remedy = f"Build it, or name another command in {narrowed_in}"
    if not os.path.isfile(path):
        raise ManifestError(str(path), "", "the plugin's program is not here", remedy)
    if not os.access(path, os.X_OK):
        raise ManifestError(
            str(path), "", "the plugin's program cannot be executed", f"chmod +x; or: {remedy}"
        )


def duplicate(binding: DuplexBinding, same: Sequence[DuplexBinding]) -> Rejection:
    """Return *binding* as one that shares its name with the others among *same*."""
    directory = binding.manifest.directory
    others = [str(each.manifest.directory) for each in same if each is not binding]
    problem = f"{quote(binding.name)} is also the name of the plugin at {', '.join(map(one_line, others))}"
    error = ManifestError(
        str(binding.manifest.file), "plugin.name", problem, "Remove all but one, or rename it"
    )
    return Rejection(binding.name, directory, error)
