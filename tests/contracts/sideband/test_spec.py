"""The contract can be read as clauses, and the tests beside this one name clauses that are there."""

import re
from pathlib import Path

from plughost.conformance.requirements import requirements
from plughost.contracts.sideband import messages

CLAUSES = requirements("sideband")
SPEC = (Path(messages.__file__).parent / "SPEC.md").read_text(encoding="utf-8")
# Held by what starts and ends processes, not by a session.
ELSEWHERE = {
    "sideband:transport:ends",
    "sideband:transport:windows",
    "sideband:output:before",
    "sideband:end:holders",
}


def named():
    """Return the clauses that the tests beside this one claim."""
    found = set()
    for file in Path(__file__).parent.glob("test_*.py"):
        for mark in re.finditer(r"requirement\(([^)]*)\)", file.read_text(encoding="utf-8")):
            found |= set(re.findall(r'"(sideband:[^"]+)"', mark[1]))
    return found


def test_every_id_in_the_text_is_a_clause_for_one_side():
    ids = re.findall(r"^- `(sideband:[^`]+)`", SPEC, re.M)
    assert len(ids) == len(set(ids))
    assert set(ids) == set(CLAUSES)
    assert {clause.side for clause in CLAUSES.values()} == {"plugin", "host"}
    assert all(clause.says.endswith(".") for clause in CLAUSES.values())


def test_every_message_is_in_the_text():
    for name in (*messages.WORKER_TYPES, *messages.HOST_TYPES):
        assert f"| `{name}` | " in SPEC


def test_the_tests_claim_every_clause_of_the_host_that_a_session_can_hold_and_no_other():
    assert named() == {name for name, clause in CLAUSES.items() if clause.side == "host"} - ELSEWHERE
