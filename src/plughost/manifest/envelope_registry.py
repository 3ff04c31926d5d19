"""Directories of `envelope` plugins to those that can be used, those that cannot and why, in the order they run.

One broken manifest never hides the others: whatever is in it becomes a reason. No plugin's code is looked at.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import LocalProtocolError, ManifestError
from ..messages.quoting import listed, quote
from . import envelope_manifest
from .envelope_manifest import FILE_NAME, EnvelopeManifest

# A directory that holds one of these was meant as a plugin, even without a manifest.
MARKS = ("plugin.py", "__init__.py", "manifest.yaml")


@dataclass(frozen=True, slots=True)
class Rejection:
    """A directory that holds no usable plugin; *name* is the directory's if the manifest's is unknown."""

    name: str
    path: Path
    error: ManifestError

    @property
    def reason(self) -> str:
        """The error without the path, which stands beside it."""
        problem = f"{self.error.key}: {self.error.problem}" if self.error.key else self.error.problem
        return f"{problem}. {self.error.remedy}" if self.error.remedy else problem


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A plugin at *path* that is not used because the one at *by*, in a later root, has its name."""

    name: str
    by: Path
    path: Path


@dataclass(frozen=True, slots=True)
class Registry:
    """What was found: usable plugins by name, and the rest with reasons."""

    loaded: tuple[EnvelopeManifest, ...]
    rejected: tuple[Rejection, ...]
    shadowed: tuple[Shadowed, ...]

    def find(self, name: str) -> EnvelopeManifest | None:
        return next((manifest for manifest in self.loaded if manifest.name == name), None)


def discover(*roots: Path, allow_network: bool = False) -> Registry:
    """Return the plugins in the direct child directories of *roots*; a later root wins. A missing root is empty.

    Only a plugin that can be used takes the place of another.
    """
    loaded: dict[str, EnvelopeManifest] = {}
    rejected: list[Rejection] = []
    shadowed: list[Shadowed] = []
    for root in dict.fromkeys(roots):
        found, refused = _scan(root, allow_network=allow_network)
        rejected += refused
        for manifest in found:
            if (other := loaded.get(manifest.name)) is not None:
                shadowed.append(Shadowed(manifest.name, manifest.directory, other.directory))
            loaded[manifest.name] = manifest
    return Registry(tuple(loaded[name] for name in sorted(loaded)), tuple(rejected), tuple(shadowed))


def order(manifests: Iterable[EnvelopeManifest], first: Sequence[str]) -> list[EnvelopeManifest]:
    """Return *manifests* in the order they run: those named in *first*, then the rest by name.

    Raises LocalProtocolError if *first* holds a name twice, or one that nobody has.
    """
    by_name = {manifest.name: manifest for manifest in sorted(manifests, key=lambda each: each.name)}
    for name, count in Counter(first).items():
        known = listed(list(by_name)) or "none"
        if name not in by_name:
            raise LocalProtocolError(f"no plugin is named {quote(name)}; there are: {known}")
        if count > 1:
            raise LocalProtocolError(f"{quote(name)} is to run {count} times; name each once of: {known}")
    return [by_name[name] for name in dict.fromkeys([*first, *by_name])]


def plugin_directories(root: Path) -> list[Path]:
    """Return the direct child directories of *root* that hold a plugin or were meant to, sorted.

    A missing root holds none. Raises ManifestError if *root* cannot be listed.
    """
    try:
        names = sorted(os.listdir(root))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:  # ValueError: no path at all, by a NUL in it
        reason = getattr(error, "strerror", None) or str(error)
        raise ManifestError(str(root), "", f"cannot be listed: {reason}", "Check the path") from error
    children = [root / name for name in names if not name.startswith(".") and name != "__pycache__"]
    return [child for child in children if os.path.isdir(child) and _is_meant(child)]


def _is_meant(directory: Path) -> bool:
    return any(os.path.lexists(directory / name) for name in (FILE_NAME, *MARKS))


def _scan(root: Path, *, allow_network: bool) -> tuple[list[EnvelopeManifest], list[Rejection]]:
    """Return the usable plugins of one root, and the rest of what was meant as one."""
    manifests: list[EnvelopeManifest] = []
    rejected: list[Rejection] = []
    try:
        directories = plugin_directories(root)
    except ManifestError as error:
        return [], [Rejection(root.name, root, error)]
    for directory in directories:
        try:
            manifests.append(_read(directory))
        except ManifestError as error:
            rejected.append(Rejection(directory.name, directory, error))
    names = Counter(manifest.name for manifest in manifests)
    loaded = []
    for manifest in manifests:
        if names[manifest.name] > 1:
            problem = f"{names[manifest.name]} plugins of this root have the name {manifest.name}"
        elif manifest.isolation.network and not allow_network:
            problem = "network declared but not allowed"
        else:
            loaded.append(manifest)
            continue
        file = root / manifest.directory.name / FILE_NAME
        wrong = ManifestError(str(file), "", problem, "")
        rejected.append(Rejection(manifest.name, manifest.directory, wrong))
    return loaded, sorted(rejected, key=lambda each: each.path)


def _read(directory: Path) -> EnvelopeManifest:
    if not os.path.lexists(directory / FILE_NAME):
        raise ManifestError(str(directory), "", f"missing {FILE_NAME}", "")
    return envelope_manifest.read(directory)
