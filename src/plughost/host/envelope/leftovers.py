"""What a pass that was killed has left -> the directory as it was, its books written, and nothing left lying about."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ...errors import TreeError
from ...files import recovery
from ...files.recovery import Recovered
from ...record.creation import Record

SCRATCH_PREFIX = "plughost-pass-"
TEMPORARY = "tmp"  # in there: the plugins' directory for temporary files


def put_right(root: Path, *, replaced: bool = False) -> str | None:
    """Put right what an earlier pass over *root* has left, and say what that was. The caller holds its lock.

    Returns None if there is nothing. Raises TreeError as `files.recovery.recover` does.
    """
    recovered = recovery.recover(root, replaced=replaced, touched=touched)
    return None if recovered is None else settle(recovered)


def touched(note: dict[str, Any]) -> bool:
    """Tell whether the pass that left *note* may have left a plugin's changes in the tree."""
    return bool(note.get("touched", True))


def settle(recovered: Recovered) -> str:
    """Write what a killed pass had not come to write, let its store go, and say what was done.

    A record that cannot be written keeps nobody from the directory: what belongs there is written beside it.
    """
    note = recovered.note or {}
    aside = ""
    if note.get("record") and note.get("entries"):
        try:
            Record(Path(note["record"])).append(note["entries"], header=note.get("header"))
        except TreeError as error:
            aside = f"; the record ({error.path}: {error.problem}) could not be written, {_put_aside(recovered, note)}"
    if scratch := note.get("scratch"):
        remove_scratch(Path(scratch))
    recovered.close()
    if not recovered.changes:
        return f"an earlier pass was killed; no file had to be put back{aside}"
    kept = f"; what stood in their place is in {recovered.displaced}" if recovered.displaced else ""
    return f"an earlier pass was killed; {len(recovered.changes)} paths were put back{kept}{aside}"


def _put_aside(recovered: Recovered, note: dict[str, Any]) -> str:
    """Write what belongs in the record to a new file of its own beside the store, and say where."""
    path = recovered.beside(f"unwritten-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}.json")
    try:
        with open(path, "xb") as file:
            file.write(msgspec.json.encode({"record": note["record"], "entries": note["entries"]}))
    except OSError as error:
        return f"and neither could {path}: {error.strerror}"
    return f"what belongs there is in {path}"


def remove_scratch(scratch: Path) -> None:
    """Remove a pass's temporary directory, whatever a plugin made of it."""
    if not scratch.name.startswith(SCRATCH_PREFIX):  # the name comes from a file: never anything else
        return
    with suppress(OSError):  # nearly always nobody has left anything there
        os.rmdir(scratch / TEMPORARY)
        os.rmdir(scratch)
        return
    with suppress(OSError):
        shutil.rmtree(scratch)
