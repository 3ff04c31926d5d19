"""A plugin that fails leaves the tree exactly as it found it, whatever it has made of it; a dry run always does."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.host.envelope.lab import Lab

# What a plugin makes of the tree of `rich`, from its root.
DEEDS = {
    "half-write big files": "[open(name, 'r+b').write(b'spoiled' * 9999) for name in ('big.bin', 'huge.bin')]",
    "truncate and grow": "os.truncate('big.bin', 1); os.truncate('huge.bin', 9 << 20)",
    "reset times after writing": (
        "s = os.stat('big.bin'); open('big.bin', 'r+b').write(b'x'); "
        "os.utime('big.bin', ns=(s.st_atime_ns, s.st_mtime_ns))"
    ),
    "modes and times": "[os.chmod(p, 0o700) or os.utime(p, (1, 1)) for p in ('a.txt', 'sub', 'big.bin', 'empty')]",
    "delete everything": "[shutil.rmtree(p) if p in ('sub', 'empty') else os.remove(p) for p in os.listdir('.')]",
    "swap": "os.rename('big.bin', 'x'); os.rename('huge.bin', 'big.bin'); os.rename('x', 'huge.bin')",
    "rename directories": "os.rename('sub', 'x'); os.mkdir('sub'); os.rename('x', 'sub/x')",
    "links": "os.remove('link'); os.symlink('/etc/passwd', 'link'); os.remove('a.txt'); os.symlink('link', 'a.txt')",
    "a file for a directory": "shutil.rmtree('sub'); open('sub', 'w').close(); os.rmdir('empty'); os.mkfifo('empty')",
    "a directory for a file": "os.remove('big.bin'); os.makedirs('big.bin/deep/er')",
    "hard links": "os.link('a.txt', 'sub/second'); os.remove('twin'); open('other', 'w').close()",
    "unreadable": "os.chmod('sub', 0); os.chmod('big.bin', 0)",
    "deep and odd": "os.makedirs('/'.join(['d' * 50] * 30)); open(b'\\xff\\xfe\\n', 'w').close()",
    "many": "[open(f'many-{n}', 'w').close() for n in range(500)]",
    "only the time of a directory": "os.mkdir('sub/deep/x'); os.rmdir('sub/deep/x'); os.utime('empty', (1, 1))",
    "immutable root": "os.chmod('.', 0o500); os.utime('.', (1, 1))",
}
ENDS = {
    "error": "raise PluginError('no')",
    "crash": "os.abort()",
    "exit": "os._exit(0)",
    "late": "time.sleep(60)",
}


@pytest.fixture
def rich(lab: Lab) -> Lab:
    """A tree with big files, links, twins, an empty directory, and modes and times of their own."""
    lab.write({"big.bin": os.urandom(300_000), "huge.bin": os.urandom(3 << 20), "sub/deep/b.txt": "b\n"})
    (lab.root / "empty").mkdir(mode=0o750)
    (lab.root / "link").symlink_to("sub/deep/b.txt")
    (lab.root / "dangling").symlink_to("nowhere")
    os.link(lab.root / "a.txt", lab.root / "twin")
    for number, name in enumerate(("big.bin", "sub/deep/b.txt", "empty", "sub", "a.txt")):
        os.utime(lab.root / name, ns=(10**18 + number, 10**18 + number * 1_000_003))
    (lab.root / "huge.bin").chmod(0o640)
    return lab


def body(deed: str, end: str) -> str:
    return (
        f"def pre_transform_all(self, ctx):\n    os.chdir(ctx.dst_root)\n    {DEEDS[deed]}\n    {ENDS[end]}"
    )


@pytest.mark.requirement("envelope:tree:undone")
@pytest.mark.thin(3)
@pytest.mark.parametrize("deed", DEEDS)
def test_a_plugin_that_fails_leaves_the_tree_as_it_found_it(deed: str, rich: Lab) -> None:
    before = rich.portrait()
    entry = rich.one(rich.plugin("fails", body(deed, "error")))
    assert entry.status == "failed"
    assert not entry.files_affected
    assert not entry.changes
    assert rich.portrait() == before


@pytest.mark.requirement("envelope:tree:undone")
@pytest.mark.thin(3)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("deed", ["half-write big files", "delete everything"])
def test_however_it_fails(deed: str, end: str, rich: Lab) -> None:
    before = rich.portrait()
    entry = rich.one(rich.plugin("fails", body(deed, end), isolation={"timeout_seconds": 1}))
    assert entry.status == ("timeout" if end == "late" else "failed")
    assert rich.portrait() == before


@pytest.mark.requirement("envelope:tree:undone")
def test_a_dry_run_leaves_also_the_times_of_directories_as_they_were(both: Lab) -> None:
    both.write({"sub/b.txt": "b\n"})
    os.utime(both.root / "sub", (1, 1))
    before = both.portrait()
    body = "def describe_changes(self, path, ctx):\n    os.mkdir('sub/x'); os.rmdir('sub/x'); return []"
    (entry,) = both.run(both.plugin("looks", body), dry_run=True).plugins_applied
    assert entry.status == "success"
    assert both.portrait() == before


@pytest.mark.requirement("envelope:tree:undone")
def test_partial_work_is_kept_and_recorded_if_it_is_to_be(both: Lab) -> None:
    both.write({"b.txt": "b\n"})
    half = both.plugin(
        "half",
        """
        def transform(self, path, ctx):
            path.write_text("half")
            if path.name == "b.txt":
                raise PluginError("enough")
        """,
    )
    entry = both.one(half, keep_partial=True)
    assert (entry.status, entry.files_affected) == ("failed", ["a.txt", "b.txt"])
    assert both.text("b.txt") == "half"


def test_what_came_before_a_failure_stays_and_what_comes_after_builds_on_it(both: Lab) -> None:
    fails = both.plugin(
        "b-fails", "def transform(self, path, ctx):\n    path.write_text('x'); raise PluginError('no')"
    )
    result = both.run(both.plugin("a-good"), fails, both.plugin("c-good"))
    assert [entry.status for entry in result.plugins_applied] == ["success", "failed", "success"]
    assert both.text("a.txt") == "a\na-good\nc-good\n"


def test_a_tree_that_cannot_be_kept_as_a_plugin_left_it_fails_that_plugin_alone(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plughost.files.tree.ENTRIES_LIMIT", 200)
    floods = both.plugin(
        "a-floods", "def transform(self, path, ctx):\n    [Path(f'x{n}').touch() for n in range(300)]"
    )
    first, second = both.run(floods, both.plugin("b-good")).plugins_applied
    assert (first.status, second.status) == ("failed", "success")
    assert sorted(os.listdir(both.root)) == [".exlab-wizard", "a.txt"]


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "deed",
    [
        "shutil.rmtree(root)",
        "root.rename(root.with_name('moved'))",
        "shutil.rmtree(root); root.symlink_to('/tmp')",
    ],
    ids=["removes", "renames", "replaces"],
)
def test_a_plugin_that_takes_the_whole_tree_away_fails_and_it_is_put_back(deed: str, lab: Lab) -> None:
    lab.write({"sub/b.bin": "b"})
    taker = lab.plugin(
        "a-takes",
        f"def pre_transform_all(self, ctx):\n    root = ctx.dst_root; {deed}; raise PluginError('x')",
    )
    other = lab.plugin("b-good")
    before = lab.portrait()
    first, second = lab.run(taker, other, confine=False).plugins_applied
    assert (first.status, second.status) == ("failed", "success")
    (lab.root / "a.txt").write_text("a\n")
    after = lab.portrait()
    assert set(after) == set(before)
    assert lab.text("sub/b.bin") == "b"


@pytest.mark.parametrize(
    "deed",
    [
        "shutil.rmtree(root)",
        "root.rename(root.with_name('moved'))",
        "shutil.rmtree(root); root.symlink_to('/tmp')",
    ],
)
def test_nor_has_it_succeeded_if_it_says_so(deed: str, lab: Lab) -> None:
    taker = lab.plugin("a-takes", f"def post_transform_all(self, ctx):\n    root = ctx.dst_root; {deed}")
    first, second = lab.run(taker, lab.plugin("b-good"), confine=False).plugins_applied
    assert first.status in ("failed", "policy_violation")
    assert second.status == "success"
    assert lab.text("a.txt") == "a\nb-good\n"


# Dry runs


PREVIEW = """
def describe_changes(self, path, ctx):
    return [FileChange(path, "rename", "to b", {"to": "b.txt", "n": [1, 2]}), FileChange(path, "delete", "then")]
