"""The pages that are made from the code."""

import click
import pytest

from plughost.frontends.cli.main import COMMANDS
from plughost.frontends.cli.main import plughost as root
from tools import binding_page, pages

CLI_PAGE = (pages.REFERENCE / "cli.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_stands_on_the_page(name):
    command = root.get_command(click.Context(root), name)
    assert command.help
    assert f"\n## `plughost {name}`\n" in CLI_PAGE


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name):
    command = root.get_command(click.Context(root), name)
    assert [
        option.name for option in command.params if isinstance(option, click.Option) and not option.help
    ] == []


def test_every_generated_page_is_up_to_date():
    assert pages.stale() == []


def test_a_page_that_was_changed_by_hand_is_stale(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "REFERENCE", tmp_path)
    (tmp_path / "binding.md").write_text(f"{binding_page.BEGIN}\n{binding_page.END}\n")
    pages.write()
    assert pages.stale() == []
    page = tmp_path / "states.md"
    page.write_text(page.read_text() + "one line more\n")
    assert pages.stale() == [page]


def test_a_binding_key_without_a_meaning_is_refused(monkeypatch):
    monkeypatch.delitem(binding_page._MEANINGS, "limits.timeout_s")
    with pytest.raises(SystemExit, match=r"limits\.timeout_s"):
        binding_page.page(pages.REFERENCE / "binding.md")


def test_a_meaning_without_a_binding_key_is_refused(monkeypatch):
    monkeypatch.setitem(binding_page._MEANINGS, "limits.patience", "how long we bear it")
    with pytest.raises(SystemExit, match=r"limits\.patience"):
        binding_page.page(pages.REFERENCE / "binding.md")
