"""Checks of the clauses of `hook` about the handshake: how a plugin introduces itself, and what it then may not do."""

from __future__ import annotations

import re

from plughost_sdk import hook_messages as wire

from ..capabilities import allow_list
from ..contracts.hook import rounds
from ..contracts.hook.messages import PROTOCOL, Phase
from ..errors import RemoteProtocolError
from ..failures import FailureCode
from ..manifest.binding import COMMAND_LINE
from ..messages.quoting import listed, quote
from .hook_examination import Examination
from .hook_seen import shown
from .hook_verdict import Check, Verdict
from .verdict import Skip

OTHER_PROTOCOLS = (PROTOCOL + 1, 0)  # the next one, and a greeting that names none
MISMATCH = re.compile(r"protocol version mismatch", re.IGNORECASE)


def replies(found: Examination) -> Verdict:
    seen = found.ordinary
    if seen.introduction is not None:
        return None
    if seen.promised is not None:
        return Skip("its first frame is text, or too long")
    if seen.head:
        return f"only {len(seen.head)} bytes of its introduction came: {seen.ending}"
    return f"no introduction came: {seen.ending}"


def version(found: Examination) -> Verdict:
    said = found.info.protocol if found.info is not None else 0
    return None if said == PROTOCOL else f"it speaks protocol {said}, and was greeted with {PROTOCOL}"


def mismatch(found: Examination) -> Verdict:
    for protocol in OTHER_PROTOCOLS:
        seen = found.greeted_with(protocol)
        if seen.head:
            return f"{seen.when}, it answers"
        if seen.exit is None:
            return f"{seen.when}, it goes on running"
        if seen.exit.ok:
            return f"{seen.when}, it ends with exit status 0"
        if not MISMATCH.search(seen.stderr):
            said = shown(seen.last_words.encode()) if seen.last_words else "nothing"
            return f"{seen.when}, it says {said}, not that the protocol version is a mismatch"
    return None


def name(found: Examination) -> Verdict:
    said, bound = found.info.name if found.info is not None else "", found.binding.name
    if not said.strip():
        return "it does not say its name"
    return None if bound in ("", said) else f"it calls itself {quote(said)}, the binding calls it {bound!r}"


def phases(found: Examination) -> Verdict:
    assert found.info is not None
    try:
        rounds.begin(tuple(map(Phase, found.binding.hook.phases)), found.info)
    except RemoteProtocolError as error:
        return str(error)
    return None


def stable(found: Examination) -> Verdict:
    others = (found.idle, found.greeted)
    for seen in (
        others if found.ordinary.is_silent else (found.again, *others)
    ):  # it would have to be waited for
        if isinstance(seen.info, str):
            return f"{seen.when}: {seen.info}"
        for field in wire.PluginInfo.DESCRIPTOR.fields:
            if getattr(seen.info, field.name) != getattr(found.info, field.name):
                return f"two starts give another {field.name!r}"
    return None


def waits(found: Examination) -> Verdict:
    early = found.idle.early or found.ordinary.early
    return f"it wrote {shown(early)} before anything was asked" if early else None


def declared(found: Examination) -> Verdict:
    return _refused(found, FailureCode.CAPABILITY_NOT_DECLARED)


def subset(found: Examination) -> Verdict:
    declared = found.info.capabilities if found.info is not None else ()
    if declared and found.binding.source == COMMAND_LINE and not found.binding.allow:
        return Skip(f"a bare command has no binding: one would have to allow {listed(declared)}")
    return _refused(found, FailureCode.CAPABILITY_NOT_ALLOWED)


def _refused(found: Examination, code: FailureCode) -> str | None:
    declared = list(found.info.capabilities) if found.info is not None else []
    refusal = allow_list.judge(found.binding.allow, declared)
    return refusal.message if refusal is not None and refusal.code is code else None


CHECKS: dict[str, Check] = {
    "hook:handshake:reply": replies,
    "hook:handshake:version": version,
    "hook:handshake:mismatch": mismatch,
    "hook:handshake:name": name,
    "hook:handshake:phases": phases,
    "hook:handshake:stable": stable,
    "hook:handshake:waits": waits,
    "hook:capabilities:declared": declared,
    "hook:capabilities:subset": subset,
}
