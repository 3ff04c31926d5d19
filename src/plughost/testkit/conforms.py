"""`plughost check` as an assertion."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..manifest import project
from ..manifest.binding import Binding
from ..process.launcher import Launcher
from ..process.local import LocalLauncher

if TYPE_CHECKING:
    from ..conformance.report import Report


def assert_conforms(
    plugin: str | os.PathLike[str] | Binding,
    *,
    tool: str | None = None,
    input: Any = None,
    against: str | os.PathLike[str] | None = None,
    variables: Mapping[str, Any] | None = None,
    answers: Mapping[str, Any] | None = None,
    schema: str | os.PathLike[str] | None = None,
) -> None:
    """Check *plugin* against its whole contract. Raises AssertionError that lists what it breaks.

    *tool* and *input* are for an `execute` plugin. An `envelope` plugin works on copies of the directory *against*,
    or on samples; it is told *variables*, and *answers* by field id if it asks. A `hook` plugin is asked about the
    pipeline file *schema*, or a small one. Raises TreeError if *against* cannot be used, ManifestError for *schema*.
    """
    from ..conformance.report import Status

    binding = plugin if isinstance(plugin, Binding) else project.resolve(os.fspath(plugin), Path())
    launcher = LocalLauncher()
    try:
        if binding.contract == "envelope":
            report = _examine_envelope(binding, launcher, against, variables, answers)
        elif binding.contract == "hook":
            report = _examine_hook(binding, launcher, schema)
        elif binding.contract == "duplex":
            report = _examine_duplex(binding, launcher)
        elif binding.contract == "sideband":
            report = _examine_sideband(binding, launcher)
        else:
            report = _examine_execute(binding, launcher, tool, input)
    finally:
        launcher.close()
    broken = [f"{axis.id}: {axis.detail}" for axis in report.axes if axis.status is Status.FAILED]
    if broken:
        raise AssertionError(f"{report.plugin} breaks its contract:\n" + "\n".join(broken))


def _examine_execute(binding: Binding, launcher: Launcher, tool: str | None, input: Any) -> Report:
    from ..conformance.execute import Examination, examine

    return examine(Examination(binding, launcher, tool, input))


def _examine_hook(binding: Binding, launcher: Launcher, schema: str | os.PathLike[str] | None) -> Report:
    from .. import pipeline
    from ..conformance import hook

    return hook.check(binding, launcher, schema=pipeline.read(Path(schema)) if schema is not None else None)


def _examine_duplex(binding: Binding, launcher: Launcher) -> Report:
    from ..conformance import duplex, duplex_subject
    from ..manifest import duplex_registry
    from ..manifest.binding import COMMAND_LINE

    if binding.source == COMMAND_LINE:
        return duplex.check(duplex_subject.of_command(binding.command, binding.directory), launcher)
    return duplex.check(duplex_registry.load(binding.directory), launcher)


def _examine_sideband(binding: Binding, launcher: Launcher) -> Report:
    from ..conformance import sideband

    return sideband.check(binding, launcher)


def _examine_envelope(
    binding: Binding,
    launcher: Launcher,
    against: str | os.PathLike[str] | None,
    variables: Mapping[str, Any] | None,
    answers: Mapping[str, Any] | None,
) -> Report:
    from ..conformance.envelope import examine
    from ..conformance.envelope_examination import Examination
    from ..conformance.envelope_ground import Layout
    from ..conformance.envelope_subject import subject

    found = subject(binding, variables)
    layout = Layout(found.manifest, Path(against) if against is not None else None)
    return examine(Examination(found, launcher, layout, answers))
