"""The binding of a `hook` plugin: its own defaults, its phases, its limits; from a file and from code alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from plughost.errors import ManifestError
from plughost.manifest import binding as bindings
from plughost.manifest.binding import Binding, HookLimits, HookOptions, Limits

HERE = Path("/plugins/github")
HEAD = '[plugin]\nname = "provider/github"\ncontract = "hook"\ncommand = ["./github"]\n'


def parse(more: str = "") -> Binding:
    return bindings.parse(HEAD + more, HERE)


def refused(more: str) -> ManifestError:
    with pytest.raises(ManifestError) as caught:
        parse(more)
    return caught.value


def test_a_provider_has_longer_times_than_a_tool() -> None:
    limits = parse().limits
    assert (limits.timeout_s, limits.handshake_s, limits.teardown_s) == (30.0, 5.0, 5.0)
    assert limits.frame_bytes == 10_485_760
    assert (limits.launch_s, limits.terminate_s, limits.reap_s) == (2.0, 0.5, 2.0)


def test_those_of_other_contracts_stay_as_they_were() -> None:
    execute = bindings.parse(HEAD.replace("hook", "execute"), HERE).limits
    assert (execute.timeout_s, execute.handshake_s, execute.teardown_s) == (5.0, 2.0, 0.5)


def test_one_limit_in_the_file_leaves_the_others_at_what_is_usual_for_the_contract() -> None:
    limits = parse("[limits]\nhandshake_s = 1\n").limits
    assert (limits.timeout_s, limits.handshake_s, limits.teardown_s) == (30.0, 1.0, 5.0)


def test_a_bare_command_and_a_binding_in_code_have_the_same_defaults_as_a_file() -> None:
    usual = parse().limits
    assert bindings.of_command("hook", ["./github"]).limits == usual
    assert Binding("provider/github", "hook", ("x",), HERE, HERE).limits == usual


def test_limits_that_are_given_in_code_are_taken_as_they_are() -> None:
    given = Binding("provider/github", "hook", ("x",), HERE, HERE, limits=Limits(timeout_s=1.0))
    assert (given.limits.timeout_s, given.limits.handshake_s) == (1.0, 2.0)


@pytest.mark.parametrize("value", ["1", "10485760"])
def test_a_frame_may_be_bounded_closer(value: str) -> None:
    assert parse(f"[limits]\nframe_bytes = {value}\n").limits.frame_bytes == int(value)


@pytest.mark.parametrize("value", ["0", "-1", "10485761", "1.5", '"many"', "true"])
def test_a_frame_is_never_longer_than_the_contract_says(value: str) -> None:
    assert "frame_bytes" in str(refused(f"[limits]\nframe_bytes = {value}\n"))


@pytest.mark.parametrize("value", ["0", "-1", "86401", "nan", "inf", '"long"'])
@pytest.mark.parametrize("key", ["timeout_s", "handshake_s", "teardown_s"])
def test_a_time_is_more_than_nothing_and_at_most_a_day(key: str, value: str) -> None:
    assert key in str(refused(f"[limits]\n{key} = {value}\n"))


@pytest.mark.parametrize(
    "phases",
    [
        [],
        ["generate"],
        ["plan", "generate"],
        ["detect", "plan", "generate", "validate"],
        ["detect", "validate"],
        ["preflight"],
    ],
)
def test_phases_are_chosen_in_the_order_of_a_round(phases: list[str]) -> None:
    assert parse(f"[hook]\nphases = {phases}\n").hook.phases == tuple(phases)


@pytest.mark.parametrize(
    "phases",
    [
        '["generate", "plan"]',
        '["plan", "plan"]',
        '["preflight", "plan"]',
        '["generate", "preflight"]',
        '["paint"]',
        '["Plan"]',
        '[""]',
        "[1]",
        '"plan"',
        "true",
    ],
)
def test_phases_that_make_no_round_are_refused(phases: str) -> None:
    assert "phases" in str(refused(f"[hook]\nphases = {phases}\n"))


def test_what_the_table_does_not_know_is_refused() -> None:
    assert "hook" in str(refused('[hook]\nphase = ["plan"]\n'))


@pytest.mark.parametrize(
    "changes",
    [
        {"hook": HookOptions(phases=("generate", "plan"))},  # type: ignore[arg-type]
        {"hook": HookOptions(phases=("paint",))},  # type: ignore[arg-type]
        {"limits": HookLimits(frame_bytes=10_485_761)},
        {"limits": HookLimits(timeout_s=0)},
        {"limits": {"timeout_s": 1}},
        {"environment": None},
        {"allow": ("a:b", "a:b")},
        {"allow": (" a:b",)},
        {"name": " x"},
        {"environment": bindings.Environment(set={"A=B": "1"})},
    ],
)
def test_one_that_is_made_in_code_is_held_to_the_same_rules(changes: dict[str, object]) -> None:
    with pytest.raises(ManifestError):
        bindings.replace(parse(), **changes)


def test_a_round_trip_through_replace_changes_nothing_else() -> None:
    before = parse('[capabilities]\nallow = ["provider:github"]\n')
    after = bindings.replace(before, hook=HookOptions(phases=("generate",)))
    assert bindings.replace(after, hook=HookOptions()) == before
