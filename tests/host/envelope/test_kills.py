"""A host that is killed at any instant: the tree is that after none, one or both plugins, and so says the record."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from plughost.errors import LocalProtocolError, TreeError
from plughost.frontends.cli.commands.transform import command
from plughost.host.envelope.leftovers import put_right
from tests.host.envelope.lab import Lab, outcome

# Modifies several files slowly, each in two halves.
MODIFIES = """
def transform(self, path, ctx):
    with path.open("r+b") as file:
        for half in (b"first half, ", b"second half"):
            file.write(half * 2_000)
            file.flush()
            time.sleep(0.004)
"""
# Creates, deletes and renames.
MOVES = """
def transform(self, path, ctx):
    root = ctx.dst_root
    (root / "made/deep").mkdir(parents=True)
    (root / "made/deep/new.bin").write_bytes(b"new" * 1_000)
    (root / "gone.bin").unlink()
    (root / "sub").rename(root / "bus")
    path.chmod(0o600)
"""
HOST = """
import os, signal, sys, tempfile
from plughost import blocking
root, temporary, first, second, stop = sys.argv[1:]
tempfile.tempdir = temporary
count = 0

def hook(event, arguments):
    # Every operation on files that the host is about to do: at the chosen one it is killed instead.
    global count
    # What it reads of processes is not counted: that differs with what else runs on the machine.
    if event.startswith(("os.", "open", "fcntl.", "shutil.")) and not str(*arguments[:1]).startswith("/proc"):
        count += 1
        if count == int(stop):
            os.kill(os.getpid(), signal.SIGKILL)

host = blocking.Host()
if stop:
    sys.addaudithook(hook)
print("ready", flush=True)
host.run_pass(root, [first, second])
print(count, flush=True)
host.close()
"""
KILLED = """
import sys, tempfile
from plughost import blocking
root, tempfile.tempdir, plugin = sys.argv[1:]
with blocking.Host() as host:
    host.run_pass(root, [plugin], confine=False)
"""
FILES = {f"{number}.txt": f"{number}\n" * 3_000 for number in range(5)}


def write_tree(root: Path) -> None:
    (root / "sub").mkdir(parents=True, exist_ok=True)
    for name, content in {**FILES, "gone.bin": "gone", "sub/kept.bin": "kept", "only.one": "one"}.items():
        (root / name).write_text(content)


def content(root: Path) -> dict[str, Any]:
    """Return what is in a tree, but for what the host itself writes there."""
    paths = [path for path in root.rglob("*") if path.relative_to(root).parts[0] != ".exlab-wizard"]
    return {
        str(path.relative_to(root)): (path.stat().st_mode, path.is_file() and path.read_bytes())
        for path in paths
    }


class Victim:
    """A tree, two plugins, and the three states that the tree may be found in."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.plugins = [lab.plugin("a-modifies", MODIFIES), lab.plugin("b-moves", MOVES, extensions=[".one"])]
        (lab.root / "a.txt").unlink()
        write_tree(lab.root)
        self.states = [content(lab.root)]
        for plugin in self.plugins:
            assert lab.one(plugin).status == "success"
            self.states.append(content(lab.root))

    def kill(self, root: Path, *, after_s: float | None = None, at: int | None = None) -> int | None:
        """Run a pass over *root* in a host of its own, which is killed; return how much it did if it was not."""
        words = [
            str(root),
            str(self.lab.home / "tmp"),
            *map(str, self.plugins),
            "" if at is None else str(at),
        ]
        host = subprocess.Popen(
            [sys.executable, "-c", HOST, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert host.stdout is not None
        assert host.stderr is not None
        try:
            assert host.stdout.readline() == b"ready\n"
            if after_s is not None:
                threading.Event().wait(
                    after_s
                )  # the random instant is the point of the test, not a wait for a state
                host.kill()
            out, err = host.communicate(timeout=250)
        finally:
            host.kill()
            host.wait()
        assert not err, err
        return int(out) if host.returncode == 0 else None

    def check(self, root: Path) -> int:
        """Recover *root*, and return in which of the three states it is. The record must say the same."""
        record = root / ".exlab-wizard/creation.json"
        if record.exists():
            json.loads(record.read_bytes())  # never half-written, even before anybody has recovered
        for _ in range(
            100
        ):  # a child that was being started when its host died holds the lock until its exec
            ran = CliRunner().invoke(command, [str(root), "--recover"])
            if "another pass" not in str(ran.exception):
                break
            time.sleep(0.02)
        assert ran.exit_code == 0, ran.output
        state = self.states.index(content(root))
        entries = json.loads(record.read_bytes())["plugins_applied"] if record.exists() else []
        told = [(entry["plugin"], outcome(entry)) for entry in entries]
        done = [("a-modifies", "success"), ("b-moves", "success")][:state]
        begun = [*done, *[("a-modifies", "aborted"), ("b-moves", "aborted")][state : state + 1]]
        assert told in (done, begun)
        for entry, number in zip(entries, range(state), strict=False):
            seen = {path for path in entry["files_affected"] if (root / path).is_file()}
            before, after = self.states[number], self.states[number + 1]
            assert seen <= {path for path in after if before.get(path) != after[path]}
        assert not (root.parent / f".{root.name}.plughost").exists()
        return state


@pytest.fixture
def victim(lab: Lab) -> Iterator[Victim]:
    yield Victim(lab)
    assert gone(
        lab
    )  # one that was being started when its host died may show only now, and ends with its input
    for path in lab.home.glob("*.plughost-displaced-*"):  # what stood where something was put back is kept
        shutil.rmtree(path)
    assert not list((lab.home / "tmp").iterdir())


def trees(lab: Lab, count: int) -> Iterator[Path]:
    for number in range(count):
        root = lab.home / f"killed-{number}"
        write_tree(root)
        yield root


def gone(lab: Lab) -> bool:
    """Tell whether no worker is left, once those that the guard is ending are."""
    for _ in range(1_000):
        if not lab.workers():
            return True
        threading.Event().wait(0.01)  # the guard does not tell when it is done
    return False


@pytest.mark.requirement("envelope:tree:killed", "envelope:record:atomic")
@pytest.mark.parametrize("count", [8, pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(1200)])])
def test_a_host_killed_at_a_random_instant_leaves_what_recovery_puts_right(
    count: int, victim: Victim
) -> None:
    instants = random.Random(count)
    for root in trees(victim.lab, count):
        victim.kill(root, after_s=instants.uniform(0, 0.4))
        assert gone(victim.lab)
        victim.check(root)


