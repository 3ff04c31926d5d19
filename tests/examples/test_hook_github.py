"""The workflows for GitHub Actions are what their schema asks for, in words that GitHub takes."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from plughost_sdk import hook
from plughost_sdk.hook_messages import (
    CacheDefinition,
    DetectRequest,
    DetectResult,
    Diagnostic,
    FileChange,
    GenerateResult,
    JobDefinition,
    MatrixRow,
    MatrixValue,
    PackageSpec,
    PreflightRequest,
    PreflightResult,
    RepoSnapshot,
    RepoState,
    RestoreCacheStep,
    RunnerDefinition,
    SaveCacheStep,
    SkipConfig,
    Step,
    StringList,
    ValidateRequest,
    WorkflowCondition,
    WorkflowDefinition,
)
from ruamel.yaml import YAML

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

PROVIDER = load("github-actions")
UNCHANGED = "steps.unchanged.outputs.cache-hit != 'true'"


def workflow(*jobs: JobDefinition, **fields: Any) -> dict[str, Any]:
    """Return the one workflow that *jobs* give, having nothing else to say."""
    result = generate(PROVIDER, schema(*jobs, **fields))
    assert list(result.diagnostics) == []
    (made,) = files(result).values()
    assert isinstance(made, dict)
    return made


def only(*steps: Step | str, with_schema: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    (made,) = workflow(job(*steps, **fields), **(with_schema or {}))["jobs"].values()
    assert isinstance(made, dict)
    return made


def warned(*jobs: JobDefinition, **fields: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the codes of the warnings, each with a hint, and the one workflow."""
    result = generate(PROVIDER, schema(*jobs, **fields))
    assert all(each.fix_hint for each in result.diagnostics)
    (made,) = files(result).values()
    return codes(result, Diagnostic.LEVEL_WARNING), made


# The workflow


def test_a_workflow_runs_for_pull_requests_and_main_and_may_read_only() -> None:
    made = workflow(job("make"))
    assert list(made) == ["name", "on", "permissions", "concurrency", "jobs"]
    assert made["name"] == "CI"
    assert made["on"] == {"pull_request": {}, "push": {"branches": ["main"]}}
    assert made["permissions"] == {"contents": "read"}
    assert made["concurrency"] == {
        "group": "ci-${{ github.event_name == 'pull_request' && github.ref || github.run_id }}",
        "cancel-in-progress": "${{ github.event_name == 'pull_request' }}",
    }
    assert made["jobs"] == {
        "test": {
            "runs-on": "ubuntu-latest",
            "steps": [{"name": "Check out", "uses": "actions/checkout@v4"}, {"run": "make"}],
        }
    }


def test_the_key_on_is_plain_and_a_text_for_readers_of_yaml_1_2() -> None:
    (fragment,) = generate(PROVIDER, schema(job("make", env={"on": "on"}))).fragments
    assert "\non:\n" in fragment.content
    assert '\n      "on": "on"\n' in fragment.content
    assert "on" in YAML(typ="safe", pure=True).load(fragment.content)


def test_jobs_are_grouped_by_workflow_and_keep_their_order() -> None:
    jobs = [job("make", id="z"), job("make", id="a"), job("make", id="d", workflow="deploy")]
    made = files(generate(PROVIDER, schema(*jobs)))
    assert list(made) == [".github/workflows/ci.yml", ".github/workflows/deploy.yml"]
    assert list(made[".github/workflows/ci.yml"]["jobs"]) == ["z", "a"]


def test_a_workflow_says_in_its_own_words_what_it_wants_otherwise() -> None:
    yaml = "name: Night\non:\n  schedule:\n    - cron: '0 3 * * *'\npermissions: {}\nenv: {LEVEL: 3.10}\njobs: {}\n"
    made = workflow(
        job("make"),
        variables={"LEVEL": "1", "LANG": "C"},
        workflows=[WorkflowDefinition(id="ci", yaml=yaml)],
        provider_config={"github": "name: Shared\nrun-name: by ${{ github.actor }}"},
    )
    assert list(made) == ["name", "run-name", "on", "permissions", "concurrency", "env", "jobs"]
    assert (made["name"], made["permissions"]) == ("Night", {})
    assert made["on"] == {"schedule": [{"cron": "0 3 * * *"}]}
    assert made["env"] == {"LANG": "C", "LEVEL": "3.10"}


@pytest.mark.parametrize("on", ["workflow_call", "[push, workflow_call]", "{workflow_call: {inputs: {}}}"])
def test_a_workflow_that_others_call_is_in_no_group_but_its_own(on: str) -> None:
    def made(yaml: str) -> dict[str, Any]:
        return workflow(job("make"), workflows=[WorkflowDefinition(id="ci", yaml=yaml)])

    assert "concurrency" not in made(f"on: {on}")
    assert made(f"on: {on}\nconcurrency: mine")["concurrency"] == "mine"


