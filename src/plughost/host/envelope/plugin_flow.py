"""One plugin of a pass: its workers, its questions, and what became of the tree by it.

Theory of operation. The plugin is told its files and works on them in place. If it asks, its worker has ended;
the operator answers, and a new worker gets the answers and the files that are left. When the last worker is
gone, the tree is compared with the snapshot. What was seen there decides, not what the worker claims:
a touched forbidden path undoes everything, and so does a failure, unless partial work is to be kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ...contracts.envelope import host as envelope
from ...contracts.envelope import policy, prompts
from ...contracts.envelope.host import Attempt
from ...contracts.envelope.messages import InputRequired, PerFile
from ...contracts.envelope.session import Mode
from ...errors import LocalProtocolError
from ...failures import FailureCode, PluginFailure
from ...files.changes import Change, ChangeKind
from ...files.tree import Entry
from ...manifest import binding as bindings
from ...manifest.binding import Binding
from ...manifest.envelope_manifest import EnvelopeManifest
from ...record import schema
from ...record.schema import Applied, Isolation, stamp
from .head_start import used_s
from .ledger import INTERRUPTED, Said
from .options import PassOptions, Question
from .steps import TOO_LATE, UNASKED, Dismiss, Finish, Flow, Launch, Put, Turn, WorkerLink
from .validation import Validation
from .worker_log import WorkerLog

AHEAD = "--ahead"  # tells our own worker that it is started before its request, which will name files
ABORTED = "the operator wanted no more of it"
IN_VAIN = "it was not told what it asked for: the operator wanted no more of one before it"
AGAIN = "it was run again by itself: beside others it failed, or it could not be told who did what"
UNTOLD = "{} files have names that are not UTF-8; it was not given them"
DENIED = (
    "PermissionError: [Errno 13] Permission denied"  # and behind it the name of a file, where there is one
)
NAMELESS = (
    "what it was denied has no file name: perhaps a semaphore or shared memory, which a confined worker cannot make "
    "and Python's multiprocessing needs; threads and subprocesses work, and so does all of it with --no-confine"
)
UNFIT = "it could not be validated"
UNANSWERED = "the operator gave no answer in time"
BATCH_BYTES = (
    262_144  # of the paths that one worker is given: its reply names them all, and a dry run says more
)
PATH_COST = 120  # bytes that a path costs in a reply, beside itself
MOST_WARNINGS = 20
LONGEST_ERROR = 4_096  # characters of a plugin's excuse that are written down


@dataclass(slots=True)
class PluginRun:
    """One plugin, while it is being applied."""

    manifest: EnvelopeManifest
    binding: Binding  # of its workers: in the tree, with its limits
    files: list[str]  # relative to the root
    options: PassOptions
    run: str
    open_log: Callable[[str, int], WorkerLog]
    known: dict[str, Any]  # answers that were given beforehand, or before it was run again
    untold: int = 0  # files that it is not given, because their names are not UTF-8
    logs: list[Said] = field(default_factory=list)
    started: datetime | None = None  # when it was begun first
    turn: Turn = field(default_factory=Turn)
    waiting: WorkerLink | None = None  # a worker that was started early and told nothing yet
    told: dict[str, PerFile] = field(default_factory=dict)  # by path, the latest word of any attempt
    attempt: Attempt = field(default_factory=Attempt)
    attempts: int = 0
    duration_s: float = 0.0
    cpu_s: float = 0.0
    peak_kib: int | None = None
    aborted: bool = False
    error: str | None = None
    warnings: list[str] = field(default_factory=list)
    unfit: bool = False  # it could not be validated, so it is not run
    _asked: int = 0

    def follow(self, earlier: PluginRun) -> None:
        """Take over what it was told and what it cost when it was run before, in vain."""
        self.known |= earlier.known
        self.logs, self.started = earlier.logs, earlier.started
        self.attempts, self.duration_s = earlier.attempts, earlier.duration_s
        self.cpu_s, self.peak_kib = earlier.cpu_s, earlier.peak_kib
        self.warnings.append(AGAIN)

    def refuse(self, validation: Validation) -> None:
        """Let the failed *validation* be all that is done with the plugin."""
        self.unfit = True
        link = validation.link
        if link is not None:
            self.logs.append((link.process.pid, self.manifest.name, validation.log))
            self.duration_s = link.conversation.timings_ms.get("total", 0.0) / 1000
            self.attempts = 1
            self._count(link)
        self.attempt = validation.attempt
        self.error = f"{UNFIT}: {validation.problem}"

    # Running it

    def launch(self, *words: str) -> Flow[WorkerLink]:
        """Start a worker for this plugin, with *words* more in its command."""
        log = self.open_log(self.manifest.name, len(self.logs) + 1)
        binding = bindings.replace(self.binding, command=(*self.binding.command, *words))
        link: WorkerLink = yield Launch(binding, Mode.TRANSFORM, log)
        log.pid = link.process.pid
        self.logs.append((link.process.pid, self.manifest.name, log))
        return link

    def work(self) -> Flow[None]:
        """Run workers until the plugin is done, has failed, or the operator gives up."""
        if self.unfit:
            return
        answers: dict[str, Any] = {}
        self._asked = 0
        for batch in _batches(self.files, len(os.fsencode(self.options.root)) + 1):
            yield from self._work_on(batch, answers)
            if not self.good:
                return

    def _work_on(self, left: list[str], answers: dict[str, Any]) -> Flow[None]:
        """Run workers until they are done with the files that are *left*; *answers* are those given so far."""
        while True:
            yield from self._attempt(left, answers)
            question = self.attempt.reply.input_required if self.attempt.reply is not None else None
            if question is None:
                return
            self._asked += 1
            if self._asked > prompts.MOST_ROUNDS:
                self.error = f"it asked more than {prompts.MOST_ROUNDS} times"
                return
            given = yield from self._ask(question, self._asked)
            if given is None:
                return
            assert self.attempt.reply is not None
            answers |= given
            left = envelope.remaining(left, self.attempt.reply.reports, str(self.options.root))

    def _attempt(self, files: Sequence[str], answers: dict[str, Any]) -> Flow[None]:
        try:
            line = envelope.transform_line(
                self.manifest, self.options.context, files, answers, self.binding.limits.line_bytes
            )
        except LocalProtocolError as error:
            self.attempt, self.error = Attempt(), str(error)
            link, self.waiting = self.waiting, None
            if link is not None:
                yield Dismiss((link,))
            return
        link, self.waiting = self.waiting, None
        began = time.monotonic() - (0.0 if link is None else used_s(link.process.pid))
        try:
            if link is None:
                link = yield from self.launch()
            yield Finish(link, line)
        except PluginFailure as failure:  # it could not be started
            self.attempt = Attempt(failure=failure)
            return
        finally:
            self.duration_s += time.monotonic() - began
            self.attempts += 1
            if link is not None:  # also if the pass is interrupted: its worker is gone by now
                self._count(link)
        self._note(link)

    def _count(self, link: WorkerLink) -> None:
        """Add what a worker that is gone has cost, and remember how it ended."""
        status = link.exit_status
        if status is not None:
            self.cpu_s += status.cpu_s or 0.0
            self.peak_kib = max(self.peak_kib or 0, status.peak_memory_kib or 0) or None
            self.attempt = Attempt(exit_code=status.code if status.signal is None else -status.signal)

    def _note(self, link: WorkerLink) -> None:
        self.attempt = envelope.conclude(self.binding, link.conversation, link.evidence())
        self.warnings += self.attempt.warnings
        if self.attempt.reply is not None:
            self._hear(self.attempt.reply.reports)
            self.logs[-1][2].add(self.attempt.reply.log_records or ())

    def _hear(self, told: Sequence[PerFile]) -> None:
        """Remember what it says of the files that it was given; of others it has nothing to say."""
        given, told = set(self.files), envelope.located(told, self.files, str(self.options.root))
        self.told |= {each.path: each for each in told if each.path in given}
        invented = sum(each.path not in given for each in told)
        if invented:
            self.warnings.append(f"it reports on {invented} files that it was not given")

    def _ask(self, question: InputRequired, asked: int) -> Flow[dict[str, Any] | None]:
        """Return the operator's answers; None after noting why there are none."""
        fields = question.fields
        known = {each.id: self.known[each.id] for each in fields if each.id in self.known}
        accepted, problems = prompts.accept(fields, known)
        # Where there is somebody to ask, a default is offered to them and not taken without a word.
        if not problems and (len(known) == len(fields) or not self.options.interactive):
            return accepted
        if not self.options.interactive:
            self.error = f"it needs to be told: {'; '.join(problems)}"
            return None
        wanted = prompts.unanswered(fields, known)
        wrong = prompts.accept(tuple(each for each in fields if each.id in known), known)[1]
        for _ in range(prompts.MOST_ROUNDS):
            given = yield Put(Question(self.manifest.name, question.reason, wanted, asked, wrong), self.turn)
            if given is UNASKED:
                self.error = IN_VAIN
                return None
            if given is None or given is TOO_LATE:
                self.aborted = True
                self.error = ABORTED if given is None else UNANSWERED
                return None
            if not isinstance(given, Mapping):
                raise LocalProtocolError(
                    f"on_input_required returned {given!r:.80}, neither answers nor None"
                )
            answers = prompts.merged(wanted, known, given)
            accepted, wrong = prompts.accept(fields, answers)
            if not wrong:
                # Also what was left open is known now: the answer is the same if the plugin is run again.
                self.known |= {each.id: accepted.get(each.id) for each in fields}
                return accepted
            if {each.id for each in fields}.issuperset(given):  # else a misspelt one belongs to any of these
                known, wanted = answers, prompts.unanswered(fields, answers)
        self.error = f"{prompts.MOST_ROUNDS} answers that do not fit: {'; '.join(wrong)}"
        return None

    # What became of it

    @property
    def good(self) -> bool:
        """It has done what it was asked to, as far as it and its exit tell."""
        reply = self.attempt.reply
        return reply is not None and reply.result == "success" and self.error is None and not self.aborted

    def claims(self, path: str) -> bool:
        """Tell whether it says of itself that it modified *path*, relative to the root."""
        told = self.told.get(path)
        return told is not None and told.status == "modified"

    def violations(self, changes: Sequence[Change], before: Mapping[str, Entry]) -> tuple[str, ...]:
        """Return the paths that it should not have touched; *before* is the tree as it was."""
        touched = {path for change in changes for path in (change.path, change.before) if path is not None}
        if self.options.dry_run:
            return tuple(sorted(touched))
        touched |= set(_carried(changes, before, self.options.forbidden))
        return policy.violations(touched, self.options.forbidden)

    def interrupted(self) -> Applied:
        """Return what is written down of a run that was not let finish; its changes are undone."""
        self.aborted, self.error = True, INTERRUPTED
        self.attempt = Attempt(
            exit_code=self.attempt.exit_code
        )  # we ended its worker: that is no failure of its own
        return self.entry((), ())

    def entry(self, changes: Sequence[Change], violations: Sequence[str]) -> Applied:
        """Return what is written down; *changes* are those that stay in the tree."""
        failure, now = self.attempt.failure, datetime.now(UTC)
        status = self._status(changes, violations)
        kept = [] if violations else list(changes)
        affected = sorted(spelled(path) for path in violations or {each.path for each in kept})
        told = sorted(
            self.told.values(), key=lambda each: each.status != "failed"
        )  # what failed is not cut off
        return Applied(
            id=f"{self.run}:{self.manifest.name}",
            run=self.run,
            plugin=self.manifest.name,
            version=self.manifest.version,
            status=status,
            files_affected=affected,
            changes=[_written(each) for each in kept],
            isolation=Isolation(
                duration_ms=round(self.duration_s * 1000),
                exit_code=self.attempt.exit_code,
                peak_memory_mb=None if self.peak_kib is None else max(1, round(self.peak_kib / 1024)),
                cpu_ms=round(self.cpu_s * 1000),
                attempts=self.attempts,
            ),
            started_at=stamp(self.started or now),
            finished_at=stamp(now),
            error=self._error(violations),
            failure=None if failure is None else schema.Failure(code=str(failure.code), hint=failure.hint),
            crash=self.attempt.crashed,
            violations=[spelled(path) for path in violations],
            per_file=[self._per_file(each) for each in told],
            warnings=self._warnings(),
        )

    def _warnings(self) -> list[str]:
        untold = [UNTOLD.format(self.untold)] if self.untold else []
        denied = [NAMELESS] if self._denied else []
        found = [*untold, *self.warnings, *denied, *(log.problem for _, _, log in self.logs if log.problem)]
        more = [f"{len(found) - MOST_WARNINGS} more warnings"] if len(found) > MOST_WARNINGS else []
        return [*map(_cut, found[:MOST_WARNINGS]), *more]

    @property
    def _denied(self) -> bool:
        """It was confined, and ended by an exception that tells that something was denied, but not what."""
        last = self.logs[-1][2].last_error if self.logs and self.attempt.crashed else None
        return self.binding.writable is not None and last is not None and last.endswith(DENIED)

    def _status(self, changes: Sequence[Change], violations: Sequence[str]) -> schema.Status:
        failure = self.attempt.failure
        if violations:
            return "policy_violation"
        if self.aborted:
            return "aborted"
        if failure is not None:
            return "timeout" if failure.code is FailureCode.TIMEOUT else "failed"
        if not self.good:
            return "failed"
        failed = any(each.status == "failed" for each in self.told.values())
        if changes or (self.options.dry_run and not failed):
            return "success"
        return "failed" if failed else "skipped"

    def _error(self, violations: Sequence[str]) -> str | None:
        if violations:
            what = "in a dry run" if self.options.dry_run else "that no plugin may touch"
            return f"it changed {len(violations)} paths {what}; all its changes were undone"
        if self.error is not None:
            return _cut(self.error)
        if self.attempt.failure is not None:
            return _cut(self.logs[-1][2].blamed(self.attempt) if self.logs else self.attempt.failure.message)
        reply = self.attempt.reply
        if reply is not None and reply.result == "failed":
            told = next((each.error for each in reply.reports if each.error), None)
            return _cut(reply.error_message or told or "the plugin gave no reason")
        failed = [each for each in self.told.values() if each.status == "failed"]
        if failed:
            return _cut(f"{len(failed)} files failed, the first: {failed[0].error or 'no reason given'}")
        return None

    def _per_file(self, told: PerFile) -> schema.PerFile:
        changes = [
            {
                "path": self._shown(each.path),
                "kind": each.kind,
                "summary": each.summary,
                "detail": each.detail,
            }
            for each in told.changes or ()
            if self.options.dry_run  # what was really changed is seen, not told
        ]
        return schema.PerFile(
            path=self._shown(told.path),
            status=_cut(told.status),
            changes=changes,
            error=None if told.error is None else _cut(told.error),
        )

    def _shown(self, path: str) -> str:
        """Return *path* relative to the root where it lies below it, else as the plugin wrote it."""
        return path.removeprefix(f"{self.options.root}/")


