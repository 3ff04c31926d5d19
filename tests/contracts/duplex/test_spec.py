"""The contract can be read as clauses, and the tests beside this one name clauses that are there."""

import re
from pathlib import Path

from plughost.conformance.requirements import requirements
from plughost.contracts.duplex import messages

CLAUSES = requirements("duplex")
SPEC = (Path(messages.__file__).parent / "SPEC.md").read_text(encoding="utf-8")


def test_every_id_in_the_text_is_a_clause_for_one_side():
    named = re.findall(r"^- `(duplex:[^`]+)`", SPEC, re.M)
    assert len(named) == len(set(named))
    assert set(named) == set(CLAUSES)
    assert {clause.side for clause in CLAUSES.values()} == {"plugin", "host"}
    assert all(clause.says.endswith(".") for clause in CLAUSES.values())


def test_every_method_is_in_the_text():
    for method in (*messages.PLUGIN_METHODS, *messages.HOST_METHODS):
        assert f"| `{method}` | " in SPEC


def test_the_tests_name_clauses_that_exist():
    named = set()
    for file in Path(__file__).parent.glob("test_*.py"):
        for mark in re.finditer(r"requirement\(([^)]*)\)", file.read_text(encoding="utf-8")):
            named |= set(re.findall(r'"(duplex:[^"]+)"', mark[1]))
    assert named
    assert named <= set(CLAUSES)
