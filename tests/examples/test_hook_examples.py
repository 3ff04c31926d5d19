"""The providers that come with plughost keep what both promise: their manifest, their wire, and every character."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plughost_sdk import hook
from plughost_sdk.hook_messages import (
    CommandDefinition,
    CommandParameter,
    Diagnostic,
    GenerateRequest,
    GenerateResult,
    Hello,
    MatrixValue,
    PluginInfo,
    ValidateRequest,
    ValidateResult,
)
from ruamel.yaml import YAML

from tests.conftest import ROOT
from tests.examples.hook_providers import (
    EXAMPLES,
    PACKAGES,
    custom,
    errors,
    files,
    generate,
    job,
    load,
    part,
    run,
    schema,
    uses,
)

GITHUB, WOODPECKER = load("github-actions"), load("woodpecker")
PROVIDERS = [pytest.param(GITHUB, id="github"), pytest.param(WOODPECKER, id="woodpecker")]

# What YAML, shells and both systems take for something else, and text of any kind.
AWKWARD = st.text(alphabet=" \t\n\r:#-'\"\\/{}[]$&*!|>%@`,?~=<\x00\x85\u2028\ufeff\U0001f600abON10.")
TEXTS = st.one_of(
    AWKWARD, st.text(), st.sampled_from(["on", "3.10", "1e3", "${{ x }}", "a: b # c", "|", "---", "no"])
)
BOMB = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"{here}: &{here} [{', '.join([f'*{last}'] * 8)}]\n"
    for last, here in zip("abcdef", "bcdefg", strict=True)
)


def unsubstituted(text: str) -> str:
    """Return a file of Woodpecker's as it is read: `$$`, `\\\\` and `\\/` have lost their first character."""
    return re.sub(r"\$\$|\\[\\/]", lambda found: found[0][1], text)


def read(provider: hook.Provider, result: GenerateResult) -> dict[str, Any]:
    (fragment,) = result.fragments
    text = unsubstituted(fragment.content) if provider is WOODPECKER else fragment.content
    value = YAML(typ="safe", pure=True).load(text)
    assert isinstance(value, dict)
    return value


