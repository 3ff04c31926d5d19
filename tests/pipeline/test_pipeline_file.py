"""Every key of a pipeline file arrives in the schema, with its defaults."""

import os

import pytest
from plughost_sdk import hook_messages as m

from plughost import pipeline
from plughost.errors import ManifestError
from tests.conftest import ROOT

SAMPLE = ROOT / "src/plughost/bundled/hook/cigen.yml"
PIP = 'pip-{{ arch }}-{{ checksum "a.lock" }}-{{ checksum "b.lock" }}'


def parse(text):
    return pipeline.parse(text, "cigen.yml")


def schema(text):
    """Return the schema of *text*, which needs no jobs of its own."""
    return parse(text if "jobs:" in text else text + "\njobs: {a: {}}\n").native


def job(text):
    """Return the only job, whose keys are *text*."""
    (found,) = schema("jobs:\n  a:\n" + "".join(f"    {line}\n" for line in text.splitlines())).jobs
    return found


def steps(text):
    return list(job("steps:\n" + "".join(f"  {line}\n" for line in text.splitlines())).steps)


def test_the_bundled_sample_is_a_pipeline():
    found = pipeline.read(SAMPLE)
    assert [each.id for each in found.native.jobs] == ["lint", "test", "build", "deploy"]
    assert found.order == tuple(each.id for each in found.expanded.jobs)
    assert len(found.order) == 9
    assert found.source == str(SAMPLE)
    assert found.native.raw_config_yaml.startswith("version: '1'\nproject:\n  name: shop\n")


def test_the_same_file_gives_the_same_bytes():
    first, second = pipeline.read(SAMPLE), pipeline.read(SAMPLE)
    for name in ("native", "expanded"):
        one, two = (getattr(each, name).SerializeToString(deterministic=True) for each in (first, second))
        assert one == two
        assert type(getattr(first, name)).FromString(one) == getattr(first, name)


def test_the_least_file_has_all_defaults():
    found = parse("jobs: {a: {}}")
    assert found.native == m.CigenSchema(
        version="1",
        jobs=[m.JobDefinition(id="a", workflow="ci", image="ubuntu-latest")],
        raw_config_yaml="jobs:\n  a: {}",
    )
    assert found.expanded == found.native
    assert (found.order, found.providers) == (("a",), ())


@pytest.mark.parametrize("version", ["1", '"1"'])
def test_the_version_may_be_a_number_or_a_text(version):
    assert schema(f"version: {version}").version == "1"


def test_a_project_has_a_runner_and_a_job_only_its_own():
    found = schema("project: {name: shop, default_runner: small}\njobs: {a: {}, b: {runner: big}}")
    assert found.project == m.ProjectConfig(name="shop", default_runner="small")
    assert [each.runner for each in found.jobs] == ["", "big"]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("3.10", "3.10"),
        ("1e3", "1e3"),
        ("007", "007"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("true", "true"),
        ("False", "false"),
        ("'True'", "True"),
        ("yes", "yes"),
        ("2024-01-01", "2024-01-01"),
        (".inf", ".inf"),
        ("''", ""),
        ("'a'", "a"),
        ('"\\t"', "\t"),
        ("ä€😀", "ä€😀"),
    ],
)
def test_a_variable_is_text_as_it_was_spelled(written, text):
    assert dict(schema(f"variables: {{V: {written}}}").variables) == {"V": text}
    assert dict(job(f"env: {{V: {written}}}").env) == {"V": text}


def test_providers_are_kept_in_order_and_may_have_keys_of_their_own():
    found = parse("providers: [github, mine]\nmine: {a: [1]}\nwoodpecker: {b: {}}\njobs: {a: {}}")
    assert found.providers == ("github", "mine")
    assert dict(found.native.provider_config) == {"mine": "a:\n  - 1", "woodpecker": "b: {}"}


def test_one_provider_needs_no_list():
    assert parse("providers: github\njobs: {a: {}}").providers == ("github",)


def test_caches_have_a_backend_by_default():
    found = schema(
        "caches: {pip: {paths: a}, npm: {paths: [b, c], key_parts: [x, 1], backend: Redis}}"
    ).caches
    assert found["pip"] == m.CacheDefinition(paths=["a"], backend="native")
    assert found["npm"] == m.CacheDefinition(paths=["b", "c"], key_parts=["x", "1"], backend="redis")


def test_runners_have_yaml_for_each_provider():
    found = schema("runners: {big: {github: {runs-on: [a, b]}, circleci: xl}}").runners
    assert dict(found["big"].provider_config) == {"github": "runs-on:\n  - a\n  - b", "circleci": "xl"}


