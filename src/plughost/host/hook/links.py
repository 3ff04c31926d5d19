"""Links of the `hook` contract: how one is started, when a step is over for it, what it failed with. Never waits."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial

from plughost_sdk import __version__  # the two are released together

from ...contracts.hook import host as hook
from ...contracts.hook.session import Ask, HookSession
from ...contracts.hook.states import State
from ...failures import FailureCode, PluginFailure, Stage
from ...manifest.binding import Binding
from ...process.watcher import Watcher
from ..engine import Engine
from .steps import HookLink

_BUSY = (State.STARTED, State.HANDSHAKING, State.ASKED)


def start(engine: Engine, binding: Binding, watcher: Watcher) -> HookLink:
    """Start a process for *binding*; it is greeted when its link is. Raises LaunchFailed, LocalProtocolError."""
    chosen = hook.bound(binding)
    terms = hook.terms(chosen, os.environ, __version__)
    link = engine.start(chosen, watcher, partial(HookSession, terms))
    link.conversation.begin()
    return link


def ask(engine: Engine, link: HookLink, ask: Ask, timeout_s: float | None) -> None:
    """Send *ask*, after hearing what has come meanwhile. Raises LocalProtocolError if it is not its turn."""
    link.hear()
    link.conversation.ask(ask, engine.clock(), timeout_s)
    link.pump()


def is_idle(link: HookLink) -> bool:
    """Tell whether *link* has done what was asked of it, or has failed."""
    return link.finished or link.conversation.state not in _BUSY


def has_failed(link: HookLink) -> bool:
    """Tell whether *link* owes an answer that will not come, or has cast doubt on those that it gave."""
    if left_by_itself(link):
        return link.conversation.result is None  # it has shaken hands, or was asked since, and is gone
    return link.conversation.fault is not None


def first_failed(links: Iterable[HookLink]) -> HookLink | None:
    for link in links:
        if has_failed(link):
            return link
    return None


def left_by_itself(link: HookLink) -> bool:
    """Tell whether the process has ended while nothing was asked of it: no failure if nothing was to be asked."""
    fault = link.conversation.fault
    return fault is not None and fault.code is FailureCode.CRASHED and fault.stage is Stage.IDLE


def first_spoiled(links: Iterable[HookLink]) -> HookLink | None:
    """Return the first of *links*, all of them let go and gone, whose end casts doubt on its answers."""
    faulty = (link for link in links if link.conversation.fault is not None)
    return next((link for link in faulty if not left_by_itself(link)), None)


def failure(engine: Engine, link: HookLink) -> PluginFailure:
    """Return what a link has failed with, whose process is gone; everybody is told."""
    return engine.fail(hook.failure(link.binding, link.conversation, link.evidence()))
