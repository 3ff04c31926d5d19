"""The workflows for Woodpecker are what their schema asks for, and what they cannot be is said, never dropped."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from plughost_sdk.hook_messages import (
    Diagnostic,
    JobDefinition,
    MatrixRow,
    MatrixValue,
    PackageSpec,
    RestoreCacheStep,
    RunnerDefinition,
    SaveCacheStep,
    SkipConfig,
    Step,
    StringList,
    WorkflowCondition,
    WorkflowDefinition,
)

from tests.examples.hook_providers import (
    codes,
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

PROVIDER = load("woodpecker")
WHEN = [{"event": "pull_request"}, {"event": "push", "branch": "main"}]


def workflows(*jobs: JobDefinition, **fields: Any) -> dict[str, Any]:
    """Return the files that *jobs* give by name, having nothing else to say."""
    result = generate(PROVIDER, schema(*jobs, **fields))
    assert list(result.diagnostics) == []
    return {path.removeprefix(".woodpecker/"): made for path, made in files(result).items()}


def only(*steps: Step | str, with_schema: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    (made,) = workflows(job(*steps, **fields), **(with_schema or {})).values()
    assert isinstance(made, dict)
    return made


def warned(*jobs: JobDefinition, **fields: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the codes of what was said, each with a hint, and the files."""
    result = generate(PROVIDER, schema(*jobs, **fields))
    assert all(each.fix_hint for each in result.diagnostics)
    assert not errors(result)
    return codes(result), files(result)


def values(**lists: list[str]) -> dict[str, MatrixValue]:
    return {key: MatrixValue(values=each) for key, each in lists.items()}


# The file


def test_a_job_is_a_step_that_runs_for_pull_requests_and_main() -> None:
    assert workflows(job("make")) == {
        "ci.yaml": {"when": WHEN, "steps": [{"name": "test", "image": "ubuntu:24.04", "commands": ["make"]}]}
    }


def test_jobs_of_one_file_wait_for_what_they_need_and_for_nothing_else() -> None:
    jobs = [job("c", id="c", needs=["a", "b"]), job("a", id="a"), job("b", run("x", env={"A": "1"}), id="b")]
    result = generate(PROVIDER, schema(*jobs))
    assert codes(result, Diagnostic.LEVEL_WARNING) == []
    (made,) = files(result).values()
    waits = {step["name"]: step["depends_on"] for step in made["steps"]}
    assert waits == {"a": [], "b-1": [], "b-2": ["b-1"], "c": ["a", "b-2"]}


def test_a_matrix_multiplies_a_file_so_each_job_has_one() -> None:
    jobs = [
        job("lint", id="lint"),
        job(
            "test {{ matrix.py-thon }} ${PWD}",
            id="test",
            needs=["lint"],
            matrix=values(**{"py-thon": ["3.10", "3.12"]}),
        ),
        job("build", id="build", needs=["test"]),
        job("ship", id="ship", needs=["build", "lint"], workflow="release"),
    ]
    made = workflows(*jobs)
    assert list(made) == ["ci-build.yaml", "ci-lint.yaml", "ci-test.yaml", "release.yaml"]
    assert {name: each.get("depends_on") for name, each in made.items()} == {
        "ci-build.yaml": ["ci-test"],
        "ci-lint.yaml": None,
        "ci-test.yaml": ["ci-lint"],
        "release.yaml": ["ci-build", "ci-lint"],
    }
    assert made["ci-test.yaml"]["matrix"] == {"py_thon": ["3.10", "3.12"]}
    assert made["ci-test.yaml"]["steps"][0]["commands"] == ["test ${py_thon} $${PWD}"]


def test_a_value_of_the_matrix_is_put_between_quotes() -> None:
    (fragment,) = generate(
        PROVIDER, schema(job("make", env={"A": "${{ matrix.v }}"}, matrix=values(v=["3.10"])))
    ).fragments
    assert '\n      A: "${v}"\n' in fragment.content


