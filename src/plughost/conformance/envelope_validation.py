"""One validation of a plugin, as a host would hold it: variables in, objections out. Touches no tree."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from ..contracts.envelope import host as envelope
from ..contracts.envelope.messages import ValidationContext, ValidationRequest
from ..contracts.envelope.session import EnvelopeSession, Mode
from ..host.engine import BoundLink, Engine
from ..host.poll_driver import PollDriver
from ..manifest.binding import Binding
from ..messages import strict_json
from .envelope_subject import Subject

NO_MODES = "it took the validation for an ordinary request: it does not know `--mode validate`"


def validate(subject: Subject) -> tuple[str, ...]:
    """Return what *subject* objects to its variables, or a host to its class. Raises PluginFailure."""
    with tempfile.TemporaryDirectory(prefix="plughost-validate-") as temporary:
        home = Path(temporary).resolve()
        binding = envelope.validation_binding(subject.bound(home, home))
        engine = Engine()
        try:
            link = _run(engine, binding, _line(subject))
        finally:
            engine.end_rest()
            engine.launcher.close()
    attempt = envelope.conclude(binding, link.conversation, link.evidence())
    if attempt.failure is not None:
        raise attempt.failure
    if subject.manifest is not None:
        return envelope.objections(subject.manifest, link.conversation, attempt, subject.variables)
    assert link.conversation.validation is not None
    errors = link.conversation.validation.errors
    return (NO_MODES,) if errors is None else errors


def _line(subject: Subject) -> bytes:
    context = ValidationContext(subject.variables)
    return strict_json.encode(ValidationRequest(context, subject.module), "request") + b"\n"


def _run(engine: Engine, binding: Binding, line: bytes) -> BoundLink[EnvelopeSession]:
    driver = PollDriver(engine.clock)
    link = engine.start(binding, driver, partial(EnvelopeSession, Mode.VALIDATE, envelope.terms(binding)))
    link.start()
    link.conversation.tell(line, engine.clock())
    link.pump()
    driver.run(link, lambda: link.finished)
    engine.finish(link)
    return link
