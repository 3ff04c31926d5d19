"""What a pass writes down: the record, the log, the raw stderr files, and the note that survives a crash.

While a plugin runs, only the log is written to. Whatever else changes in the tree then is the plugin's doing.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...errors import TreeError
from ...files.snapshot import Snapshot
from ...manifest.envelope_manifest import EnvelopeManifest
from ...record import place, sharing
from ...record.creation import Record
from ...record.live_log import LiveLog
from ...record.log_file import WizardLog
from ...record.log_lines import LogLine, render
from ...record.schema import Applied, Isolation, cut, of_dict, stamp
from .options import PassOptions
from .worker_log import Timed, WorkerLog

INTERRUPTED = "the pass was interrupted while it ran; its changes were undone"
STDERR_DIRECTORY = "plugins"  # below that of the logs: plugins/NAME/RUN-ATTEMPT.stderr
MOST_LISTED = 5_000  # paths of one entry in the record: it is read and written whole, again and again
ROOM = 1_048_576  # bytes that a record must have left for a pass to begin: ten thousand files take that much


Said = tuple[int, str, WorkerLog]  # a worker's process, its plugin, and what it wrote to stderr


class Ledger:
    """The books of one pass. A dry run keeps none."""

    def __init__(self, options: PassOptions, run: str, scratch: Path) -> None:
        self.run = run
        self._options = options
        self._scratch = scratch
        self._record = Record(options.record_path)
        self._live = LiveLog(WizardLog(options.log_directory), options.root)
        self._tags = {
            "host": socket.gethostname(),
            "equipment": options.equipment_id,
            "project": options.project,
            "run_kind": options.run_kind,
            "run": run,
        }

    # The log, while plugins run

    def begin(self, snapshot: Snapshot) -> None:
        """Take the log as it was saved with the tree just now."""
        self._live.saved(None if self._live.inside is None else snapshot.paths.get(self._live.inside))

    def say(self, plugin: str, pid: int, lines: Iterable[Timed]) -> bool:
        """Add what a worker has said to the log at once. Returns whether it is there now."""
        if self._options.dry_run:
            return False
        return self._live.say(self._line(at, line, pid, plugin) for at, line in lines)

    def claim(self, snapshot: Snapshot) -> bool:
        """Let *snapshot* overlook what was said. Returns False if somebody else has been at the log meanwhile.

        The log is then put back with the rest of the tree, and what was said has to be written again.
        """
        appended = self._live.appended
        if appended is None or snapshot.overlook(appended):
            return True
        self._live.give_up()
        return False

    @property
    def log_path(self) -> Path:
        return WizardLog(self._options.log_directory).path

    def check(self) -> None:
        """Raise TreeError if the record, or the log, could not be added to."""
        if self._options.dry_run:
            self._record.read()
            return
        options, logs = self._options, self._options.log_directory
        self._record.check(
            room=ROOM, make=_is_outside(options.record and options.record.parent, options.root)
        )
        WizardLog(logs).check(make=_is_outside(options.logs, options.root))
        raw = logs / STDERR_DIRECTORY
        place.check_directory(raw, levels=3)
        if raw.exists():
            for manifest in self._options.manifests:
                place.check_directory(raw / manifest.name, levels=1)

    def note(
        self,
        entries: Sequence[Applied] = (),
        at_work: Sequence[EnvelopeManifest] = (),
        *,
        touched: bool = False,
    ) -> dict[str, Any]:
        """Return what the next run must know if this one is killed: what to write, and who was at work.

        *touched* says that the tree may have been changed by a plugin since it was saved.
        """
        if self._options.dry_run:
            return {"scratch": str(self._scratch), "touched": touched or bool(at_work)}
        hit = [aborted(self.run, manifest) for manifest in at_work]
        return {
            "scratch": str(self._scratch),
            "touched": touched or bool(at_work),
            "record": str(self._options.record_path),
            "header": self._header(),
            "logs": str(self._options.log_directory),
            "tags": self._tags,
            "entries": [_written(entry) for entry in (*entries, *hit)],
        }

    def write(self, entries: Sequence[Applied], logs: Sequence[Said]) -> None:
        """Add *entries* to the record, and what workers had to say to the log. Raises TreeError.

        To have written them before does no harm.
        """
        if not self._options.dry_run:
            self._record.append([_written(entry) for entry in entries], header=self._header())
            self._log(logs, [(entry.plugin, summary(entry)) for entry in entries])

    def write_validation(self, logs: Sequence[Said], failed: Mapping[str, str]) -> None:
        """Keep what workers said that looked at variables, and why some *failed* to, by plugin. Raises TreeError.

        Where there is nothing of both, nothing is written: an objection is told, and leaves no trace.
        """
        if not self._options.dry_run:
            lines = [
                (plugin, LogLine("ERROR", "validation failed", {"error": why}))
                for plugin, why in failed.items()
            ]
            self._log(logs, lines)

    def _log(self, logs: Sequence[Said], more: Sequence[tuple[str, LogLine]]) -> None:
        """Add to the log what workers said, and *more* about plugins behind it; keep the raw files."""
        lines = [self._line(at, line, pid, plugin) for pid, plugin, log in logs for at, line in log.unwritten]
        now = datetime.now(UTC)
        for pid, plugin, log in logs:
            if log.left_out:
                lines.append(self._line(now, LogLine("WARNING", log.left_out), pid, plugin))
        lines += [self._line(now, line, 0, plugin) for plugin, line in more]
        directory = self._options.log_directory
        if not self._live.append(lines):
            WizardLog(directory).append(lines)
        for _, plugin, log in logs:
            log.written = len(log.lines)
            keep_stderr(log.path, directory, plugin)

    def _line(self, at: datetime, line: LogLine, pid: int, plugin: str) -> str:
        return render(line, at=at, plugin=plugin, pid=pid, **self._tags)

    def _header(self) -> dict[str, Any]:
        options = self._options
        return {
            "run_kind": options.run_kind,
            "lims_project": {"short_id": options.project},
            "template": {"name": options.template_name, "version": options.template_version},
            "variables": dict(options.variables),
            "paths": {"local": str(options.root)},
        }


def entries_of(note: dict[str, Any]) -> list[Applied]:
    """Return the entries that *note* says are yet to be written."""
    return [of_dict(entry) for entry in note.get("entries", ())]


def aborted(run: str, manifest: EnvelopeManifest) -> Applied:
    """Return the entry of a plugin that is not let finish, written before it begins: what it will cost nobody knows."""
    now = stamp(datetime.now(UTC))
    return Applied(
        id=f"{run}:{manifest.name}",
        run=run,
        plugin=manifest.name,
        version=manifest.version,
        status="aborted",
        files_affected=[],
        changes=[],
        isolation=Isolation(duration_ms=0, attempts=0),
        started_at=now,
        finished_at=now,
        error=INTERRUPTED,
        per_file=[],
    )


def _written(entry: Applied) -> dict[str, Any]:
    """Return *entry* as it goes into the record, where there is no room for every path of a large tree."""
    return cut(entry.to_dict(), MOST_LISTED)


def summary(entry: Applied) -> LogLine:
    """Return the line of the log that says how a plugin came out."""
    level = "INFO" if entry.status in ("success", "skipped") else "WARNING"
    context: dict[str, Any] = {"status": entry.status, "files_affected": entry.files_count}
    if entry.error:
        context["error"] = entry.error
    return LogLine(level, "plugin applied", context)


def _is_outside(directory: Path | None, root: Path) -> bool:
    """Tell whether a *directory* was named that is none of the tree's: only there something may be made as a proof."""
    return directory is not None and not Path(os.path.realpath(directory)).is_relative_to(root)


def keep_stderr(path: Path, logs: Path, plugin: str) -> None:
    """Move a raw stderr file, if there is one, to where people look for it below *logs*. Raises TreeError."""
    if not path.exists():
        return
    directory = logs / STDERR_DIRECTORY / plugin
    try:
        for each in (directory.parent, directory):
            sharing.make_directory(each)
            if each.is_symlink():
                raise TreeError(str(each), "a symbolic link", "Put a real directory in its place")
        kept = directory / path.name
        shutil.move(path, kept)
        sharing.share_path(kept, sharing.READ)
    except OSError as error:
        raise TreeError(
            str(directory), f"cannot be written: {error.strerror}", "Check the directory"
        ) from error
