"""What a user says about a console -> one plan, checked before anything is started."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from ...contracts.sideband import host as contract
from ...contracts.sideband.terms import Terms
from ...errors import LocalProtocolError
from ...manifest import sideband_binding
from ...manifest.binding import Binding, Environment
from ...manifest.sideband_binding import Worker
from ...manifest.sideband_limits import SidebandLimits


class ConsoleKeywords(TypedDict, total=False):
    """The options of `Host.console`."""

    cwd: str | os.PathLike[str] | None  # where the worker runs; the current directory otherwise
    limits: SidebandLimits | None
    environment: Environment | None  # its variables; those that people's code expects otherwise
    output_directory: str | os.PathLike[str] | None  # keeps the files of large outputs; else they are removed


@dataclass(frozen=True, slots=True)
class ConsolePlan:
    """A console, before its first worker is started."""

    binding: Binding
    limits: SidebandLimits
    terms: Terms
    output_directory: Path | None

    @property
    def name(self) -> str:
        return self.binding.name


def plan(worker: Worker | None, name: str, options: ConsoleKeywords, taken: set[str]) -> ConsolePlan:
    """Return the plan of a console that is called *name*, or as none in *taken* is. Raises ManifestError.

    Raises LocalProtocolError if the name is taken.
    """
    if name in list(taken):  # what cannot be a key is no name either, and refused below
        raise LocalProtocolError(f"there is a console {name!r} already: give this one another name")
    binding = sideband_binding.bind(
        worker,
        name=name or _vacant(taken),
        cwd=options.get("cwd"),
        limits=options.get("limits"),
        environment=options.get("environment"),
    )
    directory = options.get("output_directory")
    if not isinstance(directory, str | os.PathLike | None):
        raise LocalProtocolError("output_directory is a path")
    return ConsolePlan(
        binding,
        sideband_binding.limits_of(binding),
        contract.terms(binding),
        None if directory is None else Path(os.fsdecode(directory)).absolute(),
    )


def _vacant(taken: set[str]) -> str:
    number = 1
    while (name := "console" if number == 1 else f"console-{number}") in taken:
        number += 1
    return name
