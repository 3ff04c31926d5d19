"""Many providers at once: who may work together, that they really do so at the same time, and one that fails."""

from __future__ import annotations

import pytest

from plughost import FailureCode, ManifestError, PluginFailure
from plughost.manifest.binding import Binding
from tests.host.hook.lab import Lab, generated, info, is_alive, rounds, write

MANY = 20


def provider(lab: Lab, name: str, **says: list[str]) -> Binding:
    """Return a provider that generates one file of its own, and notes what it is asked."""
    introduction = info(f"provider/{name}", **says)
    return lab.play(
        *rounds(generated((f"{name}.yml", "x\n")), introduction=introduction, read=lab.noting(name))
    )


def was_asked(lab: Lab, name: str) -> bool:
    return (lab.home / name).exists()


# Who may work together


@pytest.mark.requirement("hook:set:requires", "hook:set:conflicts")
@pytest.mark.parametrize(
    ("one", "other", "key"),
    [
        ({"requires": ["lang:go"]}, {}, "requires"),
        ({}, {"requires": ["lang:*"]}, "requires"),
        ({"capabilities": ["x:y"]}, {"conflicts_with": ["x:y"]}, "conflicts_with"),
        ({"capabilities": ["x:y"]}, {"conflicts_with": ["x:*"]}, "conflicts_with"),
        (
            {"capabilities": ["x:y"], "conflicts_with": ["x:*"]},
            {"capabilities": ["x:y"]},
            "conflicts_with",
        ),
    ],
)
def test_a_set_that_cannot_work_together_is_refused_before_anything_is_asked(
    one: dict[str, list[str]], other: dict[str, list[str]], key: str, both: Lab
) -> None:
    with pytest.raises(ManifestError) as caught:
        both.generate(provider(both, "a", **one), provider(both, "b", **other))
    assert caught.value.key == key
    assert caught.value.remedy
    assert len(both.spawned()) == 2
    assert not any(map(is_alive, both.spawned()))
    assert not was_asked(both, "a")
    assert not was_asked(both, "b")
    assert both.files() == {}


@pytest.mark.requirement("hook:set:names")
def test_two_of_one_name_are_refused(both: Lab) -> None:
    with pytest.raises(ManifestError) as caught:
        both.generate(provider(both, "a"), provider(both, "b"), provider(both, "a"))
    assert caught.value.key == "name"
    assert not was_asked(both, "a")
    assert both.files() == {}


@pytest.mark.requirement("hook:set:requires", "hook:set:conflicts")
def test_a_set_that_can_work_together_does(both: Lab) -> None:
    one = provider(both, "a", capabilities=["provider:a", "lang:go"], conflicts_with=["provider:*"])
    other = provider(
        both, "b", capabilities=["provider:b"], requires=["lang:*"], conflicts_with=["provider:*"]
    )
    both.generate(one, other)
    assert both.files() == {"a.yml": "x\n", "b.yml": "x\n"}


# At the same time


@pytest.mark.requirement("hook:set:parallel")
def test_providers_are_started_asked_and_let_go_at_the_same_time(both: Lab) -> None:
    """Each of two waits for the other, at each step: if they took turns, neither would get on."""
    here, there = [], []
    for step in ("shake", "answer", "leave"):
        to, fro = both.pipe(f"{step}-to"), both.pipe(f"{step}-fro")
        here.append([f"signal:{to}", f"await:{fro}"])
        there.append([f"await:{to}", f"signal:{fro}"])

    def words(name: str, meet: list[list[str]]) -> list[str]:
        result = generated((name, "x"))
        return ["read", *meet[0], write(info(name)), "read", *meet[1], write(result), "drain", *meet[2]]

    result = both.generate(both.play(*words("a", here)), both.play(*words("b", there)))
    assert both.files() == {"a": "x", "b": "x"}
    assert [report.warnings for report in result.providers] == [(), ()]


@pytest.mark.requirement("hook:set:parallel")
def test_many_providers_are_one_run(both: Lab) -> None:
    result = both.generate(*(provider(both, f"p{number:02}") for number in range(MANY)))
    assert sorted(both.files()) == [f"p{number:02}.yml" for number in range(MANY)]
    assert [report.name for report in result.providers] == [
        f"provider/p{number:02}" for number in range(MANY)
    ]
    assert len(set(both.spawned())) == MANY


@pytest.mark.requirement("hook:set:parallel", "hook:fragment:atomic")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["read", "exit:3"], FailureCode.CRASHED),
        (["read", write(info("bad")), "read", "exit:3"], FailureCode.CRASHED),
        (["read", write(info("bad")), "read", "write:ffffffff", "stay"], FailureCode.MALFORMED_RESPONSE),
        (
            ["read", write(info("bad")), "read", write(generated()), "drain", "write:00"],
            FailureCode.MALFORMED_RESPONSE,
        ),
    ],
    ids=["handshake", "answer", "garbage", "end"],
)
def test_one_that_fails_among_many_ends_them_all_and_nothing_is_written(
    words: list[str], code: FailureCode, both: Lab
) -> None:
    good = [provider(both, f"p{number:02}") for number in range(MANY - 1)]
    with pytest.raises(PluginFailure) as caught:
        both.generate(*good[:7], both.play(*words, terminate_s=0.2), *good[7:])
    assert caught.value.code is code
    assert len(both.spawned()) == MANY
    assert not any(map(is_alive, both.spawned()))
    assert both.files() == {}
    failed = [event for event in both.events if event.name == "failed"]
    assert len(failed) == 1


@pytest.mark.requirement("hook:set:parallel")
def test_the_others_are_not_waited_for_when_one_has_failed(both: Lab) -> None:
    endless = both.play("read", write(info("slow")), "read", "stay", timeout_s=600, terminate_s=0.2)
    failing = both.play("read", write(info("bad")), "read", "exit:3")
    with pytest.raises(PluginFailure) as caught:
        both.generate(endless, failing)
    assert caught.value.plugin == "bad"
    assert not any(map(is_alive, both.spawned()))


@pytest.mark.requirement("hook:set:parallel")
def test_one_that_cannot_be_started_ends_those_that_were(both: Lab) -> None:
    missing = Binding("", "hook", ("./missing",), both.home, both.home)
    with pytest.raises(PluginFailure) as caught:
        both.generate(both.play("read", write(info("slow")), "stay"), missing)
    assert caught.value.code is FailureCode.LAUNCH_FAILED
    assert len(both.spawned()) == 1
    assert not any(map(is_alive, both.spawned()))


def test_one_that_dies_while_others_are_asked_fails_the_run(both: Lab) -> None:
    pipe = both.pipe("died")
    asked = [
        "read",
        write(info("asked", "detect,generate")),
        "read",
        f"await:{pipe}",
        write(b""),
        "read",
        write(b""),
    ]
    dying = ["read", write(info("dying")), f"signal:{pipe}", "exit:3"]
    with pytest.raises(PluginFailure) as caught:
        both.generate(both.play(*asked, "read"), both.play(*dying))
    assert (caught.value.plugin, caught.value.code) == ("dying", FailureCode.CRASHED)


def test_a_run_leaves_the_handles_of_the_same_host_alone(both: Lab) -> None:
    with both.connect(both.play(*rounds(generated()))) as handle:
        both.generate(provider(both, "a"))
        with pytest.raises(PluginFailure):
            both.generate(both.play("exit:3"))
        assert handle.ask("generate") == generated()