@pytest.mark.requirement("envelope:tree:killed", "envelope:record:atomic")
@pytest.mark.parametrize("every", [70, pytest.param(1, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
def test_a_host_killed_before_any_of_its_operations_on_files_leaves_what_recovery_puts_right(
    every: int, victim: Victim
) -> None:
    number, unharmed, states = every, 0, set()
    for root in trees(victim.lab, 10_000):
        unharmed = 0 if victim.kill(root, at=number) is None else unharmed + 1
        if unharmed == 5:  # in a row: one pass may have a few operations less than the one before
            break
        assert gone(victim.lab)
        states.add(victim.check(root))
        number += every
    assert states >= ({0, 1, 2} if every == 1 else {0, 1})


@pytest.mark.requirement("envelope:tree:killed")
@pytest.mark.parametrize("at", [220, 300])
def test_the_next_pass_recovers_as_well_and_goes_on(at: int, victim: Victim) -> None:
    lab, root = victim.lab, victim.lab.root
    write_tree(root)
    for name in ("made/deep/new.bin", "bus/kept.bin"):
        (root / name).unlink()
    for name in ("made/deep", "made", "bus"):
        (root / name).rmdir()
    (root / "only.one").chmod((root / "0.txt").stat().st_mode & 0o777)
    victim.states[0] = content(root)
    assert victim.kill(root, at=at) is None
    assert gone(lab)
    result = lab.run(lab.plugin("later", extensions=[".none"]))
    assert result.recovered
    assert content(root) in victim.states
    assert lab.entries[-1]["plugin"] == "later"


ASSASSIN = """
def transform(self, path, ctx):
    print("last words", file=sys.stderr, flush=True)
    heard = Path(os.environ["TMPDIR"]).parent / "logs"
    while not any(b"last words" in each.read_bytes() for each in heard.rglob("*.stderr")):
        time.sleep(0.001)  # until the host has read it
    os.kill(os.getppid(), signal.SIGKILL)
"""


@pytest.mark.requirement("envelope:tree:killed")
@pytest.mark.parametrize("replace", ["touch()", "symlink_to('plugins')", "mkdir()", "exists()"])
def test_the_next_pass_restores_also_a_directory_that_is_none_any_more(replace: str, lab: Lab) -> None:
    before = lab.portrait()
    body = f"""def transform(self, path, ctx):
    ctx.dst_root.rename(ctx.dst_root.with_name("elsewhere"))
    ctx.dst_root.{replace}
    os.kill(os.getppid(), signal.SIGKILL)"""
    assassin = lab.plugin("assassin", body)
    words = [sys.executable, "-c", KILLED, str(lab.root), str(lab.home / "tmp"), str(assassin)]
    assert subprocess.run(words, capture_output=True, timeout=250).returncode == -signal.SIGKILL
    assert gone(lab)
    later = lab.plugin("later", extensions=[".none"])
    if replace == "mkdir()":  # somebody may have put it there, and means it
        with pytest.raises(TreeError):
            lab.run(later)
        assert put_right(lab.root, replaced=True)
    else:
        result = lab.run(later)
        assert result.recovered
        assert result.directory == lab.root
        assert [entry["plugin"] for entry in lab.entries] == ["assassin", "later"]
    assert lab.portrait().keys() == before.keys()
    assert lab.text("a.txt") == "a\n"
    for path in lab.home.glob("*.plughost-displaced-*"):
        shutil.rmtree(path)


REMOVALS = {
    "removed": "path.unlink()",
    "renamed with its directory": "path.parent.rename(ctx.dst_root / 'other')",
    "behind a link": "path.parent.rename(ctx.dst_root / 'other'); path.parent.symlink_to('other')",
    "gone with the tree": "ctx.dst_root.rename(ctx.dst_root.with_name('elsewhere'))",
}


@pytest.mark.requirement("envelope:tree:killed")
@pytest.mark.parametrize("deed", REMOVALS)
def test_a_file_that_a_killed_pass_has_taken_away_may_be_named_as_it_is_put_back_first(
    deed: str, both: Lab
) -> None:
    (both.root / "a.txt").unlink()
    both.write({"sub/a.txt": "a\n"})
    body = f"def transform(self, path, ctx):\n    {REMOVALS[deed]}\n    os.kill(os.getppid(), signal.SIGKILL)"
    words = [sys.executable, "-c", KILLED, str(both.root), str(both.home / "tmp")]
    killed = subprocess.run([*words, str(both.plugin("assassin", body))], capture_output=True, timeout=250)
    assert killed.returncode == -signal.SIGKILL
    assert gone(both)
    result = both.run(both.plugin("later"), files=["sub/a.txt"])
    assert result.recovered
    assert result.ok
    assert both.text("sub/a.txt") == "a\nlater\n"
    for path in both.home.glob("*.plughost-displaced-*"):
        shutil.rmtree(path)


@pytest.mark.requirement("envelope:tree:killed")
def test_a_file_that_was_never_there_is_refused_when_the_tree_is_put_back(lab: Lab) -> None:
    body = "def transform(self, path, ctx):\n    path.unlink()\n    os.kill(os.getppid(), signal.SIGKILL)"
    words = [sys.executable, "-c", KILLED, str(lab.root), str(lab.home / "tmp")]
    subprocess.run([*words, str(lab.plugin("assassin", body))], capture_output=True, timeout=250)
    assert gone(lab)
    with pytest.raises(LocalProtocolError):
        lab.run(lab.plugin("later"), files=["b.txt"])
    assert lab.text("a.txt") == "a\n"
    assert [entry["plugin"] for entry in lab.entries] == ["assassin"]


@pytest.mark.requirement("envelope:tree:killed", "envelope:stderr:kept")
def test_what_workers_of_a_killed_host_wrote_to_stderr_is_kept_and_the_log_names_who_was_at_work(
    lab: Lab,
) -> None:
    assassin = lab.plugin("assassin", ASSASSIN)
    words = [sys.executable, "-c", KILLED, str(lab.root), str(lab.home / "tmp"), str(assassin)]
    assert subprocess.run(words, capture_output=True, timeout=250).returncode == -signal.SIGKILL
    assert gone(lab)
    for _ in range(2):
        put_right(lab.root)
    (entry,) = lab.entries
    assert (entry["plugin"], outcome(entry)) == ("assassin", "aborted")
    (raw,) = lab.raw_stderr("assassin")
    assert b"last words" in raw
    (line,) = lab.log
    assert f"[run:{entry['run']}][plugin:assassin]" in line
    assert "status=aborted" in line


def test_a_terminated_command_puts_the_tree_back(lab: Lab) -> None:
    slow = lab.plugin(
        "slow",
        "def transform(self, path, ctx):\n    path.write_text('x'); print('working', flush=True); time.sleep(60)",
    )
    words = [sys.executable, "-m", "plughost", "transform", str(lab.root), "--plugin", str(slow)]
    before = lab.portrait()
    ran = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert ran.stderr is not None
    try:
        assert b"working" in ran.stderr.readline()
        ran.send_signal(signal.SIGTERM)
        ran.communicate(timeout=250)
    finally:
        ran.kill()
        ran.wait()
    assert lab.portrait() == before
    assert [outcome(entry) for entry in lab.entries] == ["aborted"]
