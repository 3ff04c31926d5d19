"""A directory of parts is one pipeline, and a mistake in a part is reported with that part's line."""

import os

import pytest

from plughost import pipeline
from plughost.errors import ManifestError


@pytest.fixture
def parts(tmp_path):
    """Write parts below the directory, and return it."""

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path = path.with_name(path.name + ".yml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def test_jobs_are_files_below_their_workflow(parts):
    found = pipeline.read(
        parts(
            config="provider: circleci\nproject: {name: shop}\n",
            workflows__ci__jobs__test="requires: [lint]\nsteps: [{run: {name: T, command: make}}]\n",
            workflows__ci__jobs__lint="image: a\n",
            workflows__ci__config="on: push\n",
        )
    )
    assert found.providers == ("circleci",)
    assert [(each.id, each.workflow, list(each.needs)) for each in found.native.jobs] == [
        ("lint", "ci", []),
        ("test", "ci", ["lint"]),
    ]
    assert [(each.id, each.yaml) for each in found.native.workflows] == [("ci", "on: push")]
    assert found.native.raw_config_yaml == "provider: circleci\nproject:\n  name: shop"


def test_settings_are_merged_and_commands_are_files(parts):
    found = pipeline.read(
        parts(
            config="source_file_groups: {a: [x]}\norbs: {b: c}\n",
            config__groups="source_file_groups: {a: [y], d: [z]}\n",
            config__services="services: {db: postgres:17}\n",
            commands__hello="description: greets\nsteps: [echo hi]\n",
            workflows__ci__jobs__test="steps: [hello]\nservices: [db]\nsource_files: '@d'\n",
            workflows__nightly="on: schedule\n",
        )
    ).native
    assert {name: list(each.values) for name, each in found.source_file_groups.items()} == {
        "a": ["y"],
        "d": ["z"],
    }
    assert found.jobs[0].steps[0].custom.kind == "hello"
    assert found.provider_config["services"] == "db:\n  image: postgres:17"
    assert sorted(each.id for each in found.workflows) == ["ci", "nightly"]
    assert "commands" not in found.raw_config_yaml
    assert found.raw_config_yaml.endswith("services:\n  db: postgres:17")


def test_a_directory_below_jobs_is_a_stage(parts):
    found = pipeline.read(
        parts(
            config="{}",
            workflows__ci__jobs__build="{}",
            workflows__ci__jobs__deploy__push="needs: build\n",
            workflows__ci__jobs__deploy__more__tell="needs: [deploy/push]\n",
        )
    ).native
    assert [(each.id, each.stage, list(each.needs)) for each in found.jobs] == [
        ("build", "", []),
        ("push", "deploy", ["build"]),
        ("tell", "deploy", ["push"]),
    ]


def test_a_workflow_may_order_its_stages_and_put_them_before_the_ids(parts):
    found = pipeline.read(
        parts(
            config="{}",
            workflows__ci__config="stages: [{name: test}, {name: deploy, needs: [test]}]\nstage_prefix: true\n",
            workflows__ci__jobs__test__run="{}",
            workflows__ci__jobs__deploy__run="{}",
            workflows__ci__jobs__deploy__tell="needs: run\n",
        )
    )
    assert {each.id: list(each.needs) for each in found.native.jobs} == {
        "test_run": [],
        "deploy_run": ["test_run"],
        "deploy_tell": ["deploy_run", "test_run"],
    }


def test_jobs_in_no_stage_are_in_the_stage_default(parts):
    order = "stages: [{name: default, needs: [test]}, {name: deploy, needs: [default]}]\n"
    files = {
        "config": "{}",
        "workflows__ci__jobs__test__run": "{}",
        "workflows__ci__jobs__build": "{}",
        "workflows__ci__jobs__deploy__push": "{}",
    }
    found = pipeline.read(parts(**files, workflows__ci__config=order)).native
    assert {each.id: (each.stage, list(each.needs)) for each in found.jobs} == {
        "run": ("test", []),
        "build": ("", ["run"]),
        "push": ("deploy", ["build"]),
    }
    prefixed = pipeline.read(parts(**files, workflows__ci__config=order + "default_stage_prefix: true\n"))
    assert prefixed.order == ("run", "default_build", "push")


@pytest.mark.parametrize("said", ["stage_prefix: true", "stages: [{name: us, needs: [test]}]"])
def test_a_row_cannot_choose_its_stage_where_stages_mean_something(parts, said):
    path = parts(
        config="{}",
        workflows__ci__config=said,
        workflows__ci__jobs__deploy__push="\nmatrix: [{stage: us}, {stage: eu}]\n",
    )
    found = error(path)
    assert found.source == str(path / "workflows/ci/jobs/deploy/push.yml")
    assert (found.key, found.problem.partition(":")[0]) == ("matrix[0].stage", "line 2")
    assert "directory of each stage" in found.remedy


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ("stages: [{name: a}, {name: b, needs: [a]}]", "stages[1].needs"),
        ("stage_prefix: true", "stage_prefix"),
        ("default_stage_prefix: true", "default_stage_prefix"),
    ],
)
@pytest.mark.parametrize("name", ["pipeline.yml", ".cigen/cigen.yml"])
def test_stages_are_ordered_in_a_directory_alone(tmp_path, name, said, key):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"jobs: {{t: {{workflow: ci, stage: b}}}}\nworkflows: {{ci: {{{said}}}}}\n")
    found = error(path if path.parent == tmp_path else path.parent)
    assert found.source == str(path)
    assert (found.key, found.problem.partition(":")[0]) == (f"workflows.ci.{key}", "line 2")
    assert "directory of parts" in found.remedy


