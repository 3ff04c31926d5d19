"""Every example on every page, tried out."""

from pathlib import Path

import pytest

from tests.docs.reader import PAGES, REPOSITORY, Reader


def _has_examples(page: Path) -> bool:
    return any(f"\n```{language}\n" in page.read_text() for language in ("console", "json", "python", "toml"))


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if _has_examples(page)],
    ids=lambda page: str(page.relative_to(REPOSITORY)),
)
def test_what_the_page_shows_is_what_happens(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for example in Reader(tmp_path).open(page):
        example.evaluate()
