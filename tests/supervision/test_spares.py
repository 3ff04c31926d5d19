"""How many spares to start, and when the plugin on disk is no longer the one that was started."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.supervision.spares import FAILURES_UNTIL_PAUSE, FILES_WATCHED, Spares, fingerprint


@given(st.integers(0, 64), st.integers(0, 64))
def test_as_many_are_missing_as_do_not_wait(wanted, waiting):
    assert Spares(wanted).missing(waiting) == max(0, wanted - waiting)


def test_failures_in_a_row_pause_the_starting_until_something_went_well():
    spares = Spares(2)
    for _ in range(FAILURES_UNTIL_PAUSE):
        assert spares.missing(0) == 2
        spares.note_failure()
    assert spares.missing(0) == 0
    spares.note_success()
    assert spares.missing(0) == 2


def test_failures_that_are_not_in_a_row_pause_nothing():
    spares = Spares(1)
    for _ in range(10 * FAILURES_UNTIL_PAUSE):
        for _ in range(FAILURES_UNTIL_PAUSE - 1):
            spares.note_failure()
        assert spares.missing(0) == 1
        spares.note_success()


@pytest.fixture
def plugin(tmp_path):
    """A plugin's directory with two files."""
    directory = tmp_path / "plugin"
    directory.mkdir()
    (directory / "main.py").write_text("one")
    (directory / "helper.py").write_text("one")
    return directory


def of(directory, *command):
    return fingerprint(command or ("python", "main.py"), directory)


def test_the_fingerprint_of_an_unchanged_plugin_is_the_same(plugin):
    assert of(plugin) == of(plugin)
    assert len(of(plugin)) == 2


@pytest.mark.parametrize("name", ["main.py", "helper.py"])
def test_a_changed_file_of_the_plugin_changes_it(plugin, name):
    before = of(plugin)
    (plugin / name).write_text("other")
    assert of(plugin) != before


def test_a_file_of_the_same_size_and_another_time_changes_it(plugin):
    before = of(plugin)
    os.utime(plugin / "main.py", ns=(1, 1))
    assert of(plugin) != before


def test_a_file_replaced_by_one_of_the_same_size_and_time_changes_it(plugin):
    before = of(plugin)
    there = os.stat(plugin / "main.py")
    (plugin.parent / "new").write_text("two")
    os.utime(plugin.parent / "new", ns=(there.st_mtime_ns, there.st_mtime_ns))
    os.replace(plugin.parent / "new", plugin / "main.py")
    assert of(plugin) != before


def test_a_new_or_removed_file_changes_it(plugin):
    before = of(plugin)
    (plugin / "new.py").touch()
    assert of(plugin) != before
    (plugin / "new.py").unlink()
    assert of(plugin) == before
    (plugin / "helper.py").unlink()
    assert of(plugin) != before


def test_compiled_files_written_beside_the_plugin_do_not_change_it(plugin):
    before = of(plugin)
    (plugin / "__pycache__").mkdir()
    (plugin / "__pycache__" / "main.pyc").touch()
    assert of(plugin) == before


def test_a_program_outside_the_directory_is_watched_by_its_absolute_path(plugin, tmp_path):
    program = tmp_path / "program"
    program.write_text("one")
    before = of(plugin, str(program))
    program.write_text("other")
    assert of(plugin, str(program)) != before


def test_a_program_in_a_directory_below_is_watched_by_its_relative_path(plugin):
    (plugin / "bin").mkdir()
    (plugin / "bin" / "program").write_text("one")
    before = of(plugin, "bin/program")
    (plugin / "bin" / "program").write_text("other")
    assert of(plugin, "bin/program") != before


def test_words_of_the_command_that_are_no_files_are_left_out(plugin):
    assert of(plugin, "python", "--flag", "a\0b", "x" * 5000, "main.py") == of(plugin, "main.py")


def test_a_directory_that_is_gone_has_an_empty_fingerprint(plugin):
    assert of(plugin / "gone") == ()


def test_a_link_that_points_nowhere_is_left_out(plugin):
    before = of(plugin)
    (plugin / "dangling").symlink_to("nowhere")
    assert of(plugin) == before


def test_only_so_many_files_are_looked_at_but_always_those_of_the_command(plugin):
    for number in range(FILES_WATCHED + 50):
        (plugin / f"data{number}.py").touch()
    before = of(plugin)
    assert FILES_WATCHED <= len(before) <= FILES_WATCHED + 2
    (plugin / "main.py").write_text("other")
    assert of(plugin) != before
