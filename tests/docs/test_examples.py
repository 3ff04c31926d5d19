"""Every example on every page, tried out."""

from pathlib import Path

import pytest

from tests.docs.reader import PAGES, REPOSITORY, Reader


def _has_examples(page: Path) -> bool:
    return any(f"\n```{language}\n" in page.read_text() for language in ("console", "json", "python", "toml"))


def _case(page: Path):
    checks = any(f"\n$ {command}" in page.read_text() for command in ("plughost check", "python -m pytest"))
    marks = [pytest.mark.thin(3, "pages that check a plugin or run its tests")] if checks else []
    return pytest.param(page, marks=marks, id=str(page.relative_to(REPOSITORY)))


@pytest.mark.parametrize("page", [_case(page) for page in PAGES if _has_examples(page)])
def test_what_the_page_shows_is_what_happens(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for example in Reader(tmp_path).open(page):
        example.evaluate()
