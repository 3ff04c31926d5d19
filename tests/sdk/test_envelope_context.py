"""What a hook is given and gives back: frozen values, with real paths."""

import copy
import pickle
from pathlib import Path

import pytest
from plughost_sdk.envelope_context import FileChange, PluginContext
from plughost_sdk.envelope_log import Log


def test_a_context_holds_what_it_was_made_with():
    ctx = PluginContext(
        variables={"a": 1},
        dst_root="/d",
        answers_file="/elsewhere/answers.yml",
        template_name="t",
        template_version="2",
        run_kind="test",
        equipment_id="e",
        project="p",
        dry_run=True,
        extra_inputs={"color": "red"},
    )
    assert (ctx.variables, ctx.extra_inputs, ctx.dry_run) == ({"a": 1}, {"color": "red"}, True)
    assert (ctx.dst_root, ctx.answers_file) == (Path("/d"), Path("/elsewhere/answers.yml"))
    assert (ctx.template_name, ctx.template_version, ctx.run_kind) == ("t", "2", "test")
    assert (ctx.equipment_id, ctx.project) == ("e", "p")


def test_a_context_can_be_made_with_next_to_nothing(tmp_path):
    ctx = PluginContext(dst_root=tmp_path)
    assert ctx.answers_file == tmp_path / ".exlab-answers.yml"
    assert (ctx.variables, ctx.extra_inputs, ctx.dry_run, ctx.project) == ({}, {}, False, "")
    assert isinstance(ctx.log, Log)


def test_the_destination_is_the_working_directory_unless_it_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert PluginContext().dst_root == tmp_path


@pytest.mark.parametrize("name", ["dst_root", "answers_file"])
def test_paths_are_paths(name):
    assert isinstance(getattr(PluginContext(dst_root="/d"), name), Path)


CHANGE = FileChange("a.txt", "modify", "adds a line")
FROZEN = [
    (PluginContext(dst_root="/d"), ["variables", "dst_root", "answers_file", "dry_run", "log", "new"]),
    (CHANGE, ["path", "kind", "summary", "detail", "new"]),
]


@pytest.mark.parametrize(("value", "name"), [(value, name) for value, names in FROZEN for name in names])
def test_nothing_can_be_set_or_deleted(value, name):
    with pytest.raises(AttributeError):
        setattr(value, name, None)
    with pytest.raises(AttributeError):
        delattr(value, name)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_context_can_be_handed_to_another_process(again):
    ctx = again(PluginContext(dst_root="/d", variables={"a": [1]}))
    assert (ctx.dst_root, ctx.variables) == (Path("/d"), {"a": [1]})


def test_a_value_shows_what_it_holds():
    assert "adds a line" in repr(CHANGE)
    assert "dst_root='/d'" in repr(PluginContext(dst_root="/d"))


@pytest.mark.parametrize("kind", ["modify", "create", "rename", "delete"])
def test_a_change_is_of_one_of_four_kinds(kind):
    assert FileChange("a", kind, "s").kind == kind


@pytest.mark.parametrize("kind", ["", "Modify", "move", None, []])
def test_a_change_of_any_other_kind_is_refused(kind):
    with pytest.raises(ValueError, match="modify, create, rename or delete"):
        FileChange("a", kind, "s")


@pytest.mark.parametrize("detail", [[], "x", 0, object()])
def test_a_detail_that_is_no_dict_is_refused(detail):
    with pytest.raises(ValueError, match="detail"):
        FileChange("a", "modify", "s", detail)


def test_changes_are_equal_if_they_say_the_same():
    assert FileChange("a", "modify", "s") == FileChange("a", "modify", "s", {})
    assert FileChange("a", "modify", "s") != FileChange("a", "modify", "s", {"line": 1})
    assert CHANGE != "a.txt"


def test_changes_do_not_share_their_detail():
    assert FileChange("a", "modify", "s").detail is not FileChange("a", "modify", "s").detail
