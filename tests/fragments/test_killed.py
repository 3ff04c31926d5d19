"""A host that is killed before any of its calls to the system: the files are all old or all new, never a mix."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def killed(out, what, halfway=0):
    """Return what was found after a kill before each call in turn, and at last after none."""
    command = [sys.executable, "-m", "tests.fragments.runs", str(out), what, str(halfway)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    assert found.returncode == 0, found.stderr
    reports = [json.loads(line) for line in found.stdout.splitlines()]
    for report in reports:
        assert report["state"] in ("old", "new"), report
        assert report["empty"] == [], report
        assert report["again"] is False, report
    return reports


def states(reports, *, left):
    return [report["state"] for report in reports if report["left"] is left]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return killed(tmp_path_factory.mktemp("killed") / "out", "with-links")


@pytest.mark.thin(2)
@pytest.mark.parametrize("links", ["with-links", "without-links"])
@pytest.mark.long
def test_a_run_killed_before_any_call_leaves_all_old_or_all_new_files(tmp_path, undisturbed, links):
    reports = undisturbed if links == "with-links" else killed(tmp_path / "out", links)
    found = [report["state"] for report in reports]
    assert found == sorted(found, reverse=True), "once it is new, it stays new"
    assert states(reports, left=True).count("new") > 10
    assert states(reports, left=True).count("old") > 10
    assert reports[-1]["state"] == "new"
    assert reports[-1]["left"] is False


@pytest.mark.thin(2)
@pytest.mark.parametrize("trouble", ["fails-at-commit", "fails-in-place"])
def test_a_run_killed_on_its_way_back_leaves_all_old_or_all_new_files(tmp_path, trouble):
    reports = killed(tmp_path / "out", trouble)
    assert "new" in states(reports, left=True), "a kill before the way back lets the next run go on"
    assert states(reports, left=True).count("old") > 10
    assert reports[-1]["state"] == "old"
    assert reports[-1]["left"] is False


@pytest.mark.thin(2)
@pytest.mark.parametrize("state", ["old", "new"])
def test_a_recovery_killed_before_any_call_is_finished_by_the_next(tmp_path, undisturbed, state):
    numbers = [each["number"] for each in undisturbed if each["state"] == state and each["left"]]
    again = killed(tmp_path / "out", "recovery", numbers[len(numbers) // 3])
    assert len(again) > 10
    assert {each["state"] for each in again} == {state}