@pytest.mark.parametrize(
    ("lists", "listed"),
    [({"a": 10, "b": 2}, True), ({"a": 11}, False), ({"a": 5, "b": 5}, True), ({"a": 9, "b": 3}, False)],
    ids=["most", "long-list", "most-rows", "many-rows"],
)
def test_lists_are_written_only_as_far_as_woodpecker_multiplies_them(
    lists: dict[str, int], listed: bool
) -> None:
    matrix = values(**{key: [str(number) for number in range(count)] for key, count in lists.items()})
    assert ("include" not in only("make", matrix=matrix)["matrix"]) == listed


@pytest.mark.parametrize("count", [64, 65])
def test_a_matrix_has_as_many_rows_as_woodpecker_takes(count: int) -> None:
    rows = [MatrixRow(values={"n": str(number)}) for number in range(count)]
    assert bool(errors(generate(PROVIDER, schema(job("make", matrix_rows=rows))))) == (count > 64)


@pytest.mark.parametrize(
    "jobs",
    [
        [job("x", id="a", needs=["b"]), job("x", id="b", needs=["a"])],
        [job("x", id="a", needs=["b"]), job("x", id="b", needs=["c"], workflow="w"), job("x", id="c")],
        [job("x", id="a b", matrix=values(v=["1"])), job("x", id="a/b")],
        [job("x", id="a", matrix=values(v=["1"])), job("x", id="b", workflow="ci-a")],
        [job("x", id="x" * 300, matrix=values(v=["1"]))],
        [job("x", matrix=values(**{"a-b": ["1"], "a.b": ["2"]}))],
    ],
    ids=["circle", "circle-of-files", "same-file", "file-of-another", "long", "same-variable"],
)
def test_jobs_that_cannot_be_arranged_are_refused(jobs: list[JobDefinition]) -> None:
    result = generate(PROVIDER, schema(*jobs))
    assert errors(result) == ["WOODPECKER_GENERATE_ERROR"]
    assert list(result.fragments) == []


def test_a_job_of_which_nothing_can_run_is_left_out_and_its_needs_are_waited_for() -> None:
    jobs = [
        job("a", id="a", workflow="one"),
        job(uses("actions/stale@v9"), id="b", needs=["a"], workflow="two"),
        job("c", id="c", needs=["b"], workflow="three"),
    ]
    found, made = warned(*jobs)
    assert found == ["WOODPECKER_USES", "WOODPECKER_EMPTY_JOB"]
    assert list(made) == [".woodpecker/one.yaml", ".woodpecker/three.yaml"]
    assert made[".woodpecker/three.yaml"]["depends_on"] == ["one"]


@pytest.mark.parametrize(
    ("yaml", "when"),
    [
        ("when: {event: cron}", [{"event": "cron"}]),
        ("on: push", [{"event": "push"}]),
        ("on: {push: {tags: v1}}", [{"event": "tag", "ref": ["refs/tags/v1"]}]),
        ("on: [push, workflow_dispatch]", [{"event": "push"}, {"event": "manual"}]),
        ("on: {push: {branches: [a], paths: [b]}}", [{"event": "push", "branch": ["a"], "path": ["b"]}]),
        ("on: {push: {tags: ['v*']}}", [{"event": "tag", "ref": ["refs/tags/v*"]}]),
        (
            "on: {push: {tags: [v1], branches: [a]}, pull_request: }",
            [
                {"event": "tag", "ref": ["refs/tags/v1"]},
                {"event": "push", "branch": ["a"]},
                {"event": "pull_request"},
            ],
        ),
    ],
)
def test_a_workflow_starts_when_it_says_in_woodpeckers_words_or_githubs(yaml: str, when: list[Any]) -> None:
    assert only("make", with_schema={"workflows": [WorkflowDefinition(id="ci", yaml=yaml)]})["when"] == when


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"kind": 2, "key": "GO", "equals_yaml": "true"}, 'GO == "true"'),
        ({"kind": 3, "key": "GO"}, '(GO ?? "") != ""'),
        (
            {"kind": 4, "expression": "${{ github.ref_name == 'x' && vars.Y }}"},
            "CI_COMMIT_BRANCH == 'x' && Y",
        ),
        ({"kind": 4, "expression": "x", "provider": "github"}, None),
    ],
    ids=["variable", "env", "expression", "not-ours"],
)
def test_a_condition_of_a_workflow_is_evaluated_for_every_event(
    condition: dict[str, Any], expected: str | None
) -> None:
    definition = WorkflowDefinition(id="ci", run_when=[WorkflowCondition(**condition)])
    made = only("make", with_schema={"workflows": [definition]})
    assert [each.get("evaluate") for each in made["when"]] == [expected, expected]


