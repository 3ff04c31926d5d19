"""Why an `envelope` plugin does not work: its manifest, its sources, and what its worker says to a validation.

Turns a binding into findings, the most basic first. That its program is there was looked at before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..errors import ManifestError
from ..failures import PluginFailure
from ..manifest.binding import Binding
from ..messages.quoting import listed, quote
from .doctor import Finding, syntax_problem
from .envelope_seen import some
from .envelope_subject import MADE_UP, Subject, subject
from .envelope_validation import validate
from .lint_class import ENTRIES


def examine(binding: Binding) -> Iterator[Finding]:
    """Yield what is found about *binding*, ending with the first problem that makes the rest meaningless."""
    try:
        found = subject(binding)
    except ManifestError as error:
        yield Finding(False, f"{error.source}: {error.key}: {error.problem}", f"{error.remedy}.")
        return
    yield from _manifest(found)
    sources = list(_sources(found))
    yield from sources
    if all(finding.ok for finding in sources):
        yield from _worker(found)


def _manifest(found: Subject) -> Iterator[Finding]:
    manifest = found.manifest
    if manifest is None:
        yield Finding(True, "it has no manifest: a host could only run it by its command")
        return
    extensions = listed(manifest.supported_extensions)
    if extensions:
        yield Finding(True, f"its manifest is {manifest.name} {manifest.version}, for {extensions}")
    else:
        yield Finding(
            False, "its manifest names no extension: it is given no file", "Fill `supported_extensions`."
        )
    for remark in manifest.remarks:
        yield Finding(True, f"its manifest: {remark}")
    if manifest.unknown:
        yield Finding(
            True,
            f"its manifest has keys that nobody knows: {listed(manifest.unknown)}",
            "Look for a slip of the pen.",
        )


def _sources(found: Subject) -> Iterator[Finding]:
    """Look at a Python package without running it."""
    if found.manifest is None or found.manifest.command:
        return
    directory = found.manifest.directory
    entries = [path for name in ENTRIES if os.path.lexists(path := directory / name)]
    if not entries:
        yield Finding(
            False,
            f"{directory} holds neither {ENTRIES[0]} nor {ENTRIES[1]}",
            "Write one that has a class called Plugin, or name a `command` in the manifest.",
        )
    yield from (problem for file in entries if (problem := syntax_problem(file)) is not None)


def _worker(found: Subject) -> Iterator[Finding]:
    """Let a worker validate, as the real host does before any file is touched."""
    try:
        objections, answered = validate(found)
    except PluginFailure as failure:
        yield Finding(
            False, f"{failure.code}: {failure.message}. {_last_words(failure)}".strip(), failure.hint
        )
        return
    if not objections:
        unasked = "its worker is not asked about variables (`validates`)"
        yield Finding(True, f"its worker starts, and answers {answered}" if answered else unasked)
        return
    needed = found.manifest.required_variables if found.manifest is not None else ()
    made_up = f" It was told {quote(MADE_UP)} for {listed(needed)}." if needed else ""
    yield Finding(
        False,
        f"its worker starts, and objects: {some(objections)}" if answered else some(objections),
        f"A host would not let it begin.{made_up}",
    )


def _last_words(failure: PluginFailure) -> str:
    lines = failure.autopsy.stderr_tail.strip().splitlines()
    return f"Its last words: {some(lines[-1:])}" if lines else ""
