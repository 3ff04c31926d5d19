"""Every clause of every SPEC is tested, and every test names a clause that exists."""

from __future__ import annotations

import re
from pathlib import Path

from plughost.conformance.canaries import execute as canaries
from plughost.conformance.requirements import requirements

TESTS = Path(__file__).parent.parent
CLAUSES = requirements("execute")
_MARK = re.compile(r"mark\.requirement\(([^)]*)\)")


def named_by_tests() -> set[str]:
    """Return the ids in `@pytest.mark.requirement(...)` anywhere under tests/."""
    found: set[str] = set()
    for file in TESTS.rglob("test_*.py"):
        for mark in _MARK.finditer(file.read_text(encoding="utf-8")):
            found |= set(re.findall(r'"([^"]+)"', mark[1]))
    return found


def test_the_spec_has_clauses_for_both_sides() -> None:
    assert {clause.side for clause in CLAUSES.values()} == {"plugin", "host"}
    assert all(clause.says.endswith(".") for clause in CLAUSES.values())


def test_every_backquoted_id_in_the_spec_is_a_clause_that_was_read() -> None:
    import plughost

    spec = Path(plughost.__file__).parent / "contracts/execute/SPEC.md"
    assert set(re.findall(r"^- `(execute:[^`]+)`", spec.read_text(encoding="utf-8"), re.M)) == set(CLAUSES)


def test_every_clause_for_the_host_is_named_by_a_test() -> None:
    host_side = {clause.id for clause in CLAUSES.values() if clause.side == "host"}
    assert host_side - named_by_tests() == set()


def test_every_clause_for_the_plugin_has_a_canary() -> None:
    plugin_side = {clause.id for clause in CLAUSES.values() if clause.side == "plugin"}
    assert plugin_side == set(canaries.FAULTS.values())


def test_every_test_names_clauses_that_exist() -> None:
    assert named_by_tests() - set(CLAUSES) == set()