def test_what_woodpecker_has_no_word_for_is_said_with_a_hint() -> None:
    yaml = "on: {issues: , pull_request: {types: [opened]}}\nname: X\norbs: 1\nlabels: {a: b}"
    definition = WorkflowDefinition(id="ci", yaml=yaml, run_when=[WorkflowCondition(kind=1, key="go")])
    found, made = warned(
        job(
            "make",
            checkout={"fetch-depth": "0"},
            extra={"timeout-minutes": "5", "continue-on-error": "true"},
            runner="bare",
        ),
        workflows=[definition],
        runners={"bare": RunnerDefinition()},
    )
    assert sorted(found) == [
        "WOODPECKER_CHECKOUT",
        "WOODPECKER_CONDITION",
        "WOODPECKER_EVENT",
        "WOODPECKER_EVENT",
        "WOODPECKER_JOB_KEY",
        "WOODPECKER_RUNNER",
        "WOODPECKER_WORKFLOW_KEY",
        "WOODPECKER_WORKFLOW_KEY",
    ]
    (file,) = made.values()
    assert file["when"] == [{"event": "pull_request", "evaluate": "false"}]
    assert file["labels"] == {"a": "b"}
    assert file["steps"][0]["failure"] == "ignore"


def test_a_workflow_that_nothing_here_starts_is_started_by_hand() -> None:
    found, made = warned(job("make"), workflows=[WorkflowDefinition(id="ci", yaml="on: [issues, {a: b}]")])
    assert found == ["WOODPECKER_EVENT"] * 2
    assert made[".woodpecker/ci.yaml"]["when"] == [{"event": "manual"}]


# Steps


def test_commands_that_share_environment_and_condition_share_a_container() -> None:
    steps = [run("a", name="A"), run("b"), run("c", env={"X": "1"}), run("d", **{"if": "always()"}), run("e")]
    result = generate(PROVIDER, schema(job(*steps, env={"E": "1"}), variables={"V": "2", "E": "0"}))
    assert codes(result) == ["WOODPECKER_CONTAINERS"]
    (made,) = files(result).values()
    assert [step["commands"] for step in made["steps"]] == [["a", "b"], ["c"], ["d"], ["e"]]
    assert [step["name"] for step in made["steps"]] == ["test-A", "test-2", "test-3", "test-4"]
    assert made["steps"][1]["environment"] == {"E": "1", "V": "2", "X": "1"}
    assert [step.get("when") for step in made["steps"]] == [
        None,
        None,
        [{"status": ["success", "failure"]}],
        None,
    ]


@pytest.mark.parametrize(
    "step",
    [
        Step(),
        Step(restore_cache=RestoreCacheStep(name="pip")),
        Step(save_cache=SaveCacheStep(name="pip")),
        uses("actions/setup-python@v5"),
        run("echo ${{ github.sha }}"),
        run("x", env={"A": "${{ github.sha }}"}),
        run("x", **{"if": "startsWith(github.ref, 'x')"}),
        run("x", **{"if": "needs.a.outputs.b"}),
    ],
    ids=["empty", "restore", "save", "uses", "expression", "env", "function", "context"],
)
def test_a_step_that_means_nothing_here_is_said_with_a_hint(step: Step) -> None:
    found, _ = warned(job("make", step))
    assert len([code for code in found if code != "WOODPECKER_CONTAINERS"]) == 1


def test_a_secret_comes_from_woodpeckers() -> None:
    made = only(
        run("make", env={"TOKEN": "${{ secrets.API_TOKEN }}"}),
        uses(
            "docker://plugins/slack",
            name="Tell",
            **{"with": {"hook": "${{ secrets.HOOK }}", "n": "3", "v": "'3.10'"}},
        ),
    )
    assert made["steps"][0]["environment"] == {"TOKEN": {"from_secret": "api_token"}}
    assert made["steps"][1] == {
        "name": "test-Tell",
        "image": "plugins/slack",
        "settings": {"hook": {"from_secret": "hook"}, "n": 3, "v": "3.10"},
    }


