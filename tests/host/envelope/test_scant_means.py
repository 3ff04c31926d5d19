"""A plugin is undone also where the disk is full; the pass goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.envelope.lab import Lab

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
