"""Writes directories of `duplex` plugins that do as they are told: raw_plugin.py, a manifest, and limits."""

from __future__ import annotations

import sys
from pathlib import Path

RAW = Path(__file__).parent / "raw_plugin.py"
MANIFEST = """
[plugin]
name = "{name}"
version = "1.0.0"
abi_version = 2
description = "it does as it is told"
[capabilities]
event_bus = true
[provides]
screens = {screens}
cli_namespaces = {namespaces}
[subscribes]
snapshots = {topics}
[lifecycle]
spawn = "{spawn}"
"""


def write_plugin(
    root: Path,
    name: str,
    *files: str,
    screens: str = '["main"]',
    namespaces: str = "[]",
    topics: str = "[]",
    spawn: str = "lazy",
    limits: str = "",
) -> Path:
    """Write a plugin *name* into *root*, with empty *files* beside it that tell it what to do."""
    directory = root / name
    directory.mkdir(parents=True)
    manifest = MANIFEST.format(name=name, screens=screens, namespaces=namespaces, topics=topics, spawn=spawn)
    (directory / "manifest.toml").write_text(manifest)
    if limits:
        (directory / "narrow.toml").write_text(f"[limits]\n{limits}\n")
    program = directory / name
    program.write_text(f"#!{sys.executable} -IS\n{RAW.read_text()}")
    program.chmod(0o755)
    for file in files:
        (directory / file).touch()
    return directory
