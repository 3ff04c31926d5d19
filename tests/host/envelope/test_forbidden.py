"""What no plugin may touch, touched in every way there is: all of it undone, and recorded as a violation."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tests.host.envelope.lab import Lab

SIZES = {"tiny": 8, "100 KB": 100_000, "3 MiB": 3 << 20}

# What a plugin does to README.md, `r`; `root` is the tree, and `outside` lies beside it.
DEEDS = {
    "write": "r.write_text('tampered')",
    "write the same size": "r.write_bytes(b'x' * r.stat().st_size)",
    "write and reset the time": "s = r.stat(); r.write_bytes(b'x' * s.st_size); shutil.copystat('b.txt', r)",
    "append": "r.open('a').write('more')",
    "truncate": "os.truncate(r, 1)",
    "chmod": "r.chmod(0o777)",
    "utime": "os.utime(r, (1, 1))",
    "delete": "r.unlink()",
    "rename away": "r.rename(root / 'elsewhere.md')",
    "rename over": "(root / 'a.txt').replace(r)",
    "replace by a symbolic link to an outside file": "r.unlink(); r.symlink_to(root.parent / 'outside')",
    "replace by a directory": "r.unlink(); r.mkdir(); (r / 'x').touch()",
    "replace by a pipe": "r.unlink(); os.mkfifo(r)",
    "hard link to it": "os.link(r, root / 'second.md'); (root / 'second.md').write_text('tampered')",
    "hard link over it": "r.unlink(); os.link(root / 'a.txt', r)",
    "make a case variant": "(root / 'ReadMe.MD').write_text('variant')",
    "attribute": "os.setxattr(r, 'user.note', b'tampered')",
}


def assert_violation(lab: Lab, plugin: Any, before: Any, **options: Any) -> None:
    entry = lab.one(plugin, **options)
    assert entry.status == "policy_violation"
    assert entry.violations
    assert entry.files_affected == entry.violations
    assert not entry.changes
    assert lab.portrait() == before


@pytest.mark.requirement("envelope:tree:forbidden")
@pytest.mark.thin(3)
@pytest.mark.parametrize("deed", DEEDS)
def test_a_plugin_that_touches_the_readme_in_any_way_is_undone_whole(deed: str, lab: Lab) -> None:
    lab.write({"README.md": "read me\n", "b.txt": "b\n"})
    (lab.home / "outside").write_text("outside")
    shutil.copystat(lab.root / "README.md", lab.root / "b.txt")
    body = (
        f"def pre_transform_all(self, ctx):\n    root = ctx.dst_root; r = root / 'README.md'; {DEEDS[deed]}"
    )
    before = lab.portrait()
    assert_violation(lab, lab.plugin("tampers", body), before)
    assert (lab.home / "outside").read_text() == "outside"


@pytest.mark.requirement("envelope:tree:forbidden")
@pytest.mark.thin(2)
@pytest.mark.parametrize("deed", ["write", "replace by a symbolic link to an outside file"])
@pytest.mark.parametrize("size", SIZES)
def test_a_file_of_any_size_is_put_back(size: str, deed: str, lab: Lab) -> None:
    lab.write({"README.md": b"0123456789abcdef" * (SIZES[size] // 16)})
    (lab.home / "outside").write_text("outside")
    body = (
        f"def transform(self, path, ctx):\n    root = ctx.dst_root; r = root / 'README.md'\n    {DEEDS[deed]}"
    )
    before = lab.portrait()
    assert_violation(lab, lab.plugin("tampers", body), before)
    assert (lab.home / "outside").read_text() == "outside"


@pytest.mark.requirement("envelope:tree:forbidden")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "deed",
    [
        "(root / 'README.md').write_text('made')",
        "(root / '.exlab-wizard').mkdir()",
        "(root / '.exlab-wizard/sub').mkdir(parents=True); (root / '.exlab-wizard/creation.json').write_text('{}')",
        "(root / '.exlab-wizard').symlink_to('/tmp')",
        "(root / '.exlab-wizard').touch()",
        "(root / '.EXLAB-wizard').mkdir()",
        "(root / '.exlab-answers.yml').write_text('a: 1')",
    ],
)
def test_a_plugin_that_makes_what_only_the_host_may_make_is_undone(deed: str, lab: Lab) -> None:
    before = lab.portrait()
    assert_violation(
        lab, lab.plugin("makes", f"def transform(self, path, ctx):\n    root = ctx.dst_root; {deed}"), before
    )


@pytest.mark.requirement("envelope:tree:forbidden", "envelope:record:atomic")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "deed",
    [
        "(w / 'creation.json').write_text('{}')",
        "(w / 'creation.json').unlink()",
        "shutil.rmtree(w)",
        "w.rename(w.with_name('mine'))",
        "w.rename(w.with_name('mine')); w.symlink_to('mine')",
        "(w / 'creation.json.lock').unlink(); os.mkfifo(w / 'creation.json.lock')",
        "next(w.glob('wizard*')).write_text('forged')",
        "(w / '.creation.json.1-x.plughost-tmp').write_text('{}')",
    ],
)
def test_a_plugin_cannot_rewrite_the_record_or_the_log(deed: str, lab: Lab) -> None:
    hello = lab.plugin("hello")
    lab.one(hello)
    log, (first,) = lab.log, lab.entries
    body = f"def transform(self, path, ctx):\n    w = ctx.dst_root / '.exlab-wizard'; {deed}"
    before = lab.portrait()
    assert_violation(lab, lab.plugin("rewrites", body), before)
    assert lab.entries[0] == first
    assert lab.log[: len(log)] == log


def test_what_only_looks_like_a_forbidden_path_is_allowed(lab: Lab) -> None:
    names = [
        "README.mdx",
        "README.md.bak",
        "sub/README.md",
        "sub/.exlab-wizard/x",
        ".exlab-answers.yml.bak",
        "XREADME.md",
    ]
    body = f"""
    def transform(self, path, ctx):
        for name in {names!r}:
            (ctx.dst_root / name).parent.mkdir(parents=True, exist_ok=True)
            (ctx.dst_root / name).write_text("fine")
    """
    entry = lab.one(lab.plugin("allowed", body))
    assert entry.status == "success"
    assert set(names) <= set(entry.files_affected)


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "deed",
    [
        "(root / 'sub').rename(root / 'moved')",
        "(root / 'sub/keep.me').unlink()",
        "shutil.rmtree(root / 'sub')",
        "(root / 'sub/keep.me').write_text('x')",
        "(root / 'sub').rename(root / 'moved'); (root / 'other').rename(root / 'sub')",
    ],
)
def test_a_caller_may_forbid_other_paths_also_against_moving_what_they_are_in(deed: str, lab: Lab) -> None:
    lab.write({"sub/keep.me": "kept", "sub/x.bin": "x", "other/keep.me": "other", "README.md": "free"})
    body = f"def transform(self, path, ctx):\n    root = ctx.dst_root; {deed}"
    before = lab.portrait()
    assert_violation(lab, lab.plugin("moves", body), before, forbidden=["sub/keep.me"])


@pytest.mark.requirement("envelope:tree:forbidden", "envelope:record:atomic")
@pytest.mark.parametrize("name", ["meta/record.json", "meta/record.json.lock", "notes/wizard.x.log"])
def test_record_and_logs_are_forbidden_wherever_in_the_tree_they_are(name: str, lab: Lab) -> None:
    where: dict[str, Any] = {
        "record": lab.root / "meta/record.json",
        "logs": lab.root / "notes",
        "forbidden": [],
    }
    assert lab.run(lab.plugin("hello"), **where).ok
    forger = lab.plugin(
        "forger", f"def transform(self, path, ctx):\n    (ctx.dst_root / {name!r}).write_text('{{}}')"
    )
    (entry,) = lab.run(forger, **where).plugins_applied
    assert (entry.status, entry.violations) == ("policy_violation", [name])
    assert len(json.loads(lab.text("meta/record.json"))["plugins_applied"]) == 2


def test_a_directory_without_anything_forbidden_in_it_may_be_renamed(lab: Lab) -> None:
    lab.write({"sub/x.bin": "x"})
    body = "def transform(self, path, ctx):\n    (ctx.dst_root / 'sub').rename(ctx.dst_root / 'moved')"
    assert lab.one(lab.plugin("moves", body), forbidden=["sub/keep.me"]).status == "success"


def test_a_violation_does_not_keep_the_others_from_running(both: Lab) -> None:
    bad = both.plugin(
        "bad", "def transform(self, path, ctx):\n    (ctx.dst_root / 'README.md').write_text('x')"
    )
    first, second = both.run(bad, both.plugin("good")).plugins_applied
    assert (first.status, second.status) == ("policy_violation", "success")
    assert both.text("a.txt") == "a\ngood\n"


def test_a_violation_is_found_even_if_the_plugin_fails_or_asks_or_partial_work_is_kept(lab: Lab) -> None:
    touch = "def transform(self, path, ctx):\n    (ctx.dst_root / 'README.md').write_text('x'); "
    before = lab.portrait()
    assert_violation(lab, lab.plugin("fails", touch + "raise PluginError('no')"), before, keep_partial=True)
    asks = touch + "raise PluginInputRequired([field('a', 'A?')], 'needed')"
    assert_violation(lab, lab.plugin("asks", asks), before, ask=lambda question: None)