def _batches(files: list[str], before: int) -> list[list[str]]:
    """Return *files* in lists of which one worker can take, and report on, each; one list if there are none.

    A worker may report whole paths: *before* is how many bytes those have more.
    """
    batches: list[list[str]] = [[]]
    size = 0
    for path in files:
        cost = len(path.encode()) + before + PATH_COST
        size += cost
        if size > BATCH_BYTES and batches[-1]:
            batches.append([])
            size = cost
        batches[-1].append(path)
    return batches


def _carried(
    changes: Sequence[Change], before: Mapping[str, Entry], forbidden: Sequence[str]
) -> Iterator[str]:
    """Yield the *forbidden* paths that were moved away, or into place, inside of a directory that was renamed."""
    for change in changes:
        if change.kind is ChangeKind.RENAMED and change.before is not None:
            old, new = f"{change.before}/", f"{change.path}/"
            for path in (each.rstrip("/") for each in forbidden):
                if path.startswith(old) and path in before:
                    yield path
                if path.startswith(new) and old + path.removeprefix(new) in before:
                    yield path


def _written(change: Change) -> schema.Change:
    before = None if change.before is None else spelled(change.before)
    return schema.Change(path=spelled(change.path), kind=change.kind.value, before=before)


def spelled(path: str) -> str:
    """Return *path* as JSON can say it: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_ERROR else f"{text[:LONGEST_ERROR]} … [cut]"
