"""What a pass that was killed has left -> the directory as it was, its books written, and nothing left lying about."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ...errors import TreeError
from ...files import recovery, store
from ...files.inventory import read_inventory
from ...files.overlooked import Appended
from ...files.recovery import Recovered
from ...files.snapshot import Snapshot
from ...record.creation import Record
from ...record.schema import Applied, of_dict
from . import scratch
from .killed_log import KilledLog


def put_right(root: Path, *, replaced: bool = False) -> str | None:
    """Put right what an earlier pass over *root* has left, and say what that was. The caller holds its lock.

    Returns None if there is nothing. Raises TreeError as `files.recovery.recover` does.
    """
    try:
        recovered = recovery.recover(root, replaced=replaced, touched=touched, ours=_ours)
    except TreeError:  # perhaps for want of room, which the plugin has taken for temporary files
        _give_room(root)
        recovered = recovery.recover(root, replaced=replaced, touched=touched, ours=_ours)
    told = None if recovered is None else settle(recovered)
    scratch.sweep(root)
    return told


def _give_room(root: Path) -> None:
    """Remove what plugins have left of temporary files. Only the note tells where: a full TMPDIR is taken for none."""
    left = store.find(root)
    noted = Path("" if left is None else read_inventory(left).note.get("scratch", ""))
    if scratch.is_one(noted):
        scratch.empty(noted)


def touched(note: dict[str, Any]) -> bool:
    """Tell whether the pass that left *note* may have left a plugin's changes in the tree."""
    return bool(note.get("touched", True))


def settle(recovered: Recovered) -> str:
    """Write what a killed pass had not come to write, let its store go, and say what was done.

    A record that cannot be written keeps nobody from the directory: what belongs there is written beside it.
    """
    note = recovered.note or {}
    aside = ""
    entries = note.get("entries", [])
    if note.get("record") and entries:
        try:
            Record(Path(note["record"])).append(entries, header=note.get("header"))
        except TreeError as error:
            aside = f"; the record ({error.path}: {error.problem}) could not be written, {_put_aside(recovered, note)}"
    temporary = Path(note.get("scratch", ""))
    try:
        _write_logs(note, entries)
    except TreeError as error:
        aside += f"; the logs ({error.path}: {error.problem}) could not be written"
    scratch.remove(temporary)
    recovered.close()
    if not recovered.changes:
        return f"an earlier pass was cut short; no file had to be put back{aside}"
    kept = f"; what stood in their place is in {recovered.displaced}" if recovered.displaced else ""
    return f"an earlier pass was cut short; {len(recovered.changes)} paths were put back{kept}{aside}"


def _ours(snapshot: Snapshot) -> Appended | None:
    """Return what the killed host had added to a log in the tree."""
    return KilledLog(snapshot.note).ours(snapshot) if snapshot.note.get("logs") else None


def _write_logs(note: dict[str, Any], entries: Sequence[Any]) -> None:
    """Write how the plugins of *entries* came out, and what workers wrote to stderr. Raises TreeError."""
    if not note.get("logs"):
        return
    applied: list[Applied] = []
    with suppress(msgspec.ValidationError):  # written by a version of other views; the record has it
        applied = [of_dict(entry) for entry in entries]
    KilledLog(note).write(applied)


def _put_aside(recovered: Recovered, note: dict[str, Any]) -> str:
    """Write what belongs in the record to a new file of its own beside the store, and say where."""
    path = recovered.beside(f"unwritten-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}.json")
    try:
        with open(path, "xb") as file:
            file.write(msgspec.json.encode({"record": note["record"], "entries": note["entries"]}))
    except OSError as error:
        return f"and neither could {path}: {error.strerror}"
    return f"what belongs there is in {path}"