def commands_and_env(provider: hook.Provider, value: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    if provider is WOODPECKER:
        (step,) = value["steps"]
        return step["commands"], step["environment"]
    (only,) = value["jobs"].values()
    return [step["run"] for step in only["steps"] if "run" in step], only["env"]


# What they say of themselves


def test_every_example_in_python_is_tested_here() -> None:
    assert {each.parent.name for each in EXAMPLES.glob("*/provider.py")} == set(PACKAGES)


@pytest.mark.parametrize("example", PACKAGES)
def test_a_manifest_says_what_the_handshake_says(example: str) -> None:
    manifest = tomllib.loads((EXAMPLES / example / "plugin.toml").read_text())
    provider = load(example)
    assert manifest["plugin"]["name"] == provider.name
    assert manifest["plugin"]["contract"] == "hook"
    assert manifest["capabilities"]["allow"] == list(provider.capabilities)
    assert provider.conflicts_with == ("provider:*",)
    assert provider.matrix == "native"


@pytest.mark.parametrize("example", PACKAGES)
def test_a_provider_generates_and_validates_over_the_wire(example: str) -> None:
    frames = part_frames([Hello(core_protocol=1), GenerateRequest(schema=schema(job("make")))])
    rounds = {"PLUGHOST_HOOK_ROUND": "generate"}
    answers = converse(example, frames, rounds)
    info = PluginInfo.FromString(answers[0])
    assert info.name == load(example).name
    assert info.metadata["plughost.matrix"] == "native"
    made = GenerateResult.FromString(answers[1])
    assert (len(made.fragments), list(made.diagnostics)) == (1, [])
    assert made == generate(load(example), schema(job("make")))


def part_frames(messages: list[Any]) -> bytes:
    bodies = [each.SerializeToString() for each in messages]
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def converse(example: str, frames: bytes, env: dict[str, str]) -> list[bytes]:
    """Play the host: send everything, hang up, and return the answers."""
    done = subprocess.run(
        [sys.executable, "provider.py"],
        input=frames,
        capture_output=True,
        timeout=250,
        cwd=EXAMPLES / example,
        env={**os.environ, **env},
    )
    assert done.returncode == 0, done.stderr
    answers, rest = [], done.stdout
    while rest:
        size = int.from_bytes(rest[:4], "big")
        answers.append(rest[4 : 4 + size])
        rest = rest[4 + size :]
    return answers


@pytest.mark.parametrize("example", PACKAGES)
def test_the_handshake_waits_neither_for_protobuf_nor_for_yaml(example: str) -> None:
    code = (
        "import sys; import provider; print([x for x in ('ruamel', 'google.protobuf') if x in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=250,
        cwd=EXAMPLES / example,
        check=True,
    )
    assert done.stdout == "[]\n"


# What they write


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_sample_pipeline_gives_files_that_hold(provider: hook.Provider) -> None:
    from plughost.pipeline import read as read_pipeline

    pipeline = read_pipeline(ROOT / "src/plughost/bundled/hook/cigen.yml")
    for each in (pipeline.native, pipeline.expanded):
        made = generate(provider, each)
        assert [found for found in made.diagnostics if found.level != Diagnostic.LEVEL_INFO] == []
        assert made.fragments
        assert provider.answer("validate", ValidateRequest(rendered=made.fragments)) == ValidateResult()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_jobs_give_no_files_and_nothing_to_say(provider: hook.Provider) -> None:
    assert generate(provider, schema()) == GenerateResult()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_file_is_replaced_and_its_first_line_says_who_wrote_it(provider: hook.Provider) -> None:
    (fragment,) = generate(provider, schema(job("make"))).fragments
    assert (fragment.strategy, fragment.order, fragment.format) == (hook.REPLACE, 0, "yaml")
    assert provider.name in fragment.content.splitlines()[0]
    assert "plughost generate PROVIDER --schema FILE" in fragment.content
    assert fragment.content.endswith("\n")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_maps_in_another_order_give_the_same_bytes(provider: hook.Provider) -> None:
    names = [f"N{number}" for number in range(8)]

    def made(order: list[str]) -> bytes:
        texts = {name: f"value of {name}" for name in order}
        step = run("make", env=texts)
        rows = {name: MatrixValue(values=["a", "b"]) for name in order if name < "N3"}
        one = job(step, env=texts, matrix=rows, extra=dict.fromkeys(order, "1"), checkout=texts)
        return generate(provider, schema(one, variables=texts)).SerializeToString(deterministic=True)

    assert made(names) == made(names[::-1]) == made(names[3:] + names[:3])


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(max_examples=150)
@given(command=TEXTS.filter(str.strip), value=TEXTS, key=TEXTS.filter(bool))
def test_any_text_is_read_back_as_it_was_given(
    provider: hook.Provider, command: str, value: str, key: str
) -> None:
    result = generate(provider, schema(job(command, env={key: value})))
    assert errors(result) == []
    assert commands_and_env(provider, read(provider, result)) == ([command], {key: value})


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(max_examples=50)
@given(value=TEXTS)
@example(value="\n")
def test_a_parameter_of_a_command_is_a_text_and_nothing_more(provider: hook.Provider, value: str) -> None:
    write = part("github-actions", "yaml_writer").write
    call = custom("say", write({"what": value}))
    steps = [
        run("echo << parameters.what >>;"),
        uses("docker://x", **{"with": {"a": "=<< parameters.what >>"}}),
    ]
    command = CommandDefinition(parameters={"what": CommandParameter()}, steps=steps)
    result = generate(provider, schema(job(call, env={"A": "b"}), commands={"say": command}))
    made = read(provider, result)
    said, plugin = (made["jobs"]["test"]["steps"] if provider is GITHUB else made["steps"])[-2:]
    assert (said["run"] if provider is GITHUB else said["commands"][0]) == f"echo {value};"
    assert plugin["with" if provider is GITHUB else "settings"] == {"a": f"={value}"}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "name", ["../../x", "/etc/x", "..", ".hidden", "a/b", "a\\b", "-x", "x" * 300, "a\0b", "ä/b"]
)
def test_a_workflow_that_names_no_file_is_refused(provider: hook.Provider, name: str) -> None:
    result = generate(provider, schema(job("make", workflow=name)))
    assert list(result.fragments) == []
    assert len(errors(result)) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "yaml",
    [
        "a: [",
        "just a text that is none: of: those",
        "- a\n- list",
        "a: 1\na: 2",
        "!!python/object:os.system x",
        "a: &a [*a]",
        BOMB,
        "[" * 3000,
        "\0",
    ],
    ids=["unclosed", "colons", "list", "twice", "tag", "circle", "bomb", "deep", "nul"],
)
def test_a_workflow_with_yaml_that_is_none_is_refused_and_the_others_are_written(
    provider: hook.Provider, yaml: str
) -> None:
    workflows = [{"id": "bad", "yaml": yaml}]
    jobs = [job("make", id="a", workflow="bad"), job("make", id="b", workflow="good")]
    result = generate(provider, schema(*jobs, workflows=workflows))
    assert [each.path.partition("good")[1] for each in result.fragments] == ["good"]
    code = "GITHUB_GENERATE_ERROR" if provider is GITHUB else "WOODPECKER_GENERATE_ERROR"
    assert errors(result) == [code]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("call", "steps"),
    [
        pytest.param("", ["echo << parameters.what >>"], id="missing"),
        pytest.param("what: a\nwho: b", ["echo"], id="unknown"),
        pytest.param("what: [a]", ["echo"], id="list"),
        pytest.param("- what", ["echo"], id="no-mapping"),
        pytest.param("what: a", [custom("say", "what: b")], id="itself"),
    ],
)
def test_a_call_that_does_not_fit_its_command_is_refused(
    provider: hook.Provider, call: str, steps: list[Any]
) -> None:
    inner = [run(each) if isinstance(each, str) else each for each in steps]
    command = CommandDefinition(parameters={"what": CommandParameter()}, steps=inner)
    result = generate(provider, schema(job(custom("say", call)), commands={"say": command}))
    assert list(result.fragments) == []
    assert len(errors(result)) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_commands_call_commands_with_defaults(provider: hook.Provider) -> None:
    greet = CommandDefinition(
        parameters={
            "who": CommandParameter(default_yaml="world"),
            "how": CommandParameter(default_yaml="'3.10'"),
        },
        steps=[run("echo ${{ parameters.who }} << parameters.how >> << parameters.other >>")],
    )
    twice = CommandDefinition(
        parameters={"name": CommandParameter()},
        steps=[custom("greet", "who: << parameters.name >> & co"), custom("greet", "null")],
    )
    made = generate(
        provider,
        schema(job(custom("twice", "name: Ada"), env={"A": "b"}), commands={"greet": greet, "twice": twice}),
    )
    commands, _ = commands_and_env(provider, read(provider, made))
    assert commands == ["echo Ada & co 3.10 << parameters.other >>", "echo world 3.10 << parameters.other >>"]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("last", [[run("make")], []], ids=["steps", "nothing"])
