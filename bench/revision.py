"""Which code a run measured: the commit, and a digest of the files, so that an edit during a run is noticed."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from hashlib import sha256

from .driver import ROOT

MEASURED = ("src", "sdk", "examples")
KINDS = {".py", ".toml", ".js", ".sh", ".awk", ""}  # "" is what a compiler made


@dataclass(frozen=True, slots=True)
class Revision:
    """The code as it was at one moment."""

    commit: str  # empty outside a repository
    digest: str

    def __str__(self) -> str:
        return f"commit {self.commit or 'unknown'}, files {self.digest}"


def take() -> Revision:
    """Return what the code is now."""
    return Revision(_commit(), _digest())


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return found.stdout.strip()


def _digest() -> str:
    """A run measures files, not commits: children read them anew at every start."""
    digest = sha256()
    files = (file for name in MEASURED for file in sorted((ROOT / name).rglob("*")))
    for file in files:
        if file.suffix in KINDS and file.is_file() and "__pycache__" not in file.parts:
            digest.update(str(file.relative_to(ROOT)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
