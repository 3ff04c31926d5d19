"""The envelope plugins that are measured, written into a directory: each does as little as its name says."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import indent

WAIT_S = 0.05  # of a waiter, without using a processor: what it costs to take turns, not to compute
WAITERS = {"waiter-one": ".one", "waiter-two": ".two", "waiter-three": ".three"}
EXTENSIONS = {"no-op": ".dat", "appender": ".dat", "asker": ".dat", **WAITERS}
FIELD = "answer"  # what the asker wants to be told

MARK = b"!"  # what is appended to a file, and proves that the work was done
_APPEND = f'with path.open("ab") as file:\n    file.write({MARK!r})\n'
_ASK = f"""\
if {FIELD!r} not in ctx.extra_inputs:
    raise envelope.PluginInputRequired([envelope.field({FIELD!r}, "Answer")], "it is measured")
"""
_BODIES = {
    "no-op": "pass\n",
    "appender": _APPEND,
    "asker": _ASK + _APPEND,
    **dict.fromkeys(WAITERS, f"time.sleep({WAIT_S})\n" + _APPEND),
}
_SOURCE = """\
import time

from plughost_sdk import envelope


class Plugin(envelope.Plugin):
    name, version, supported_extensions = {name!r}, "1.0", [{extension!r}]

    def can_handle(self, path, variables):
        return True

    def transform(self, path, ctx):
{body}"""


def write(home: Path) -> dict[str, Path]:
    """Write all plugins into *home*, and return their directories by name."""
    return {name: _write(home / name, extension) for name, extension in EXTENSIONS.items()}


def _write(directory: Path, extension: str) -> Path:
    name = directory.name
    manifest = {"name": name, "version": "1.0", "api_version": "1", "supported_extensions": [extension]}
    directory.mkdir(parents=True)
    (directory / "manifest.yml").write_text(json.dumps(manifest))  # JSON is YAML
    body = indent(_BODIES[name], " " * 8)
    (directory / "__init__.py").write_text(_SOURCE.format(name=name, extension=extension, body=body))
    return directory