def test_a_checkout_is_woodpeckers_own_business() -> None:
    assert len(only(uses("actions/checkout@v4"), custom("checkout"), "make")["steps"]) == 1


def test_a_raw_step_needs_an_image() -> None:
    assert len(errors(generate(PROVIDER, schema(job(custom("woodpecker", "commands: [x]")))))) == 1
    made = only(custom("woodpecker", "name: n\nimage: i\nwhen: {evaluate: a}"), extra={"if": "b"})
    assert made["steps"] == [{"name": "test", "image": "i", "when": [{"evaluate": "(b) && (a)"}]}]
    made = only(custom("woodpecker", "image: i\nwhen: [{event: tag}, {evaluate: a}]"), extra={"if": "b"})
    assert made["steps"][0]["when"] == [{"evaluate": "b", "event": "tag"}, {"evaluate": "(b) && (a)"}]


def test_files_that_did_not_change_skip_every_step() -> None:
    skip = SkipConfig(paths_unmodified=["lib/"], env=["SKIP"], branch=["old", "wip/*"])
    made = only(
        "make",
        skip_if=skip,
        source_files=["@py", "./a"],
        with_schema={"source_file_groups": {"py": StringList(values=["*.py"])}},
    )
    of_pull_request, otherwise = made["steps"][0]["when"]
    skip_env = (
        '((SKIP ?? "") == "") && (CI_COMMIT_BRANCH != "old") && (not (CI_COMMIT_BRANCH startsWith "wip/"))'
    )
    assert of_pull_request == {
        "event": "pull_request",
        "path": {"include": ["*.py", "a", "lib/**"], "on_empty": True},
        "evaluate": skip_env,
    }
    # After a red push, one of other files must not skip what was red.
    assert otherwise == {"evaluate": f'(CI_PIPELINE_EVENT != "pull_request") && ({skip_env})'}


@pytest.mark.parametrize(
    ("one", "other", "refused"),
    [
        ("on: push", "on: workflow_dispatch", True),
        ("on: push", "on: {push: {tags: [v1]}}", True),
        ("on: push", "on: [push, workflow_dispatch]", False),
        ("when: {event: [push, manual]}", "on: workflow_dispatch", False),
        ("when: {branch: main}", "on: workflow_dispatch", False),
        ("", "on: pull_request", False),
    ],
)
def test_a_file_that_can_never_run_with_what_it_waits_for_is_an_error(
    one: str, other: str, refused: bool
) -> None:
    definitions = [WorkflowDefinition(id="one", yaml=one), WorkflowDefinition(id="other", yaml=other)]
    jobs = [job("a", id="a", workflow="one"), job("b", id="b", needs=["a"], workflow="other")]
    result = generate(PROVIDER, schema(*jobs, workflows=definitions))
    assert codes(result) == errors(result) == (["WOODPECKER_NEEDS"] if refused else [])


@pytest.mark.parametrize(
    ("own", "warned_of"),
    [
        ({}, ["WOODPECKER_NEEDS"]),
        ({"skip_if": SkipConfig(branch=["docs"]), "extra": {"if": "A"}}, []),
        ({"skip_if": SkipConfig(branch=["docs"])}, ["WOODPECKER_NEEDS"]),
    ],
    ids=["nothing", "the-same", "half"],
)
def test_a_job_that_runs_where_its_need_is_skipped_is_said(own: dict[str, Any], warned_of: list[str]) -> None:
    first = job("a", id="a", skip_if=SkipConfig(branch=["docs"]), extra={"if": "A"})
    assert warned(first, job("b", id="b", needs=["a"], **own))[0] == warned_of


def test_what_only_takes_time_or_is_another_providers_is_no_warning() -> None:
    extra = {"timeout-minutes": "5", "gitlab": "artifacts: {}", "github": "x: 1"}
    steps = [Step(save_cache=SaveCacheStep(name="pip")), run("make")]
    result = generate(PROVIDER, schema(job(*steps, extra=extra, stage="check")))
    assert codes(result) == codes(result, Diagnostic.LEVEL_INFO)
    assert sorted(codes(result)) == ["WOODPECKER_CACHE", "WOODPECKER_JOB_KEY", "WOODPECKER_STAGE"]