def test_other_stages_of_a_workflow_are_the_providers(tmp_path):
    (tmp_path / "a.yml").write_text("jobs: {t: {}}\nworkflows: {ci: {stages: [a, b], stage_prefix: false}}\n")
    assert "stages" in pipeline.read(tmp_path / "a.yml").native.workflows[0].yaml


def test_caches_without_paths_are_settings_that_a_provider_reads(parts):
    found = pipeline.read(
        parts(
            config="caches: {artifacts: {backend: circleci}, pip: {paths: [a]}}\n",
            workflows__ci__jobs__test="{}",
        )
    ).native
    assert list(found.caches) == ["pip"]
    assert "artifacts:\n    backend: circleci" in found.raw_config_yaml


@pytest.mark.parametrize("name", ["cigen.yml", "cigen.yaml"])
def test_a_whole_file_may_stand_in_a_directory_of_its_own(tmp_path, name):
    (tmp_path / name).write_text("jobs: {a: {}}\n")
    assert pipeline.read(tmp_path).order == ("a",)


def error(path):
    with pytest.raises(ManifestError) as caught:
        pipeline.read(path)
    return caught.value


@pytest.mark.parametrize(
    ("part", "text", "key", "line"),
    [
        ("workflows__ci__jobs__b", "image: x\nsteps: [{rnu: 1, a: 2}]\n", "jobs.b.steps[0]", 2),
        ("workflows__ci__jobs__b", "\nneeds: [gone]\n", "jobs.b.needs[0]", 2),
        ("workflows__ci__jobs__b", "setps: []\n", "jobs.b.setps", 1),
        ("workflows__ci__jobs__b", "image: '\n", "", 2),
        ("config__more", "\nprovders: [a]\n", "provders", 2),
        ("config__more", "providers: ['../a']\n", "providers[0]", 1),
        ("commands__b", "step: []\n", "commands.b.step", 1),
        ("workflows__ci__config", "\nrun_when: x\n", "workflows.ci.run_when", 2),
        ("workflows__ci__config", "stages: [{nam: x}]\n", "workflows.ci.stages[0].nam", 1),
    ],
)
def test_a_mistake_is_reported_in_its_own_part(parts, part, text, key, line):
    path = parts(config="{}", workflows__ci__jobs__a="{}", **{part: text})
    found = error(path)
    assert found.source == str(path / (part.replace("__", "/") + ".yml"))
    assert (found.key, found.problem.partition(":")[0]) == (key, f"line {line}")


def test_two_jobs_of_one_name_are_refused(parts):
    path = parts(config="{}", workflows__a__jobs__x="{}", workflows__b__jobs__x="{}")
    found = error(path)
    assert found.source == str(path / "workflows/b/jobs/x.yml")
    assert "a second job `x`" in found.problem


def test_a_directory_without_a_pipeline_is_named(tmp_path):
    assert error(tmp_path).source == str(tmp_path)


def test_a_directory_without_jobs_is_refused(parts):
    found = error(parts(config="provider: circleci\nworkflows: {ci: {jobs: {a: {}}}}\n"))
    assert found.key == "jobs"
    assert "workflows/ID/jobs/NAME.yml" in found.remedy


def test_a_pipe_among_the_parts_is_not_waited_for(parts):
    path = parts(config="{}", workflows__ci__jobs__a="{}")
    os.mkfifo(path / "workflows/ci/jobs/b.yml")
    assert error(path).problem == "not a regular file"


def test_a_directory_that_holds_itself_ends(parts):
    path = parts(config="{}", workflows__ci__jobs__a="{}")
    os.symlink("..", path / "workflows/ci/jobs/loop")
    assert "directories deep" in error(path).problem


def test_all_parts_together_have_the_bounds_of_one_file(parts):
    half = "x-a: '" + "a" * 600_000 + "'\n"
    path = parts(config=half, config__more=half.replace("x-a", "x-b"), workflows__ci__jobs__a="{}")
    assert "in all" in error(path).problem


def test_aliases_of_all_parts_are_counted_together(parts):
    many = "x: &x [" + "1, " * 900 + "1]\n" + "".join(f"y{at}: *x\n" for at in range(60))
    path = parts(
        config=many, config__more=many.replace("y", "z").replace("x:", "w:"), workflows__ci__jobs__a="{}"
    )
    assert "aliases written out" in error(path).problem
