"""What lies outside of the tree: kept from a worker where the kernel can, and looked after where it cannot."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from plughost.process import landlock
from tests.host.envelope.lab import Lab

confined = pytest.mark.skipif(not landlock.available(), reason="this kernel has no Landlock")

# Each is tried from inside a worker; `home` is where tree, plugins and the victim's files lie.
REACHES = {
    "write": "(home / 'victim').write_text('x')",
    "append": "(home / 'victim').open('a').write('x')",
    "truncate": "os.truncate(home / 'victim', 0)",
    "create": "(home / 'new').touch()",
    "delete": "(home / 'victim').unlink()",
    "rename out of the tree": "(root / 'b.bin').rename(home / 'b.bin')",
    "rename into the tree": "(home / 'victim').rename(root / 'victim')",
    "hard link out of the tree": "os.link(root / 'b.bin', home / 'b.bin')",
    "hard link into the tree": "os.link(home / 'victim', root / 'victim')",
    "through a link in the tree": "(root / 'out').write_text('x')",
    "through a link of its own": "(root / 'mine').symlink_to(home / 'victim'); (root / 'mine').write_text('x')",
    "through a directory link": "(root / 'outdir/new').write_text('x')",
    "the temporary directory of all": "Path('/tmp/plughost-outside-test').touch()",
    "its own directory": "(home / 'plugins/reaches/own').touch()",
    "another plugin": "(home / 'plugins/other.py').touch()",
    "the store": "(home / '.tree.plughost/snapshot.json').write_text('{}')",
    "the store, removed": "shutil.rmtree(home / '.tree.plughost')",
    "a child process": "subprocess.run(['touch', str(home / 'new')], check=True)",
    "the tree itself, renamed": "root.rename(home / 'moved')",
}


def outside(lab: Lab) -> dict[str, Any]:
    """What can be seen of everything beside the tree that a worker might reach."""
    paths = [
        path for path in lab.home.rglob("*") if not path.is_relative_to(lab.root) and "tmp" not in path.parts
    ]
    return {str(path): (path.lstat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in paths}


def reaching(lab: Lab, reach: str) -> Path:
    lab.write({"b.bin": "b"})
    (lab.home / "victim").write_text("victim")
    (lab.home / "dir").mkdir()
    (lab.root / "out").symlink_to(lab.home / "victim")
    (lab.root / "outdir").symlink_to(lab.home / "dir")
    return lab.plugin(
        "reaches",
        f"""
        def transform(self, path, ctx):
            root = ctx.dst_root; home = root.parent
            try:
                {reach}
            except (OSError, subprocess.CalledProcessError) as error:
                raise PluginError(type(error).__name__)
        """,
    )


@confined
@pytest.mark.requirement("envelope:tree:outside")
@pytest.mark.thin(4)
@pytest.mark.parametrize("reach", REACHES)
def test_a_confined_worker_cannot_reach_what_is_outside(reach: str, lab: Lab) -> None:
    plugin = reaching(lab, REACHES[reach])
    before, tree = outside(lab), lab.portrait()
    entry = lab.one(plugin, confine=True)
    assert entry.status == "failed"
    assert entry.error in ("PermissionError", "CalledProcessError", "OSError")
    assert outside(lab) == before
    assert lab.portrait() == tree
    assert not Path("/tmp/plughost-outside-test").exists()


@confined
@pytest.mark.requirement("envelope:tree:outside")
def test_a_confined_worker_can_write_to_its_tree_its_temporary_directory_and_the_null_device(
    both: Lab,
) -> None:
    writes = both.plugin(
        "writes",
        """
        def transform(self, path, ctx):
            import tempfile
            with tempfile.NamedTemporaryFile() as file:
                file.write(b"x")
            open(os.devnull, "w").write("x")
            subprocess.run(["true"], stdout=subprocess.DEVNULL, check=True)
            (ctx.dst_root / "sub").mkdir()
            (ctx.dst_root / "sub/new").write_text("x")
            path.rename(ctx.dst_root / "sub/a.txt")
            os.link(ctx.dst_root / "sub/new", ctx.dst_root / "twin")
        """,
    )
    assert both.one(writes, confine=True).status == "success"


@pytest.mark.requirement("envelope:tree:outside")
@pytest.mark.parametrize(
    "reach",
    [
        "write",
        "create",
        "delete",
        "through a link in the tree",
        "through a directory link",
        "its own directory",
    ],
)
def test_what_an_unconfined_worker_does_around_the_tree_is_a_warning(reach: str, lab: Lab) -> None:
    result = lab.run(reaching(lab, REACHES[reach]), confine=False)
    (entry,) = result.plugins_applied
    assert not result.confined
    assert any("outside" in warning for warning in entry.warnings)


def test_a_name_outside_the_tree_cannot_forge_a_line_of_the_warning(lab: Lab) -> None:
    (entry,) = lab.run(reaching(lab, "(home / 'x\\n2026 forged').touch()"), confine=False).plugins_applied
    (warning,) = entry.warnings
    assert warning.isprintable()


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_unconfined_worker_that_stays_in_the_tree_is_not_warned_of(jobs: int, both: Lab) -> None:
    both.write({"b.csv": ""})
    result = both.run(both.plugin("one"), both.plugin("two", extensions=[".csv"]), confine=False, jobs=jobs)
    assert [entry.status for entry in result.plugins_applied] == ["success", "success"]
    assert not any(entry.warnings for entry in result.plugins_applied)


def test_unconfined_plugins_that_run_together_are_watched_too(lab: Lab) -> None:
    lab.write({"b.csv": ""})
    one = lab.plugin(
        "one",
        "def transform(self, path, ctx):\n    path.write_text('x'); (ctx.dst_root.parent / 'new').touch()",
    )
    result = lab.run(one, lab.plugin("two", extensions=[".csv"]), confine=False, jobs=2)
    assert any("outside" in warning for entry in result.plugins_applied for warning in entry.warnings)


@confined
@pytest.mark.requirement("envelope:validate:first")
@pytest.mark.parametrize("confine", [True, False])
def test_a_worker_that_only_validates_leaves_no_mark_on_the_tree(confine: bool, lab: Lab) -> None:
    early = lab.plugin("early", top="try: open('a.txt', 'w').write('early')\nexcept OSError: pass\n")
    before = lab.portrait()
    result = lab.run(early, confine=confine)
    if confine:  # importing it for the transformation does it then, and that is its right
        assert [entry.status for entry in result.plugins_applied] == ["success"]
    else:
        assert result.problems
        assert lab.portrait() == before
        assert not (lab.root / ".exlab-wizard").exists()


@pytest.mark.requirement("envelope:validate:first")
@pytest.mark.parametrize("confine", [None, False])
def test_a_worker_that_does_not_wait_to_be_told_cannot_change_the_tree_before_it_is_saved(
    confine: bool | None, both: Lab
) -> None:
    hasty = both.raw(
        "hasty",
        "",
        head="import os, sys\n"
        'if sys.argv[1:]: print(\'{"errors": ["no"]}\', flush=True); sys.exit()\n'
        "open('README.md', 'w').write('hasty')\nprint('{\"result\": \"success\", \"per_file\": []}', flush=True)\n",
    )
    before = both.portrait()
    result = both.run(hasty, confine=confine)
    assert result.aborted
    assert both.portrait() == before
    (hasty / "worker.py").write_text((hasty / "worker.py").read_text().replace('"no"', ""))
    (entry,) = both.run(hasty, confine=confine).plugins_applied
    assert (entry.status, entry.violations) == ("policy_violation", ["README.md"])
    assert both.portrait() == before


def test_the_temporary_directory_is_removed_whatever_a_plugin_made_of_it(lab: Lab) -> None:
    messy = lab.plugin(
        "messy",
        """
        def transform(self, path, ctx):
            os.makedirs(os.environ["TMPDIR"] + "/deep/er")
            os.symlink("/etc", os.environ["TMPDIR"] + "/link")
            os.mkfifo(os.environ["TMPDIR"] + "/pipe")
            os.chmod(os.environ["TMPDIR"] + "/deep", 0)
        """,
    )
    lab.one(messy)
    assert not os.listdir(lab.home / "tmp")


@confined
@pytest.mark.parametrize(
    ("deed", "hints"),
    [
        ("import multiprocessing; multiprocessing.Lock()", 1),
        ("(ctx.dst_root.parent / 'new').touch()", 0),  # the error names the file
        ("raise ValueError('Permission denied')", 0),
    ],
    ids=["a semaphore", "a file", "another error"],
)
def test_who_is_denied_what_has_no_file_name_is_told_what_it_may_have_been(
    deed: str, hints: int, lab: Lab
) -> None:
    entry = lab.one(lab.plugin("denied", f"def transform(self, path, ctx):\n    {deed}"))
    assert (entry.status, len(entry.warnings)) == ("failed", hints)


@confined
def test_threads_and_processes_of_its_own_work_in_a_confined_worker(lab: Lab) -> None:
    body = """
    def transform(self, path, ctx):
        from concurrent.futures import ThreadPoolExecutor
        run = lambda word: subprocess.run(["echo", word], capture_output=True, text=True, check=True).stdout
        with ThreadPoolExecutor(2) as pool:
            path.write_text("".join(pool.map(run, "ab")))
    """
    assert lab.one(lab.plugin("starts", body)).status == "success"
    assert lab.text("a.txt") == "a\nb\n"
