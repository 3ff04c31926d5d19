"""The axes about the end: graceful shutdown, crash recovery, quarantine."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from ..errors import RemoteError
from ..failures import PluginFailure
from ..manifest.duplex_binding import DuplexBinding
from ..messages.quoting import quote
from ..supervision.states import State
from .duplex_examination import RENDER, USUAL_SIZE, Examination
from .duplex_subject import bound
from .probe import KILL
from .verdict import UNREADABLE, Findings, Flaw, Skip

if TYPE_CHECKING:
    from ..host.duplex.blocking_fleet import BlockingDuplexPlugin

SHUTDOWN, EOF, REPLY = "duplex:exit:shutdown", "duplex:exit:eof", "duplex:init:reply"
OPEN = "duplex:exit:open-input"
BACKOFF_S = 0.02  # between a crash and the next start
GLANCE_S = 0.005  # how often to look whether the host has seen a crash
CRASHES = 3  # in a row: what a host takes for one crash too many


def shutdown(found: Examination) -> Findings:
    """Judge how the first conversation ended, and how others end without a word."""
    hello = found.hello
    findings: Findings = []
    if hello.is_broken:
        return [UNREADABLE]
    within = f"within {found.patience.exit_s:g} s"
    if hello.ended is None:
        findings.append(
            Flaw(SHUTDOWN, f"told to shut down, and its input at an end, it does not exit {within}")
        )
    elif not hello.ended.ok:
        findings.append(Flaw(SHUTDOWN, f"told to shut down, it ended with {hello.ended.meaning}"))
    else:
        findings += _with_open_input(found, within)
    for when, begins in (("its input at an end", True), ("its input at an end before it began", False)):
        with found.talk(when, begins=begins) as talk:
            if not talk.is_broken:
                talk.hang_up(found.patience.exit_s)
        if talk.ended is None and not talk.is_broken:
            findings.append(Flaw(EOF, f"{when}, it does not exit {within}"))
            break
    return findings


def _with_open_input(found: Examination, within: str) -> Findings:
    """Tell it to shut down, by a request and by a notification, and leave its input open."""
    for kind in ("request", "notification"):
        with found.talk(f"told to shut down by a {kind}, its input still open") as talk:
            if not talk.is_ready or talk.is_broken:
                return []  # which other axes say
            ended = talk.shut_down(as_request=kind == "request")
        if ended is None:
            return [Flaw(OPEN, f"{talk.when}, it does not exit {within}")]
        if not ended.ok:
            return [Flaw(OPEN, f"{talk.when}, it ended with {ended.meaning}")]
    return []


def crash(found: Examination) -> Findings:
    """Kill it, and start it again."""
    with found.talk("killed") as talk:
        talk.kill()
    findings = _starts(found, "started again after it was killed")
    found.recovers = not findings
    return findings


def quarantine(found: Examination) -> Findings:
    """Kill it under a real host until that gives it up, and let it be loaded anew."""
    if not found.recovers:
        return [Skip("not reached: it does not start again after one crash")]
    if found.hello.is_broken:
        return [UNREADABLE]
    from ..blocking import Host

    when = ""
    with tempfile.TemporaryDirectory(prefix="plughost-check-") as nothing, Host() as host:
        roots = {name: [nothing] for name in found.surface.capabilities.granted() if name.startswith("read_")}
        fleet = host.fleet(_hasty(found), roots=roots, log_level="error")
        plugin = fleet[found.surface.name]
        try:
            for number in range(CRASHES):
                plugin.start()
                _crash(plugin, found.patience.exit_s)
                when = f"started under a host that saw {number + 1} of its crashes"
            if plugin.state is not State.QUARANTINED:  # whose fault that is, its tests say
                return [Skip(f"after {CRASHES} crashes the host has it as {plugin.state.value!r}")]
            when = f"loaded anew after {CRASHES} crashes"
            plugin.reload()
            plugin.start()
        except (PluginFailure, RemoteError) as error:
            said = quote(error.message) if isinstance(error, RemoteError) else error.message
            told = f"it does not work: {error.code}: {said}"
            if not when:  # it has not crashed yet: what a host dislikes about it, other axes say
                return [Skip(f"not reached: under a host, {told}")]
            return [Flaw(REPLY, f"{when}, {told}")]
    return []


def _hasty(found: Examination) -> DuplexBinding:
    """Return its binding with no more patience than the check has, and hardly any backoff."""
    known = bound(found.subject, found.surface)
    limits = msgspec.structs.replace(
        known.limits,
        backoff_s=(BACKOFF_S,),
        handshake_s=found.patience.init_s,
        teardown_s=found.patience.exit_s,
        failures_to_quarantine=CRASHES,
    )
    return replace(known, limits=limits)


def _crash(plugin: BlockingDuplexPlugin, within: float) -> None:
    """Kill its process, and wait until the host has seen it."""
    pid = plugin.status.pid
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, KILL)
    until = time.monotonic() + within
    while plugin.status.pid == pid and time.monotonic() < until:
        time.sleep(GLANCE_S)


def _starts(found: Examination, when: str) -> Findings:
    with found.talk(when, begins=False) as talk:
        got = found.init(talk)
        if got is None:
            told = f"{when}, it does not answer plugin/init: {talk.ending}"
            return [UNREADABLE if talk.is_broken else Flaw(REPLY, told)]
        if not got.is_result:
            return [
                Flaw(REPLY, f"{when}, it answers plugin/init with the error {got.code}: {quote(got.message)}")
            ]
        if RENDER in found.works:
            drawn = talk.call(RENDER, {"viewport": USUAL_SIZE, "generation": 0})
            if drawn is None:
                return [found.unanswered(talk, REPLY, RENDER)]
            if not drawn.is_result:
                return [Flaw(REPLY, f"{when}, it answers {RENDER} with the error {drawn.code}")]
    return []