def test_a_key_that_github_would_refuse_is_left_out_with_a_warning() -> None:
    jobs = [job("make", extra={"stages": "1", "timeout_minutes": "15", "continue-on-error": "true"})]
    found, made = warned(*jobs, workflows=[WorkflowDefinition(id="ci", yaml="orbs: {}")])
    assert found == ["GITHUB_WORKFLOW_KEY", "GITHUB_JOB_KEY"]
    assert "orbs" not in made
    assert (made["jobs"]["test"]["timeout-minutes"], made["jobs"]["test"]["continue-on-error"]) == (15, True)
    assert "stages" not in made["jobs"]["test"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        pytest.param({"kind": 1, "key": "go"}, "inputs.go", id="parameter"),
        pytest.param({"kind": 1, "key": "go", "equals_yaml": "true"}, "inputs.go == true", id="typed"),
        pytest.param({"kind": 1, "key": "go", "equals_yaml": "'3'"}, "inputs.go == '3'", id="text"),
        pytest.param({"kind": 2, "key": "GO", "equals_yaml": "true"}, "vars.GO == 'true'", id="variable"),
        pytest.param({"kind": 2, "key": "GO", "equals_yaml": "it's"}, "vars.GO == 'it''s'", id="quoted"),
        pytest.param({"kind": 4, "expression": "${{ a || b }}"}, "a || b", id="expression"),
        pytest.param({"kind": 4, "expression": "x", "provider": "circleci"}, None, id="not-ours"),
    ],
)
def test_a_condition_of_a_workflow_is_the_if_of_its_jobs(
    condition: dict[str, Any], expected: str | None
) -> None:
    workflows = [WorkflowDefinition(id="ci", run_when=[WorkflowCondition(**condition)])]
    made = workflow(job("make"), workflows=workflows)
    assert made["jobs"]["test"].get("if") == expected
    assert ("workflow_dispatch" in made["on"]) == (condition["kind"] == 1)


@pytest.mark.parametrize(
    "condition", [{"kind": 2, "key": "no name"}, {"kind": 0, "key": "A"}, {"kind": 99, "key": "A"}]
)
def test_a_condition_that_cannot_be_written_never_holds(condition: dict[str, Any]) -> None:
    workflows = [WorkflowDefinition(id="ci", run_when=[WorkflowCondition(**condition)])]
    found, made = warned(job("make"), workflows=workflows)
    assert found == ["GITHUB_CONDITION"]
    assert made["jobs"]["test"]["if"] == "false"


def test_all_conditions_have_to_hold_each_in_its_parentheses() -> None:
    conditions = [WorkflowCondition(kind=4, expression="a || b"), WorkflowCondition(kind=2, key="V")]
    one = job(
        "make", skip_if=SkipConfig(env=["SKIP", "MODE=fast"], branch=["old", "wip/*"]), extra={"if": "c"}
    )
    made = workflow(one, workflows=[WorkflowDefinition(id="ci", run_when=conditions)])
    branch = "(github.head_ref || github.ref_name)"
    skip = f"(vars.SKIP == '') && (vars.MODE != 'fast') && ({branch} != 'old') && (!startsWith({branch}, 'wip/'))"
    assert made["jobs"]["test"]["if"] == f"((a || b) && (vars.V)) && ({skip}) && (c)"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"skip_if": SkipConfig(branch=["a*b"])}, "GITHUB_SKIP_IF"),
        ({"skip_if": SkipConfig(env=["no name"])}, "GITHUB_SKIP_IF"),
        ({"packages": ["cobol"]}, "GITHUB_PACKAGE"),
        ({"extra": {"strategy": "max-parallel: 2"}}, "GITHUB_STRATEGY"),
        ({"services": ["oddity"]}, "GITHUB_SERVICE"),
        ({"runner": "bare"}, "GITHUB_RUNNER"),
        ({"extra": {"uses": "./.github/workflows/other.yml"}}, "GITHUB_JOB_USES"),
    ],
)
def test_what_cannot_be_done_is_said_with_a_hint(fields: dict[str, Any], code: str) -> None:
    found, _ = warned(job("make", **fields), runners={"bare": RunnerDefinition()})
    assert found == [code]


@pytest.mark.parametrize(
    "step", [Step(), run(" \n"), uses("no-version"), uses("a/b@~1"), uses("lang/cobol@1")]
)
def test_a_step_that_github_cannot_run_is_left_out_with_a_warning(step: Step) -> None:
    found, made = warned(job("make", step))
    assert len(found) == 1
    assert [each.get("run") for each in made["jobs"]["test"]["steps"]] == [None, "make"]


