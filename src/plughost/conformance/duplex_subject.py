"""What is checked: a plugin's directory, a binding or a bare command, to one value. Starts nothing.

A manifest with flaws is no error here: its flaws are what the first axis reports.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ManifestError
from ..manifest import binding as binding_file
from ..manifest import document, duplex_binding, duplex_manifest, duplex_narrowing, envelope_manifest
from ..manifest.binding import COMMAND_LINE, Binding, Environment
from ..manifest.duplex_binding import CONTRACT, DuplexBinding
from ..manifest.duplex_limits import DuplexLimits
from ..manifest.duplex_manifest import FILE_NAME, DuplexManifest
from .verdict import Flaw

BARE_NAME = "plugin"  # of a plugin that is started by a bare command, before it has said its name


@dataclass(frozen=True, slots=True)
class Subject:
    """A plugin to be checked. Without a *process* it cannot be started, and *flaws* say why."""

    process: Binding | None
    binding: DuplexBinding | None = None  # None: a bare command, whose manifest is what it says at init
    flaws: tuple[Flaw, ...] = ()
    directory: Path | None = None

    @property
    def name(self) -> str:
        if self.binding is not None:
            return self.binding.name
        return self.directory.name if self.directory is not None else BARE_NAME

    @property
    def limits(self) -> DuplexLimits:
        return self.binding.limits if self.binding is not None else DuplexLimits()


def is_directory(path: Path) -> bool:
    """Tell whether *path* is the directory of a `duplex` plugin, and of no other contract's."""
    others = (binding_file.FILE_NAME, envelope_manifest.FILE_NAME)
    is_other = any(os.path.lexists(path / name) for name in others)
    return os.path.isdir(path) and os.path.lexists(path / FILE_NAME) and not is_other


def of_binding(binding: DuplexBinding) -> Subject:
    """Return a plugin whose manifest is known to be good."""
    return Subject(binding.process(), binding, directory=binding.manifest.directory)


def of_command(command: Sequence[str], directory: Path | None = None) -> Subject:
    """Return the plugin that *command* starts."""
    where = (directory or Path()).absolute()
    bare = Binding("", CONTRACT, tuple(command), where, where, source=COMMAND_LINE, limits=DuplexLimits())
    return Subject(bare)


def of_directory(directory: Path) -> Subject:
    """Return the plugin in *directory*; what is wrong with its manifest is among its flaws.

    Raises ManifestError if the host's own `narrow.toml` is wrong, which is no fault of the plugin.
    """
    whole = Path(os.path.abspath(directory))
    file = whole / FILE_NAME
    try:
        found = document.read(file, dict[str, Any])
    except ManifestError as error:
        return Subject(None, flaws=(Flaw("duplex:manifest:required", str(error)),), directory=whole)
    wrong = duplex_manifest.flaws(found, whole.name, str(file))
    if wrong:
        return Subject(None, flaws=tuple(map(_flaw, wrong)), directory=whole)
    manifest = duplex_manifest.of_document(found, whole, str(file))
    narrowing = whole / duplex_narrowing.FILE_NAME
    said = duplex_narrowing.read(narrowing) if os.path.lexists(narrowing) else None
    binding = duplex_binding.bind(manifest, said)
    missing = tuple(_missing_program(binding))
    process = None if missing else binding.process()
    return Subject(process, binding, missing, whole)


def _flaw(error: ManifestError) -> Flaw:
    """Return the clause that a flaw of a manifest breaks."""
    what = f"{error.key}: {error.problem}" if error.key else error.problem
    if error.key in ("plugin.version", "plugin.abi_version"):
        is_missing = "missing" in error.problem
        return Flaw(f"duplex:manifest:{'required' if is_missing else 'values'}", what)
    if error.key == "plugin.name" and "missing" not in error.problem:
        return Flaw("duplex:manifest:place", what)
    if error.key.startswith("plugin"):
        return Flaw("duplex:manifest:required", what)
    return Flaw("duplex:manifest:schema", what)


def _missing_program(binding: DuplexBinding) -> Iterable[Flaw]:
    if binding.command != duplex_binding.program(binding.manifest):
        return  # the host names another program
    program = binding.manifest.directory / binding.name
    if not os.path.isfile(program):
        yield Flaw("duplex:manifest:place", f"there is no program {binding.name} beside its manifest")
    elif not os.access(program, os.X_OK):
        yield Flaw("duplex:manifest:place", f"{binding.name} beside its manifest cannot be executed")


def bound(subject: Subject, manifest: DuplexManifest) -> DuplexBinding:
    """Return the binding of *subject*, made of *manifest* if it was a bare command."""
    if subject.binding is not None:
        return subject.binding
    assert subject.process is not None
    return DuplexBinding(
        manifest, manifest.capabilities, subject.process.command, subject.limits, Environment()
    )
