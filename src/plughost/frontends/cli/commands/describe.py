"""`plughost describe`: what a plugin says about itself."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ....manifest import project
from .. import options
from ..terminal import EXIT_OK, EXIT_REMOTE_ERROR, Terminal, one_line
from .check import read_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....conformance.envelope_subject import Subject
    from ....manifest.binding import Binding


@click.command("describe", short_help="Shake hands with a plugin and show what it says about itself.")
@options.plugin
@options.contract
@options.allow
@options.phases
@click.option(
    "--var", "variables", multiple=True, metavar="KEY=VALUE", help="envelope: tell it this variable."
)
@options.as_json
@click.pass_context
def command(
    ctx: click.Context, plugin: str | None, contract: str | None, variables: tuple[str, ...], as_json: bool
) -> None:
    """Start PLUGIN and show its manifest, its binding and how long that took.

    An execute, hook or duplex plugin shakes hands, and a sideband worker introduces itself. An envelope plugin
    validates variables, those of --var and a made-up text for each other one that it requires; what it objects to is
    shown, and the exit status is then 1.
    """
    binding = options.bind(ctx, plugin, contract)
    terminal = Terminal(as_json=as_json)
    if binding.contract == "envelope":
        _describe_envelope(terminal, binding, read_pairs("--var", variables))
    elif variables:
        raise click.UsageError(
            f"--var is for plugins of the contract envelope; this one is {binding.contract}."
        )
    elif binding.contract == "hook":
        _describe_hook(terminal, binding)
    elif binding.contract == "duplex":
        from ..duplex_description import describe

        if plugin is None:
            raise click.UsageError("A duplex plugin is described from its manifest: name its directory.")
        describe(terminal, project.resolve_duplex(plugin, Path()))
    elif binding.contract == "sideband":
        from .. import sideband_description

        sideband_description.describe(terminal, binding)
    else:
        _describe_execute(terminal, binding)


def _describe_execute(terminal: Terminal, binding: Binding) -> None:
    from ....blocking import Host

    with Host() as host:
        started = time.perf_counter()
        manifest = host.add(binding).describe()
        took = (time.perf_counter() - started) * 1000
    declared = list(manifest.capabilities or ())
    terminal.heading(f"{manifest.plugin_id} {manifest.plugin_version}")
    if binding.description:
        terminal.text(binding.description)
    terminal.fields(
        contract=f"{binding.contract} ({manifest.protocol_version})",
        tools=", ".join(manifest.exposed_tools or ()),
        capabilities=", ".join(declared) or "none declared",
        granted=", ".join(binding.allow) or "nothing",
        command=" ".join(binding.command),
        binding=binding.source,
        limits=f"{binding.limits.timeout_s:g} s a call, {binding.limits.line_bytes} bytes a line",
        took=f"{took:.1f} ms from start to goodbye",
    )
    terminal.data(
        {
            "ok": True,
            "contract": binding.contract,
            "manifest": {
                "plugin_id": manifest.plugin_id,
                "plugin_version": manifest.plugin_version,
                "protocol_version": manifest.protocol_version,
                "exposed_tools": list(manifest.exposed_tools or ()),
                "capabilities": declared,
            },
            "granted": list(binding.allow),
            "command": list(binding.command),
            "binding": binding.source,
            "timings_ms": {"total": round(took, 3)},
        }
    )


def _describe_hook(terminal: Terminal, binding: Binding) -> None:
    from ....blocking import Host
    from ....contracts.hook import host as hook
    from ....contracts.hook import rounds
    from ....manifest.binding import COMMAND_LINE

    with Host() as host, host.connect(binding) as provider:
        provider.close()
        info, asked, timings = provider.info, provider.phases, provider.timings_ms()
    declared = rounds.declared(info)
    usual = "" if declared is not None else " (usual)"
    bare = "anything: a bare command has no list" if binding.source == COMMAND_LINE else ""
    matrix = "native" if hook.wants_native_matrix(info) else "expanded"
    terminal.heading(f"{info.name} {info.version}".strip())
    if binding.description:
        terminal.text(binding.description)
    rows = {
        "contract": f"{binding.contract} (protocol {info.protocol})",
        "capabilities": ", ".join(info.capabilities) or "none declared",
        "granted": ", ".join(binding.allow) or (bare or "nothing"),
        "requires": ", ".join(info.requires) or "nothing",
        "conflicts": ", ".join(info.conflicts_with) or "with nothing",
        "phases": ", ".join(declared or asked) + usual,
        "asked for": ", ".join(asked),
        "matrix": f"{matrix}: {'as written' if matrix == 'native' else 'one job for each row'}",
        "metadata": ", ".join(f"{key}={info.metadata[key]}" for key in sorted(info.metadata)) or "none",
        "command": " ".join(binding.command),
        "binding": binding.source,
        "limits": f"{binding.limits.timeout_s:g} s a phase, {binding.limits.frame_bytes} bytes a message",
        "took": ", ".join(f"{stage} {took:.1f} ms" for stage, took in timings.items()),
    }
    terminal.fields(**rows)
    for warning in provider.warnings:
        terminal.text(f"    {one_line(warning)}")
    terminal.data(
        {
            "ok": True,
            "contract": binding.contract,
            "info": {
                "name": info.name,
                "version": info.version,
                "protocol": info.protocol,
                "capabilities": list(info.capabilities),
                "requires": list(info.requires),
                "conflicts_with": list(info.conflicts_with),
                "metadata": dict(sorted(info.metadata.items())),
            },
            "phases": list(declared or asked),
            "phases_declared": declared is not None,
            "asked_for": list(asked),
            "matrix": matrix,
            "granted": list(binding.allow),
            "command": list(binding.command),
            "binding": binding.source,
            "timings_ms": timings,
            "warnings": list(provider.warnings),
        }
    )


def _describe_envelope(terminal: Terminal, binding: Binding, variables: dict[str, str]) -> None:
    from ....conformance.envelope_subject import subject
    from ....conformance.envelope_validation import validate

    found = subject(binding, variables)
    started = time.perf_counter()
    objections, answered = validate(found)
    took = (time.perf_counter() - started) * 1000
    version = found.manifest.version if found.manifest is not None else ""
    terminal.heading(f"{found.name} {version}".strip())
    if binding.description:
        terminal.text(binding.description)
    terminal.fields(
        contract=binding.contract,
        **_manifest_rows(found),
        command=" ".join(binding.command),
        binding=binding.source,
        limits=_limits_row(binding),
        **({"took": f"{took:.1f} ms for the validation"} if answered else {}),
        validation=_validation_row(objections, asked=answered is not None),
    )
    for objection in objections:
        terminal.text(f"    {one_line(objection)}")
    terminal.data(
        {
            "ok": not objections,
            "contract": binding.contract,
            "manifest": _manifest_data(found),
            "limits": _limits_data(binding),
            "errors": list(objections),
            "command": list(binding.command),
            "binding": binding.source,
            "timings_ms": {"total": round(took, 3)},
        }
    )
    terminal.exit(EXIT_REMOTE_ERROR if objections else EXIT_OK)


def _validation_row(objections: Sequence[str], *, asked: bool) -> str:
    if objections:
        return f"{len(objections)} objections"
    return "nothing to object to" if asked else "it is not asked about variables (`validates`)"


def _manifest_rows(found: Subject) -> dict[str, str]:
    manifest = found.manifest
    if manifest is None:
        return {"manifest": "none"}
    rows = {
        "author": manifest.author,
        "extensions": ", ".join(manifest.supported_extensions) or "none: it is given no file",
        "required": ", ".join(manifest.required_variables) or "no variables",
        "optional": ", ".join(manifest.optional_variables) or "no variables",
        "network": "declared" if manifest.isolation.network else "not declared",
        "unknown keys": ", ".join(manifest.unknown),
    }
    return {name: value for name, value in rows.items() if value}


def _manifest_data(found: Subject) -> dict[str, Any] | None:
    manifest = found.manifest
    if manifest is None:
        return None
    return {
        "name": manifest.name,
        "version": manifest.version,
        "api_version": manifest.api_version,
        "author": manifest.author,
        "description": manifest.description,
        "supported_extensions": list(manifest.supported_extensions),
        "required_variables": list(manifest.required_variables),
        "optional_variables": list(manifest.optional_variables),
        "network": manifest.isolation.network,
        "unknown_keys": list(manifest.unknown),
    }


def _limits_row(binding: Binding) -> str:
    limits = binding.limits
    memory = f"{limits.memory_mb} MiB" if limits.memory_mb is not None else "any amount of memory"
    return f"{limits.timeout_s:g} s a worker, {memory}, {limits.line_bytes} bytes an envelope"


def _limits_data(binding: Binding) -> dict[str, Any]:
    limits = binding.limits
    return {
        "timeout_s": limits.timeout_s,
        "memory_mb": limits.memory_mb,
        "cpu_s": limits.cpu_s,
        "open_files": limits.open_files,
        "line_bytes": limits.line_bytes,
    }
