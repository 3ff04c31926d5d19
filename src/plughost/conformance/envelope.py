"""Every clause of the `envelope` contract that a plugin can break, checked against real workers.

A check looks at some of the conversations and returns what is wrong, or None. The conversations are held once and
shared, so a report costs about fifteen starts of the worker. That a plugin fails on samples by its own word is no
broken contract: it is said beside the clause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..contracts.envelope import host as envelope
from ..contracts.envelope import prompts
from ..contracts.envelope.messages import FRAME_LIMIT, InputRequired, Reply
from ..contracts.envelope.session import lacks_reports
from ..manifest.envelope_binding import CONTRACT
from ..messages.quoting import listed, quote
from .envelope_examination import PROVOKED, Examination
from .envelope_seen import Seen, some
from .report import Axis, Report, Status
from .requirements import requirements
from .verdict import Remark, Skip

PAIRS = {"success": 0, "failed": 1, "input_required": 2}
MORE = "`--against`, `--var` and `--answer` give it others"


@dataclass(frozen=True, slots=True)
class Advice:
    """What a plugin SHOULD do and does not: no broken clause, but worth saying."""

    text: str


# The checks. Each is named after its clause; a text says what is wrong.

Verdict = str | Skip | Advice | Remark | None
Check = Callable[[Examination], Verdict]
CHECKS: dict[str, Check] = {}
NEED_AN_ANSWER = {
    "envelope:frame:large-request",
    "envelope:frame:unknown-fields",
    "envelope:request:files",
    "envelope:request:dry-run",
    "envelope:reply:reason",
    "envelope:input:fields",
    "envelope:input:resumable",
}


def check(clause: str) -> Callable[[Check], Check]:
    """Register a check for *clause*."""

    def register(function: Check) -> Check:
        CHECKS[f"envelope:{clause}"] = function
        return function

    return register


@check("frame:one-object")
def _one_object(found: Examination) -> Verdict:
    if not any(seen.stdout for seen in found.transforms):
        return Skip("it wrote nothing")
    flaws = (f"{seen.when}: {seen.flaw}" for seen in found.transforms if seen.flaw is not None)
    return next(flaws, None)


@check("frame:limit")
def _limit(found: Examination) -> Verdict:
    for seen in (*found.transforms, *found.validations):
        longest = max(map(len, seen.stdout.split(b"\n")))
        if longest > FRAME_LIMIT:
            return f"{seen.when}, it wrote a line of {longest} bytes or more; {FRAME_LIMIT} are allowed"
    return None


@check("frame:large-request")
def _large(found: Examination) -> Verdict:
    return _other_answer(found, found.in_pieces) or _other_answer(found, found.large)


@check("frame:unknown-fields")
def _unknown_fields(found: Examination) -> Verdict:
    return _other_answer(found, found.with_unknown_fields)


def _other_answer(found: Examination, seen: Seen) -> str | None:
    """Say how *seen* ended otherwise than the ordinary conversation, or None."""
    if seen.result is None:
        return f"{seen.when}, it gives no answer: {seen.ending}"
    usual = found.ordinary.result
    if seen.result != usual:
        return f"it answers {quote(usual or '')} usually, and {quote(seen.result)} {seen.when}"
    if len(found.rounds) == 1 and seen.statuses != found.ordinary.statuses:
        return f"it says {listed(found.ordinary.statuses)} usually, and {listed(seen.statuses)} {seen.when}"
    return None


@check("request:files")
def _files(found: Examination) -> Verdict:
    for seen in (*found.rounds, found.relative, found.dry):
        given, told = set(seen.given), set(seen.paths)
        strange = [path for path in seen.paths if path not in given]
        if strange:
            return f"{seen.when}, it reports on {some(strange)}, which is no path that it was given"
        if len(told) < len(seen.paths):
            return f"{seen.when}, it reports on a file twice"
        missing = [path for path in seen.given if path not in told]
        if seen.result == "success" and missing:
            return f"{seen.when}, it succeeds and does not report on {some(missing)}"
    return _accepts_no_file(found) or _unreported(found) or _other_answer(found, found.relative)


def _unreported(found: Examination) -> str | None:
    """Say when a reply is without `per_file` that must not be, unless the manifest says that it may."""
    if found.subject.binding.envelope.lenient:
        return None
    bare = (seen for seen in found.transforms if isinstance(seen.reply, Reply) and lacks_reports(seen.reply))
    return next((f"{seen.when}, its reply has no `per_file`, be it empty" for seen in bare), None)


def _accepts_no_file(found: Examination) -> str | None:
    seen = found.without_files
    if seen.result is None:
        return f"{seen.when}, it gives no answer: {seen.ending}"
    if seen.paths:
        return f"{seen.when}, it reports on {some(seen.paths)}"
    if seen.result == "failed" and found.ordinary.result != "failed":
        return f"{seen.when}, it fails: {_reason(seen)}"
    return None


@check("request:dry-run")
def _dry_run(found: Examination) -> Verdict:
    seen = found.dry
    if seen.changed:
        return f"in a dry run it changed {some(seen.changed)}"
    if isinstance(seen.reply, str):
        return f"{seen.when}, it gives no answer: {seen.ending}"
    if seen.result != "success":
        return Remark(f"it left everything alone, and answered {quote(seen.result or '')}: {_reason(seen)}")
    if found.ordinary.changed and not any(each.changes for each in seen.reply.reports):
        return Remark("it left everything alone, but it should describe what it would change")
    return None


@check("request:confined")
def _confined(found: Examination) -> Verdict:
    for seen in (*found.transforms, *found.validations):
        if seen.strayed:
            return f"{seen.when}, it changed what is outside of its directory: {some(seen.strayed)}"
    return None


@check("request:forbidden")
def _forbidden(found: Examination) -> Verdict:
    for seen in (*found.transforms, *found.validations):
        if seen.forbidden:
            return f"{seen.when}, it changed {some(seen.forbidden)}, which no plugin may touch"
    return None


@check("reply:pair")
def _pair(found: Examination) -> Verdict:
    wrong = next((problem for seen in found.transforms if (problem := _disagreement(seen))), None)
    if wrong is None and found.ordinary.result == "failed":
        return Remark(f"it failed by its own word, which it may: {_reason(found.ordinary)}; {MORE}")
    return wrong


def _disagreement(seen: Seen) -> str | None:
    if seen.exit is None:
        return None  # whether it is in time is another clause
    if seen.envelope is None:
        if seen.when == PROVOKED and seen.exit.code != 0:
            return None  # it need not foresee what no host does; it only must not call that a success
        return f"{seen.when}, there is no envelope: {seen.ending}"
    if seen.result not in PAIRS:
        return f"{seen.when}, its result is {quote(str(seen.envelope.get('result')))}"
    if isinstance(seen.reply, str):
        return f"{seen.when}, its envelope cannot be read: {seen.reply}"
    if seen.exit.code != PAIRS[seen.result]:
        return f"{seen.when}, its envelope says {quote(seen.result)}, but it ended with {seen.exit.meaning}"
    if seen.asks and seen.result != "input_required":
        return f"{seen.when}, its envelope says {quote(seen.result)}, and asks for something"
    return None


@check("reply:reason")
def _gives_reasons(found: Examination) -> Verdict:
    failed = [seen for seen in found.transforms if seen.result == "failed"]
    silent = next((seen for seen in failed if not _error_message(seen)), None)
    if silent is not None:
        return Advice(f"{silent.when}, it fails without a word: `error_message` should say why")
    return None if failed else Skip("it did not answer that it failed")


def _error_message(seen: Seen) -> str:
    return "" if isinstance(seen.reply, str) else (seen.reply.error_message or "").strip()


def _reason(seen: Seen) -> str:
    """Say why *seen* did not succeed."""
    return quote(_error_message(seen)) if _error_message(seen) else "no reason given"


@check("input:fields")
def _fields(found: Examination) -> Verdict:
    asking = [seen for seen in found.transforms if seen.asks]
    if not asking:
        return Skip(f"it asked nothing about these files and variables; {MORE}")
    flaws = (f"{seen.when}: {seen.question}" for seen in asking if isinstance(seen.question, str))
    return next(flaws, None)


@check("input:resumable")
def _resumable(found: Examination) -> Verdict:
    last = found.ordinary
    if len(found.rounds) == 1 and not last.asks:
        return Skip(f"it asked nothing about these files and variables; {MORE}")
    if isinstance(last.question, str) and last.asks:
        return Skip("its question cannot be put to anyone")
    if found.unfit:
        return Skip(f"the answers that were given do not fit its question: {some(found.unfit)}")
    if last.asks and isinstance(last.question, InputRequired):
        again = found.asked_again(last.question)
        if again:
            told = some([f"{name}={found.answers[name]}" for name in again])
            return f"it was told {told}, and asks again; `--answer` gives it other answers"
        return f"it asked more than {prompts.MOST_ROUNDS} times"
    return None


@check("validate:answers")
def _validates(found: Examination) -> Verdict:
    if not found.validations:
        return Skip("its manifest does not say `validates: true`, so no host asks it")
    if found.subject.manifest is None and found.validation.knows_no_modes:
        return Skip(
            "it does not know `--mode validate`; no host asks it unless its manifest says `validates: true`"
        )
    for seen in (found.validation, found.validation_of_nothing):
        if seen.exit is None:
            return f"{seen.when}, it did not end within {envelope.VALIDATION_S:g} s"
        if seen.exit.code != 0:
            return f"{seen.when}, {seen.ending}"
        if isinstance(seen.validation, str):
            return f"{seen.when}: {seen.validation}"
    return _objections(found)


def _objections(found: Examination) -> Verdict:
    answer, manifest = found.validation.validation, found.subject.manifest
    assert not isinstance(answer, str)
    told = list(answer.errors or ())
    if manifest is not None:
        told += envelope.drift(manifest, answer.plugin)
    return Remark(f"a host would not let it begin: {some(told)}") if told else None


@check("exit:in-time")
def _in_time(found: Examination) -> Verdict:
    limit = found.subject.binding.limits.timeout_s
    for seen in found.transforms:
        if seen.exit is None:
            what = "it answered, but did not exit" if seen.envelope is not None else "it did not end"
            return f"{seen.when}, {what} within {limit:g} s. {seen.last_words}".strip()
    return None


@check("exit:eof")
def _eof(found: Examination) -> Verdict:
    for seen in (found.cut_off, found.cut_short):
        if seen.exit is None:
            return f"{seen.when}, it goes on running"
        if seen.exit.code == 0:
            return f"{seen.when}, it ends with exit status 0"
    return None


@check("stderr:lines")
def _log_lines(found: Examination) -> Verdict:
    seen = next((each for each in found.transforms if each.strange_line is not None), None)
    if seen is not None:
        return Advice(f"{seen.when}, it wrote {seen.strange_line}: log lines should be JSON objects")
    return None if any(each.stderr for each in found.transforms) else Skip("it logged nothing")


def examine(found: Examination) -> Report:
    """Run every check and return the report. Raises OSError, Unsupported or TreeError."""
    clauses = [each for each in requirements(CONTRACT).values() if each.side == "plugin"]
    axes = []
    for clause in clauses:
        if clause.id in NEED_AN_ANSWER and found.is_hopeless:
            verdict: Verdict = Skip("it needs an answer to an ordinary request, and there was none")
        else:
            verdict = CHECKS[clause.id](found)
        axes.append(Axis(clause.id, clause.says, *_judged(verdict)))
    return Report(CONTRACT, found.subject.name, tuple(axes))


def _judged(verdict: Verdict) -> tuple[Status, str]:
    match verdict:
        case None:
            return Status.PASSED, ""
        case Remark(text):
            return Status.PASSED, text
        case Skip(reason):
            return Status.SKIPPED, reason
        case Advice(text):
            return Status.SKIPPED, f"advice: {text}"
        case problem:
            return Status.FAILED, problem
