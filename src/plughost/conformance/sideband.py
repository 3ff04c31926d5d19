"""The axes of the `sideband` contract, checked against real processes. Turns a worker into a report.

Each axis covers clauses of SPEC.md, and each clause that binds a worker belongs to one axis. What single messages look
like is judged in all conversations. An axis for which no code in the worker's language is known is skipped, and so is
every axis that needs an introduction, or a request that ends, if there is none.
"""

from __future__ import annotations

from functools import partial

from ..manifest.binding import Binding
from ..manifest.sideband_binding import CONTRACT, limits_of
from ..process.launcher import Launcher
from ..process.local import LocalLauncher
from . import sideband_requests as requests
from . import sideband_stopping as stopping
from . import sideband_surroundings as surroundings
from .report import Report
from .requirements import requirements as clauses_of
from .sideband_beginnings import introduction, lines, robustness
from .sideband_examination import Check, Examination
from .sideband_pictures import pictures
from .sideband_reading import children, reading
from .sideband_talk import Patience
from .topic import NOT_REACHED, Topic, topic
from .verdict import UNREADABLE, Findings, Flaw, Skip, first_of_each, judged

CALL_S = 10.0  # the longest that a request is waited for: a check is no place for the patience of a host
_topic = partial(topic, CONTRACT)

AXES = (
    _topic("introduction", "introduction", "transport:descriptors hello:first", introduction),
    _topic("requests", "requests", "request:exact request:ids", requests.requests),
    _topic("marks", "marks", "request:mark", requests.marks),
    _topic("robustness", "wrong lines", "line:unknown line:robust", robustness),
    _topic("large-request", "large requests", "request:large", requests.large),
    _topic("code", "code", "cell:whole cell:value", requests.code),
    _topic("errors", "errors", "cell:error", requests.errors),
    _topic("state", "state", "cell:state", requests.state),
    _topic("help", "help", "cell:help", requests.help_inline),
    _topic("place", "the working directory", "cell:place", requests.place),
    _topic("reading", "standard input", "input:asked input:given input:readers input:leftover", reading),
    _topic("children", "child processes", "input:children", children),
    _topic("hidden", "a hidden sideband", "transport:hidden", surroundings.hidden),
    _topic("output", "output", "output:raw output:marked", surroundings.output),
    _topic("pictures", "pictures", "image:sent image:id image:background", pictures),
    _topic(
        "interrupt",
        "interrupts",
        "interrupt:answered interrupt:delivered interrupt:discarded",
        stopping.interrupting,
    ),
    _topic("idle-interrupt", "interrupts of nothing", "interrupt:idle", stopping.idle),
    _topic("session-end", "the end", "end:asked", stopping.asked_to_end),
    _topic("host-gone", "the end of the sideband", "end:eof", stopping.eof),
    _topic("exit", "code that ends the session", "end:announced", stopping.leaving),
    _topic("lines", "lines", "line:json line:limit", lines),
)
FIRST, SECOND = "sideband:introduction", "sideband:requests"
ABOUT_LINES = (
    "sideband:line:json",
    "sideband:line:limit",
)  # where they are broken, what is lacking may have been there
WITHOUT_CODE = (
    FIRST,
    "sideband:idle-interrupt",
    "sideband:session-end",
    "sideband:host-gone",
    "sideband:lines",
)


def check(binding: Binding, launcher: Launcher | None = None) -> Report:
    """Return how a worker keeps the contract. Raises OSError or Unsupported if it cannot be started."""
    chosen = launcher if launcher is not None else LocalLauncher()
    try:
        return examine(Examination(binding, chosen, patience(binding)))
    finally:
        if launcher is None:
            chosen.close()


def patience(binding: Binding) -> Patience:
    """Return how long is waited for what, by the limits of *binding*."""
    limits = limits_of(binding)
    return Patience(hello_s=limits.handshake_s, call_s=min(limits.timeout_s, CALL_S))


def examine(found: Examination) -> Report:
    """Run every check and return the report. Raises OSError or Unsupported."""
    findings = {axis.id: _findings(found, axis) for axis in AXES}
    said = clauses_of(CONTRACT)
    axes = []
    for axis in AXES:
        heard = [flaw for talk in found.talks for flaw in talk.flaws if flaw.clause in axis.clauses]
        status, detail, broken = judged(first_of_each([*findings[axis.id], *heard]))
        axes.append(axis.judged(status, detail, broken, said))
    return Report(CONTRACT, found.binding.name or "worker", tuple(axes))


def _findings(found: Examination, axis: Topic[Check]) -> Findings:
    if found.backend is None and axis.id != FIRST:
        return [Skip(f"{NOT_REACHED}: it does not introduce itself")]
    if axis.id not in WITHOUT_CODE:
        if lacks := found.lacks("echo"):
            return [*lacks]
        if not found.works and axis.id != SECOND:
            return [Skip(f"{NOT_REACHED}: a request that prints a word is not over")]
    before = len(found.talks)
    findings = axis.check(found)
    unreadable = any(flaw.clause in ABOUT_LINES for talk in found.talks[before:] for flaw in talk.flaws)
    is_broken = any(isinstance(each, Flaw) for each in findings)
    return [UNREADABLE] if unreadable and is_broken else findings
