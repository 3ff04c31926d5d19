"""`plughost check` as an assertion."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..manifest import project
from ..manifest.binding import Binding
from ..process.local import LocalLauncher


def assert_conforms(
    plugin: str | os.PathLike[str] | Binding, *, tool: str | None = None, input: Any = None
) -> None:
    """Check *plugin* against its whole contract. Raises AssertionError that lists what it breaks."""
    from ..conformance.execute import Examination, examine
    from ..conformance.report import Status

    binding = plugin if isinstance(plugin, Binding) else project.resolve(os.fspath(plugin), Path())
    launcher = LocalLauncher()
    try:
        report = examine(Examination(binding, launcher, tool, input))
    finally:
        launcher.close()
    broken = [f"{axis.id}: {axis.detail}" for axis in report.axes if axis.status is Status.FAILED]
    if broken:
        raise AssertionError(f"{report.plugin} breaks its contract:\n" + "\n".join(broken))
