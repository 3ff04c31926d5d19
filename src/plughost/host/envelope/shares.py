"""Changes of plugins that ran at once -> which are whose. Refuses to guess.

Each could write to its own files alone. What the kernel does not govern, such as a mode, leaves a doubt.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from ...files.changes import Change, ChangeKind
from ...files.snapshot import Snapshot
from .plugin_flow import PluginRun


def tell_apart(
    group: Sequence[PluginRun], changes: Sequence[Change], saved: Snapshot
) -> dict[str, list[Change]] | None:
    """Return the changes by plugin, or None if it cannot be told beyond doubt which are whose."""
    if not all(run.good for run in group):
        return None
    shares: dict[str, list[Change]] = {run.manifest.name: [] for run in group}
    for change in changes:
        owners = [run for run in group if change.path in run.files and run.claims(change.path)]
        if len(owners) != 1 or change.kind is not ChangeKind.MODIFIED or not _same_access(change.path, saved):
            return None
        shares[owners[0].manifest.name].append(change)
    return shares


def _same_access(path: str, saved: Snapshot) -> bool:
    was, now = saved.paths[path], os.lstat(saved.root / path)
    return (was.mode, was.uid, was.gid) == (stat.S_IMODE(now.st_mode), now.st_uid, now.st_gid)
