"""One validation of a plugin, as a host would hold it: variables in, objections out. Touches no tree."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..contracts.envelope import host as envelope
from ..contracts.envelope.host import Attempt
from ..contracts.envelope.messages import Context, Request
from ..contracts.envelope.session import EnvelopeSession, Mode
from ..host.engine import BoundLink, Engine
from ..host.envelope.options import ANSWERS_FILE
from ..host.poll_driver import PollDriver
from ..manifest.binding import Binding
from ..messages import strict_json
from .envelope_subject import Subject

NO_REASON = "it gave no reason"


class Answered(NamedTuple):
    """What a plugin objects to, and *what* its worker has answered to say so; None if it was not asked."""

    objections: tuple[str, ...]
    what: str | None = "a validation"


def validate(subject: Subject) -> Answered:
    """Return what *subject* objects to its variables, or a host to its class. Raises PluginFailure.

    A plugin whose manifest does not say that its worker knows `--mode validate` is not started. Of a bare command
    nobody knows, so one that does not answer a validation is told to do nothing with no file.
    """
    manifest = subject.manifest
    if manifest is not None and not manifest.validates:
        return Answered(envelope.unasked(manifest, subject.variables), None)
    session, attempt = _attempt(subject, Mode.VALIDATE)
    if manifest is not None and attempt.failure is None:
        return Answered(envelope.objections(manifest, session, attempt, subject.variables))
    if manifest is None and _knows_no_modes(session, attempt):
        session, attempt = _attempt(subject, Mode.TRANSFORM)
    if attempt.failure is not None:
        raise attempt.failure
    if session.validation is not None:
        return Answered(session.validation.errors or ())
    reply = attempt.reply
    assert reply is not None, "it has not failed"
    objection = (reply.error_message or NO_REASON,) if reply.result == "failed" else ()
    return Answered(objection, "a request for no file")


def _knows_no_modes(session: EnvelopeSession, attempt: Attempt) -> bool:
    """Tell whether a worker took a validation for an ordinary request, or its words for wrong ones."""
    if session.validation is not None:
        return session.validation.errors is None
    return attempt.crashed and attempt.exit_code is not None and attempt.exit_code > 0


def _attempt(subject: Subject, mode: Mode) -> tuple[EnvelopeSession, Attempt]:
    with tempfile.TemporaryDirectory(prefix="plughost-validate-") as temporary:
        home = Path(temporary).resolve()
        binding = subject.bound(home, home)
        if mode is Mode.VALIDATE:
            binding = envelope.validation_binding(binding)
        engine = Engine()
        try:
            link = _run(engine, binding, mode, _line(subject, home))
        finally:
            engine.end_rest()
            engine.launcher.close()
    return link.conversation, envelope.conclude(binding, link.conversation, link.evidence())


def _line(subject: Subject, root: Path) -> bytes:
    context = Context(subject.variables, str(root), str(root / ANSWERS_FILE), dry_run=True)
    return strict_json.encode(Request(subject.module, context, (), dry_run=True), "request") + b"\n"


def _run(engine: Engine, binding: Binding, mode: Mode, line: bytes) -> BoundLink[EnvelopeSession]:
    driver = PollDriver(engine.clock)
    link = engine.start(binding, driver, partial(EnvelopeSession, mode, envelope.terms(binding)))
    link.start()
    link.conversation.tell(line, engine.clock())
    link.pump()
    driver.run(link, lambda: link.finished)
    engine.finish(link)
    return link
