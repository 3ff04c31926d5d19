"""The host's verbs over an `envelope` session: what is asked of a worker, and what its end means.

It neither starts nor waits for anything, and knows the tree only by the paths it is given.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from plughost_sdk.frames import lines
from plughost_sdk.frames.errors import FrameError

from ...errors import LocalProtocolError
from ...failures import FailureCode, PluginFailure
from ...manifest import binding as bindings
from ...manifest.binding import Binding
from ...manifest.envelope_binding import VALIDATE
from ...manifest.envelope_manifest import EnvelopeManifest
from ...messages import strict_json
from ...messages.quoting import listed, quote
from .. import outcome
from ..base import Evidence
from .messages import Context, PerFile, PluginFacts, Reply, Request
from .session import EXIT_TIMEOUT, EnvelopeSession, Mode, Terms

# The budget of a worker that only looks at variables: fixed, whatever the manifest says.
VALIDATION_CPU_S = 5
VALIDATION_MEMORY_MB = 256
VALIDATION_S = 10.0


def terms(binding: Binding) -> Terms:
    """Return what *binding* demands of a conversation."""
    return Terms(binding.limits.timeout_s, binding.limits.line_bytes, binding.envelope.lenient)


def validation_binding(binding: Binding) -> Binding:
    """Return *binding* for the worker that validates variables."""
    limits = msgspec.structs.replace(
        binding.limits,
        timeout_s=VALIDATION_S,
        cpu_s=VALIDATION_CPU_S,
        memory_mb=VALIDATION_MEMORY_MB,
    )
    return bindings.replace(binding, command=(*binding.command, *VALIDATE), limits=limits)


def transform_line(
    manifest: EnvelopeManifest,
    context: Context,
    files: Sequence[str],
    extra_inputs: Mapping[str, Any] | None,
    line_bytes: int,
) -> bytes:
    """Return the request to transform *files*, ready to send. Raises LocalProtocolError if it cannot be sent."""
    request = Request(
        plugin_module=manifest.directory.name,
        context=context,
        files=tuple(files),
        dry_run=context.dry_run,
        extra_inputs=dict(extra_inputs) if extra_inputs else None,
    )
    return _line(request, line_bytes)


def validation_line(manifest: EnvelopeManifest, context: Context, line_bytes: int) -> bytes:
    """Return the request to validate variables, ready to send. Raises LocalProtocolError.

    It has every member of a request: no files, and a dry run.
    """
    dry = msgspec.structs.replace(context, dry_run=True)
    return transform_line(manifest, dry, (), None, line_bytes)


def _line(request: Request, line_bytes: int) -> bytes:
    try:
        return lines.encode(strict_json.encode(request, "request"), line_bytes)
    except FrameError as error:
        raise LocalProtocolError(f"the request cannot be sent: {error}") from error


def check_variables(variables: Mapping[str, Any]) -> None:
    """Raise LocalProtocolError unless *variables* say in JSON exactly what they say here."""
    for name, value in variables.items():
        if not isinstance(name, str):
            raise LocalProtocolError(f"a variable is named {name!r}: names are text")
        if problem := _flaw(value):
            raise LocalProtocolError(f"the variable {quote(name)} {problem}")
        strict_json.encode(
            {name: value}, f"the variable {quote(name)}"
        )  # text that is no Unicode, endless numbers


def _flaw(value: Any, depth: int = 0) -> str | None:
    """Return why *value* is not plain JSON, or None."""
    if depth > 100:
        return "is nested too deep"
    if isinstance(value, float) and not math.isfinite(value):
        return f"is or holds {value}, which JSON cannot say"
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            return "holds a key that is no text"
        return next((flaw for each in value.values() if (flaw := _flaw(each, depth + 1))), None)
    if isinstance(value, list | tuple):
        return next((flaw for each in value if (flaw := _flaw(each, depth + 1))), None)
    if value is None or isinstance(value, str | int | float):
        return None
    return f"is or holds a {type(value).__name__}, which JSON cannot say: give it as text"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one worker brought: a reply whose exit agrees with it, or a failure."""

    reply: Reply | None = None
    failure: PluginFailure | None = None
    exit_code: int | None = None  # 124 for a timeout, negative for a signal, None for no process at all
    warnings: tuple[str, ...] = ()

    @property
    def crashed(self) -> bool:
        return self.failure is not None and self.failure.code is FailureCode.CRASHED


