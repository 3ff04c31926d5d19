"""The axes about what a host may refuse a plugin, and about what it asks of it: files, logs, actions, commands."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from ..contracts.duplex.messages import CliDispatchResult, decode
from ..errors import RemoteProtocolError
from ..messages.quoting import quote
from . import duplex_payload as payloads
from . import duplex_stub as stub
from .duplex_examination import CLI, Examination
from .duplex_talk import Answer, Talk
from .verdict import UNREADABLE, Findings, Flaw, Remark, Skip

HANDLED, GUARD = "duplex:capability:handled", "duplex:rpc:own-calls"
CLI_RESULT, REPLY, UNKNOWN = "duplex:cli:result", "duplex:rpc:reply", "duplex:rpc:unknown-method"
LOG = "host/log"
FS = (stub.READ_DIR, stub.READ_FILE)
NO_SUCH = "plughost-no-such"  # a namespace, and an action, that nobody has
ACTION_MS = 2_000  # that an action is said to have


# What is denied


def capability(found: Examination) -> Findings:
    """Deny all that can be denied."""
    with found.talk("denied whatever can be denied", stub.denying) as talk:
        began = talk.answers.get(1)
        _drive(found, talk)
        denied = [each for each in talk.calls if each.method in stub.GATES]
        if not denied:
            return [Skip("it made no call that can be denied")]
        fell = _fall(talk, [each for each in stub.GATES if each not in FS])
        if fell is not None:
            return [fell]
        if began is not None and not began.is_result:
            return [Remark(f"denied, it refuses to begin: {began.code}, {quote(began.message)}")]
    return []


def files(found: Examination) -> Findings:
    """List files that are gone, or not for it, when they are read."""
    grants = [name for name in found.surface.capabilities.granted() if name.startswith("read_")]
    findings: Findings = []
    for when, serve in (("denied every file", stub.sealing), ("shown files that are gone", stub.vanishing)):
        with found.talk(when, serve) as talk:
            _drive(found, talk)
            fell = _fall(talk, list(FS))
            findings += [] if fell is None else [fell]
    made = [each for talk in found.talks for each in talk.called(*FS)]
    if not made:
        asked = f"it may ({', '.join(grants)}), but " if grants else "its manifest asks for none, and "
        return [Skip(f"{asked}it read no file while it was watched")]
    for call in made:
        path = payloads.members(call.params).get("path")
        wrong = stub.flaw_of(call.method, call.params)
        if wrong is None and ".." in str(path).split("/"):
            wrong = f"{quote(str(path))} climbs, and is never read"
        if wrong is not None:
            return [*findings, Flaw(GUARD, f"it calls {call.method} wrongly: {wrong}")]
    return findings


def _drive(found: Examination, talk: Talk) -> None:
    if talk.is_ready:
        found.stir(talk)


def _fall(talk: Talk, methods: list[str]) -> Flaw | Skip | None:
    """Say that it fell over one of *methods*: that was the last that it called before it ceased to answer."""
    if talk.is_broken:
        return UNREADABLE
    if talk.is_ready and talk.answers_still():
        return None
    called = [each.method for each in talk.calls if each.method != LOG]
    if not called or called[-1] not in methods:
        return Skip(f"{talk.when}, it does not go on, which another axis says")
    return Flaw(HANDLED, f"{talk.when}, {called[-1]} refused, it does not go on: {talk.ending}")


# What it logs


def logs(found: Examination) -> Findings:
    """Judge its logs of all conversations: a host can only filter what has a level."""
    made = [each for talk in found.talks for each in talk.called(LOG)]
    if not made:
        return [Skip("it logged nothing while it was watched")]
    for call in made:
        if call.is_request:
            return [Flaw("duplex:rpc:own-calls", f"it sends {LOG} as a request, which no host answers so")]
        wrong = stub.flaw_of(LOG, call.params)
        if wrong is not None:
            return [Flaw("duplex:rpc:own-calls", f"what it logs cannot be filtered: {wrong}")]
    return []


# What it is asked to do


def actions(found: Examination) -> Findings:
    """Invoke each of its actions with an empty payload; as a caller, let it run into a timeout."""
    owned = found.surface.provides.commands
    if not owned:
        return [Skip("its manifest provides no commands")]
    if not found.calls_actions:
        return [Skip("its actions were not to be invoked")]
    with found.talk("asked for an action") as talk:
        for action in owned:
            got = talk.call(stub.ACTION, {"action": action, "payload": "", "timeout_ms": ACTION_MS})
            wrong = _wrong_action(found, talk, action, got)
            if wrong is not None:
                return [wrong]
        got = talk.call(stub.ACTION, {"action": NO_SUCH, "payload": "", "timeout_ms": ACTION_MS})
        if got is None:
            return [found.unanswered(talk, REPLY, "an action that it does not have")]
        if got.is_result:
            return [Flaw(UNKNOWN, "it answers an action that it does not have with a result")]
    return []


def _wrong_action(found: Examination, talk: Talk, action: str, got: Answer | None) -> Flaw | Skip | None:
    if got is None:
        return found.unanswered(talk, REPLY, f"the action {quote(action)}")
    if not got.is_result:
        return None  # it may refuse what it is given
    payload = payloads.read(payloads.members(got.result).get("payload"))
    if isinstance(payload, str):
        return Flaw(payloads.CLAUSE, f"the payload of its action {quote(action)} is {payload}")
    return None


def cli(found: Examination) -> Findings:
    """Ask each of its namespaces for help, and one that it does not have for any answer."""
    owned = found.surface.provides.cli_namespaces
    if not owned:
        return [Skip("its manifest names no cli_namespaces")]
    with found.talk("asked for a command") as talk:
        for namespace in owned:
            got = talk.call(CLI, {"namespace": namespace, "argv": ["--help"]})
            wrong = _wrong_command(found, talk, namespace, got)
            if wrong is not None:
                return [wrong]
        got = talk.call(CLI, {"namespace": NO_SUCH, "argv": [b64encode(b"x").decode(), "é", ""]})
        if got is None:
            return [found.unanswered(talk, CLI_RESULT, "a namespace that it does not have")]
    return []


def _wrong_command(found: Examination, talk: Talk, namespace: str, got: Answer | None) -> Flaw | Skip | None:
    what = f"{quote(namespace)} --help"
    if got is None:
        return found.unanswered(talk, CLI_RESULT, what)
    if not got.is_result:
        return Flaw(CLI_RESULT, f"it answers {what} with the error {got.code}: {quote(got.message)}")
    said: dict[str, Any] = payloads.members(got.result)
    for member in ("stdout", "stderr"):
        written = payloads.read(said.get(member))
        if isinstance(written, str):
            return Flaw(payloads.CLAUSE, f"the {member} of {what} is {written}")
    try:
        decode(CliDispatchResult, got.result)
    except RemoteProtocolError as error:
        return Flaw(CLI_RESULT, f"its answer to {what} is none: {error}")
    return None