def test_workflows_keep_their_yaml_and_have_their_conditions_parsed():
    found = schema("""
workflows:
  ci:
  release:
    on: {push: {tags: ['v*']}}
    run_when:
      - {parameter: deploy, equals: true}
      - {variable: KIND, equals: [a, b], provider: circleci}
      - {env: CI}
      - {expression: "a == b"}
    name: Release
""").workflows
    assert list(found) == [
        m.WorkflowDefinition(id="ci", yaml="{}"),
        m.WorkflowDefinition(
            id="release",
            yaml="on:\n  push:\n    tags:\n      - 'v*'\nname: Release",
            run_when=[
                m.WorkflowCondition(
                    kind=m.WORKFLOW_CONDITION_KIND_PARAMETER, key="deploy", equals_yaml="true"
                ),
                m.WorkflowCondition(
                    kind=m.WORKFLOW_CONDITION_KIND_VARIABLE,
                    key="KIND",
                    equals_yaml="- a\n- b",
                    provider="circleci",
                ),
                m.WorkflowCondition(kind=m.WORKFLOW_CONDITION_KIND_ENV, key="CI"),
                m.WorkflowCondition(kind=m.WORKFLOW_CONDITION_KIND_EXPRESSION, expression="a == b"),
            ],
        ),
    ]


def test_commands_have_parameters_steps_and_whatever_else_they_say():
    found = schema("""
commands:
  wait:
    description: Waits.
    parameters:
      port: {type: integer, description: where, min: 1}
      host: {default: localhost}
    steps: [wait.sh]
    shell: bash
""").commands["wait"]
    assert found == m.CommandDefinition(
        description="Waits.",
        parameters={
            "port": m.CommandParameter(type="integer", description="where", extra={"min": "1"}),
            "host": m.CommandParameter(type="string", default_yaml="localhost"),
        },
        steps=[m.Step(run=m.RunStep(command="wait.sh"))],
        extra={"shell": "bash"},
    )


def test_services_are_defined_under_the_provider_config_in_one_shape():
    found = schema("services: {redis: 'redis:7', db: {image: postgres, env: {A: 1}, ports: [5432], x: []}}")
    assert found.provider_config["services"] == (
        "redis:\n  image: 'redis:7'\ndb:\n  image: postgres\n  env:\n    A: 1\n  ports:\n    - 5432\n  x: []"
    )


def test_groups_of_source_files_may_hold_others():
    found = schema("source_file_groups: {a: ['@b', 'x/**'], b: setup.py}").source_file_groups
    assert {name: list(each.values) for name, each in found.items()} == {
        "a": ["@b", "x/**"],
        "b": ["setup.py"],
    }


def test_outputs_name_a_provider_and_a_path():
    found = schema(
        "providers: [github]\noutputs: [{provider: github, path: a/b.yml, description: it}]"
    ).outputs
    assert list(found) == [m.OutputConfig(provider="github", path="a/b.yml", description="it")]


def test_every_key_of_a_job_arrives():
    found = schema("""
source_file_groups: {python: '*.py'}
services: {db: postgres}
workflows: {nightly: {}}
jobs:
  first: {}
  all:
    needs: first
    packages: [python, {name: node, manager: pnpm, path: web, version: 20, frozen: true}]
    steps: [make]
    skip_if: {paths_unmodified: ['@python', docs/], env: SKIP, branch: [main, 'release/*']}
    runner: big
    env: {A: 1}
    image: python:3.13
    workflow: nightly
    checkout: {fetch-depth: 0, path: 'a b'}
    services: db
    source_files: ['@python', Makefile]
    stage: test
    permissions: {contents: read}
    on: fire
""").jobs[1]
    assert found == m.JobDefinition(
        id="all",
        needs=["first"],
        packages=["python", "node"],
        package_specs=[
            m.PackageSpec(name="python"),
            m.PackageSpec(name="node", manager="pnpm", path="web", version="20", extra={"frozen": "true"}),
        ],
        steps=[m.Step(run=m.RunStep(command="make"))],
        skip_if=m.SkipConfig(
            paths_unmodified=["@python", "docs/"], env=["SKIP"], branch=["main", "release/*"]
        ),
        runner="big",
        env={"A": "1"},
        image="python:3.13",
        workflow="nightly",
        checkout={"fetch-depth": "0", "path": "'a b'"},
        services=["db"],
        source_files=["@python", "Makefile"],
        stage="test",
        extra={"permissions": "contents: read", "on": "fire"},
    )


def test_a_step_may_be_a_command_alone():
    assert steps("- make all\n- |\n  one\n  two\n- true") == [
        m.Step(run=m.RunStep(command="make all")),
        m.Step(run=m.RunStep(command="one\ntwo\n")),
        m.Step(run=m.RunStep(command="true")),
    ]


def test_a_run_step_has_a_name_variables_and_a_condition():
    (found,) = steps("- {run: make, name: Make, env: {A: 1.50}, if: success()}")
    assert found == m.Step(
        run=m.RunStep(name="Make", command="make", env={"A": "1.50"}, **{"if": "success()"})
    )