def test_commands_that_multiply_are_stopped(provider: hook.Provider, last: list[Any]) -> None:
    commands = {f"c{number}": CommandDefinition(steps=[custom(f"c{number + 1}")] * 30) for number in range(6)}
    commands["c6"] = CommandDefinition(steps=last)
    assert len(errors(generate(provider, schema(job(custom("c0")), commands=commands)))) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("times", [2, 40])
def test_parameters_that_multiply_are_stopped_before_they_are_made(
    provider: hook.Provider, times: int
) -> None:
    def passed_on(number: int) -> Any:
        return custom(f"c{number}", "p: " + "<< parameters.p >>" * times)

    commands = {
        f"c{number}": CommandDefinition(parameters={"p": CommandParameter()}, steps=[passed_on(number + 1)])
        for number in range(6)
    }
    commands["c6"] = CommandDefinition(
        parameters={"p": CommandParameter()}, steps=[run("echo << parameters.p >>")]
    )
    result = generate(provider, schema(job(custom("c0", "p: " + "x" * 20_000)), commands=commands))
    assert (len(errors(result)), list(result.fragments)) == (1, [])


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("filled", [False, True], ids=["as-it-is", "filled"])
@pytest.mark.long
def test_commands_add_so_much_to_a_job_and_no_more(provider: hook.Provider, filled: bool, more: int) -> None:
    limit = part("github-actions", "commands").TEXT_LIMIT
    step = run("<< parameters.p >>") if filled else run("x")
    around = step.ByteSize() if filled else run("x" * limit).ByteSize() - limit
    text = "x" * (limit - around + more)
    command = CommandDefinition(
        parameters={"p": CommandParameter(default_yaml="a")}, steps=[step if filled else run(text)]
    )
    call = custom("long", f"p: {text}" if filled else "")
    result = generate(provider, schema(job(call), commands={"long": command}))
    assert bool(errors(result)) == (more > 0)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.long
