"""A plugin is undone also where the disk is full, and where the directory is somebody else's; the pass goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.envelope.lab import Lab, outcome
from tests.host.envelope.test_kills import gone

SOMEBODY = 1_000
POWERLESS = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
FILL = """
def fill(path):
    with open(path, "ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))
"""
DEEDS = {
    "grows": "fill(path)",
    "grows and hides it": "try:\n        fill(path)\n    except OSError:\n        pass",
    "empties others": "[os.truncate(each, 0) for each in path.parent.glob('*.bin')]; fill(path.parent / 'new')",
    "replaces others": (
        "[(path.parent / 'new').write_bytes(os.urandom(70_000)) and (path.parent / 'new').replace(each)"
        " for each in sorted(path.parent.glob('*.bin'))]; fill(path.parent / 'new')"
    ),
}


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leak_check: None) -> Iterator[Lab]:
    """A tree on a filesystem of 2 MiB."""
    (tmp_path / "small").mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(tmp_path / "small")]
    if not shutil.which("mount") or subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("only who may mount a filesystem can have one of this size")
    try:
        (tmp_path / "small/tmp").mkdir()
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
        made = Lab(tmp_path / "small")
        made.write({"a.txt": "a\n", **{f"{number}.bin": os.urandom(60_000) for number in range(8)}})
        yield made
        assert not made.left_behind()
    finally:
        subprocess.run(["umount", str(tmp_path / "small")], check=True)


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("deed", DEEDS)
def test_a_plugin_that_fills_the_disk_is_undone_and_the_next_one_runs(
    small: Lab, deed: str, dry_run: bool
) -> None:
    hook = "describe_changes" if dry_run else "transform"
    filling = small.plugin(
        "a-fills", f"def {hook}(self, path, ctx):\n    {DEEDS[deed]}\n    return []", top=FILL
    )
    before = small.portrait()
    result = small.run(filling, dry_run=dry_run)
    assert [entry.status == "success" for entry in result.plugins_applied] == [False]
    assert small.portrait() == before
    assert small.one(small.plugin("b-works")).status == "success"
    assert len(small.entries) == (1 if dry_run else 2)


def test_a_plugin_that_fills_the_disk_with_its_temporary_files_is_undone_too(
    small: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(small.home / "tmp"))
    deed = "[os.truncate(each, 0) for each in path.parent.glob('*.bin')]; fill(os.environ['TMPDIR'] + '/new')"
    filling = small.plugin("a-fills", f"def transform(self, path, ctx):\n    {deed}", top=FILL)
    before = small.portrait()
    assert small.one(filling).status == "failed"
    assert small.portrait() == before


KILLED = """
import sys
from plughost import blocking
with blocking.Host() as host:
    host.run_pass(sys.argv[1], [sys.argv[2]], confine=False)
"""


@pytest.mark.parametrize("how", ["by recovery", "by the next pass"])
def test_a_killed_pass_whose_plugin_has_filled_the_disk_with_temporary_files_is_recovered_from(
    small: Lab, how: str
) -> None:
    filling = small.plugin(
        "a-fills",
        """
        def transform(self, path, ctx):
            for each in path.parent.glob("*.bin"):
                each.unlink()
            try:
                fill(os.environ["TMPDIR"] + "/new")
            except OSError:
                os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(1_000)
        """,
        top=FILL,
    )
    works = small.plugin("b-works")
    before = small.portrait()
    environment = {**os.environ, "TMPDIR": str(small.home / "tmp")}
    words = [sys.executable, "-c", KILLED, str(small.root), str(filling)]
    killed = subprocess.run(words, check=False, capture_output=True, env=environment, timeout=250)
    assert killed.returncode == -signal.SIGKILL
    assert gone(small)
    assert os.statvfs(small.root).f_bavail == 0
    then = ["--recover"] if how == "by recovery" else ["--plugin", str(works)]
    words = [sys.executable, "-m", "plughost", "transform", str(small.root), *then]
    ran = subprocess.run(words, check=False, capture_output=True, env=environment, timeout=250)
    assert ran.returncode == 0, ran.stderr
    assert small.portrait().keys() == before.keys()
    assert small.text("a.txt") == ("a\n" if how == "by recovery" else "a\nb-works\n")
    done = [(entry["plugin"], outcome(entry)) for entry in small.entries]
    assert done[0] == ("a-fills", "aborted")
    assert not small.left_behind()


@pytest.fixture
def shared(lab: Lab) -> Lab:
    """A directory of somebody else's that our group may write to."""
    if os.getuid() or not shutil.which("setpriv"):
        pytest.skip("only root can make files of another owner")
    for path in (lab.home, lab.root, lab.root / "a.txt"):
        os.chown(path, SOMEBODY, 0)
        path.chmod(0o770 if path.is_dir() else 0o660)
    os.utime(lab.root / "a.txt", ns=(7, 7))
    return lab


def transform(lab: Lab, plugin: Path, *words: str) -> int:
    """Run the command without the powers of root, and return its exit status."""
    command = [sys.executable, "-m", "plughost", "transform", str(lab.root), "--plugin", str(plugin), *words]
    ran = subprocess.run(
        [*POWERLESS, *command],
        check=False,
        capture_output=True,
        env={**os.environ, "TMPDIR": str(lab.home / "tmp")},
        timeout=250,
    )
    return ran.returncode


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("how", ["written", "replaced", "removed"])
def test_a_plugin_in_a_directory_of_somebody_elses_is_undone_and_the_next_one_runs(
    shared: Lab, how: str, dry_run: bool
) -> None:
    deeds = {
        "written": "path.write_text('other')",
        "replaced": "(path.parent / 'new').write_text('other'); (path.parent / 'new').replace(path)",
        "removed": "path.unlink()",
    }
    hook = "describe_changes" if dry_run else "transform"
    failing = shared.plugin(
        "a-fails", f"def {hook}(self, path, ctx):\n    {deeds[how]}\n    raise PluginError('q')"
    )
    before = shared.portrait()
    assert transform(shared, failing, *(["--dry-run"] if dry_run else [])) == 1
    after = shared.portrait()
    assert after.keys() == before.keys()
    assert shared.text("a.txt") == "a\n"
    found = (shared.root / "a.txt").stat()
    assert (found.st_uid, found.st_mtime_ns != 7) == ((SOMEBODY, True) if how == "written" else (0, False))
    assert transform(shared, shared.plugin("b-works")) == 0
    assert [entry["status"] for entry in shared.entries][not dry_run :] == ["success"]


def test_a_plugin_that_exchanged_directories_of_somebody_elses_is_undone(shared: Lab) -> None:
    inodes = {}
    for name in ("one", "two"):
        (shared.root / name).mkdir(mode=0o755)
        (shared.root / name / "file").write_text(name)
        for path in (shared.root / name / "file", shared.root / name):
            os.chown(path, SOMEBODY, 0)
        inodes[name] = (shared.root / name).stat().st_ino
    failing = shared.plugin(
        "a-fails",
        """
        def transform(self, path, ctx):
            for old, new in [("one", "aside"), ("two", "one"), ("aside", "two")]:
                (path.parent / old).rename(path.parent / new)
            raise PluginError("q")
        """,
    )
    assert transform(shared, failing) == 1
    assert {name: (shared.root / name).stat().st_ino for name in inodes} == inodes
    assert [shared.text(f"{name}/file") for name in inodes] == list(inodes)


@pytest.mark.parametrize("closed", ["TMPDIR", "above", "logs", "logs of its own"])
def test_a_plugin_that_closes_the_temporary_directory_of_the_pass_harms_no_other(
    shared: Lab, closed: str
) -> None:
    closes = shared.plugin(
        "a-closes",
        f"""
        def transform(self, path, ctx):
            print("said", file=sys.stderr, flush=True)
            tmp = Path(os.environ["TMPDIR"])
            logs = tmp.parent / "logs"
            while not list(logs.glob("a-closes/*-1.stderr")):
                time.sleep(0.001)  # until the host has read it
            places = {{"TMPDIR": tmp, "above": tmp.parent, "logs": logs, "logs of its own": logs / "a-closes"}}
            places[{closed!r}].chmod(0)
        """,
    )
    uses = shared.plugin(
        "b-uses",
        """
        def transform(self, path, ctx):
            print("said", file=sys.stderr, flush=True)
            (Path(os.environ["TMPDIR"]) / "new").write_text("x")
            path.write_text("b")
        """,
    )
    assert transform(shared, closes, "--plugin", str(uses)) == 0
    assert [entry["status"] for entry in shared.entries] == ["skipped", "success"]
    for name in ("a-closes", "b-uses"):
        (raw,) = shared.raw_stderr(name)
        assert b"said\n" in raw


FOREIGN_GROUP = 50


def test_a_directory_whose_group_we_are_not_in_keeps_its_setgid(lab: Lab) -> None:
    if os.getuid() or not shutil.which("setpriv") or FOREIGN_GROUP in os.getgroups():
        pytest.skip("only root can give a directory to a group that it is not in")
    (lab.root / "sg").mkdir()
    os.chown(lab.root / "sg", -1, FOREIGN_GROUP)
    (lab.root / "sg").chmod(0o2775)
    failing = lab.plugin(
        "a-fails",
        "def transform(self, path, ctx):\n    (path.parent / 'sg/new').write_text('x')\n    raise PluginError('q')",
    )
    before = lab.portrait()
    assert transform(lab, failing) == 1
    assert lab.portrait().keys() == before.keys()
    assert (lab.root / "sg").stat().st_mode & 0o7777 == 0o2775


@pytest.mark.parametrize("own", ["-n 64", "-d 150000", "-t 20"])
@pytest.mark.parametrize("command", [None, ["python", "worker.py"], ["./worker.sh"]], ids=str)
def test_a_host_under_limits_of_its_own_runs_plugins_under_no_higher_ones(
    lab: Lab, own: str, command: list[str] | None
) -> None:
    if command is None:
        plugin = lab.plugin("plain")
    else:
        deed = "open(files[0], 'a').write('raw')\nanswer(result='success', per_file=[], log_records=[])"
        plugin = lab.raw("raw", deed, command=command)
        (plugin / "worker.sh").write_text(f'#!/bin/sh\nexec {sys.executable} {plugin / "worker.py"} "$@"\n')
        (plugin / "worker.sh").chmod(0o755)
    script = f'ulimit {own}; exec "$0" -m plughost transform "$@"'
    words = ["sh", "-c", script, sys.executable, str(lab.root), "--plugin", str(plugin)]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert lab.entries[0]["status"] == "success"