# Jobs


def test_job_ids_are_made_fit_and_needs_follow() -> None:
    names = ["3.10", "a b", "a_b", "a.b", "ä", "x" * 200]
    jobs = [job("make", id=name, needs=names[:at]) for at, name in enumerate(names)]
    made = workflow(*jobs)["jobs"]
    assert [each.get("name", key) for key, each in made.items()] == names
    assert list(made)[:5] == ["_3_10", "a_b_2", "a_b", "a_b_3", "_"]
    assert all(len(key) <= 100 for key in made)
    assert made[list(made)[5]]["needs"] == list(made)[:5]


def test_a_need_in_another_workflow_is_an_error_and_no_file_loses_its_guard() -> None:
    result = generate(PROVIDER, schema(job("a", id="a"), job("b", id="b", needs=["a"], workflow="other")))
    assert codes(result) == errors(result) == ["GITHUB_NEEDS"]
    assert list(files(result)) == [".github/workflows/ci.yml"]


def test_a_stage_is_said_to_be_left_out_once() -> None:
    result = generate(PROVIDER, schema(*(job("make", id=name, stage="check") for name in "ab")))
    assert codes(result, Diagnostic.LEVEL_INFO) == codes(result) == ["GITHUB_STAGE"]


def test_what_a_job_says_to_another_provider_is_none_of_githubs() -> None:
    assert only("make", extra={"gitlab": "artifacts: {paths: [a]}", "woodpecker": "x: 1"}) == only("make")


@pytest.mark.parametrize(
    ("runner", "image", "expected"),
    [
        ("", "", {"runs-on": "ubuntu-latest"}),
        ("", "macos-14", {"runs-on": "macos-14"}),
        ("", "${{ matrix.os }}", {"runs-on": "${{ matrix.os }}"}),
        ("", "ubuntu:24.04", {"runs-on": "ubuntu-latest", "container": {"image": "ubuntu:24.04"}}),
        ("", "ghcr.io/ubuntu/x", {"runs-on": "ubuntu-latest", "container": {"image": "ghcr.io/ubuntu/x"}}),
        ("big", "node:22", {"runs-on": ["self-hosted", "big"], "container": {"image": "node:22"}}),
        ("word", "", {"runs-on": "gpu"}),
        ("flat", "", {"runs-on": "windows-2022"}),
        ("a-label", "", {"runs-on": "a-label"}),
    ],
)
def test_runner_and_image_say_where_a_job_runs(runner: str, image: str, expected: dict[str, Any]) -> None:
    runners = {
        "big": RunnerDefinition(provider_config={"github": "runs_on: [self-hosted, big]"}),
        "word": RunnerDefinition(provider_config={"github": "gpu"}),
        "flat": RunnerDefinition(provider_config={"runs-on": "windows-2022"}),
    }
    made = only("make", runner=runner, image=image, with_schema={"runners": runners})
    assert {key: made[key] for key in made if key != "steps"} == expected


def values(**lists: list[str]) -> dict[str, MatrixValue]:
    return {key: MatrixValue(values=each) for key, each in lists.items()}


def rows(*given: dict[str, str]) -> list[MatrixRow]:
    return [MatrixRow(values=each) for each in given]


def test_a_product_is_written_as_lists_of_texts_and_every_row_may_finish() -> None:
    lists = {"os": ["a", "b"], "python": ["3.10", "3.12"]}
    every = rows(*({"os": os, "python": python} for python in lists["python"] for os in lists["os"]))
    for given in ([], every, every[::-1]):
        made = only("make", matrix=values(**lists), matrix_rows=given, extra={"max_parallel": "2"})
        assert made["strategy"] == {"fail-fast": False, "max-parallel": 2, "matrix": lists}


def test_rows_that_are_no_product_are_written_one_by_one() -> None:
    given = rows({"os": "a", "python": "3.10"}, {"os": "b", "python": "3.12"})
    made = only("make", matrix=values(os=["a", "b"], python=["3.10", "3.12"]), matrix_rows=given)
    assert made["strategy"]["matrix"] == {"include": [dict(each.values) for each in given]}


@pytest.mark.parametrize("count", [256, 257])
def test_a_matrix_has_as_many_rows_as_github_takes(count: int) -> None:
    given = rows(*({"n": str(number)} for number in range(count)))
    assert bool(errors(generate(PROVIDER, schema(job("make", matrix_rows=given))))) == (count > 256)


def test_the_note_of_a_row_that_the_host_expanded_is_no_matrix() -> None:
    assert "strategy" not in only("make", matrix_rows=rows({"os": "a"}))
    assert "strategy" in only("make ${{ matrix.os }}", matrix_rows=rows({"os": "a"}))


