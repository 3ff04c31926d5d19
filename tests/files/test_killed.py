"""A host that is killed at any instant: what is found afterwards is one state or the next, whole, and never a mix."""

import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from plughost.files.recovery import Recovered, recover
from plughost.files.snapshot import Snapshot
from plughost.files.store import place
from tests.files.killing import STEPS_LIMIT, finishes
from tests.files.passes import shape, vandalize
from tests.files.portrait import portrait

LONGEST_S = 0.12  # until the kill: long enough for several rounds of all that the host does


@pytest.fixture
def root(tmp_path):
    (tmp_path / "tree").mkdir()
    shape(tmp_path / "tree", 1)
    return tmp_path / "tree"


@pytest.fixture
def state(tmp_path):
    """Return what the tree of a number looks like; times count only where they are set."""

    def look(root):
        return {
            path: tuple(value for at, value in enumerate(seen) if at != 4 or path == b"big")
            for path, seen in portrait(root).items()
        }

    def assert_state(root, number):
        (tmp_path / "pattern").mkdir(exist_ok=True)
        shape(tmp_path / "pattern", number)
        assert look(root) == look(tmp_path / "pattern")

    return assert_state


def run_and_kill(root: Path, seconds: float, seed: int) -> None:
    """Run a host until it is at work, and kill it some time later."""
    command = [sys.executable, "-m", "tests.files.passes", str(root), str(seed)]
    here = Path(__file__).parent.parent.parent
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=here) as child:
        assert child.stdout.readline() == "taken\n"
        timer = threading.Timer(seconds, child.send_signal, [signal.SIGKILL])
        timer.start()
        child.stdout.read()  # until it is dead
        timer.join(200)
        assert child.wait(200) == -signal.SIGKILL


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kills", [16, pytest.param(40, marks=pytest.mark.long)])
def test_a_host_killed_at_any_instant_leaves_one_state_or_the_next(kills, root, state):
    chance = random.Random(20_240_229)
    put_back = 0
    for kill in range(kills):
        before = int((root / "number").read_text())
        run_and_kill(root, chance.uniform(0, LONGEST_S), kill)
        recovered = recover(root)
        number = int((root / "number").read_text())
        assert number >= before
        state(root, number)
        if recovered is not None and recovered.note is not None:
            put_back += 1
            assert recovered.note["number"] == number
            assert recover(root) == Recovered((), recovered.note, recovered.displaced)
            recovered.close()
        assert recover(root) is None
    assert put_back > kills // 4, "the kills came too early or too late to tell anything"


def test_a_recovery_killed_at_any_step_is_finished_by_the_next(root, monkeypatch):
    Snapshot.take(root, place(root), {"number": 1})
    before = portrait(root)
    for step in range(STEPS_LIMIT):
        vandalize(root, random.Random(step))
        if finishes(lambda: recover(root), step, monkeypatch):
            break
        recover(root)
        assert portrait(root) == before
    assert step > 20
    assert portrait(root) == before
    recover(root).close()


def test_an_advance_killed_at_any_step_leaves_the_old_state_or_the_new(root, state, monkeypatch):
    snapshot = Snapshot.take(root, place(root), {"number": 1})
    seen = set()
    for step in range(STEPS_LIMIT):
        number = snapshot.note["number"]
        shape(root, number + 1)
        done = finishes(lambda: snapshot.advance({"number": number + 1}), step, monkeypatch)  # noqa: B023 - at once
        recovered = recover(root)
        assert recovered.note["number"] in (number, number + 1)
        seen.add(recovered.note["number"] - number)
        state(root, recovered.note["number"])
        snapshot = Snapshot.open(root, place(root))
        if done:
            break
    assert step > 10
    assert seen == {0, 1}
    snapshot.close()


def test_taking_killed_at_any_step_leaves_the_tree_alone(root, monkeypatch):
    before = portrait(root)
    for step in range(STEPS_LIMIT):
        # A kill leaves what an interrupt would clear away
        with monkeypatch.context() as patch:
            patch.setattr("plughost.files.snapshot.remove_store", lambda store: None)
            done = finishes(lambda: Snapshot.take(root, place(root), {}), step, monkeypatch)
        recovered = recover(root)
        assert portrait(root) == before
        if recovered is not None:
            assert recovered.changes == ()
            recovered.close()
        assert recover(root) is None
        if done:
            break
    assert step > 10
