"""A whole pass over a directory: validation, then plugin after plugin, each undone or kept, each written down.

Theory of operation. Before a plugin may touch a file, the tree is saved and the snapshot armed: whoever kills the
host after that leaves enough behind to put the tree back. A plugin's changes are accepted by moving the snapshot
forward, in one step with the note of what is yet to be written down; then the record and the log are written. So
tree and record never tell different stories for longer than it takes to recover. While the variables are being
validated, the tree is saved and the first plugin's worker started, if that is our own: it waits, and runs no
code of the plugin's before it is told to. Where workers cannot be confined, the tree is saved before any starts.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import TreeError, Unsupported
from ...failures import PluginFailure
from ...files import store
from ...files.changes import Change
from ...files.glance import may_hold
from ...files.lock import TreeLock
from ...files.snapshot import Snapshot
from ...files.tree import Kind
from ...manifest import binding as bindings
from ...manifest.binding import Binding, Environment
from ...manifest.envelope_binding import bind
from ...manifest.envelope_manifest import EnvelopeManifest
from ...process import landlock
from ...record.schema import Applied
from ..engine import Engine
from ..events import Event, PassInterrupted, PassSettled, PluginApplied, PluginBegun, TreeRecovered, What
from . import scratch, worker_cache
from .file_choice import choose_files, is_for
from .ledger import Ledger, Said, entries_of
from .leftovers import put_right, touched
from .options import PassOptions, PassResult, check_files
from .plugin_flow import AHEAD, PluginRun, spelled
from .shares import tell_apart
from .signals import undisturbed
from .steps import Dismiss, Flow, Together, Work
from .surroundings import Surroundings
from .validation import Validations
from .worker_log import WorkerLog

MOST_SHARED = 4_096  # files of plugins that run at once: each is a rule that the kernel has to be told
CONCEDED = "put back but for an owner, a mode or times that only somebody else may set: {} paths, such as {}"
SHOWN = 3  # of those paths
UNWRITTEN = "what it did could not be written down: {}: {}; its changes were undone"


class Pass:
    """One pass. Its flow is to be driven once, by either host."""

    def __init__(self, options: PassOptions, engine: Engine) -> None:
        self.run = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
        self._options = options
        self._engine = engine
        self._confined = landlock.available() if options.confine is None else options.confine
        self._entries: list[Applied] = []
        self._failures: list[PluginFailure] = []
        self._at_work: list[PluginRun] = []  # those that were begun and are not yet written down
        self._begun: dict[str, Any] = {}  # the note of who was begun last; another is of what became of them
        self._validations = Validations(options, partial(self._binding, writable=()), self._open_log)
        self._scratch = Path()
        self._saved: Snapshot | None = None

    def flow(self) -> Flow[PassResult]:
        """Do it all. Raises TreeError, LocalProtocolError, ManifestError; whatever else ends it undoes it."""
        options = self._options
        if self._confined and not landlock.available():
            raise Unsupported("this kernel cannot confine a plugin: it has no Landlock, or too old a one")
        worker_cache.keep()
        if Path(tempfile.gettempdir()).resolve().is_relative_to(options.root):
            raise TreeError(
                str(options.root),
                "it holds the directory for temporary files, where workers write what is none of its own",
                "Let TMPDIR name a directory elsewhere",
            )
        with TreeLock(options.root):
            told = yield from self._recover()
            check_files(options)
            try:
                with undisturbed():
                    self._scratch = scratch.make(options.root)
                self._ledger = Ledger(options, self.run, self._scratch)
                self._ledger.check()
                return (yield from self._body(told))
            finally:
                with undisturbed():
                    scratch.remove(self._scratch)

    def _recover(self) -> Flow[str | None]:
        """Put right what an earlier pass has left, and say what that was: at once, whatever becomes of this one."""
        if store.find(self._options.root) is None:
            return None
        told: str | None = yield Work(partial(put_right, self._options.root))
        if told is not None:
            self._publish("", TreeRecovered(told))
        return told

    def _body(self, recovered: str | None) -> Flow[PassResult]:
        try:
            problems = yield from self._validate()
            if not problems:
                yield from self._apply_all()
            if self._saved is not None:
                yield Work(self._forget)
            self._publish("", PassSettled(self.run))
        except BaseException:
            self._undo()
            raise
        if problems:  # the tree is nobody's charge any more: what is written now stays there
            problems += yield Work(self._write_validation)
        applied = {entry.plugin for entry in self._entries}
        not_run = tuple(each.name for each in self._options.manifests if each.name not in applied)
        return PassResult(
            run=self.run,
            directory=self._options.root,
            plugins_applied=tuple(self._entries),
            aborted=bool(not_run) or any(entry.status == "aborted" for entry in self._entries),
            not_run=not_run,
            problems=tuple(problems),
            dry_run=self._options.dry_run,
            confined=self._confined,
            recovered=recovered,
            failures=tuple(self._failures),
        )

    @property
    def _snapshot(self) -> Snapshot:
        assert self._saved is not None, "the tree is saved before anything is done to it"
        return self._saved

    def _save(self) -> None:
        root = self._options.root
        self._saved = Snapshot.take(root, store.place(root), self._ledger.note(touched=True))
        self._ledger.begin(self._saved)

    def _forget(self) -> None:
        """All is accepted and written down: the tree as it was is needed no more."""
        with undisturbed():  # half a store would have to be recovered from
            self._snapshot.close()
            self._saved = None

    def _undo(self) -> None:
        """Something ended the pass in the middle: put the tree back, and write down whom it hit. Runs here and now."""
        if self._saved is None:
            if self._entries:  # it is over, and so is all that could be undone
                self._tell_interrupted((), 0)
            return
        with undisturbed():
            scratch.regain(self._scratch)
            # If nobody was at work, all that was changed since is what we wrote ourselves.
            undone = self._revert() if touched(self._saved.note) else ()
            logs = [log for run in self._at_work for log in run.logs]
            for _, _, log in logs:
                log.close()
            hit: Sequence[Applied] = ()
            if self._at_work:
                judged = [] if self._saved.note is self._begun else entries_of(self._saved.note)
                hit = judged or [run.interrupted() for run in self._at_work]
            if self._write_interrupted(hit, logs):
                self._saved.close()
            self._tell_interrupted(hit, len(undone))

    def _write_interrupted(self, hit: Sequence[Applied], logs: Sequence[Said]) -> bool:
        """Write down whom it *hit*. Returns False if that is left to whoever recovers the directory."""
        try:
            if hit:
                self._ledger.write(hit, logs)
        except TreeError:  # the tree is as it was, and what has ended the pass is raised already
            self._snapshot.set_note(self._ledger.note(hit))
            return False
        return True

    def _tell_interrupted(self, hit: Sequence[Applied], put_back: int) -> None:
        """Tell what was done by the time that something ended the pass, and whom it *hit*."""
        entries = {entry.id: entry.to_dict() for entry in (*self._entries, *hit)}
        self._publish("", PassInterrupted(self.run, tuple(entries.values()), put_back))

    # Validation

    def _write_validation(self) -> list[str]:
        """Keep what workers had to say that objected or failed; returns what is wrong with that."""
        try:
            failed = {name: each.problem for name, each in self._validations.failed.items()}
            self._ledger.write_validation(self._validations.heard, failed)
        except TreeError as error:  # no reason to withhold what they objected to
            return [f"what they wrote to stderr could not be kept: {error.path}: {error.problem}"]
        return []

    def _validate(self) -> Flow[list[str]]:
        """Ask every plugin about the variables; returns what they object to. The tree is saved meanwhile."""
        if not self._confined:
            yield Work(self._save)
        asked = self._validations
        problems = asked.objections_of_unasked()
        launched = yield from asked.launch()
        self._first = self._plugin_run(self._options.manifests[0])
        if not problems and self._first.manifest.name not in asked.failed:
            yield from self._start_ahead(self._first)
        if self._confined:
            yield Work(self._save)
        problems += yield from asked.finish(launched)
        if not self._confined and (changed := (yield Work(self._snapshot.revert))):
            problems.append(
                f"{len(changed)} paths were changed by a plugin that had only variables to look at"
            )
        if problems:
            problems += [f"{name}: {each.problem}" for name, each in asked.failed.items()]
            self._failures += [self._engine.fail(each.failure) for each in asked.failed.values()]
        waiting = self._first.waiting
        if waiting is not None and (problems or self._first.manifest.name in asked.failed):
            self._first.waiting = None
            yield Dismiss((waiting,))
        return problems

    def _start_ahead(self, run: PluginRun) -> Flow[None]:
        """Start the first worker if it is ours. It runs no code of the plugin's before it is told its files."""
        if self._options.jobs > 1 or run.manifest.command:
            return
        words = (AHEAD,) if may_hold(self._options.root, partial(is_for, self._options, run.manifest)) else ()
        with suppress(PluginFailure):  # its own turn will tell
            run.waiting = yield from run.launch(*words)

    # Plugin after plugin

    def _apply_all(self) -> Flow[None]:
        """Apply every plugin, or as many as may be."""
        runs = [self._first, *(self._plugin_run(manifest) for manifest in self._options.manifests[1:])]
        for run in runs:
            if (unfit := self._validations.failed.get(run.manifest.name)) is not None:
                run.refuse(unfit)
        while runs and not self._stopped:
            yield from self._take_over()
            group = self._next_group(runs)
            del runs[: len(group)]
            if len(group) > 1:
                yield from self._apply_group(group)
            else:
                yield from self._apply(group[0], last=not runs)

    @property
    def _stopped(self) -> bool:
        """No other plugin may be begun."""
        statuses = {entry.status for entry in self._entries}
        return "aborted" in statuses or (self._options.fatal and not statuses <= {"success", "skipped"})

    def _take_over(self) -> Flow[None]:
        """Make what we wrote ourselves part of the saved tree: it is not the next plugin's doing."""
        if self._entries and not self._options.dry_run:
            yield Work(self._save_again)

    def _save_again(self) -> None:
        self._snapshot.advance(self._ledger.note(touched=True))
        self._ledger.begin(self._snapshot)

    def _next_group(self, runs: Sequence[PluginRun]) -> list[PluginRun]:
        """Return the runs that come next and have no file in common: one, or as many as there are jobs.

        Several only where each can be confined to its own files: else nobody could tell who did what.
        """
        group: list[PluginRun] = []
        taken: set[str] = set()
        for run in runs[: self._options.jobs if self._confined else 1]:
            if run.unfit:  # it has nothing to run
                return group or [run]
            choose_files(run, self._snapshot.paths)
            if group and (taken & set(run.files) or len(taken) + len(run.files) > MOST_SHARED):
                break
            group.append(run)
            taken |= set(run.files)
        return group

    def _apply(self, run: PluginRun, *, last: bool = False) -> Flow[None]:
        self._begin(run)
        around = self._look_around(run)
        yield from run.work()
        scratch.regain(self._scratch)
        run.warnings += around.changed() if around is not None else []
        self._tell_applied([run], (yield Work(partial(self._settle, run, last=last))))

    def _settle(self, run: PluginRun, *, last: bool = False) -> list[Applied]:
        """Look at what became of the tree, keep or undo it, and write it down. After the *last* run, that is all."""
        entries: list[Applied] | None = None
        touched = True
        violations: Sequence[str] = ()
        try:
            self._claim_log()
            seen = self._snapshot.look()
            touched = seen.touched
            violations = run.violations(seen.changes, self._snapshot.paths)
            if not violations and not run.aborted and (run.good or self._options.keep_partial):
                entries = self._accept([(run, seen.changes, ())])
        except TreeError as error:  # what it made of the tree cannot be looked at, or not be saved
            touched = True
            if run.good:
                run.error = f"what it left could not be kept: {error.path}: {error.problem}"
        if touched and (entries is None or self._options.dry_run):
            self._put_back([(run, violations)])
        if entries is None:
            entries = self._accept([(run, (), violations)])
        self._write([run], entries)
        if last:  # here, and not in a step of its own: to be handed from thread to thread takes as long
            self._forget()
        return entries

    def _apply_group(self, group: list[PluginRun]) -> Flow[None]:
        """Apply several plugins at once. If that leaves a doubt who did what, undo it and take turns."""
        self._begin(*group)
        for number, run in enumerate(group):
            run.turn.before = tuple(each.turn for each in group[:number])
            own = tuple(self._options.root / path for path in run.files)
            run.binding = self._binding(run.manifest, writable=own)
        yield Together(tuple(run.work() for run in group))
        scratch.regain(self._scratch)
        entries = yield Work(partial(self._settle_shares, group))
        if entries is not None:
            self._tell_applied(group, entries)
            return
        for number, run in enumerate(group):
            if self._stopped:
                return
            if number:
                yield from self._take_over()
            if run.aborted:  # the operator has given up on it, and is not asked again
                self._begin(run)
                self._tell_applied([run], (yield Work(partial(self._settle, run))))
                return
            again = self._plugin_run(run.manifest)
            again.follow(run)
            choose_files(again, self._snapshot.paths)
            yield from self._apply(again)

    def _settle_shares(self, group: list[PluginRun]) -> list[Applied] | None:
        """Keep what *group* did, and write it down, if it is beyond doubt who did what; undo it otherwise."""
        entries: list[Applied] | None = None
        self._claim_log()
        with suppress(TreeError):  # one of them made something of the tree that cannot be kept
            changes = self._snapshot.changes()
            shares = tell_apart(group, changes, self._snapshot)
            violated = any(run.violations(changes, self._snapshot.paths) for run in group)
            if shares is not None and not violated:
                entries = self._accept([(run, shares[run.manifest.name], ()) for run in group])
        if entries is None:
            self._put_back([(run, ()) for run in group])
        else:
            self._write(group, entries)
        return entries

    def _put_back(self, judged: list[tuple[PluginRun, Sequence[str]]]) -> None:
        """Undo all that was done. If that fails, note what it was undone for: whoever recovers the tree writes it."""
        before = set(self._snapshot.conceded)
        try:
            self._revert()
        except TreeError:
            entries = [
                run.entry((), violations) if violations or not run.good else run.interrupted()
                for run, violations in judged
            ]
            with suppress(TreeError):
                self._snapshot.set_note(self._ledger.note(entries, touched=True))
            raise
        if conceded := sorted(set(self._snapshot.conceded) - before):
            for run, _ in judged:
                run.warnings.append(CONCEDED.format(len(conceded), ", ".join(map(spelled, conceded[:SHOWN]))))

    def _claim_log(self) -> None:
        """Tell what we have added to the log from what a plugin did to it. If that is mixed up, all is put back."""
        if not self._ledger.claim(self._snapshot):
            for _, _, log in (each for run in self._at_work for each in run.logs):
                log.written = 0

    def _revert(self) -> Sequence[Change]:
        self._claim_log()
        try:
            return self._snapshot.revert()
        except TreeError:  # perhaps for want of room, which a plugin has taken elsewhere on the same disk
            scratch.empty(self._scratch)
            return self._snapshot.revert()

    def _accept(self, judged: list[tuple[PluginRun, Sequence[Change], Sequence[str]]]) -> list[Applied]:
        """Accept the tree as it is now, with the note of how it came to be. Raises TreeError if it cannot be saved."""
        entries = [run.entry(changes, violations) for run, changes, violations in judged]
        note = self._ledger.note(entries)
        if any(changes for _, changes, _ in judged):
            self._snapshot.advance(note, revocable=True)
        else:
            self._snapshot.set_note(note)
        return entries

    def _write(self, runs: list[PluginRun], entries: list[Applied]) -> None:
        """Write down what was accepted. Raises TreeError if that is not possible: then it is accepted no more."""
        with undisturbed():  # else a signal has it written twice, or told without it
            try:
                self._ledger.write(entries, [log for run in runs for log in run.logs])
            except TreeError as error:
                self._take_back(runs, entries, error)
                raise
            self._at_work = []
            self._entries += entries

    def _take_back(self, runs: list[PluginRun], entries: list[Applied], error: TreeError) -> None:
        """Note that what *runs* did is to be undone, because of the *error* in writing their *entries*."""
        if not any(entry.changes for entry in entries):  # the tree is as it was
            return
        for run in runs:
            if run.good:
                run.error = UNWRITTEN.format(error.path, error.problem)
        undone = [run.entry((), ()) for run in runs]
        self._snapshot.retreat(self._ledger.note(undone, touched=True))

    def _tell_applied(self, runs: list[PluginRun], entries: list[Applied]) -> None:
        for run, entry in zip(runs, entries, strict=True):
            if run.attempt.failure is not None:
                self._failures.append(self._engine.fail(run.attempt.failure))
            self._tell(run, PluginApplied(entry.status, tuple(entry.files_affected), entry.error))

    # Particulars

    def _begin(self, *runs: PluginRun) -> None:
        self._at_work = list(runs)
        self._begun = self._ledger.note(at_work=[run.manifest for run in runs])
        self._snapshot.set_note(self._begun)
        for run in runs:
            run.started = run.started or datetime.now(UTC)
            number = self._options.manifests.index(run.manifest) + 1
            self._tell(run, PluginBegun(number, len(self._options.manifests), len(run.files)))

    def _look_around(self, run: PluginRun) -> Surroundings | None:
        """Remember what lies around the tree, if nothing keeps *run* from touching it."""
        if self._confined:
            return None
        links = [path for path, entry in self._snapshot.paths.items() if entry.kind is Kind.SYMLINK]
        return Surroundings(self._options.root, run.manifest.directory, links, [str(self._ledger.log_path)])

    def _plugin_run(self, manifest: EnvelopeManifest) -> PluginRun:
        return PluginRun(
            manifest=manifest,
            binding=self._binding(manifest, writable=(self._options.root,)),
            files=[],
            options=self._options,
            run=self.run,
            open_log=self._open_log,
            known=dict(self._options.answers),
        )

    def _binding(self, manifest: EnvelopeManifest, *, writable: tuple[Path, ...]) -> Binding:
        binding = bind(manifest)
        tmp = self._scratch / scratch.TEMPORARY
        return bindings.replace(
            binding,
            cwd=self._options.root,
            environment=Environment(
                binding.environment.inherit, {**binding.environment.set, "TMPDIR": str(tmp)}
            ),
            writable=(*writable, tmp, Path(os.devnull)) if self._confined else None,
        )

    def _open_log(self, plugin: str, attempt: int) -> WorkerLog:
        path = self._scratch / scratch.LOGS / plugin / f"{self.run}-{attempt}.stderr"
        say = partial(self._ledger.say, plugin) if attempt else None  # of a validation nothing may remain
        return WorkerLog(path, lambda news: self._publish(plugin, news), say)

    def _tell(self, run: PluginRun, what: What) -> None:
        self._publish(run.manifest.name, what)

    def _publish(self, plugin: str, what: What) -> None:
        self._engine.bus.publish(Event(plugin, None, self._engine.clock(), what))