def test_both_spellings_of_a_matrix_value_are_githubs_and_no_other_braces_are_touched() -> None:
    command = "make {{ matrix.os }} ${{ matrix.os }} {{ matrix.other }} {{ os }}"
    made = only(command, matrix=values(os=["a"]), image="x:{{matrix.os}}")
    expected = "make ${{ matrix.os }} ${{ matrix.os }} {{ matrix.other }} {{ os }}"
    assert made["steps"][-1]["run"] == expected
    assert made["container"] == {"image": "x:${{ matrix.os }}"}


# Services, packages and caches


def test_a_known_service_is_ready_and_reachable_without_being_told() -> None:
    services = (
        "db:\n  image: postgres:16\n  environment:\n    POSTGRES_PASSWORD: 0123\n  ports: 5432\nq: 'nats:2'\n"
    )
    made = only(
        "make",
        services=["db", "q", "redis:7", "postgresql"],
        with_schema={"provider_config": {"services": services}},
    )
    assert list(made["services"]) == ["db", "q", "redis", "postgresql"]
    assert made["services"]["db"]["env"] == {"POSTGRES_PASSWORD": "0123"}
    assert made["services"]["db"]["ports"] == ["5432:5432"]
    assert "pg_isready" in made["services"]["db"]["options"]
    assert made["services"]["q"] == {"image": "nats:2"}
    assert made["services"]["redis"]["image"] == "redis:7"
    assert made["services"]["postgresql"]["image"] == "postgres:latest"
    assert made["services"]["postgresql"]["env"] == {"POSTGRES_HOST_AUTH_METHOD": "trust"}


@pytest.mark.parametrize("services", ["db: [1]", "db: {", "- db"])
def test_services_that_are_none_are_refused(services: str) -> None:
    result = generate(PROVIDER, schema(job("make", services=["db"]), provider_config={"services": services}))
    assert errors(result) == ["GITHUB_GENERATE_ERROR"]


@pytest.mark.parametrize(
    ("spec", "action", "inputs"),
    [
        ({"name": "python"}, "actions/setup-python@v5", {"python-version": "3.x"}),
        (
            {"name": "python", "path": "."},
            "actions/setup-python@v5",
            {"python-version": "3.x", "cache": "pip"},
        ),
        (
            {"name": "python", "manager": "poetry", "path": "."},
            "actions/setup-python@v5",
            {"python-version": "3.x"},
        ),
        (
            {"name": "python", "manager": "uv", "version": "3.10"},
            "actions/setup-python@v5",
            {"python-version": "3.10"},
        ),
        (
            {"name": "nodejs", "version": "22"},
            "actions/setup-node@v4",
            {"node-version": "22"},
        ),
        (
            {"name": "yarn", "path": "./web/"},
            "actions/setup-node@v4",
            {"node-version": "lts/*", "cache": "yarn", "cache-dependency-path": "web/yarn.lock"},
        ),
        ({"name": "ruby", "path": "."}, "ruby/setup-ruby@v1", {"bundler-cache": True}),
        ({"name": "golang"}, "actions/setup-go@v5", {"go-version": "stable"}),
        (
            {"name": "java", "manager": "gradle", "extra": {"distribution": "zulu", "cache": "gradle"}},
            "actions/setup-java@v4",
            {"java-version": "21", "distribution": "zulu", "cache": "gradle"},
        ),
    ],
)
def test_a_language_is_set_up_by_its_action(
    spec: dict[str, Any], action: str, inputs: dict[str, Any]
) -> None:
    step = only("make", package_specs=[PackageSpec(**spec)])["steps"][1]
    assert (step["uses"], step["with"]) == (action, inputs)


@pytest.mark.parametrize(
    ("package", "groups", "expected"),
    [
        (
            "python",
            ["src/**", "./pyproject.toml", "a/requirements-dev.txt"],
            "pyproject.toml\na/requirements-dev.txt",
        ),
        ("npm", ["web/package-lock.json", "!package-lock.json"], "web/package-lock.json"),
        ("npm", ["yarn.lock", "package.json", "src/*.js"], None),
    ],
    ids=["python", "npm", "another-manager"],
)
def test_a_cache_is_asked_for_only_where_the_schema_shows_the_files_of_it(
    package: str, groups: list[str], expected: str | None
) -> None:
    more = {"source_file_groups": {"files": StringList(values=groups)}}
    inputs = only("make", packages=[package], with_schema=more)["steps"][1]["with"]
    assert inputs.get("cache-dependency-path") == expected
    assert ("cache" in inputs) == (expected is not None)


