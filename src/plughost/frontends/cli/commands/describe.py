"""`plughost describe`: what a plugin says about itself."""

from __future__ import annotations

import click

from .. import options
from ..terminal import Terminal


@click.command("describe", short_help="Shake hands with a plugin and show what it says about itself.")
@options.plugin
@options.contract
@options.as_json
@click.pass_context
def command(ctx: click.Context, plugin: str | None, contract: str | None, as_json: bool) -> None:
    """Start PLUGIN, shake hands, and show its manifest, its binding and how long that took."""
    import time

    from ....blocking import Host

    binding = options.bind(ctx, plugin, contract)
    terminal = Terminal(as_json=as_json)
    with Host() as host:
        started = time.perf_counter()
        manifest = host.add(binding).describe()
        took = (time.perf_counter() - started) * 1000
    declared = list(manifest.capabilities or ())
    terminal.heading(f"{manifest.plugin_id} {manifest.plugin_version}")
    if binding.description:
        terminal.text(binding.description)
    rows = [
        ("contract", f"{binding.contract} ({manifest.protocol_version})"),
        ("tools", ", ".join(manifest.exposed_tools or ())),
        ("capabilities", ", ".join(declared) or "none declared"),
        ("granted", ", ".join(binding.allow) or "nothing"),
        ("command", " ".join(binding.command)),
        ("binding", binding.source),
        ("limits", f"{binding.limits.timeout_s:g} s a call, {binding.limits.line_bytes} bytes a line"),
        ("took", f"{took:.1f} ms from start to goodbye"),
    ]
    for name, value in rows:
        terminal.text(f"  {name:<13} {value}")
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
