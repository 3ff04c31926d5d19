"""What an application says of a fleet: taken as it is meant, or refused before anything is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plughost import HostAction, LocalProtocolError, Narrowing
from plughost.capabilities.grants import Capability
from plughost.host.duplex.options import FleetPlan, plan
from plughost.manifest import duplex_registry
from tests.host.duplex.fleet_lab import Lab


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A plugin that can be used, and one that cannot."""
    lab = Lab(tmp_path)
    lab.plugin("good", caps={"network": True})
    lab.plugin("broken", version="nonsense")
    return lab.root


def planned(*places: Any, **options: Any) -> FleetPlan:
    return plan(places, options)  # type: ignore[arg-type]


def test_settings_and_narrowings_of_a_plugin_that_cannot_be_used_hide_no_other(root: Path) -> None:
    found = planned(root, config={"broken": {"a": 1}}, narrowings={"broken": Narrowing()})
    assert [each.name for each in found.bindings] == ["good"]
    assert [each.name for each in found.rejected] == ["broken"]


def test_settings_for_one_of_two_with_the_same_name_hide_no_other(tmp_path: Path) -> None:
    for home in ("one", "two"):
        Lab(tmp_path / home).plugin("same")
    Lab(tmp_path / "one").plugin("good")
    found = planned(tmp_path / "one/plugins", tmp_path / "two/plugins", config={"same": {}})
    assert [each.name for each in found.bindings] == ["good"]


@pytest.mark.parametrize("name", ["go-od", "Good", "", "manifest"])
@pytest.mark.parametrize("said", ["config", "narrowings"])
def test_a_name_that_is_mistyped_is_refused(root: Path, said: str, name: str) -> None:
    value: Any = {} if said == "config" else Narrowing()
    with pytest.raises(LocalProtocolError):
        planned(root, **{said: {name: value}})


def test_a_narrowing_is_refused_for_what_came_as_a_binding_and_would_not_heed_it(root: Path) -> None:
    binding = duplex_registry.load(root / "good")
    with pytest.raises(LocalProtocolError):
        planned(binding, narrowings={"good": Narrowing(capabilities={"network": False})})


def test_a_narrowing_by_name_is_heeded(root: Path) -> None:
    (binding,) = planned(root, narrowings={"good": Narrowing(command=("x",))}).bindings
    assert binding.command == ("x",)


WRONG: dict[str, dict[str, Any]] = {
    "config of a number": {"config": {"good": 5}},
    "config that is a list": {"config": [("good", {})]},
    "config that is a number": {"config": 5},
    "config by a number": {"config": {5: {}}},
    "a narrowing of nothing": {"narrowings": {"good": None}},
    "a narrowing of a table": {"narrowings": {"good": {}}},
    "narrowings that are a list": {"narrowings": [Narrowing()]},
    "roots that are a list": {"roots": ["a"]},
    "roots of a text": {"roots": {"read_sessions": "a"}},
    "roots of a number": {"roots": {"read_sessions": 5}},
    "a root that is a number": {"roots": {"read_sessions": [5]}},
    "a root in another's home": {"roots": {"read_sessions": ["~bob/x"]}},
    "a root with a NUL": {"roots": {"read_sessions": ["/a\0b"]}},
    "roots of what reads nothing": {"roots": {"network": ["a"]}},
    "a level that is none": {"log_level": "loud"},
    "a level that is a number": {"log_level": 5},
    "an action that is no function": {"actions": {"a": 5}},
    "an action by a number": {"actions": {5: bytes.upper}},
    "actions that are a list": {"actions": [bytes.upper]},
}


@pytest.mark.parametrize("options", WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_meant_is_refused_in_our_words(root: Path, options: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError):
        planned(root, **options)


@pytest.mark.parametrize(
    "place", [123, None, b"", ("a",), 1.5], ids=["number", "none", "bytes", "pair", "float"]
)
def test_what_is_no_place_is_refused(place: Any) -> None:
    with pytest.raises(LocalProtocolError):
        planned(place)


@pytest.mark.parametrize("name", ["nowhere", "nowhere/deep", "plain.txt/x"])
def test_a_place_that_does_not_exist_is_refused_not_empty(tmp_path: Path, name: str) -> None:
    (tmp_path / "plain.txt").touch()
    with pytest.raises(LocalProtocolError):
        planned(tmp_path / name)


def test_an_empty_directory_and_no_place_at_all_are_fleets_of_nothing(tmp_path: Path) -> None:
    assert planned(tmp_path) == planned()


def test_a_file_and_a_link_to_nothing_are_rejected_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    for name in ("file", "link"):
        assert planned(tmp_path / name).bindings == ()


def test_an_action_takes_the_capability_that_its_host_names(root: Path) -> None:
    actions = {
        "run": HostAction(bytes.upper, capability="spawn_subprocess"),
        "read": HostAction(bytes.upper),
        "plain": bytes.upper,
    }
    found = planned(root, actions=actions)
    (binding,) = found.bindings
    assert found.gates(binding).actions == {"run": Capability.SPAWN_SUBPROCESS}


@pytest.mark.parametrize(
    "capability", ["", "spawn", "SPAWN_SUBPROCESS", 5], ids=["empty", "part", "loud", "number"]
)
def test_an_action_with_a_capability_that_there_is_not_is_refused(capability: Any) -> None:
    with pytest.raises(LocalProtocolError):
        HostAction(bytes.upper, capability)


def test_an_action_is_a_function() -> None:
    with pytest.raises(LocalProtocolError):
        HostAction(b"x")  # type: ignore[arg-type]


def test_plugins_that_may_do_the_same_share_what_says_so(root: Path) -> None:
    found = planned(root, actions={"free": bytes, "write": HostAction(bytes, "write_plugin_data")})
    one, other = (found.gates(binding) for binding in (*found.bindings, *planned(root).bindings))
    assert one.actions is other.actions == {"write": Capability.WRITE_PLUGIN_DATA}
    assert one.grants is other.grants