def test_the_files_of_a_cache_may_be_in_a_key_or_among_the_source_files() -> None:
    cache = {"caches": {"deps": CacheDefinition(paths=["a"], key_parts=["x/go.sum"])}}
    inputs = only("make", packages=["go"], with_schema=cache)["steps"][1]["with"]
    assert inputs["cache-dependency-path"] == "x/go.sum"
    guarded = only("make", packages=["npm"], source_files=["package-lock.json"])["steps"][2]["with"]
    assert (guarded["cache"], guarded["cache-dependency-path"]) == ("npm", "package-lock.json")


@pytest.mark.parametrize(
    ("key", "value", "refused"),
    [
        ("a,b", "", True),
        ("a-${{ hashFiles('a', 'b') }}", "", False),
        ("a-{{ matrix.v }}", "x", False),
        ("a-{{ matrix.v }}", "x,y", True),
        ("a" * 512, "", False),
        ("a" * 513, "", True),
        ("a{{ matrix.v }}", "x" * 511, False),
        ("a{{ matrix.v }}", "x" * 512, True),
    ],
    ids=["comma", "comma-in-code", "row", "comma-in-row", "longest", "too-long", "longest-row", "long-row"],
)
def test_a_key_that_actions_cache_would_refuse_is_refused(key: str, value: str, refused: bool) -> None:
    step = Step(save_cache=SaveCacheStep(key=key, paths=["p"]))
    result = generate(PROVIDER, schema(job(step, matrix=values(v=["ok", value]))))
    assert errors(result) == (["GITHUB_GENERATE_ERROR"] if refused else [])


def test_a_language_is_set_up_once_in_the_version_that_the_matrix_has() -> None:
    made = only("make", packages=["python", "pip"], matrix=values(python=["3.10", "3.12"]))
    assert [each.get("with", {}).get("python-version") for each in made["steps"]] == [
        None,
        "${{ matrix.python }}",
        None,
    ]


def test_a_language_that_is_in_the_image_is_not_set_up_again() -> None:
    assert len(only("make", packages=["python@3.12"], image="registry.example/python:3.12")["steps"]) == 2
    assert len(only("make", packages=["python@3.12"], image="node:22")["steps"]) == 3


def test_packages_of_the_system_are_installed_in_one_step_as_words_of_a_shell() -> None:
    specs = [PackageSpec(name=name, manager="apt") for name in ("libpq-dev", "x; rm -rf /", "it's")]
    command = only("make", package_specs=specs)["steps"][1]["run"]
    assert shlex.split(command)[-3:] == ["libpq-dev", "x; rm -rf /", "it's"]


def test_cargo_has_a_cache_and_rust_the_version_it_is_given() -> None:
    install, cache, _ = only("make", packages=["rust@1.80"])["steps"][1:]
    assert "rustup default 1.80" in install["run"]
    assert cache["uses"] == "actions/cache@v4"
    assert cache["with"]["key"] == "cargo-1.80-${{ runner.os }}-${{ hashFiles('**/Cargo.lock') }}"


def test_a_cache_is_restored_and_saved_under_the_key_of_its_parts() -> None:
    cache = CacheDefinition(
        paths=["a", "b"], key_parts=["@locks", "3.10", "{{ arch }}", "x/*.lock", "${{ runner.os }}"]
    )
    steps = [Step(restore_cache=RestoreCacheStep(name="deps")), Step(save_cache=SaveCacheStep(name="deps"))]
    groups = {"locks": StringList(values=["it's.lock", "lib"])}
    made = only(*steps, with_schema={"caches": {"deps": cache}, "source_file_groups": groups})
    restore, save = made["steps"][1:]
    start = "deps-${{ runner.os }}-3.10-${{ runner.arch }}-"
    hashes = "${{ hashFiles('it''s.lock', 'lib', 'lib/**') }}-${{ hashFiles('x/*.lock') }}"
    assert restore["uses"] == "actions/cache/restore@v4"
    assert restore["with"] == {"path": "a\nb", "key": start + hashes, "restore-keys": start}
    assert save["uses"] == "actions/cache/save@v4"
    assert save["with"] == {"path": "a\nb", "key": start + hashes}


def test_a_key_that_is_given_is_taken_with_its_fallbacks() -> None:
    keys = ['v1-{{ checksum "a.lock" }}', "v1-{{ .Branch }}-{{ odd }}"]
    step = Step(restore_cache=RestoreCacheStep(keys=keys, restore_keys=["v1-"], extra={"paths": "[x, y]"}))
    assert only(step)["steps"][1]["with"] == {
        "path": "x\ny",
        "key": "v1-${{ hashFiles('a.lock') }}",
        "restore-keys": "v1-${{ github.ref_name }}-{{ odd }}\nv1-",
    }


@pytest.mark.parametrize(
    "step", [Step(restore_cache=RestoreCacheStep(name="x")), Step(save_cache=SaveCacheStep(key="x"))]
)
def test_a_cache_without_paths_is_left_out_with_a_warning(step: Step) -> None:
    found, made = warned(job("make", step))
    assert found == ["GITHUB_CACHE"]
    assert len(made["jobs"]["test"]["steps"]) == 2


