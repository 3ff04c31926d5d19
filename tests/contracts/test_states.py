"""The state tables of all contracts are sound."""

from __future__ import annotations

from types import ModuleType

import pytest

from plughost.contracts.conversation import Speaker
from plughost.contracts.duplex import states as duplex
from plughost.contracts.envelope import states as envelope
from plughost.contracts.execute import states as execute
from plughost.contracts.hook import states as hook
from plughost.contracts.sideband import states as sideband
from tests.contracts.tables import reachable

# Of each contract: its table, and the states besides the final ones in which nothing that the plugin does matters.
TABLES = {
    "execute": (execute, {execute.State.RETIRING}),
    "envelope": (envelope, {envelope.State.RETIRING}),
    "hook": (hook, set()),
    "duplex": (duplex, set()),
    "sideband": (sideband, set()),
}
each_table = pytest.mark.parametrize("states", [table for table, _ in TABLES.values()], ids=list(TABLES))


@each_table
def test_only_final_states_are_dead_ends(states: ModuleType) -> None:
    assert {before for before, _, _ in states.TRANSITIONS} == set(states.State) - states.FINAL


@each_table
def test_every_state_can_be_reached(states: ModuleType) -> None:
    assert reachable(states, states.INITIAL) == set(states.State)


@each_table
def test_every_state_can_still_end(states: ModuleType) -> None:
    assert all(reachable(states, state) & states.FINAL for state in states.State)


@pytest.mark.parametrize("contract", TABLES)
def test_every_state_in_which_the_plugin_matters_can_fail(contract: str) -> None:
    states, indifferent = TABLES[contract]
    fault = (Speaker.PLUGIN, states.Said.FAULT)
    may_fail = {before for before, speaker, said in states.TRANSITIONS if (speaker, said) == fault}
    assert may_fail == set(states.State) - states.FINAL - indifferent


@each_table
def test_a_fault_always_ends_in_failed_and_nothing_else_does(states: ModuleType) -> None:
    for (_, _, said), after in states.TRANSITIONS.items():
        assert (after is states.State.FAILED) == (said is states.Said.FAULT)


@each_table
def test_everything_that_can_be_said_is_said_somewhere(states: ModuleType) -> None:
    assert {said for _, _, said in states.TRANSITIONS} == set(states.Said)
