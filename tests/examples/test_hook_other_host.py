"""The bundled providers under a raw host that sends what other hosts send."""

from __future__ import annotations

import subprocess
import sys

import pytest
from plughost_sdk import hook_messages as m
from ruamel.yaml import YAML

from tests.examples.hook_providers import EXAMPLES

RAW = """\
project:
  name: shop
  default_runner: big
packages:
- node
runners:
  big:
    github:
      runs-on: large
    woodpecker:
      labels:
        size: large
services:
  db:
    image: postgres:17
    environment:
      POSTGRES_PASSWORD: x
"""


def schema() -> m.CigenSchema:
    """Return a schema as it was recorded of another host, in the fields that matter."""
    found = m.CigenSchema(version="1", raw_config_yaml=RAW)
    found.project.CopyFrom(m.ProjectConfig(name="shop", default_runner="big"))
    found.runners["big"].provider_config.update(
        {"github": "runs-on: large", "woodpecker": "labels:\n  size: large"}
    )
    found.caches["gems"].CopyFrom(
        m.CacheDefinition(paths=["vendor"], key_parts=["Gemfile.lock"], backend="native")
    )
    found.commands["hello"].steps.append(m.Step(run=m.RunStep(command="echo << parameters.to >>")))
    found.commands["hello"].parameters["to"].CopyFrom(m.CommandParameter(default_yaml="world"))
    found.jobs.append(
        m.JobDefinition(
            id="test-3.2",
            workflow="ci",
            stage="default",
            image="ubuntu-latest",
            packages=["python@3.12"],
            package_specs=[m.PackageSpec(name="python@3.12")],
            services=["db"],
            steps=[
                m.Step(custom=m.CustomStep(kind="checkout", yaml="checkout")),
                m.Step(custom=m.CustomStep(kind="hello", yaml="hello")),
                m.Step(custom=m.CustomStep(kind="hello", yaml="hello:\n  to: moon")),
            ],
        )
    )
    return found


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def asked(example: str, request: m.CigenSchema) -> m.GenerateResult:
    """Start the provider as its host would, greet it, ask for plan and generate, and close its input."""
    request_bytes = m.GenerateRequest(target="x", schema=request).SerializeToString()
    hello = b"\x08\x01\x12\x050.1.0"
    plan = m.PlanRequest(schema=request).SerializeToString()
    done = subprocess.run(
        [sys.executable, "provider.py"],
        input=frame(hello) + frame(plan) + frame(request_bytes),
        cwd=EXAMPLES / example,
        capture_output=True,
        timeout=60,
    )
    bodies, left = [], done.stdout
    while left:
        size = int.from_bytes(left[:4], "big")
        bodies.append(left[4 : 4 + size])
        left = left[4 + size :]
    assert (done.returncode, len(bodies)) == (0, 3), done.stderr
    return m.GenerateResult.FromString(bodies[2])


@pytest.fixture(scope="module", params=["github-actions", "woodpecker"])
def answer(request: pytest.FixtureRequest) -> tuple[str, m.GenerateResult]:
    return request.param, asked(request.param, schema())


def read(result: m.GenerateResult) -> dict[str, object]:
    (fragment,) = result.fragments
    found: dict[str, object] = YAML(typ="safe", pure=True).load(fragment.content)
    return found


def test_neither_stage_nor_image_of_nobody_is_worth_a_word(answer: tuple[str, m.GenerateResult]) -> None:
    example, result = answer
    expected = {
        "github-actions": [],
        "woodpecker": ["WOODPECKER_PACKAGE"],
    }  # one image has not both languages
    assert [each.code for each in result.diagnostics] == expected[example]


def test_services_runners_packages_and_commands_are_found(answer: tuple[str, m.GenerateResult]) -> None:
    example, result = answer
    text = result.fragments[0].content
    assert "image: postgres:17" in text
    assert "POSTGRES_PASSWORD: x" in text
    assert text.index("echo world") < text.index("echo moon")
    found = read(result)
    if example == "woodpecker":
        assert found["labels"] == {"size": "large"}
        assert "image: python:3.12" in text
        return
    (job,) = found["jobs"].values()  # type: ignore[attr-defined]
    assert (job["runs-on"], "container" in job) == ("large", False)
    assert [each.get("name") for each in job["steps"]][:3] == ["Check out", "Set up python", "Set up node"]
    assert job["steps"][1]["with"]["python-version"] == "3.12"


@pytest.mark.parametrize("example", ["github-actions", "woodpecker"])
def test_variables_of_a_service_may_be_a_list(example: str) -> None:
    request = schema()
    written = "environment:\n      POSTGRES_PASSWORD: x\n"
    assert written in RAW
    request.raw_config_yaml = RAW.replace(written, "environment:\n    - A=b=c\n    - N=1\n    - EMPTY\n")
    found = read(asked(example, request))
    if example == "woodpecker":
        (service,) = found["services"]  # type: ignore[misc]
        assert service["environment"] == {"A": "b=c", "N": "1", "EMPTY": ""}
    else:
        (job,) = found["jobs"].values()  # type: ignore[attr-defined]
        assert job["services"]["db"]["env"] == {"A": "b=c", "N": "1", "EMPTY": ""}


@pytest.mark.parametrize("key", ["", 'gems-{{ checksum "Gemfile.lock" }}'])
def test_a_named_cache_is_the_same_with_and_without_the_key_that_a_host_made(key: str) -> None:
    request = schema()
    del request.jobs[0].steps[:]
    request.jobs[0].steps.add(restore_cache=m.RestoreCacheStep(name="gems", key=key))
    request.jobs[0].steps.add(save_cache=m.SaveCacheStep(name="gems", key=key))
    text = asked("github-actions", request).fragments[0].content
    assert text.count("key: gems-${{ runner.os }}-${{ hashFiles('Gemfile.lock') }}") == 2
    assert "restore-keys: gems-${{ runner.os }}-" in text


def test_a_key_of_its_own_is_kept() -> None:
    request = schema()
    request.jobs[0].steps.add(save_cache=m.SaveCacheStep(name="gems", key="own"))
    assert "key: own" in asked("github-actions", request).fragments[0].content


def test_the_machine_of_a_job_is_not_overruled_by_the_default_runner() -> None:
    request = schema()
    request.jobs[0].image = "macos-14"
    assert "runs-on: macos-14" in asked("github-actions", request).fragments[0].content