@pytest.mark.parametrize(
    "extra", [{"name": "a: b"}, {"if": "[a]"}, {"timeout_minutes": "{"}, {"strategy": "fast"}]
)
def test_a_key_of_a_job_that_is_no_value_of_its_kind_is_refused(extra: dict[str, str]) -> None:
    assert errors(generate(PROVIDER, schema(job("make", extra=extra)))) == ["GITHUB_GENERATE_ERROR"]


# Steps


def test_steps_keep_their_names_conditions_env_and_inputs() -> None:
    given = {
        "version": "3.10",
        "files": "|-\n  a\n  b",
        "flag": "true",
        "text": "'true'",
        "n": "12",
        "odd": "{",
        "none": "~",
    }
    made = only(
        run("a\nb\n", name="Run", env={"B": "2", "A": "1"}, **{"if": "${{ always() }}"}),
        uses("actions/thing@v1", name="Use", **{"with": given, "if": "x"}),
        uses("./local"),
        uses("docker://alpine:3"),
    )
    assert made["steps"][1] == {
        "name": "Run",
        "if": "${{ always() }}",
        "env": {"A": "1", "B": "2"},
        "run": "a\nb\n",
    }
    assert list(made["steps"][1]["env"]) == ["A", "B"]
    assert made["steps"][2]["with"] == {
        "version": "3.10",
        "files": "a\nb",
        "flag": True,
        "text": "true",
        "n": 12,
        "odd": "{",
    }
    assert [each["uses"] for each in made["steps"][3:]] == ["./local", "docker://alpine:3"]


def test_a_language_may_be_a_step_too() -> None:
    assert only(uses("lang/ruby@~3.3"))["steps"][1]["with"] == {"ruby-version": "3.3", "bundler-cache": True}


def test_checkout_has_its_inputs_and_is_not_repeated() -> None:
    assert only("make", checkout={"fetch-depth": "0"})["steps"][0]["with"] == {"fetch-depth": 0}
    for own in (custom("checkout", "path: x\nsparse-checkout: [a, b]"), uses("actions/checkout@v5")):
        made = only("first", own, "last", packages=["python"])["steps"]
        assert [each.get("run") for each in made] == ["first", None, None, "last"]
        assert made[2]["uses"] == "actions/setup-python@v5"
    assert only(custom("checkout", "path: x\nsparse-checkout: [a, b]"))["steps"][0]["with"] == {
        "path": "x",
        "sparse-checkout": "a\nb",
    }


@pytest.mark.parametrize("yaml", ["run: a\nuses: b/c@v1", "name: x", "- run: a"])
def test_a_raw_step_has_either_run_or_uses(yaml: str) -> None:
    assert errors(generate(PROVIDER, schema(job(custom("github", yaml))))) == ["GITHUB_GENERATE_ERROR"]


def test_a_job_may_call_a_workflow() -> None:
    extra = {"uses": "./.github/workflows/x.yml", "with": "a: 1", "secrets": "inherit"}
    made = only(extra=extra, needs=[], env={"A": "b"})
    assert made == {"uses": "./.github/workflows/x.yml", "with": {"a": 1}, "secrets": "inherit"}


# Skipped if nothing changed


def test_every_step_after_the_checkout_is_skipped_if_nothing_changed() -> None:
    steps = [run("a"), run("b", **{"if": "${{ always() }}"}), uses("a/b@v1", **{"if": "x || y"})]
    groups = {"py": StringList(values=["**/*.py", "./docs/"])}
    skip = SkipConfig(paths_unmodified=["lib", "**/*.py"])
    made = only(
        *steps, source_files=["@py", "!x.py"], skip_if=skip, with_schema={"source_file_groups": groups}
    )["steps"]
    hashed = "hashFiles('**/*.py', 'docs/**', '!x.py', 'lib', 'lib/**')"
    look_up, *guarded, touch, save = made[1:]
    assert look_up["id"] == "unchanged"
    assert look_up["if"] == f"{hashed} != ''"
    assert look_up["uses"] == "actions/cache/restore@v4"
    assert look_up["with"]["lookup-only"] is True
    assert look_up["with"]["key"].endswith(
        f"-${{{{ runner.os }}}}-${{{{ runner.arch }}}}-${{{{ {hashed} }}}}"
    )
    assert [each["if"] for each in guarded] == [
        UNCHANGED,
        f"(always()) && ({UNCHANGED})",
        f"(x || y) && ({UNCHANGED})",
    ]
    assert touch["run"].endswith(look_up["with"]["path"])
    assert touch["if"] == save["if"] == f"({UNCHANGED}) && (steps.unchanged.outputs.cache-primary-key != '')"
    assert save["with"]["key"] == "${{ steps.unchanged.outputs.cache-primary-key }}"