def conclude(binding: Binding, session: EnvelopeSession, evidence: Evidence) -> Attempt:
    """Return what a settled session brought."""
    fault = session.fault
    status = evidence.exit
    code = None if status is None else status.code if status.signal is None else -status.signal
    if fault is None:
        return Attempt(session.reply, None, code, _warnings(evidence))
    failure = outcome.failure(
        binding,
        fault,
        evidence,
        delivered=session.delivered,
        timings_ms=session.timings_ms,
        answer=session.reply.result if session.reply is not None else None,
    )
    timed_out = fault.code is FailureCode.TIMEOUT
    return Attempt(None, failure, EXIT_TIMEOUT if timed_out else code, _warnings(evidence))


def _warnings(evidence: Evidence) -> tuple[str, ...]:
    return tuple(
        f"process {each.pid} ({each.command}) outlived the plugin; "
        + ("it was ended" if each.ended else "it was left running")
        for each in evidence.survivors
    )


def objections(
    manifest: EnvelopeManifest,
    session: EnvelopeSession,
    attempt: Attempt,
    variables: Mapping[str, Any] | None = None,
) -> tuple[str, ...]:
    """Return what a validation worker objects to, in sentences; its failure is an objection too.

    For a worker that knows no modes the host looks itself for the *variables* that the manifest requires.
    """
    assert session.mode is Mode.VALIDATE
    if attempt.failure is not None:
        return (f"{manifest.name}: {attempt.failure.message}",)
    assert session.validation is not None
    errors = session.validation.errors
    if errors is None:
        errors = _missing(manifest, variables or {})
        if session.validation.result != "success":
            errors = (
                *errors,
                session.validation.error_message or "it could not do without files what it does first",
            )
    told = [f"{manifest.name}: {error}" for error in errors]
    return (*told, *drift(manifest, session.validation.plugin))


def unasked(manifest: EnvelopeManifest, variables: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the objections to *variables* for a plugin whose worker is not asked: required ones that are missing."""
    return tuple(f"{manifest.name}: {error}" for error in _missing(manifest, variables))


def _missing(manifest: EnvelopeManifest, variables: Mapping[str, Any]) -> tuple[str, ...]:
    given = {name for name, value in variables.items() if value is not None and str(value).strip()}
    return tuple(
        f"required variable {name!r} is missing or empty"
        for name in manifest.required_variables
        if name not in given
    )


def drift(manifest: EnvelopeManifest, facts: PluginFacts | None) -> list[str]:
    """Return where the plugin's class and its manifest tell different stories."""
    if facts is None:
        return []
    pairs = (
        ("name", facts.name, manifest.name),
        ("version", facts.version, manifest.version),
        ("api_version", facts.api_version, manifest.api_version),
    )
    told = [
        f"{manifest.name}: its class has the {what} {quote(said)}, its manifest {quote(written)}"
        for what, said, written in pairs
        if said is not None and said != written
    ]
    extensions = facts.supported_extensions
    if extensions is not None and set(extensions) != set(manifest.supported_extensions):
        said = listed(sorted(extensions))
        told.append(
            f"{manifest.name}: its class supports {said}, its manifest {listed(sorted(manifest.supported_extensions))}"
        )
    return told


def located(told: Sequence[PerFile], files: Sequence[str], root: str) -> list[PerFile]:
    """Return *told* with the paths of *files* as they were given, also where they are told relative to *root*.

    What is none of them stays as it is. Nothing is looked up: a symlink on the way is not followed.
    """
    if {each.path for each in told}.issubset(files):  # as it should be
        return list(told)
    given = {_place(path, root): path for path in files}
    return [
        msgspec.structs.replace(each, path=given.get(_place(each.path, root), each.path)) for each in told
    ]


def _place(path: str, root: str) -> str:
    return os.path.normpath(os.path.join(root, path))


def remaining(files: Sequence[str], told: Sequence[PerFile], root: str) -> list[str]:
    """Return the *files* that a resumed worker still has to do, by what the suspended one *told* of them.

    That is the file whose transformation asked, and all behind it; those that were done stay done. If no file
    asked, it was a hook before or after them: then what was not reported is left.
    """
    told = located(told, files, root)
    asked = {each.path for each in told if each.status == "input_required"}
    done = {each.path for each in told} - asked
    first = next((at for at, path in enumerate(files) if path in asked), 0)
    return [path for path in files[first:] if path not in done]