"""


def test_a_dry_run_shows_what_would_change_and_leaves_neither_change_nor_record(both: Lab) -> None:
    before = both.portrait()
    entry = both.one(both.plugin("plans", PREVIEW), dry_run=True)
    assert entry.status == "success"
    assert [(told.path, told.status) for told in entry.per_file] == [("a.txt", "described")]
    assert [change["kind"] for change in entry.per_file[0].changes] == ["rename", "delete"]
    assert entry.per_file[0].changes[0]["detail"] == {"to": "b.txt", "n": [1, 2]}
    assert entry.per_file[0].changes[0]["path"] == "a.txt"
    assert both.portrait() == before
    assert not (both.root / ".exlab-wizard").exists()


@pytest.mark.parametrize("hook", ["describe_changes(self, path, ctx)", "pre_transform_all(self, ctx)"])
def test_a_dry_run_that_writes_is_a_violation_and_undone(hook: str, lab: Lab) -> None:
    before = lab.portrait()
    sly = lab.plugin("sly", f"def {hook}:\n    (ctx.dst_root / 'a.txt').write_text('x'); return []")
    entry = lab.one(sly, dry_run=True)
    assert (entry.status, entry.violations) == ("policy_violation", ["a.txt"])
    assert lab.portrait() == before
    assert not (lab.root / ".exlab-wizard").exists()


def test_a_large_preview_reaches_the_caller(lab: Lab) -> None:
    wordy = lab.plugin(
        "wordy",
        "def describe_changes(self, path, ctx):\n    return [FileChange(path, 'modify', 's' * 400_000)]",
    )
    (told,) = lab.one(wordy, dry_run=True).per_file
    assert len(told.changes[0]["summary"]) == 400_000


def test_a_dry_run_leaves_an_old_record_and_its_times_alone(lab: Lab) -> None:
    lab.one(lab.plugin("hello"))
    before: Any = {path: path.stat().st_mtime_ns for path in lab.root.rglob("*")}
    lab.one(lab.plugin("plans", PREVIEW), dry_run=True)
    assert {path: path.stat().st_mtime_ns for path in lab.root.rglob("*")} == before


def test_a_dry_run_that_writes_and_reports_nothing_still_names_all_that_it_wrote(lab: Lab) -> None:
    body = """def describe_changes(self, path, ctx):
        Path("new.txt").write_text("x"); Path("new").mkdir(); os._exit(5)"""
    entry = lab.one(lab.plugin("sly", body), dry_run=True)
    assert entry.status == "policy_violation"
    assert entry.violations == entry.files_affected == ["new", "new.txt"]
    assert not entry.warnings