def test_the_marker_is_of_one_job_definition_and_row_alone() -> None:
    def key(command: str = "make", **fields: Any) -> str:
        found = only(command, source_files=["a.py"], **fields)["steps"][1]["with"]["key"]
        assert isinstance(found, str)
        return found

    assert key() == key()
    others = [key("make all"), key(id="other"), key(env={"A": "b"}), key(image="node:22")]
    of_workflow: list[dict[str, Any]] = [
        {"variables": {"LEVEL": "3"}},
        {"provider_config": {"github": "env: {LEVEL: 4}"}},
        {"workflows": [WorkflowDefinition(id="ci", yaml="defaults: {run: {shell: bash}}")]},
        {"workflows": [WorkflowDefinition(id="ci", yaml="permissions: {packages: read}")]},
    ]
    others += [key(with_schema=each) for each in of_workflow]
    assert len({key(), *others}) == 1 + len(others)


def test_a_row_is_in_the_key_by_its_number_whatever_its_values_are() -> None:
    def key(*of_os: str) -> str:
        made = only("make", source_files=["a.py"], matrix=values(os=list(of_os)))
        return str(made["steps"][1]["with"]["key"])

    assert "-${{ strategy.job-index }}-${{ hashFiles(" in key("a,b", "x" * 600)
    assert "," not in key("a,b").partition("hashFiles")[0]
    assert key("a", "b") != key("b", "a")  # else the first row would be green for what the second did


@pytest.mark.parametrize(
    "fields",
    [
        {"extra": {"outputs": "v: ${{ steps.x.outputs.v }}"}},
        {"extra": {"environment": "production"}},
        {"extra": {"permissions": "contents: write"}},
        {"extra": {"permissions": "write-all"}},
        {"env": {"TARGET": "${{ vars.TARGET }}"}},
        {"steps": [run("x", **{"if": "github.event_name == 'push'"})]},
        {"steps": [run("echo ${{ needs.a.outputs.b }}")]},
        {"steps": [run("x", env={"T": "${{ secrets.T }}"})]},
        {"steps": [uses("actions/upload-artifact@v4")]},
        {"steps": [uses("docker/build-push-action@v6")]},
        {"extra": {"strategy": "matrix: ${{ fromJSON(inputs.rows) }}"}},
    ],
    ids=[
        "outputs",
        "environment",
        "permissions",
        "all-permissions",
        "vars",
        "event",
        "needs",
        "secrets",
        "artifact",
        "push",
        "rows",
    ],
)
def test_a_job_that_would_be_green_and_hollow_is_not_skipped(fields: dict[str, Any]) -> None:
    more = {key: value for key, value in fields.items() if key != "steps"}
    result = generate(PROVIDER, schema(job("make", *fields.get("steps", []), source_files=["a"], **more)))
    assert codes(result, Diagnostic.LEVEL_INFO) == codes(result) == ["GITHUB_NOT_SKIPPED"]
    (made,) = files(result).values()
    assert all(step.get("id") != "unchanged" for step in made["jobs"]["test"]["steps"])


def test_the_env_of_a_workflow_may_make_its_jobs_hollow_too() -> None:
    jobs = [job("make", source_files=["a"])]
    result = generate(PROVIDER, schema(*jobs, variables={"SHA": "${{ github.sha }}"}))
    assert codes(result) == ["GITHUB_NOT_SKIPPED"]


def test_what_decides_only_whether_a_job_runs_does_not_keep_it_from_being_skipped() -> None:
    steps = [run("${{ matrix.v }} ${{ github.workspace }} ${{ env.A }}"), run("x", **{"if": "always()"})]
    made = only(
        *steps,
        source_files=["a"],
        matrix=values(v=["1"]),
        extra={"if": "github.ref == 'x'"},
        skip_if=SkipConfig(env=["SKIP"]),
    )
    assert made["steps"][1]["id"] == "unchanged"


def test_a_group_of_files_that_is_not_there_is_refused() -> None:
    assert errors(generate(PROVIDER, schema(job("make", source_files=["@ghost"])))) == [
        "GITHUB_GENERATE_ERROR"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("poetry.lock", True),
        ("a/Gemfile", True),
        (".tool-versions", True),
        ("src/**", True),
        ("3.10", False),
        ("v1.2.3", False),
        ("python-3.12", False),
        ("linux/amd64", False),
        ("a b.txt", False),
        ("${{ x }}.lock", False),
        ("", False),
    ],
)
def test_a_part_of_a_key_is_hashed_if_it_names_files(text: str, expected: bool) -> None:
    assert part("github-actions", "paths").is_path(text) is expected


