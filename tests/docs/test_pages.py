"""Facts about every page: its links lead somewhere, it is found, and it names no path of anybody's machine."""

import re
from pathlib import Path

import pytest
from plughost_sdk import duplex, execute, hook

import plughost
from plughost import testkit
from tests.docs.reader import PAGES, REPOSITORY, directive_above

DOCS = REPOSITORY / "docs"
KINDS = ("added", "changed", "deprecated", "removed", "fixed", "security")

_FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.M)
_MACHINE_PATH = re.compile(r"(?<![\w.…])/(?:work|root|home|Users|tmp|private)/\w+")


def prose(page: Path) -> str:
    """Return the text of *page* without its code blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors that a page's headings make, spelled as the usual renderers do."""
    headings = _HEADING.findall(prose(page))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links(page: Path) -> list[tuple[Path, str]]:
    """Return where the relative links of *page* lead: a file, and an anchor in it or ""."""
    found = _LINK.findall(prose(page))
    return [((page.parent / path).resolve() if path else page, anchor) for path, anchor in found]


def _name(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_relative_link_leads_somewhere(page):
    for target, anchor in links(page):
        assert target.exists(), f"{target} does not exist"
        assert not anchor or anchor in anchors(target), f"{target} has no heading #{anchor}"


def test_every_page_can_be_reached_from_the_index():
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            waiting += [target for target, _ in links(page)]
    assert {page for page in PAGES if DOCS in page.parents} <= reached


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_no_page_shows_a_path_of_somebodys_machine(page):
    assert _MACHINE_PATH.findall(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_a_console_block_that_is_not_run_has_a_reason(page):
    text = page.read_text(encoding="utf-8")
    for block in re.finditer(r"^```console$", text, re.M):
        directive, reason = directive_above(text, block.start())
        assert directive != "not run" or reason


@pytest.mark.parametrize("name", [name for name in plughost.__all__ if not name.startswith("_")])
def test_every_public_name_is_on_the_page_of_the_python_api(name):
    assert re.search(rf"\b{name}\b", (DOCS / "reference" / "python-api.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", testkit.__all__)
def test_every_name_of_the_testkit_is_on_its_page(name):
    assert re.search(rf"\b{name}\b", (DOCS / "reference" / "testkit.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [*duplex.__all__, *execute.__all__, *hook.__all__])
def test_every_name_of_the_sdk_is_on_its_page(name):
    assert re.search(rf"\b{name}\b", (DOCS / "reference" / "sdk.md").read_text(encoding="utf-8"))


def test_every_fragment_of_the_changelog_is_named_after_its_kind():
    fragments = [path for path in (REPOSITORY / "changes").iterdir() if path.name != "README.md"]
    assert [
        path.name
        for path in fragments
        if not re.fullmatch(rf"[a-z0-9-]+\.({'|'.join(KINDS)})\.md", path.name)
    ] == []
    assert all(path.read_text(encoding="utf-8").strip() for path in fragments)