# Images and services


@pytest.mark.parametrize(
    ("fields", "image"),
    [
        ({"image": "node:22"}, "node:22"),
        ({"image": "ubuntu-22.04"}, "ubuntu:22.04"),
        ({"packages": ["python@3.12"]}, "python:3.12"),
        ({"packages": ["pnpm"]}, "node:lts"),
        ({"packages": ["python"], "image": "ubuntu-latest"}, "python:3"),
        ({"packages": ["go"], "image": "golang:1.23"}, "golang:1.23"),
        ({"packages": ["python"], "matrix": values(python=["3.12"])}, "python:${python}"),
        ({"runner": "arm"}, "debian:13"),
        ({}, "alpine:3"),
    ],
)
def test_a_job_runs_in_its_image_or_in_that_of_its_language(fields: dict[str, Any], image: str) -> None:
    runners = {
        "arm": RunnerDefinition(
            provider_config={"woodpecker": "image: debian:13\nlabels: {platform: linux/arm64}"}
        )
    }
    made = only(
        "make",
        with_schema={"runners": runners, "provider_config": {"woodpecker": "image: alpine:3"}},
        **fields,
    )
    assert made["steps"][0]["image"] == image
    assert made.get("labels") == ({"platform": "linux/arm64"} if "runner" in fields else None)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"image": "macos-14"}, "WOODPECKER_IMAGE"),
        ({"image": "${{ matrix.os }}", "matrix": values(os=["windows-2022"])}, "WOODPECKER_IMAGE"),
        ({"packages": ["python", "node"]}, "WOODPECKER_PACKAGE"),
        ({"packages": ["cobol"]}, "WOODPECKER_PACKAGE"),
        ({"services": ["oddity"]}, "WOODPECKER_SERVICE"),
    ],
)
def test_an_image_that_may_lack_something_is_said(fields: dict[str, Any], code: str) -> None:
    assert warned(job("make", **fields))[0] == [code]


def test_packages_of_the_system_are_installed_first_in_each_container() -> None:
    specs = [PackageSpec(name=name, manager="apt") for name in ("make", "it's; x")]
    result = generate(PROVIDER, schema(job("a", run("b", env={"X": "1"}), package_specs=specs)))
    (made,) = files(result).values()
    install = "apt-get install --yes --no-install-recommends"
    for step in made["steps"]:
        update, installed = step["commands"][:2]
        assert update == "apt-get update"
        assert shlex.split(installed) == [*install.split(), "make", "it's; x"]


def test_services_run_beside_each_once() -> None:
    services = "db:\n  image: postgres:16\n  env: {A: 1}\n  ports: ['5432:5432']\n"
    jobs = [job("x", id="a", services=["db", "mysql:8"]), job("x", id="b", services=["db"])]
    (made,) = workflows(*jobs, provider_config={"services": services}).values()
    assert made["services"] == [
        {"name": "db", "image": "postgres:16", "environment": {"A": "1"}, "ports": ["5432"]},
        {"name": "mysql", "image": "mysql:8", "environment": {"MYSQL_ALLOW_EMPTY_PASSWORD": "yes"}},
    ]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("$HOME", "$HOME"),
        ("${HOME}", "$${HOME}"),
        ("a $$ b", "a $$$$ b"),
        ("$${A}", "$$$${A}"),
        ("$", "$$"),
        ("$${{ matrix.v }}", "$$${v}"),
        ("${{ matrix.w }}", "$${{ matrix.w }}"),
        ("{{ matrix.v }}{{ v }}", "${v}{{ v }}"),
    ],
)
def test_only_what_woodpecker_shall_substitute_has_one_dollar(text: str, written: str) -> None:
    assert part("woodpecker", "substitution").writer(["v"])(text) == written


@pytest.mark.parametrize(
    "content",
    [
        "steps: [{name: a, commands: [x]}]",
        "steps: [{name: a, image: x, depends_on: [b]}]",
        "steps: {a: {image: x}}",
        "when: []",
    ],
    ids=["no-image", "depends", "mapping", "no-steps"],
)
def test_validation_finds_one_thing_that_woodpecker_would_refuse(content: str) -> None:
    assert len(list(part("woodpecker", "validation").problems(content))) == 1
