"""Every clause of the `hook` contract that a plugin can break, checked against real processes.

The checks are in `hook_frames`, `hook_handshake` and `hook_rounds`; each looks at some conversations and returns what
is wrong, or None. The conversations are held once and shared, so a report costs about twenty starts of the plugin.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..contracts.hook.host import CONTRACT, check_contract
from ..manifest.binding import Binding
from ..pipeline import Pipeline
from ..process.launcher import Launcher
from ..process.local import LocalLauncher
from . import hook_frames, hook_handshake, hook_requests, hook_rounds
from .hook_examination import QUIET_S, Examination
from .hook_verdict import Check, judged
from .report import Axis, Report
from .requirements import requirements
from .verdict import Skip

CHECKS: dict[str, Check] = {**hook_frames.CHECKS, **hook_handshake.CHECKS, **hook_rounds.CHECKS}
# What can be judged without an introduction, with one that cannot be read, and only with an answer to each request.
NEED_NO_INTRODUCTION = {"hook:frame:clean-stdout", "hook:frame:limit", "hook:handshake:reply"}
JUDGE_THE_INTRODUCTION = {"hook:frame:body"}
NEED_ROUNDS = {
    "hook:frame:split",
    "hook:frame:large-request",
    "hook:frame:unknown-fields",
    "hook:round:again",
    "hook:round:chosen",
    "hook:result:diagnostics",
    "hook:result:paths",
    "hook:result:stable",
}


def check(
    binding: Binding,
    launcher: Launcher | None = None,
    *,
    schema: Pipeline | None = None,
    large: bool = True,
) -> Report:
    """Return how the plugin of *binding* keeps its contract, asked about *schema* or about a small pipeline.

    Without *large*, it is spared requests of the greatest length. Raises OSError or Unsupported if it cannot be
    started, and LocalProtocolError for a binding of another contract.
    """
    with examination(binding, launcher, schema=schema, large=large) as found:
        return examine(found)


@contextmanager
def examination(
    binding: Binding,
    launcher: Launcher | None = None,
    *,
    schema: Pipeline | None = None,
    large: bool = True,
    quiet_s: float = QUIET_S,
) -> Iterator[Examination]:
    """Give an examination of *binding*, with a sample project in a directory that is gone afterwards."""
    check_contract(binding)
    chosen = launcher if launcher is not None else LocalLauncher()
    try:
        with tempfile.TemporaryDirectory(prefix="plughost-check-") as directory:
            sample = hook_requests.sample(schema, Path(directory).resolve())
            yield Examination(binding, chosen, sample, large=large, quiet_s=quiet_s)
    finally:
        if launcher is None:
            chosen.close()


def examine(found: Examination) -> Report:
    """Run every check and return the report. Raises OSError or Unsupported."""
    axes = []
    for clause in requirements(CONTRACT).values():
        if clause.side == "plugin":
            missing = _missing(found, clause.id)
            verdict = Skip(missing) if missing is not None else CHECKS[clause.id](found)
            axes.append(Axis(clause.id, clause.says, *judged(verdict)))
    name = found.binding.name or (found.info.name if found.info is not None else "") or "plugin"
    return Report(CONTRACT, name, tuple(axes))


def _missing(found: Examination, clause: str) -> str | None:
    """Say which earlier step a clause needs and did not get, or None."""
    if clause in NEED_NO_INTRODUCTION:
        return None
    if found.ordinary.introduction is None:
        return "it needs an introduction, and there was none"
    if found.info is None and clause not in JUDGE_THE_INTRODUCTION:
        return "it needs an introduction that can be read"
    if clause not in NEED_ROUNDS:
        return None
    if not found.round:
        return "it needs a round, and which phases that has is not known"
    answered = len(found.results) == len(found.round)
    return None if answered else "it needs an answer to each ordinary request"
