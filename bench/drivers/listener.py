"""A small `duplex` plugin in raw bytes, to fill a crowd with: turns its name into its binding. Measures nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

from plughost import DuplexLimits, Narrowing
from plughost.manifest import duplex_binding
from plughost.manifest.duplex_binding import DuplexBinding
from plughost.manifest.duplex_manifest import Capabilities, DuplexManifest, Lifecycle, Subscribes

PROGRAM = Path(__file__).with_suffix(".pl")
PERL = (
    shutil.which("perl") or "perl"
)  # it starts ten times as fast as Python: hundreds of them are soon there
PATIENT = DuplexLimits(handshake_s=60, write_s=60)  # hundreds start, or are told something, all at once
FAN = "bench.fan"  # the topic that each of them subscribes to
HEARD = "bench.heard"  # what each of them publishes when it has heard
ACTION = "echo"  # any word will do
VERSION = "1.0.0"


def words(name: str) -> tuple[str, ...]:
    """Return the command that starts the plugin *name*."""
    return (PERL, str(PROGRAM), name)


def bind(name: str) -> DuplexBinding:
    """Return the plugin *name*."""
    manifest = DuplexManifest(
        name=name,
        version=VERSION,
        abi_version=2,
        directory=PROGRAM.parent,
        capabilities=Capabilities(event_bus=True),
        subscribes=Subscribes(snapshots=(FAN,)),
        lifecycle=Lifecycle(idle_reap_secs=0),
    )
    return duplex_binding.bind(manifest, Narrowing(command=words(name), limits=PATIENT))


def names(size: int) -> list[str]:
    """Return the names of *size* of them."""
    return [f"listener-{number}" for number in range(size)]
