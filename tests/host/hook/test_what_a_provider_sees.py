"""A raw provider, which knows no SDK and looks up nothing, is told all that it writes into its file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from plughost_sdk import hook_messages as wire

RECORDER = """
import sys

def read():
    header = sys.stdin.buffer.read(4)
    if len(header) < 4:
        sys.exit(0)
    return sys.stdin.buffer.read(int.from_bytes(header, "big"))

def write(body):
    sys.stdout.buffer.write(len(body).to_bytes(4, "big") + body)
    sys.stdout.buffer.flush()

read()
write(b"\\x0a\\x0cprovider/raw\\x12\\x011\\x18\\x01")
read()
write(b"")
with open(sys.argv[1], "wb") as file:
    file.write(read())
write(b"")
read()
"""

PIPELINE = """
project: {name: shop, default_runner: small}
orbs: {slack: circleci/slack@4}
services: {db: {image: "postgres:17"}}
caches: {gems: {paths: [vendor], key_parts: [Gemfile.lock]}}
jobs:
  test:
    matrix: {ruby: ["3.2"], arch: [amd64, arm64]}
    packages: [ruby, {name: node, path: docs}]
    environment: {A: "1"}
    services: [db, "redis:7"]
    steps:
      - checkout
      - run: {name: Test, command: "rspec {{ matrix.arch }}"}
      - restore_cache: {keys: [v1-a, v1-]}
      - restore_cache: gems
      - save_cache: gems
      - store_artifacts: {path: logs}
"""
KEY = 'gems-{{ checksum "Gemfile.lock" }}'


def seen(home: Path, schema: Path) -> wire.CigenSchema:
    """Return the schema that a raw provider of the command line is sent for the pipeline at *schema*."""
    (home / "recorder.py").write_text(RECORDER)
    command = [sys.executable, str(home / "recorder.py"), str(home / "request")]
    run = [sys.executable, "-m", "plughost", "generate", "--schema", str(schema), "--dry-run"]
    done = subprocess.run(
        [*run, "--contract", "hook", "--", *command], cwd=home, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return wire.GenerateRequest.FromString((home / "request").read_bytes()).schema


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> wire.CigenSchema:
    home = tmp_path_factory.mktemp("raw")
    (home / "cigen.yml").write_text(PIPELINE)
    return seen(home, home / "cigen.yml")


def steps(schema: wire.CigenSchema) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = MessageToDict(schema.jobs[0])["steps"]
    return found


@pytest.mark.requirement("hook:schema:complete")
def test_steps_packages_and_images_are_complete(schema: wire.CigenSchema) -> None:
    assert steps(schema) == [
        {"custom": {"kind": "checkout", "yaml": "checkout"}},
        {"run": {"name": "Test", "command": "rspec amd64"}},
        {"restoreCache": {"key": "v1-a", "keys": ["v1-a", "v1-"]}},
        {"restoreCache": {"name": "gems", "key": KEY}},
        {"saveCache": {"name": "gems", "key": KEY, "paths": ["vendor"]}},
        {"custom": {"kind": "store_artifacts", "yaml": "store_artifacts:\n  path: logs"}},
    ]
    job = schema.jobs[0]
    assert list(job.packages) == [each.name for each in job.package_specs] == ["ruby", "node"]
    assert (job.image, dict(job.env), list(job.services)) == ("ubuntu-latest", {"A": "1"}, ["db", "redis:7"])


@pytest.mark.requirement("hook:round:matrix")
def test_expanded_jobs_have_no_matrix_and_ids_sorted_by_key(schema: wire.CigenSchema) -> None:
    assert [job.id for job in schema.jobs] == ["test-amd64-3.2", "test-arm64-3.2"]
    assert not any(job.matrix or job.matrix_rows for job in schema.jobs)


@pytest.mark.requirement("hook:schema:as-written")
def test_the_runner_is_left_to_the_project_and_the_file_is_there_as_a_whole(schema: wire.CigenSchema) -> None:
    assert {job.runner for job in schema.jobs} == {""}
    assert schema.project.default_runner == "small"
    assert "orbs:\n  slack: circleci/slack@4\n" in schema.raw_config_yaml
    assert "services:\n  db:\n    image: 'postgres:17'\n" in schema.raw_config_yaml


def test_a_directory_of_parts_is_sent_like_a_file(tmp_path: Path) -> None:
    jobs = tmp_path / ".cigen/workflows/ci/jobs"
    jobs.mkdir(parents=True)
    (tmp_path / ".cigen/config.yml").write_text("orbs: {slack: circleci/slack@4}\n")
    (jobs / "lint.yml").write_text("steps: [{run: {name: Lint, command: make lint}}]\n")
    (jobs / "test.yml").write_text("requires: [lint]\nimage: ruby:3\n")
    found = seen(tmp_path, tmp_path / ".cigen")
    assert found.raw_config_yaml == "orbs:\n  slack: circleci/slack@4"
    assert [(job.id, job.workflow, job.image, list(job.needs)) for job in found.jobs] == [
        ("lint", "ci", "ubuntu-latest", []),
        ("test", "ci", "ruby:3", ["lint"]),
    ]


def test_a_mistake_in_a_part_names_the_part(tmp_path: Path) -> None:
    jobs = tmp_path / "workflows/ci/jobs"
    jobs.mkdir(parents=True)
    (tmp_path / "config.yml").write_text("{}\n")
    (jobs / "test.yml").write_text("\nsetps: []\n")
    run = [sys.executable, "-m", "plughost", "generate", "--schema", str(tmp_path), "--json"]
    done = subprocess.run(
        [*run, "--contract", "hook", "--", "true"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3
    assert "workflows/ci/jobs/test.yml" in json.dumps(json.loads(done.stdout)) + done.stderr
