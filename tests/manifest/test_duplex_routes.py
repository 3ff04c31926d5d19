"""Who is asked for what: actions, command-line words and screens, and what two plugins claim."""

from pathlib import Path

import pytest

from plughost.manifest.duplex_manifest import DuplexManifest, Provides
from plughost.manifest.duplex_routes import Conflict, route


def plugin(name, **provides):
    return DuplexManifest(name, "1.0.0", 2, Path("/plugins") / name, provides=Provides(**provides))


def test_nobody_provides_nothing():
    routes = route([])
    assert dict(routes.actions) == dict(routes.namespaces) == dict(routes.screens) == {}
    assert routes.conflicts == ()


def test_each_word_leads_to_the_plugin_that_provides_it():
    routes = route(
        [
            plugin("b", screens=("board",), commands=("refresh",), cli_namespaces=("usage",)),
            plugin("a", screens=("list",), cli_namespaces=("session",), snapshots=("topic",)),
        ]
    )
    assert routes.actions == {"refresh": "b", "usage": "b", "session": "a"}
    assert routes.namespaces == {"usage": "b", "session": "a"}
    assert routes.screens == {"board": "b", "list": "a"}
    assert routes.conflicts == ()


def test_what_two_plugins_claim_goes_to_neither_and_is_reported():
    claims = {"screens": ("s", "own"), "commands": ("c",), "cli_namespaces": ("n",)}
    plugins = [plugin("b", **claims), plugin("a", screens=("s",), commands=("c",), cli_namespaces=("n",))]
    for order in (plugins, plugins[::-1]):
        routes = route(order)
        assert dict(routes.actions) == dict(routes.namespaces) == {}
        assert routes.screens == {"own": "b"}
        assert routes.conflicts == (
            Conflict("action", "c", ("a", "b")),
            Conflict("action", "n", ("a", "b")),
            Conflict("namespace", "n", ("a", "b")),
            Conflict("screen", "s", ("a", "b")),
        )


def test_a_command_and_a_namespace_of_one_word_conflict_as_actions_only():
    routes = route([plugin("a", commands=("usage",)), plugin("b", cli_namespaces=("usage",))])
    assert routes.conflicts == (Conflict("action", "usage", ("a", "b")),)
    assert routes.namespaces == {"usage": "b"}


def test_a_plugin_is_not_in_conflict_with_itself():
    routes = route([plugin("a", commands=("x", "x"), cli_namespaces=("x",), screens=("x", "x"))])
    assert routes.conflicts == ()
    assert routes.actions == routes.namespaces == routes.screens == {"x": "a"}


def test_topics_may_have_several_publishers():
    assert route([plugin("a", snapshots=("t",)), plugin("b", snapshots=("t",))]).conflicts == ()


def test_routes_cannot_be_changed():
    with pytest.raises(TypeError):
        route([plugin("a", screens=("s",))]).screens["s"] = "b"
