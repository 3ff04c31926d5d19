"""A plugin that is examined: its binding, its manifest if it has one, and the variables it is told. Starts nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..manifest import binding as bindings
from ..manifest import envelope_manifest
from ..manifest.binding import COMMAND_LINE, Binding, Environment
from ..manifest.envelope_manifest import EnvelopeManifest
from ..process import landlock

MADE_UP = "sample"  # the value of a required variable that nobody has given


@dataclass(frozen=True, slots=True)
class Subject:
    """A plugin, and what it is told about the run."""

    binding: Binding
    manifest: EnvelopeManifest | None
    variables: dict[str, Any]
    confined: bool  # the kernel keeps its workers from writing elsewhere

    @property
    def module(self) -> str:
        """The name of its package, as the host would say it."""
        return self.manifest.directory.name if self.manifest is not None else self.binding.name or "plugin"

    @property
    def name(self) -> str:
        return self.binding.name or "plugin"

    def bound(self, cwd: Path, temporary: Path, *writable: Path) -> Binding:
        """Return its binding for a worker in *cwd* that may write below *writable* and to *temporary*."""
        environment = self.binding.environment
        given = {**environment.set, "TMPDIR": str(temporary)}
        kept = (*writable, temporary, Path(os.devnull)) if self.confined else None
        return bindings.replace(
            self.binding, cwd=cwd, environment=Environment(environment.inherit, given), writable=kept
        )


def subject(
    binding: Binding, variables: Mapping[str, Any] | None = None, *, confine: bool | None = None
) -> Subject:
    """Return the plugin of *binding*, with a text for each required variable that *variables* lack.

    Its workers are confined where the kernel can, unless *confine* says otherwise. Raises ManifestError.
    """
    manifest = None
    is_described = os.path.lexists(binding.directory / envelope_manifest.FILE_NAME)
    if is_described and binding.source != COMMAND_LINE:
        manifest = envelope_manifest.read(binding.directory)
    needed = manifest.required_variables if manifest is not None else ()
    told = {**dict.fromkeys(needed, MADE_UP), **(variables or {})}
    confined = landlock.available() if confine is None else confine
    return Subject(binding, manifest, told, confined)
