"""What a test says about a plugin, to its manifest, its grants and the host's services for it. Starts nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..capabilities.gates import ROOTS
from ..capabilities.grants import Capability, Grant, Grants
from ..host.duplex import files as granted_files
from ..host.duplex.snapshots import HOST
from ..manifest import duplex_manifest
from ..manifest.duplex_manifest import FILE_NAME, DuplexManifest
from .duplex_services import Services

if TYPE_CHECKING:
    from plughost_sdk.duplex import Plugin

NOWHERE = Path("/in-memory")  # the home, and the place of a plugin, where a test has none on disk


@dataclass(frozen=True, slots=True)
class Setting:
    """The surroundings of one plugin: contents by path, directories by capability, payloads by topic."""

    manifest: DuplexManifest
    grants: Grants
    files: Mapping[str, bytes] = field(default_factory=dict)
    roots: Mapping[Capability, tuple[str, ...]] = field(default_factory=dict)
    snapshots: Mapping[str, bytes] = field(default_factory=dict)

    def services(self, home: Path) -> Services:
        """Return the services, with the files beneath *home*. Raises ValueError for one that would lie elsewhere."""
        for path, content in self.files.items():
            if not path.startswith("~/") or ".." in Path(path).parts:
                raise ValueError(
                    f"{path!r}: give a file by the path that a plugin asks for, such as ~/logs/a.txt"
                )
            place = home / path[2:]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        found = granted_files.roots({**ROOTS, **self.roots}, home=home)
        services = Services(self.manifest.name, self.grants, found, str(home))
        for topic, payload in self.snapshots.items():
            services.snapshots.publish(HOST, topic, payload)
        services.declare(self.manifest.subscribes.snapshots, self.manifest.subscribes.latest_state)
        return services


def manifest_of(plugin: Plugin, given: str | os.PathLike[str] | None) -> DuplexManifest:
    """Return the manifest that is *given*, as text or as a path, or the plugin's own. Raises ManifestError."""
    directory = NOWHERE / plugin.name
    if given is None:
        return duplex_manifest.of_document(plugin.manifest(), directory, FILE_NAME)
    text = os.fspath(given)
    if "\n" in text:
        return duplex_manifest.parse(text, directory)
    return duplex_manifest.read(Path(text).parent if Path(text).name == FILE_NAME else Path(text))


def grants_of(manifest: DuplexManifest, given: Mapping[str, Grant | Sequence[str]] | None) -> Grants:
    """Return the grants that are *given*, or what *manifest* asks for. Raises ValueError for an unknown capability."""
    if given is None:
        return manifest.capabilities.grants()
    return Grants(
        {
            Capability(name): grant if isinstance(grant, bool) else tuple(grant)
            for name, grant in given.items()
        }
    )
