"""The plugin: what the header says, and which files get one."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

from plughost_sdk import envelope

from .header import stamped

SIZE_LIMIT = 16_777_216  # bytes; the file is held in memory twice
NOT_OURS = ("readme.md",)  # the host writes it
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class HeaderStamper(envelope.Plugin):
    name = "header-stamper"
    version = "1.0.0"
    supported_extensions = (".txt", ".csv", ".md", ".py")
    optional_variables = ("operator", "date")

    def can_handle(self, path: Path, variables: dict[str, Any]) -> bool:  # noqa: ARG002 - the hook's own shape
        return path.name.lower() not in NOT_OURS and path.stat().st_size <= SIZE_LIMIT

    def describe_changes(self, path: Path, ctx: envelope.PluginContext) -> list[envelope.FileChange]:
        before, after = _versions(path, ctx)
        if before == after:
            return []
        detail = {"header": _lines(ctx), "bytes": len(after) - len(before)}
        return [envelope.FileChange(path, "modify", f"put a header on top of {path.name}", detail)]

    def transform(self, path: Path, ctx: envelope.PluginContext) -> None:
        before, after = _versions(path, ctx)
        if before == after:
            ctx.log.debug("left as it is", file=path.name)
            return
        _save(path, after)
        ctx.log.info("stamped", file=path.name)


def _versions(path: Path, ctx: envelope.PluginContext) -> tuple[bytes, bytes]:
    """Return the file as it is and as it shall be."""
    data = path.read_bytes()
    if data.startswith(UTF_16):
        ctx.log.warning("UTF-16 is not supported, left as it is", file=path.name)
        return data, data
    return data, stamped(data, path.suffix.lower(), _lines(ctx))


def _lines(ctx: envelope.PluginContext) -> list[str]:
    today = date.today().isoformat()  # noqa: DTZ011 - the laboratory's day
    said = {
        "template": f"{ctx.template_name} {ctx.template_version}".strip(),
        "project": ctx.project,
        "date": ctx.variables.get("date") or today,
        "operator": ctx.extra_inputs.get("operator") or ctx.variables.get("operator"),
    }
    return [f"{name}: {value}" for name, value in said.items() if value]


def _save(path: Path, data: bytes) -> None:
    """Write beside, then rename: whoever is killed while writing leaves the old file."""
    temporary = path.with_name(f".{path.name}.stamping")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            os.fchmod(file.fileno(), path.stat().st_mode & 0o7777)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
