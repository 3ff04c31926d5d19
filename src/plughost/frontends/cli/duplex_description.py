"""A `duplex` plugin to what its manifest says, what the host leaves of it, and how it introduces itself. Prints it.

It is started and stopped once; nothing is asked of it but who it is.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...manifest.duplex_binding import DuplexBinding
from .terminal import Terminal, one_line

if TYPE_CHECKING:
    from ...capabilities.grants import Grant
    from ...contracts.duplex.introduction import Introduction
    from ...manifest.duplex_manifest import Capabilities, DuplexManifest


def describe(terminal: Terminal, binding: DuplexBinding) -> None:
    """Start the plugin of *binding*, stop it, and show all that is known. Raises PluginFailure."""
    found, timings = _introduce(binding)
    manifest, limits = binding.manifest, binding.limits
    terminal.heading(f"{found.name} {found.version}")
    if manifest.description:
        terminal.text(one_line(manifest.description))
    provides, asked, left = manifest.provides, manifest.capabilities, binding.capabilities
    terminal.fields(
        contract=f"duplex (abi {manifest.abi_version}, it says {_abi(found)})",
        capabilities=_capabilities(asked) or "asks for none",
        granted="as it asks" if asked == left else _capabilities(left) or "none",
        screens=", ".join(provides.screens) or "none",
        namespaces=", ".join(provides.cli_namespaces) or "none",
        actions=", ".join(provides.commands) or "none",
        publishes=", ".join(provides.snapshots) or "nothing",
        subscribes=", ".join(manifest.subscribes.snapshots) or "to nothing",
        unheard=f"{', '.join(binding.unheard)}: event_bus does not cover it"
        if binding.unheard
        else "nothing",
        settings=", ".join(entry.key for entry in manifest.config) or "none",
        starts=_starts(binding),
        command=" ".join(binding.command),
        manifest=str(manifest.file),
        limits=f"{limits.handshake_s:g} s for init, {limits.render_s:g} s a screen, {limits.timeout_s:g} s a command",
        unknown_keys=", ".join(manifest.unknown) or "none",
        took=", ".join(f"{stage} {took:.1f} ms" for stage, took in timings.items()),
    )
    terminal.data(
        {
            "ok": True,
            "contract": "duplex",
            "manifest": _manifest(manifest),
            "introduction": {
                "name": found.name,
                "version": found.version,
                "abi_version": found.abi_version,
                "manifest": json.loads(bytes(found.manifest)) if found.manifest is not None else None,
            },
            "granted": _grants(left),
            "unheard": list(binding.unheard),
            "command": list(binding.command),
            "binding": str(manifest.file),
            "limits": {
                "handshake_s": limits.handshake_s,
                "render_s": limits.render_s,
                "timeout_s": limits.timeout_s,
                "idle_reap_s": binding.idle_reap_s,
            },
            "timings_ms": timings,
        }
    )


def _introduce(binding: DuplexBinding) -> tuple[Introduction, dict[str, float]]:
    from time import perf_counter

    from ...blocking import Host

    moments = [perf_counter()]
    with Host() as host:
        fleet = host.fleet(binding)
        found = fleet[binding.name].start()
        moments.append(perf_counter())
        fleet[binding.name].stop()
        moments.append(perf_counter())
    stages = ("init", "shutdown", "total")
    begun, introduced, ended = moments
    took = (introduced - begun, ended - introduced, ended - begun)
    return found, {stage: round(seconds * 1000, 3) for stage, seconds in zip(stages, took, strict=True)}


def _abi(found: Introduction) -> str:
    return "nothing" if found.abi_version is None else str(found.abi_version)


def _starts(binding: DuplexBinding) -> str:
    when = "with the host" if binding.manifest.lifecycle.spawn == "eager" else "when it is needed"
    idle = f"after {binding.idle_reap_s} s without use" if binding.idle_reap_s else "never for being idle"
    return f"{when}, ended {idle}"


def _capabilities(capabilities: Capabilities) -> str:
    """Return what is granted in words: a list in parentheses if it is not everything."""
    granted = ((name, grant) for name, grant in _grants(capabilities).items() if grant)
    return ", ".join(name if grant is True else f"{name} ({', '.join(grant)})" for name, grant in granted)  # type: ignore[arg-type]


def _grants(capabilities: Capabilities) -> dict[str, Grant]:
    return {name.value: grant for name, grant in capabilities.grants().given.items()}


def _manifest(manifest: DuplexManifest) -> dict[str, Any]:
    provides, lifecycle = manifest.provides, manifest.lifecycle
    return {
        "name": manifest.name,
        "version": manifest.version,
        "abi_version": manifest.abi_version,
        "description": manifest.description,
        "capabilities": _grants(manifest.capabilities),
        "screens": list(provides.screens),
        "commands": list(provides.commands),
        "cli_namespaces": list(provides.cli_namespaces),
        "snapshots": list(provides.snapshots),
        "subscribes": list(manifest.subscribes.snapshots),
        "latest_state": list(manifest.subscribes.latest_state),
        "spawn": lifecycle.spawn,
        "idle_reap_secs": lifecycle.idle_reap_secs,
        "exit_zero_is_crash": lifecycle.exit_zero_is_crash,
        "config": [
            {"key": entry.key, "kind": entry.kind, "label": entry.label, "default": entry.default}
            for entry in manifest.config
        ],
        "unknown_keys": list(manifest.unknown),
    }
