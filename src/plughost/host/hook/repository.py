"""A directory as providers are shown it: its files and where its history stands. Reads names and `.git/HEAD` only."""

from __future__ import annotations

import os
import re
from pathlib import Path

from plughost_sdk import hook_messages as wire

from ...files.checkpoints import checkpoint
from ...messages.quoting import is_utf8

FILES_LIMIT = 20_000  # names; no provider needs more to see what a repository is
NAMES_BYTES = 4_194_304  # of all names together, so that they fit a frame
_SKIPPED = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"}
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HEAD_BYTES = 4_096


def snapshot(root: Path) -> wire.RepoSnapshot:
    """Return what lies below *root*, sorted, within the limits above; nothing if it cannot be read."""
    found = wire.RepoSnapshot(root_path=str(root.absolute()) if is_utf8(str(root.absolute())) else "")
    found.files.extend(_files(root))
    branch, commit = _head(root)
    if branch or commit:
        found.git.branch, found.git.commit_sha = branch, commit
    return found


def _files(root: Path) -> list[str]:
    names: list[str] = []
    size = 0
    for directory, below, files in os.walk(root):
        checkpoint()
        below[:] = sorted(set(below) - _SKIPPED)
        for file in sorted(files):
            name = os.path.relpath(os.path.join(directory, file), root)
            if is_utf8(name):
                size += len(name.encode())
                if len(names) >= FILES_LIMIT or size > NAMES_BYTES:
                    return sorted(names)
                names.append(name)
    return sorted(names)


def _head(root: Path) -> tuple[str, str]:
    """Return the branch and commit that are checked out, as far as two small files tell."""
    head = _read(root / ".git" / "HEAD")
    if not head.startswith("ref: refs/heads/"):
        return "", head if _COMMIT.fullmatch(head) else ""
    branch = head.removeprefix("ref: refs/heads/")
    if ".." in branch.split("/"):
        return "", ""
    commit = _read(root / ".git" / "refs" / "heads" / branch)
    return branch, commit if _COMMIT.fullmatch(commit) else ""


def _read(path: Path) -> str:
    try:
        if not os.path.isfile(path):
            return ""
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES).decode().strip()
    except (OSError, ValueError):
        return ""
