"""The 14 axes of the `duplex` contract, checked against real processes. Turns a plugin into a report.

Each axis covers clauses of SPEC.md, and each clause that binds a plugin belongs to at least one axis. The
conversations are held once and shared; what single messages look like is judged in all of them. An axis of what the
plugin does not offer is skipped, and so is every axis that needs an answer to init if there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..contracts.duplex.introduction import Introduction
from ..manifest.duplex_binding import CONTRACT, DuplexBinding
from ..manifest.duplex_manifest import DuplexManifest
from ..process.launcher import Launcher
from ..process.local import LocalLauncher
from . import duplex_bus as bus
from . import duplex_duties as duties
from . import duplex_endings as endings
from .duplex_dispatch import dispatch
from .duplex_examination import Examination
from .duplex_framing import framing, output
from .duplex_introducing import manifest
from .duplex_screen import render
from .duplex_subject import Subject, of_binding
from .duplex_talk import Patience
from .report import Report
from .requirements import requirements
from .topic import NOT_REACHED, Topic, topic
from .verdict import Findings, Skip, judged

CALL_S = 10.0  # the longest that an answer is waited for: a check is no place for the patience of a host
Check = Callable[[Examination], Findings]
_topic = partial(topic, CONTRACT)

AXES = (
    _topic(
        "manifest-round-trip",
        "manifest round-trip",
        "manifest:required manifest:values manifest:place manifest:schema init:reply init:before",
        manifest,
    ),
    _topic(
        "framing",
        "framing",
        "frame:header frame:limit frame:clean-stdout frame:split frame:large",
        framing,
    ),
    _topic(
        "method-dispatch",
        "method dispatch",
        "rpc:version rpc:reply rpc:ids rpc:unknown-method rpc:params rpc:unknown-members "
        "order:notifications order:reentrant",
        dispatch,
    ),
    _topic("capability-gating", "capability gating", "capability:handled", duties.capability),
    _topic("render-determinism", "render determinism", "render:stable render:size", render),
    _topic("snapshot-pub-sub", "snapshot pub/sub", "wire:base64 snapshot:version rpc:own-calls", bus.pubsub),
    _topic("action-timeout", "action timeout", "rpc:reply rpc:unknown-method wire:base64", duties.actions),
    _topic("log-filtering", "log filtering", "rpc:own-calls", duties.logs),
    _topic("fs-path-guard", "fs path guard", "capability:handled rpc:own-calls", duties.files),
    _topic(
        "graceful-shutdown", "graceful shutdown", "exit:shutdown exit:open-input exit:eof", endings.shutdown
    ),
    _topic("crash-recovery", "crash recovery", "init:reply", endings.crash),
    _topic("quarantine", "quarantine", "init:reply", endings.quarantine),
    _topic("cli-dispatch", "CLI dispatch capture", "cli:result wire:base64", duties.cli),
    _topic(
        "chunked-publish",
        "chunked publish ordering",
        "snapshot:chunks snapshot:orphans",
        bus.chunked,
    ),
)
# The first five judge what was heard in all conversations so far; the others leave behind what a crash leaves.
LAST = (
    "duplex:snapshot-pub-sub",
    "duplex:chunked-publish",
    "duplex:method-dispatch",
    "duplex:log-filtering",
    "duplex:framing",
    "duplex:crash-recovery",
    "duplex:quarantine",
)
FIRST = "duplex:manifest-round-trip"


def check(
    subject: Subject | DuplexBinding,
    launcher: Launcher | None = None,
    *,
    large: bool = True,
    call: bool = True,
) -> Report:
    """Return how a plugin keeps the contract.

    Without *large* it is spared a body of the greatest length; without *call* its actions are not invoked. Raises
    OSError or Unsupported if it cannot be started.
    """
    chosen = launcher if launcher is not None else LocalLauncher()
    known = of_binding(subject) if isinstance(subject, DuplexBinding) else subject
    try:
        return examine(Examination(known, chosen, patience(known), large=large, call=call))
    finally:
        if launcher is None:
            chosen.close()


def patience(subject: Subject) -> Patience:
    """Return how long is waited for what, by the limits of *subject*."""
    limits = subject.limits
    return Patience(init_s=limits.handshake_s, call_s=min(limits.timeout_s, CALL_S), exit_s=limits.teardown_s)


def examine(found: Examination) -> Report:
    """Run every check and return the report. Raises OSError or Unsupported."""
    by_id = {axis.id: axis for axis in AXES}
    usual = [axis.id for axis in AXES if axis.id not in LAST]
    findings = {each: _findings(found, by_id[each]) for each in (*usual, *LAST)}
    said = requirements(CONTRACT)
    axes = []
    for axis in AXES:
        status, detail, broken = judged(findings[axis.id])
        axes.append(axis.judged(status, detail, broken, said))
    return Report(CONTRACT, _name(found), tuple(axes))


def _findings(found: Examination, axis: Topic[Check]) -> Findings:
    if found.subject.process is None:
        return (
            axis.check(found) if axis.id == FIRST else [Skip(f"{NOT_REACHED}: its manifest is not in order")]
        )
    if isinstance(found.introduced, Introduction) and isinstance(found.manifest, DuplexManifest):
        return axis.check(found)
    if axis.id == FIRST:
        return axis.check(found)
    return _from_the_first(found, axis.id) or [
        Skip(f"{NOT_REACHED}: there is no valid answer to plugin/init")
    ]


def _from_the_first(found: Examination, id: str) -> Findings:
    """Return what the first conversation tells about an axis though it led nowhere."""
    wrong = output(found.hello)
    if id == "duplex:framing" and wrong is not None:
        return [wrong]
    if id == "duplex:method-dispatch" and wrong is None:
        return list(found.hello.flaws)
    return []


def _name(found: Examination) -> str:
    if found.subject.binding is None and found.subject.process is not None:
        said = found.introduced
        return said.name if isinstance(said, Introduction) else found.subject.name
    return found.subject.name
