"""A client that was written before the protocol lost its handshake works with us. It has an environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.frontends.mcp.test_command import COMMAND
from tests.frontends.mcp.test_plugins import install as install_plugin

WHERE = ROOT / ".venv-mcp1"
PYTHON = WHERE / "bin" / "python"
REQUIREMENT = "mcp>=1.30,<2"
SCRIPT = Path(__file__).with_name("old_client.py")
INSTALL_S = 300.0


def install() -> str | None:
    """Make the environment, if it is not there. Returns why that cannot be done, or None."""
    steps = [
        [str(PYTHON), "-c", "import mcp, importlib.metadata as m; assert m.version('mcp') < '2'"],
        [sys.executable, "-m", "venv", str(WHERE)],
        [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", REQUIREMENT],
    ]
    for number, step in enumerate(steps):
        try:
            done = subprocess.run(step, capture_output=True, text=True, timeout=INSTALL_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            problem: str | None = str(error)
        else:
            problem = (
                (done.stderr.strip().splitlines() or ["no reason given"])[-1] if done.returncode else None
            )
        if number == 0 and problem is None:
            return None
        if number > 0 and problem is not None:
            return problem
    return None


@pytest.mark.long
@pytest.mark.timeout(5 * INSTALL_S)
def test_a_client_of_the_first_version_uses_both_kinds_of_tools(tmp_path):
    problem = install()
    if problem is not None:
        pytest.skip(f"the old client cannot be installed: {problem}")
    install_plugin(tmp_path, "plugin", "same")
    done = subprocess.run(
        [str(PYTHON), str(SCRIPT), str(tmp_path), *COMMAND],
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["version"].startswith("2025-")
    assert seen["tools"] == ["plugin__same", "repl"]
    assert seen["run"] == {"content": ["3\n", "[idle]"], "error": False, "structured": None}
    assert seen["error"]["error"]
    assert seen["wrong"]["error"]
    assert seen["plugin"]["structured"] == {"name": "Ada"}
    assert seen["waited"]["content"] == ["'over'\n", "[idle]"]
    assert "image" in seen["picture"]["content"]
    assert seen["heard"]
