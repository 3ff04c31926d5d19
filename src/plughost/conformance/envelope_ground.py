"""A place of its own for a worker that is examined: a tree to work on, a directory for its temporary files, and
surroundings that it should leave alone. Made anew for each conversation, looked at afterwards, and removed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from ..contracts.envelope import policy
from ..errors import TreeError
from ..files import changes, tree
from ..files.tree import Entry, Kind
from ..manifest.envelope_manifest import EnvelopeManifest, matches
from . import envelope_sample

USUAL_EXTENSIONS = (".txt", ".csv", ".json")  # for a worker whose manifest is not known
# What no plugin may touch, laid out so that one is seen that does.
GUARDED = {
    "README.md": b"# Run\n",
    ".exlab-answers.yml": b"operator: Ada\n",
    ".exlab-wizard/creation.json": b"{}\n",
}
BELOW = "below"  # a directory of the tree
MOST_OF_A_NAME = 200  # bytes of an extension; a whole name may have 255
MOST_KINDS = 32  # extensions that get a sample: each conversation lays all of them out
MOST_ENTRIES = 2_000  # of a directory that is copied for each of about fifteen conversations
MOST_BYTES = 268_435_456  # likewise


class Layout:
    """What is laid out in a tree, and which of it a plugin is given: samples, or a copy of a directory."""

    def __init__(self, manifest: EnvelopeManifest | None, against: Path | None = None) -> None:
        """Look at *against*, if there is one. Raises TreeError if it cannot be used."""
        self._manifest = manifest
        self._against = against
        self._entries = _scan(against) if against is not None else {}
        found = [path for path, entry in self._entries.items() if entry.kind is Kind.FILE]
        samples = {**self._samples(), **GUARDED} if against is None else {}
        self._samples_by_path = samples
        self.files = tuple(sorted(path for path in (*found, *samples) if self._is_given(path)))
        if against is not None and not self.files:
            raise TreeError(
                str(against),
                "it holds no file that the plugin would be given",
                "Name a directory with files of its supported_extensions",
            )

    def _samples(self) -> dict[str, bytes]:
        known = self._manifest.supported_extensions if self._manifest is not None else USUAL_EXTENSIONS
        kinds = [kind for kind in known if _is_in_a_name(kind)][:MOST_KINDS]
        found = {_named("sample", kind): envelope_sample.content(kind) for kind in kinds}
        # Two at least, one of them not at the top: a plugin may take the tree for a flat one.
        deeper = {f"{BELOW}/{_named('another', kind)}": envelope_sample.content(kind) for kind in kinds[:1]}
        return found | deeper

    def _is_given(self, path: str) -> bool:
        try:
            path.encode()
        except UnicodeEncodeError:  # JSON cannot say it: the host does not give it either
            return False
        fits = self._manifest is None or matches(self._manifest, path)
        return fits and not policy.violations([path])

    def lay_out(self, root: Path) -> None:
        """Fill the empty directory *root*. Raises TreeError for what cannot be copied."""
        for path, data in self._samples_by_path.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        if self._against is not None:
            for path in sorted(self._entries):  # a directory comes before what is in it
                _copy(self._against / path, root / path, self._entries[path])


def _is_in_a_name(kind: str) -> bool:
    """Tell whether a file here can have the extension *kind*. Others could lead out of the tree."""
    return "/" not in kind and kind != BELOW and len(kind.encode()) <= MOST_OF_A_NAME


def _named(stem: str, kind: str) -> str:
    """Return the name of a file of this *kind*: without a dot before it, that is the whole name."""
    return f"{stem}{kind}" if not kind or kind.startswith(".") else kind


def _scan(directory: Path) -> dict[str, Entry]:
    if not os.path.isdir(directory):
        raise TreeError(str(directory), "it is not a directory", "Name one with files to work on")
    entries = tree.scan(directory)
    size = sum(entry.size for entry in entries.values() if entry.kind is Kind.FILE)
    if len(entries) > MOST_ENTRIES or size > MOST_BYTES:
        raise TreeError(
            str(directory),
            f"{len(entries)} paths with {size} bytes are too many to be copied for each conversation",
            f"Name a directory with at most {MOST_ENTRIES} paths and {MOST_BYTES} bytes",
        )
    del entries["."]
    return entries


def _copy(source: Path, target: Path, entry: Entry) -> None:
    try:
        _copy_kind(source, target, entry)
    except OSError as error:
        problem = f"it cannot be copied: {error.strerror or error}"
        raise TreeError(str(source), problem, "Name a directory that can be read") from error


def _copy_kind(source: Path, target: Path, entry: Entry) -> None:
    match entry.kind:
        case Kind.DIRECTORY:
            target.mkdir()
        case Kind.SYMLINK:
            target.symlink_to(entry.target or "")
        case Kind.FILE:
            shutil.copy2(source, target, follow_symlinks=False)
        case Kind.OTHER:
            pass  # a FIFO, a socket or a device: no plugin is given one


class Ground:
    """A tree at *root*, and what is around it. Leaving the `with` block removes all of it."""

    def __init__(self, layout: Layout, plugin: Path | None) -> None:
        """Lay it out. *plugin* is a directory that is watched as well."""
        self.home = Path(tempfile.mkdtemp(prefix="plughost-check-")).resolve()
        self.root = self.home / "tree"
        self.temporary = self.home / "tmp"
        self._plugin = plugin
        try:
            for directory in (self.root, self.temporary, self.home / "beside"):
                directory.mkdir()
            (self.home / "beside" / "neighbour.txt").write_bytes(envelope_sample.SENTENCES)
            layout.lay_out(self.root)
            self.files = tuple(str(self.root / path) for path in layout.files)
            self._before = tree.scan(self.root)
            self._around = self._look_around()
        except BaseException:
            self._remove()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def changed(self) -> tuple[str, ...]:
        """Return what is no longer as it was laid out, relative to the root."""
        return self._compare(self._before, lambda: tree.scan(self.root))

    def forbidden(self) -> tuple[str, ...]:
        """Return what has changed of the paths that no plugin may touch."""
        try:
            found = changes.compare(self._before, tree.scan(self.root))
        except TreeError:  # which path made it unreadable is told as a change
            return ()
        touched = {path for each in found for path in (each.path, each.before) if path is not None}
        return policy.violations(touched)

    def strayed(self) -> tuple[str, ...]:
        """Return what has changed around the tree."""
        return self._compare(self._around, self._look_around)

    def _compare(self, before: Mapping[str, Entry], look: Callable[[], dict[str, Entry]]) -> tuple[str, ...]:
        try:
            found = changes.compare(before, look())
        except TreeError as error:  # it was made unreadable, which is a change too
            return (f"{error.path} ({error.problem})",)
        return tuple(f"{change.path} ({change.kind})" for change in found)

    def _look_around(self) -> dict[str, Entry]:
        ours = (self.root.name, self.temporary.name)
        found = {
            path: entry for path, entry in tree.scan(self.home).items() if path.partition("/")[0] not in ours
        }
        if self._plugin is not None:
            found |= {
                str(self._plugin / path): entry
                for path, entry in tree.scan(self._plugin).items()
                if "__pycache__" not in path.split("/")  # Python's own doing
            }
        return found

    def _remove(self) -> None:
        """Remove it; a plugin may have taken our rights to a directory of it away."""
        for directory, names, _ in os.walk(self.home):
            for name in names:
                path = os.path.join(directory, name)
                if not os.path.islink(path):
                    with suppress(OSError):
                        os.chmod(path, 0o700)
        shutil.rmtree(self.home, ignore_errors=True)
