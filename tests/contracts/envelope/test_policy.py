"""Which paths no plugin may touch: told by whole components, in any case, wherever they are renamed to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.contracts.envelope.policy import FORBIDDEN, violations

TOUCHED = [
    "README.md",
    "readme.md",
    "ReadMe.MD",
    "README.md/x",
    "README.md/",
    "./README.md",
    ".//README.md",
    ".exlab-wizard",
    ".exlab-wizard/",
    ".exlab-wizard/creation.json",
    ".exlab-wizard/deep/er/x",
    ".EXLAB-Wizard/creation.json",
    ".exlab-answers.yml",
    ".Exlab-Answers.YML",
]
FREE = [
    "README.mdx",
    "README.md.bak",
    "README.md~",
    "README",
    "README.md ",
    "xREADME.md",
    "sub/README.md",
    "sub/.exlab-wizard/creation.json",
    "sub/.exlab-answers.yml",
    ".exlab-wizard2/x",
    ".exlab-wizard.old",
    "exlab-wizard/x",
    ".exlab-answers.yaml",
    ".exlab-answers",
    "data.txt",
]


@pytest.mark.requirement("envelope:tree:forbidden")
@pytest.mark.parametrize("path", TOUCHED)
def test_the_hosts_own_paths_and_all_below_them_are_forbidden(path):
    assert violations([path]) == (path,)


@pytest.mark.requirement("envelope:tree:forbidden")
@pytest.mark.parametrize("path", FREE)
def test_a_path_that_only_resembles_one_is_free(path):
    assert violations([path]) == ()


@pytest.mark.parametrize("renamed", [("README.md", "notes.md"), ("notes.md", "README.md")])
def test_a_rename_is_caught_by_either_of_its_names(renamed):
    assert violations(renamed) == ("README.md",)


def test_violations_are_sorted_and_each_is_named_once():
    touched = [*reversed(TOUCHED), *FREE, *TOUCHED]
    assert violations(iter(touched)) == tuple(sorted(TOUCHED))


def test_nothing_touched_is_no_violation():
    assert violations([]) == ()


def test_what_is_forbidden_can_be_chosen():
    assert violations(["raw/a", "raw", "rawer", "README.md"], ("raw/",)) == ("raw", "raw/a")
    assert violations(["raw/keep/x", "raw/x"], ("raw/keep",)) == ("raw/keep/x",)
    assert violations(TOUCHED, ()) == ()


@given(st.sampled_from(FORBIDDEN), st.lists(st.text("abc.", min_size=1), max_size=3), st.booleans())
def test_whatever_lies_below_a_forbidden_path_is_forbidden_in_any_case(forbidden, below, upper):
    path = "/".join([forbidden.rstrip("/"), *below])
    path = path.upper() if upper else path
    assert violations([path]) == (path,)
