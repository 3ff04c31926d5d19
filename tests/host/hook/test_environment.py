"""What a provider gets to see of the host's environment: what its binding lists or sets, twice over, and no more."""

from __future__ import annotations

import os

import pytest
from plughost_sdk import hook_messages as wire

from plughost.manifest.binding import Environment
from tests.host.hook.lab import Lab, info, write

MARKER = "PLUGHOST_RUN"  # by which the host finds what a plugin leaves behind
OURS = {"PLUGHOST_HOOK_ROUND": "declared"}


def seen(lab: Lab, environment: Environment, **options: object) -> tuple[dict[str, str], dict[bytes, bytes]]:
    """Start a provider and return what it was told in the greeting, and what its process had."""
    words = [f"environ:{lab.home / 'environ'}", lab.noting(), write(info(phases=None)), "read"]
    lab.connect(lab.play(*words, environment=environment), **options).close()
    hello = wire.Hello.FromString(lab.heard()[0])
    pairs = [each.split(b"=", 1) for each in lab.heard("environ")[0].split(b"\0")]
    environ = dict(pairs)
    environ.pop(b"LC_CTYPE", None)  # the interpreter's own doing
    assert environ.pop(MARKER.encode())
    assert (environ.pop(b"NO_COLOR"), environ.pop(b"TERM")) == (b"1", b"dumb")
    return dict(hello.env), environ


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("LISTED", "listed")
    monkeypatch.setenv("EMPTY", "")


@pytest.mark.requirement("hook:handshake:env")
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (Environment(inherit=(), set={}), {}),
        (Environment(inherit=("LISTED",), set={}), {"LISTED": "listed"}),
        (Environment(inherit=("LISTED", "MISSING", "EMPTY"), set={}), {"LISTED": "listed", "EMPTY": ""}),
        (Environment(inherit=("LISTED",), set={"LISTED": "set"}), {"LISTED": "set"}),
        (Environment(inherit=(), set={"GIVEN": "a=b é\n"}), {"GIVEN": "a=b é\n"}),
        (Environment(inherit=("*", "", "LIST?D"), set={}), {}),
        (Environment(inherit=("LIST*",), set={}), {"LISTED": "listed"}),
    ],
    ids=["nothing", "listed", "missing", "set over listed", "set", "no patterns", "all that begin so"],
)
def test_it_gets_and_is_told_what_is_listed_or_set(
    environment: Environment, expected: dict[str, str], both: Lab
) -> None:
    told, environ = seen(both, environment)
    assert told == {**expected, **OURS}
    assert {os.fsdecode(name): os.fsdecode(value) for name, value in environ.items()} == told


@pytest.mark.requirement("hook:handshake:env")
def test_by_default_nothing_secret_is_told(both: Lab) -> None:
    told, environ = seen(both, Environment())
    assert told.keys() <= {"PATH", "LANG", "LC_ALL", "TZ", *OURS}
    assert "secret" not in told.values()
    assert b"secret" not in environ.values()


@pytest.mark.requirement("hook:handshake:env")
def test_a_variable_that_is_no_text_is_given_and_not_told(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD", os.fsdecode(b"caf\xe9"))
    told, environ = seen(both, Environment(inherit=("ODD", "LISTED"), set={}))
    assert told == {"LISTED": "listed", **OURS}
    assert environ[b"ODD"] == b"caf\xe9"


@pytest.mark.parametrize(("phases", "value"), [((), "declared"), (("plan", "generate"), "plan,generate")])
def test_the_round_is_told_by_both_ways(phases: tuple[str, ...], value: str, both: Lab) -> None:
    told, environ = seen(both, Environment(inherit=(), set={}), phases=phases)
    assert told["PLUGHOST_HOOK_ROUND"] == value
    assert environ[b"PLUGHOST_HOOK_ROUND"] == value.encode()


def test_the_round_of_whoever_runs_the_host_is_not_handed_on(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUGHOST_HOOK_ROUND", "preflight")
    environment = Environment(inherit=("PLUGHOST_HOOK_ROUND",), set={"PLUGHOST_HOOK_ROUND": "detect"})
    told, environ = seen(both, environment)
    assert told["PLUGHOST_HOOK_ROUND"] == "declared"
    assert environ[b"PLUGHOST_HOOK_ROUND"] == b"declared"
