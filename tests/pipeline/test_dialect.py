"""What files for cigen say, and what its providers are told of it: the fields that its own core fills."""

import pytest
from plughost_sdk import hook_messages as m

from plughost import pipeline
from plughost.errors import ManifestError


def parse(text):
    return pipeline.parse(text, "cigen.yml")


def expanded(text):
    return parse(text).expanded


def job(text, more=""):
    (found,) = expanded(f"{more}\njobs: {{a: {text}}}").jobs
    return found


def steps(text, more=""):
    return list(job(f"{{steps: {text}}}", more).steps)


def test_a_run_step_may_have_its_name_and_command_below_run():
    (found,) = steps("[{run: {name: Test, command: make, environment: {A: 1}, if: always()}}]")
    assert found.run == m.RunStep(name="Test", command="make", env={"A": "1"}, **{"if": "always()"})


def test_what_stands_beside_run_counts_also_when_run_is_a_mapping():
    (found,) = steps("[{run: {command: make}, name: Make, if: x}]")
    assert found.run == m.RunStep(name="Make", command="make", **{"if": "x"})


def test_the_id_of_a_step_is_taken_and_not_sent():
    assert steps("[{run: a, id: b}, {uses: c/d@1, id: e}]") == [
        m.Step(run=m.RunStep(command="a")),
        m.Step(uses=m.UsesStep(module="c/d@1")),
    ]


@pytest.mark.parametrize("word", ["checkout", "setup_remote_docker", "add_ssh_keys"])
def test_a_word_that_is_a_step_of_its_own_is_no_shell_command(word):
    assert steps(f"[{word}]") == [m.Step(custom=m.CustomStep(kind=word, yaml=word))]


def test_the_name_of_a_command_alone_calls_it():
    found = steps("[hello, hello you]", "commands: {hello: {steps: [echo hi]}}")
    assert [each.WhichOneof("step_type") for each in found] == ["custom", "run"]
    assert found[0].custom == m.CustomStep(kind="hello", yaml="hello")


def test_a_command_that_must_be_given_something_cannot_be_called_by_its_name_alone():
    with pytest.raises(ManifestError) as caught:
        steps("[hello]", "commands: {hello: {parameters: {to: {}}, steps: []}}")
    assert caught.value.key == "jobs.a.steps[0].to"


def test_a_step_of_a_providers_is_sent_whole():
    (found,) = steps("[{store_artifacts: {path: logs}}]")
    assert found.custom == m.CustomStep(kind="store_artifacts", yaml="store_artifacts:\n  path: logs")


def test_the_first_of_several_keys_is_the_key():
    (found,) = steps("[{restore_cache: {name: restore gems, keys: [a-1, a-]}}]")
    assert found.restore_cache == m.RestoreCacheStep(name="restore gems", key="a-1", keys=["a-1", "a-"])


def test_a_step_with_key_and_paths_may_have_any_name():
    (found,) = steps("[{save_cache: {name: save gems, key: a, paths: [b]}}]")
    assert found.save_cache == m.SaveCacheStep(name="save gems", key="a", paths=["b"])


def test_a_named_cache_is_resolved_in_jobs_and_commands():
    found = expanded(
        "caches: {gems: {paths: [vendor], key_parts: ['ruby:{{ v }}', Gemfile.lock]}}\n"
        "commands: {restore: {steps: [{restore_cache: gems}]}}\n"
        "jobs: {a: {steps: [{save_cache: gems}, {save_cache: {name: gems, key: own}}]}}"
    )
    key = 'gems-ruby:{{ v }}-{{ checksum "Gemfile.lock" }}'
    assert found.commands["restore"].steps[0].restore_cache == m.RestoreCacheStep(name="gems", key=key)
    assert [each.save_cache for each in found.jobs[0].steps] == [
        m.SaveCacheStep(name="gems", key=key, paths=["vendor"]),
        m.SaveCacheStep(name="gems", key="own", paths=["vendor"]),
    ]


def test_packages_are_both_named_and_whole():
    found = job("{packages: [ruby, {name: node, path: docs}]}")
    assert list(found.packages) == ["ruby", "node"]
    assert list(found.package_specs) == [m.PackageSpec(name="ruby"), m.PackageSpec(name="node", path="docs")]


def test_a_job_without_image_runner_or_stage_has_the_usual_image_and_no_other():
    found = expanded("project: {name: shop, type: turborepo, default_runner: big}\njobs: {a: {}}")
    assert found.jobs[0] == m.JobDefinition(id="a", image="ubuntu-latest", workflow="ci")
    assert found.project == m.ProjectConfig(name="shop", default_runner="big")


def test_environment_and_requires_are_other_words_for_env_and_needs():
    found = expanded("jobs: {a: {}, b: {environment: {A: 1}, requires: [a]}}").jobs[1]
    assert (dict(found.env), list(found.needs), dict(found.extra)) == ({"A": "1"}, ["a"], {})


