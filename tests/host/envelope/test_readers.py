"""Every kind of record that a pass writes is one that the other readers of `creation.json` understand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plughost.process.local import LocalProcess
from tests.host.envelope.lab import Lab, outcome
from tests.host.envelope.test_kills import gone
from tests.record import original

KILLED = """\
import sys
from plughost import blocking
with blocking.Host() as host:
    host.run_pass(sys.argv[1], [sys.argv[2]], confine=False)
"""


def answered(lab: Lab) -> original.PluginApplied:
    """Return the last entry as another reader has it."""
    data = (lab.root / ".exlab-wizard/creation.json").read_bytes()
    return original.read(data).plugins_applied[-1]


def success(lab: Lab) -> None:
    lab.run(lab.plugin("p"), project="LAB-7", run_kind="test", template_name="t")


def skipped(lab: Lab) -> None:
    lab.run(lab.plugin("p", extensions=[".csv"]))


def failed(lab: Lab) -> None:
    lab.run(lab.plugin("p", "def transform(self, path, ctx):\n    raise PluginError('no')"))


def crashed(lab: Lab) -> None:
    lab.run(lab.plugin("p", "def transform(self, path, ctx):\n    os.kill(os.getpid(), 11)"))


def unfit(lab: Lab) -> None:
    lab.run(lab.plugin("p", top="os._exit(0)\n"))


def not_started(lab: Lab) -> None:
    lab.run(lab.raw("p", "", command=["no-such-program"], validates=False))


def timeout(lab: Lab) -> None:
    hangs = "def transform(self, path, ctx):\n    time.sleep(600)"
    lab.run(lab.plugin("p", hangs, isolation={"timeout_seconds": 0.5}))


def policy_violation(lab: Lab) -> None:
    lab.run(lab.plugin("p", "def transform(self, path, ctx):\n    (ctx.dst_root / 'README.md').touch()"))


def aborted(lab: Lab) -> None:
    asks = "def transform(self, path, ctx):\n    raise PluginInputRequired([field('a', 'A')], 'why')"
    lab.run(lab.plugin("p", asks), ask=lambda question: None)


def killed(lab: Lab) -> None:
    kills = lab.plugin("p", "def transform(self, path, ctx):\n    os.kill(os.getppid(), signal.SIGKILL)")
    environment = {**os.environ, "TMPDIR": str(lab.home / "tmp")}
    words = [sys.executable, "-c", KILLED, str(lab.root), str(kills)]
    assert subprocess.run(words, env=environment, check=False).returncode == -signal.SIGKILL
    assert gone(lab)
    words = [sys.executable, "-m", "plughost", "transform", str(lab.root), "--recover"]
    subprocess.run(words, env=environment, check=True)


KINDS: dict[Callable[[Lab], None], tuple[str, int | None]] = {
    success: ("success", 0),
    skipped: ("skipped", 0),
    failed: ("failed", 1),
    crashed: ("failed", -11),
    unfit: ("failed", 0),
    not_started: ("failed", None),
    timeout: ("timeout", 124),
    policy_violation: ("policy_violation", 0),
    aborted: ("failed", 2),
    killed: ("failed", None),
}


@pytest.mark.requirement("envelope:record:readers")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_entry_is_understood_by_other_readers(kind: Callable[[Lab], None], lab: Lab) -> None:
    kind(lab)
    found = answered(lab)
    assert (found.status, found.isolation and found.isolation.exit_code) == KINDS[kind]
    expected = "aborted" if kind in (aborted, killed) else found.status
    assert outcome(lab.entries[-1]) == expected


def test_memory_that_could_not_be_measured_is_written_as_a_number(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown: Callable[[Any], None] = lambda process: None  # noqa: E731
    monkeypatch.setattr(LocalProcess, "peak_memory_kib", unknown)
    lab.run(lab.raw("p", "answer(result='success', per_file=[])", validates=False))
    found = answered(lab)
    assert found.isolation is not None
    assert found.isolation.peak_memory_mb >= 0


def test_a_dry_run_and_an_objection_leave_no_record(lab: Lab) -> None:
    lab.run(lab.plugin("p"), dry_run=True)
    lab.run(lab.plugin("q", "required_variables = ['v']"))
    assert not (lab.root / ".exlab-wizard/creation.json").exists()


@pytest.mark.parametrize("kind", ["experimental", "test", "project", "", "calibration"])
def test_a_kind_of_run_that_other_readers_do_not_know_is_written_beside(kind: str, lab: Lab) -> None:
    lab.run(lab.plugin("p"), run_kind=kind)
    known = kind if kind in ("experimental", "test") else "experimental"
    assert lab.record["run_kind"] == known
    assert lab.record.get("run_kind_given", known) == (kind or known)
    answered(lab)


def test_a_record_that_another_program_has_updated_is_added_to(lab: Lab) -> None:
    aborted(lab)
    path = Path(lab.root / ".exlab-wizard/creation.json")
    path.write_bytes(original.updated(path.read_bytes()))
    lab.run(lab.plugin("q"))
    assert [(entry["plugin"], entry["status"]) for entry in lab.entries] == [
        ("p", "failed"),
        ("q", "success"),
    ]
    answered(lab)
