"""The peers' own environment, `.venv-bench`: made on demand, filled from peers.txt, never shared with ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .driver import ROOT

WHERE = ROOT / ".venv-bench"
LIST = Path(__file__).with_name("peers.txt")
PYTHON = str(WHERE / "bin" / "python")
INSTALL_S = 300.0
_VERSION = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"


def prepare() -> dict[str, str]:
    """Install what is missing. Returns, for each peer that is not there in the end, why. Raises nothing."""
    problems = {}
    for requirement in LIST.read_text().split():
        name, _, version = requirement.partition("==")
        problem = _make() or (None if _installed(name) == version else _install(requirement))
        if problem is not None:
            problems[name] = problem
    return problems


def _make() -> str | None:
    return None if Path(PYTHON).exists() else _run([sys.executable, "-m", "venv", str(WHERE)])


def _install(requirement: str) -> str | None:
    return _run([PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement])


def _installed(name: str) -> str:
    found = subprocess.run([PYTHON, "-c", _VERSION, name], capture_output=True, text=True, check=False)
    return found.stdout.strip()


def _run(command: list[str]) -> str | None:
    """Run *command*; return None, or the last thing it said if it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot be installed: {error}"
    lines = done.stderr.strip().splitlines() or ["no reason given"]
    return None if done.returncode == 0 else f"cannot be installed: {lines[-1]}"
