"""Every clause of every SPEC is tested, and every test names a clause that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import plughost
from plughost.conformance.canaries import duplex, envelope, execute, hook, sideband
from plughost.conformance.requirements import Requirement, requirements
from plughost.manifest.binding import CONTRACTS

TESTS = Path(__file__).parent.parent
CLAUSES = {contract: requirements(contract) for contract in CONTRACTS}
CANARIES = {
    "execute": execute.FAULTS,
    "envelope": envelope.FAULTS,
    "hook": hook.FAULTS,
    "duplex": duplex.FAULTS,
    "sideband": sideband.FAULTS,
}
_MARK = re.compile(r"@(?:pytest\.mark\.)?requirement\(([^)]*)\)")

each_contract = pytest.mark.parametrize("contract", CONTRACTS)


def of_side(contract: str, side: str) -> dict[str, Requirement]:
    return {clause.id: clause for clause in CLAUSES[contract].values() if clause.side == side}


def named_by_tests() -> set[str]:
    """Return the ids in `@pytest.mark.requirement(...)` anywhere under tests/."""
    found: set[str] = set()
    for file in TESTS.rglob("test_*.py"):
        for mark in _MARK.finditer(file.read_text(encoding="utf-8")):
            found |= set(re.findall(r'"([^"]+)"', mark[1]))
    return found


@each_contract
def test_the_spec_has_clauses_for_both_sides(contract: str) -> None:
    assert of_side(contract, "plugin")
    assert of_side(contract, "host")
    assert all(clause.says.endswith(".") for clause in CLAUSES[contract].values())


@each_contract
def test_every_backquoted_id_in_the_spec_is_a_clause_that_was_read(contract: str) -> None:
    spec = Path(plughost.__file__).parent / "contracts" / contract / "SPEC.md"
    named = re.findall(rf"^- `({contract}:[^`]+)`", spec.read_text(encoding="utf-8"), re.M)
    assert sorted(named) == sorted(CLAUSES[contract])


@each_contract
def test_every_clause_for_the_host_is_named_by_a_test(contract: str) -> None:
    assert of_side(contract, "host").keys() - named_by_tests() == set()


@each_contract
def test_every_clause_for_the_plugin_has_a_canary(contract: str) -> None:
    assert of_side(contract, "plugin").keys() == set(CANARIES[contract].values())


def test_every_test_names_clauses_that_exist() -> None:
    assert named_by_tests() - {each for clauses in CLAUSES.values() for each in clauses} == set()