def test_what_stands_in_a_job_itself_may_be_as_long_as_a_frame_holds(provider: hook.Provider) -> None:
    command = "x" * (2 * part("github-actions", "commands").TEXT_LIMIT)
    result = generate(provider, schema(job(command, env={"A": "b"})))
    assert commands_and_env(provider, read(provider, result))[0] == [command]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("workflows", [1, 20])
def test_files_that_no_frame_holds_are_an_error(provider: hook.Provider, workflows: int) -> None:
    long = CommandDefinition(steps=[run("x" * 1_000_000)])
    jobs = [job(custom("long"), id=f"j{n}", workflow=f"w{n % workflows}") for n in range(20)]
    request = GenerateRequest(schema=schema(*jobs, commands={"long": long}))
    name = next(each for each, package in PACKAGES.items() if load(each).name == provider.name)
    answers = converse(
        name, part_frames([Hello(core_protocol=1), request]), {"PLUGHOST_HOOK_ROUND": "generate"}
    )
    result = GenerateResult.FromString(answers[1])
    assert (len(errors(result)), list(result.fragments)) == (1, [])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_step_that_nobody_knows_is_left_out_with_a_warning(provider: hook.Provider) -> None:
    result = generate(provider, schema(job("make", custom("orb/thing", "a: 1"), env={"A": "b"})))
    assert commands_and_env(provider, read(provider, result))[0] == ["make"]
    (warning,) = result.diagnostics
    assert warning.code.endswith("_UNKNOWN_STEP")
    assert warning.fix_hint


@pytest.mark.parametrize("provider", PROVIDERS)
def test_raw_steps_of_another_provider_are_not_for_this_one(provider: hook.Provider) -> None:
    own = "github" if provider is GITHUB else "woodpecker"
    raw = {"github": "uses: actions/stale@v9", "woodpecker": "image: plugins/slack", "circleci": "run: x"}
    result = generate(provider, schema(job("make", *(custom(kind, text) for kind, text in raw.items()))))
    (made,) = files(result).values()
    steps = made["jobs"]["test"]["steps"] if provider is GITHUB else made["steps"]
    assert raw[own].partition(": ")[2] in (steps[-1].get("uses"), steps[-1].get("image"))
    assert not errors(result)
    assert len(steps) == (3 if provider is GITHUB else 2)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("content", ["a: [", "- a", "", "on: push\nname: x", "steps: []\njobs: {}"])
def test_a_file_that_is_none_is_found_by_validation(provider: hook.Provider, content: str) -> None:
    (path,) = (each.path for each in generate(provider, schema(job("make"))).fragments)
    result = provider.answer("validate", ValidateRequest(rendered=[hook.fragment(path, content)]))
    assert errors(result)
    assert all(each.loc.file == path for each in result.diagnostics)
    elsewhere = ValidateRequest(rendered=[hook.fragment("elsewhere.yml", content)])
    assert provider.answer("validate", elsewhere) == ValidateResult()


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("more", [0, 1])
def test_a_file_over_the_limit_is_said_not_to_be_validated(provider: hook.Provider, more: int) -> None:
    limit = part("github-actions", "validation").SIZE_LIMIT
    (path,) = (each.path for each in generate(provider, schema(job("make"))).fragments)
    rendered = [hook.fragment(path, "#" * (limit + more))]
    (found,) = provider.answer("validate", ValidateRequest(rendered=rendered)).diagnostics[:1]
    assert found.code.endswith("_NOT_VALIDATED") == bool(more)
    assert found.level == (Diagnostic.LEVEL_INFO if more else Diagnostic.LEVEL_ERROR)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_two_jobs_of_one_id_are_refused(provider: hook.Provider) -> None:
    result = generate(provider, schema(job("a"), job("b")))
    assert (len(errors(result)), list(result.fragments)) == (1, [])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_need_that_is_not_there_is_refused(provider: hook.Provider) -> None:
    assert len(errors(generate(provider, schema(job("a", needs=["ghost"]))))) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_two_services_of_one_name_are_refused(provider: hook.Provider) -> None:
    assert len(errors(generate(provider, schema(job("a", services=["redis:6", "redis:7"]))))) == 1
    assert errors(generate(provider, schema(job("a", services=["redis:7", "redis:7"])))) == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_keys_without_a_value_are_not_given(provider: hook.Provider) -> None:
    empty = [{"id": "ci", "yaml": "on:\nenv:\nwhen:\n"}]
    without = generate(provider, schema(job("make"))).fragments
    assert list(generate(provider, schema(job("make"), workflows=empty)).fragments) == list(without)
