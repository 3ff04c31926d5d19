"""Choice of the files that a plugin of a pass is given."""

from __future__ import annotations

from collections.abc import Mapping

from ...contracts.envelope import policy
from ...files.tree import Entry, Kind
from ...manifest.envelope_manifest import EnvelopeManifest, matches
from ...messages.quoting import is_utf8
from .options import PassOptions
from .plugin_flow import PluginRun


def choose_files(run: PluginRun, entries: Mapping[str, Entry]) -> None:
    """Set the files that *run* is given of a tree: regular ones of its kind that it may touch."""
    options = run.options
    found = [
        path
        for path, entry in entries.items()
        if entry.kind is Kind.FILE and is_for(options, run.manifest, path)
    ]
    guarded = set(policy.violations(found, options.forbidden))
    sendable = [path for path in found if is_utf8(path)]
    run.files, run.untold = sorted(set(sendable) - guarded), len(found) - len(sendable)


def is_for(options: PassOptions, manifest: EnvelopeManifest, path: str) -> bool:
    """Tell whether *manifest* is for the file *path*, and that is to be worked on."""
    chosen = options.files
    return matches(manifest, path) and (chosen is None or path in chosen)
