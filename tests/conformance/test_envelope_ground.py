"""What is laid out for a worker, and what is noticed of it afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from plughost.conformance import envelope_ground
from plughost.conformance.envelope_ground import Ground, Layout
from plughost.errors import TreeError
from plughost.manifest.envelope_manifest import EnvelopeManifest


def manifest(*extensions: str) -> EnvelopeManifest:
    return EnvelopeManifest("p", "1", extensions, "1", Path("/nowhere/p"))


def test_each_extension_gets_a_sample_and_one_of_them_lies_deeper() -> None:
    with Ground(Layout(manifest(".txt", ".json")), None) as ground:
        names = [path.removeprefix(f"{ground.root}/") for path in ground.files]
        assert names == ["below/another.txt", "sample.json", "sample.txt"]
        assert all(os.path.isfile(path) for path in ground.files)
    assert not ground.home.exists()


def test_an_extension_that_is_a_whole_name_gets_a_sample_of_that_name() -> None:
    layout = Layout(manifest("Makefile", ".csv", ""))
    assert layout.files == ("Makefile", "below/Makefile", "sample", "sample.csv")


@pytest.mark.parametrize("extension", [".x/../../../away", "/away", "x/y", f".{'x' * 255}"])
def test_an_extension_that_no_file_can_have_gets_no_sample(extension: str, tmp_path: Path) -> None:
    tree = tmp_path / "home/tree"
    tree.mkdir(parents=True)
    layout = Layout(manifest(extension))
    layout.lay_out(tree)
    assert layout.files == ()
    assert sorted(os.listdir(tree)) == sorted({path.split("/")[0] for path in envelope_ground.GUARDED})
    assert os.listdir(tmp_path) == ["home"]


def test_without_a_manifest_there_are_samples_of_usual_kinds() -> None:
    assert len(Layout(None).files) > 2


def test_a_directory_is_copied_with_its_links_and_without_its_pipes(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/a.txt").write_text("a")
    (tmp_path / "deep/a.txt").chmod(0o640)
    (tmp_path / "b.bin").write_text("b")
    (tmp_path / "link.txt").symlink_to("deep/a.txt")
    (tmp_path / "README.md").write_text("the host's")
    os.mkfifo(tmp_path / "pipe.txt")
    layout = Layout(manifest(".txt", ".md"), tmp_path)
    assert layout.files == ("deep/a.txt",)
    with Ground(layout, None) as ground:
        assert (ground.root / "deep/a.txt").stat().st_mode & 0o777 == 0o640
        assert (ground.root / "link.txt").is_symlink()
        assert (ground.root / "b.bin").read_text() == "b"
        assert not (ground.root / "pipe.txt").exists()


def test_a_directory_that_cannot_serve_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TreeError):
        Layout(manifest(".txt"), tmp_path / "missing")
    (tmp_path / "a.bin").write_text("a")
    with pytest.raises(TreeError):
        Layout(manifest(".txt"), tmp_path)
    monkeypatch.setattr(envelope_ground, "MOST_BYTES", 0)
    with pytest.raises(TreeError):
        Layout(manifest(".bin"), tmp_path)


def test_a_file_that_vanishes_before_it_is_copied_is_a_tree_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.txt").write_text("a")
    layout = Layout(None, tmp_path / "data")
    (tmp_path / "data/a.txt").unlink()
    (tmp_path / "grounds").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "grounds"))
    with pytest.raises(TreeError):
        Ground(layout, None)
    assert list((tmp_path / "grounds").iterdir()) == []


def test_every_change_of_the_tree_is_noticed_and_nothing_else() -> None:
    with Ground(Layout(manifest(".txt")), None) as ground:
        (ground.temporary / "scratch").write_text("x")
        assert (ground.changed(), ground.strayed()) == ((), ())
        os.utime(ground.files[0], ns=(0, 0))
        (ground.root / "new").mkdir()
        os.unlink(ground.files[1])
        assert len(ground.changed()) == 3
        assert ground.strayed() == ()


def test_what_is_around_the_tree_is_watched_and_the_plugin_too_if_asked(tmp_path: Path) -> None:
    with Ground(Layout(manifest(".txt")), tmp_path) as ground:
        (ground.home / "beside/neighbour.txt").write_text("x")
        (ground.home / "new.txt").write_text("x")
        (tmp_path / "cache").write_text("x")
        (tmp_path / "__pycache__").mkdir()
        assert len(ground.strayed()) == 3
        assert ground.changed() == ()


def test_a_ground_is_removed_although_its_directories_were_closed(tmp_path: Path) -> None:
    with Ground(Layout(manifest(".txt")), None) as ground:
        (ground.root / "below").chmod(0)
        ground.root.chmod(0)
    assert not ground.home.exists()
