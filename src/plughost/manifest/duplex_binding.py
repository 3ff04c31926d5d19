"""A `duplex` plugin's manifest, and what the host takes away from it, to what is started. Starts nothing."""

from __future__ import annotations

from dataclasses import dataclass

from ..capabilities.grants import Capability, covers_topic
from . import duplex_narrowing
from .binding import Binding, Environment
from .duplex_limits import DuplexLimits
from .duplex_manifest import Capabilities, DuplexManifest
from .duplex_narrowing import FILE_NAME, Narrowing

CONTRACT = "duplex"


@dataclass(frozen=True, slots=True)
class DuplexBinding:
    """A `duplex` plugin as the host knows it; *capabilities* are what is left of the manifest's."""

    manifest: DuplexManifest
    capabilities: Capabilities
    command: tuple[str, ...]
    limits: DuplexLimits
    environment: Environment
    narrowed_in: str = ""  # where the host has said, or could say, what of this is otherwise than usual

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def idle_reap_s(self) -> int:
        """Seconds without use after which the plugin is ended; 0: never. The host's word goes first."""
        said = self.limits.idle_reap_s
        return self.manifest.lifecycle.idle_reap_secs if said is None else said

    @property
    def unheard(self) -> tuple[str, ...]:
        """The topics that its manifest subscribes to, and that it is never told of: `event_bus` does not cover them."""
        grant = self.capabilities.grants().of(Capability.EVENT_BUS)
        return tuple(each for each in self.manifest.subscribes.snapshots if not covers_topic(grant, each))

    def process(self) -> Binding:
        """Return the binding that the plugin's process is started by."""
        directory = self.manifest.directory
        return Binding(
            name=self.name,
            contract=CONTRACT,
            command=self.command,
            directory=directory,
            cwd=directory,
            source=str(self.manifest.file),
            description=self.manifest.description,
            allow=self.capabilities.granted(),
            environment=self.environment,
            limits=self.limits,
        )


def bind(manifest: DuplexManifest, narrowing: Narrowing | None = None) -> DuplexBinding:
    """Return the binding of *manifest* after *narrowing*.

    Without a command of the host's, the program is the file of the plugin's name in its directory. Raises
    ManifestError if *narrowing* would give what the manifest does not ask for.
    """
    said = narrowing or Narrowing()
    return DuplexBinding(
        manifest=manifest,
        capabilities=duplex_narrowing.apply(said, manifest.capabilities),
        command=said.command or program(manifest),
        limits=said.limits,
        environment=said.environment,
        narrowed_in=str(manifest.directory / FILE_NAME) if narrowing is None else narrowing.source,
    )


def program(manifest: DuplexManifest) -> tuple[str, ...]:
    """Return the usual command of *manifest*: the file beside it that has the plugin's name."""
    return (f"./{manifest.name}",)