# The other phases


@pytest.mark.parametrize(
    "content",
    [
        "on: push\njobs: {a: {runs-on: x, needs: b, steps: [{run: x}]}}",
        "on: push\njobs: {a: {runs-on: x, steps: [{run: x, uses: y}]}}",
        "on: push\njobs: {a: {runs-on: x, steps: [{name: x}]}}",
        "on: push\njobs: {a: {runs-on: x, steps: []}}",
        "on: push\njobs: {a: {steps: [{run: x}]}}",
        "on: push\njobs: {a: 1}",
        "jobs: {a: {runs-on: x, steps: [{run: x}]}}",
        "on: push\njobs: {a: {needs: [b], uses: ./x}, b: {needs: a, uses: ./x}}",
        "true: push\njobs: {a: {uses: ./x}}",
    ],
    ids=[
        "needs",
        "both",
        "neither",
        "no-steps",
        "no-runner",
        "no-mapping",
        "no-on",
        "circle",
        "on-read-as-true",
    ],
)
def test_validation_finds_one_thing_that_github_would_refuse(content: str) -> None:
    rendered = [hook.fragment(".github/workflows/x.yml", content)]
    assert errors(PROVIDER.answer("validate", ValidateRequest(rendered=rendered))) == [
        "GITHUB_INVALID_WORKFLOW"
    ]


def detect(*names: str) -> DetectResult:
    result = PROVIDER.answer("detect", DetectRequest(repo=RepoSnapshot(root_path="/r", files=names)))
    assert isinstance(result, DetectResult)
    return result


def test_detection_goes_by_the_names_of_files() -> None:
    found = detect(
        "web/package.json",
        ".github/workflows/b.yml",
        "a/b/pyproject.toml",
        "z/setup.py",
        ".github/workflows/a.yaml",
    )
    assert list(found.signals) == ["provider:github", "lang:python", "lang:node"]
    assert dict(found.facts) == {
        "github.workflows": "a.yaml,b.yml",
        "lang.python": "z/setup.py",
        "lang.node": "web/package.json",
    }
    sure = [detect(), detect("x"), detect(".github/CODEOWNERS"), found]
    assert [each.confidence for each in sure] == sorted({each.confidence for each in sure})
    assert 0 <= sure[0].confidence < sure[-1].confidence <= 1


def preflight(state: RepoState, previous: bytes = b"", job_id: str = "test") -> PreflightResult:
    result = PROVIDER.answer(
        "preflight", PreflightRequest(job_id=job_id, repo_state=state, previous_signature=previous)
    )
    assert isinstance(result, PreflightResult)
    return result


def state(
    *changes: tuple[str, int, bytes], env: dict[str, str] | None = None, commit: str = "1"
) -> RepoState:
    made = [FileChange(path=path, type=kind, checksum=checksum) for path, kind, checksum in changes]
    return RepoState(commit_sha=commit, changes=made, env=env or {})


def test_a_job_runs_again_only_if_its_files_or_environment_changed() -> None:
    changes = [("a", 1, b"x"), ("b", 2, b"y")]
    first = preflight(state(*changes, env={"A": "1"}))
    assert first.should_run
    assert len(first.new_signature) == 32
    again = preflight(state(*changes[::-1], env={"A": "1"}, commit="2"), first.new_signature)
    assert (again.should_run, again.new_signature) == (False, first.new_signature)


@pytest.mark.parametrize(
    "other",
    [
        state(("a", 1, b"x"), env={"A": "1"}),
        state(("a", 1, b"x"), ("b", 3, b"y"), env={"A": "1"}),
        state(("a", 1, b"x"), ("b", 2, b"z"), env={"A": "1"}),
        state(("a", 1, b"x"), ("b", 2, b"y"), env={"A": "2"}),
        state(("a", 1, b"x"), ("b", 2, b"y"), env={"A": "1", "": ""}),
        state(("a", 1, b"xb"), ("", 2, b"y"), env={"A": "1"}),
        state(),
    ],
    ids=["gone", "type", "checksum", "env", "empty-env", "moved-border", "nothing"],
)
def test_whatever_changes_changes_the_signature(other: RepoState) -> None:
    before = preflight(state(("a", 1, b"x"), ("b", 2, b"y"), env={"A": "1"})).new_signature
    assert preflight(other, before).should_run
    assert preflight(other, before, job_id="other").new_signature != preflight(other).new_signature


def test_six_thousand_jobs_are_one_file() -> None:
    result = generate(PROVIDER, schema(*(job("make", id=f"job {number}") for number in range(6000))))
    assert isinstance(result, GenerateResult)
    assert len(result.fragments) == 1
    assert result.fragments[0].content.count("actions/checkout@v4") == 6000