@pytest.mark.parametrize("written", ["production", "{name: production, url: x}", "{name: production}"])
def test_an_environment_to_deploy_to_is_passed_on(written):
    found = job(f"{{environment: {written}, env: {{A: 1}}}}")
    assert (dict(found.env), list(found.extra)) == ({"A": "1"}, ["environment"])


def test_a_trigger_and_artifacts_are_in_the_raw_file_alone():
    found = expanded("jobs: {a: {trigger: manual, artifacts: [{path: dist}], timeout-minutes: 5}}")
    assert dict(found.jobs[0].extra) == {"timeout-minutes": "5"}
    assert "    trigger: manual\n    artifacts:\n      - path: dist\n" in found.raw_config_yaml


def test_a_matrix_may_be_a_list_of_rows():
    text = "jobs: {t: {matrix: [{z: b, a: c}, {z: d}], steps: ['x{{ matrix.z }}']}, u: {needs: t}}"
    found = parse(text)
    assert found.order == ("t-b-c", "t-d", "u")
    assert [each.steps[0].run.command for each in found.expanded.jobs[:2]] == ["xb", "xd"]
    assert not any(each.matrix_rows for each in found.expanded.jobs)
    native = found.native.jobs[0]
    assert (dict(native.matrix), [dict(row.values) for row in native.matrix_rows]) == (
        {},
        [{"z": "b", "a": "c"}, {"z": "d"}],
    )


def test_rows_may_say_their_names_and_stages():
    text = "matrix: [{job_name: x, v: 1}, {job_name_suffix: y, v: 2}, {job_name_suffix: 'z', stage: s}]"
    found = expanded(f"jobs: {{t: {{{text}}}}}").jobs
    assert [(each.id, each.stage) for each in found] == [("x-1", ""), ("t-y", ""), ("t-z", "s")]


def test_a_row_may_say_that_its_name_ends_with_nothing():
    rows = "[{job_name: x, job_name_suffix: '', v: 1}, {job_name_suffix: '', v: 2}]"
    assert parse(f"jobs: {{t: {{matrix: {rows}}}}}").order == ("x", "t")
    assert parse("jobs: {t: {matrix: {job_name_suffix: ['', a]}}}").order == ("t", "t-a")


def test_a_job_may_say_what_the_names_of_its_rows_end_with():
    assert parse("jobs: {t: {matrix: [{v: 1}], job_name_suffix: x}}").order == ("t-x",)


def test_a_service_may_be_an_image_and_where_none_is_defined_any_name():
    assert list(job("{services: ['postgres:15', redis, ghcr.io/a/b]}").services) == [
        "postgres:15",
        "redis",
        "ghcr.io/a/b",
    ]
    assert list(job("{services: [db, 'redis:7']}", "services: {db: postgres}").services) == ["db", "redis:7"]


def test_keys_that_only_a_provider_knows_reach_it_in_the_raw_file():
    found = expanded(
        "orbs: {slack: circleci/slack@4}\nparameters: {deploy: {type: boolean}}\ncheckout: {shallow: true}\n"
        "setup_options: {image: x}\npackages: [node]\nmine: [1]\njobs: {a: {}}"
    )
    assert found.raw_config_yaml == (
        "orbs:\n  slack: circleci/slack@4\nparameters:\n  deploy:\n    type: boolean\ncheckout:\n  shallow: true\n"
        "setup_options:\n  image: x\npackages:\n  - node\nmine:\n  - 1\njobs:\n  a: {}"
    )
    assert dict(found.provider_config) == {}


def test_what_was_said_once_is_written_out_in_the_raw_file():
    found = expanded("x-b: &b {image: c}\njobs: {a: {<<: *b, stage: d}}")
    assert found.raw_config_yaml == "x-b:\n  image: c\njobs:\n  a:\n    image: c\n    stage: d"


@pytest.mark.parametrize("key", ["workflow", "command", "servces", "source_file_group", "provder"])
def test_keys_that_are_nearly_right_are_caught(key):
    with pytest.raises(ManifestError) as caught:
        parse(f"jobs: {{a: {{}}}}\n{key}: {{}}")
    assert (caught.value.key, "Did you mean" in caught.value.remedy) == (key, True)


def test_one_provider_may_be_named_and_the_config_of_each_may_stand_below_one_key():
    found = parse("provider: github-actions\nprovider_config: {github: {a: 1}, buildkite: b}\njobs: {a: {}}")
    assert found.providers == ("github",)
    assert dict(found.native.provider_config) == {"github": "a: 1", "buildkite": "b"}


def test_runners_may_have_their_providers_below_a_key():
    found = expanded("runners: {big: {provider_config: {github: {runs-on: x}}}}\njobs: {a: {}}")
    assert dict(found.runners["big"].provider_config) == {"github": "runs-on: x"}


def test_a_parameter_that_is_compared_with_nothing_is_to_be_true():
    (found,) = expanded("workflows: {ci: {run_when: [{parameter: deploy}]}}\njobs: {a: {}}").workflows
    assert found.run_when[0].equals_yaml == "true"