def test_a_uses_step_has_its_inputs_as_yaml():
    (found,) = steps("- {uses: lang/ruby@~1.2, name: Ruby, with: {v: 3.10, l: [a], t: '1'}, if: x}")
    inputs = {"v": "3.10", "l": "- a", "t": "'1'"}
    assert found == m.Step(
        uses=m.UsesStep(name="Ruby", module="lang/ruby@~1.2", **{"with": inputs, "if": "x"})
    )


def test_cache_steps_name_a_cache_or_a_key():
    found = schema("""
caches: {pip: {paths: p, key_parts: ['@locks', '{{ arch }}']}}
source_file_groups: {locks: [a.lock, '@more'], more: [b.lock]}
jobs:
  a:
    steps:
      - restore_cache: pip
      - save_cache: pip
      - restore_cache: {name: pip, key: k, keys: [a, b], restore_keys: c, fail: true}
      - save_cache: {key: k, paths: [x], when: always}
""").jobs[0]
    assert list(found.steps) == [
        m.Step(restore_cache=m.RestoreCacheStep(name="pip", key=PIP)),
        m.Step(save_cache=m.SaveCacheStep(name="pip", key=PIP, paths=["p"])),
        m.Step(
            restore_cache=m.RestoreCacheStep(
                name="pip", key="k", keys=["a", "b"], restore_keys=["c"], extra={"fail": "true"}
            )
        ),
        m.Step(save_cache=m.SaveCacheStep(key="k", paths=["x"], extra={"when": "always"})),
    ]


def test_any_other_step_of_one_key_is_the_providers():
    assert steps("- checkout:\n- {store_artifacts: {path: a}}\n- {echo: hi}") == [
        m.Step(custom=m.CustomStep(kind="checkout", yaml="checkout: null")),
        m.Step(custom=m.CustomStep(kind="store_artifacts", yaml="store_artifacts:\n  path: a")),
        m.Step(custom=m.CustomStep(kind="echo", yaml="echo: hi")),
    ]


def test_a_step_may_call_a_command_with_its_parameters():
    command = "commands: {wait: {parameters: {port: {}, host: {default: x}}, steps: []}}\n"
    found = schema(command + "jobs: {a: {steps: [{wait: {port: 1}}, {wait: {port: 1, host: y}}]}}").jobs[0]
    assert [each.custom.yaml for each in found.steps] == [
        "wait:\n  port: 1",
        "wait:\n  port: 1\n  host: y",
    ]


def test_a_command_without_parameters_needs_none():
    found = schema("commands: {go: {steps: [x]}}\njobs: {a: {steps: [{go: }, {go: {}}]}}").jobs[0]
    assert [each.custom.kind for each in found.steps] == ["go", "go"]


def test_aliases_and_merge_keys_say_a_thing_once():
    found = schema("""
x-base: &base {image: a, env: {A: 1}}
x-more: &more {image: b, stage: s}
jobs:
  one: {<<: *base, image: c}
  two: {<<: [*base, *more]}
  three: *more
""")
    assert [(each.image, dict(each.env), each.stage) for each in found.jobs] == [
        ("c", {"A": "1"}, ""),
        ("a", {"A": "1"}, "s"),
        ("b", {}, "s"),
    ]
    assert dict(found.provider_config) == {}


def test_a_quoted_merge_key_is_a_key():
    assert dict(job("'<<': x").extra) == {"<<": "x"}


def test_carriage_returns_and_a_byte_order_mark_are_no_matter():
    found = parse("\ufeffjobs:\r\n  a:\r\n    steps:\r\n      - |\r\n        one\r\n        two\r\n").native
    assert found.jobs[0].steps[0].run.command == "one\ntwo\n"
    assert found.raw_config_yaml.startswith("jobs:\n  a:\n")


def test_jobs_come_after_what_they_need_otherwise_as_written():
    found = parse("jobs: {d: {needs: [c, a]}, b: {}, a: {}, c: {needs: b}}")
    assert found.order == ("b", "a", "c", "d")
    assert [each.id for each in found.native.jobs] == list(found.order)


@pytest.mark.parametrize(
    "content", [None, b"\xff", b"a" * 1_048_577], ids=["missing", "not-utf-8", "too-large"]
)
def test_a_file_that_cannot_be_read_is_one_kind_of_error(tmp_path, content):
    path = tmp_path / "cigen.yml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ManifestError) as caught:
        pipeline.read(path)
    assert caught.value.source == str(path)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ManifestError):
            pipeline.read(path)


def test_the_line_of_a_byte_that_is_not_utf_8_is_named(tmp_path):
    (tmp_path / "f").write_bytes(b"jobs:\n  a: \xff\n")
    with pytest.raises(ManifestError) as caught:
        pipeline.read(tmp_path / "f")
    assert caught.value.problem.startswith("line 2:")


def test_a_pipeline_cannot_be_changed():
    with pytest.raises(AttributeError):
        parse("jobs: {a: {}}").source = "b"
