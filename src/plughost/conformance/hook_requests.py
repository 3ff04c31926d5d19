"""What a plugin of the `hook` contract is asked in a check, about a small project.

Turns a phase into a request as a host would send it. Sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

from .. import pipeline
from ..contracts.hook import host as hook
from ..contracts.hook.messages import Phase
from ..host.hook import repository
from ..host.hook.flow import signatures

SAMPLE = """\
version: "1"
project:
  name: sample
jobs:
  lint:
    image: python:3.13-slim
    steps:
      - run: python -m compileall -q src
  test:
    needs: lint
    image: python:3.13-slim
    env:
      COLOUR: "no"
    steps:
      - name: Install
        run: pip install -e .
      - name: Test
        run: python -m unittest
workflows:
  ci:
    name: CI
"""
FILES = {
    "pyproject.toml": '[project]\nname = "sample"\nversion = "1.0.0"\n',
    "src/sample.py": '"""A sample."""\n',
    "README.md": "A sample, made to try a plugin out.\n",
}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass(frozen=True, slots=True)
class Sample:
    """The project that a plugin is asked about, and the directory it is in."""

    native: wire.CigenSchema
    expanded: wire.CigenSchema
    root: Path

    def schema(self, info: wire.PluginInfo) -> wire.CigenSchema:
        """Return the schema as *info* wants it, to be changed at will."""
        copy = wire.CigenSchema()
        copy.CopyFrom(self.native if hook.wants_native_matrix(info) else self.expanded)
        return copy


def sample(schema: pipeline.Pipeline | None, root: Path) -> Sample:
    """Return a project in *root*, which is empty: *schema*, or a small one. Writes its files."""
    for name, content in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    chosen = schema if schema is not None else pipeline.parse(SAMPLE, "sample")
    return Sample(chosen.native, chosen.expanded, root)


Results = Mapping[Phase, Message]


def ordinary(of: Sample, info: wire.PluginInfo, phase: Phase, results: Results) -> Message:
    """Return the request for *phase*, of a plugin that has introduced itself with *info* and answered *results*."""
    return of_schema(of.schema(info), of, info, phase, results)


def of_schema(
    schema: wire.CigenSchema, of: Sample, info: wire.PluginInfo, phase: Phase, results: Results
) -> Message:
    """Return the same with another *schema*."""
    match phase:
        case Phase.DETECT:
            return wire.DetectRequest(repo=repository.snapshot(of.root))
        case Phase.PLAN:
            return wire.PlanRequest(capabilities=sorted(info.capabilities), schema=schema)
        case Phase.GENERATE:
            planned, found = results.get(Phase.PLAN), results.get(Phase.DETECT)
            return wire.GenerateRequest(
                target=hook.target(info),
                graph=planned.resources if isinstance(planned, wire.PlanResult) else (),
                work_signatures=signatures(schema),
                schema=schema,
                facts=found.facts if isinstance(found, wire.DetectResult) else {},
            )
        case Phase.VALIDATE:
            made = results.get(Phase.GENERATE)
            rendered = made.fragments if isinstance(made, wire.GenerateResult) else ()
            return wire.ValidateRequest(rendered=rendered, schema=schema)
        case Phase.PREFLIGHT:
            state = wire.RepoState(commit_sha=COMMIT)
            state.changes.add(path="src/sample.py", type=wire.FileChange.CHANGE_TYPE_MODIFIED)
            return wire.PreflightRequest(job_id=schema.jobs[0].id if schema.jobs else "", repo_state=state)
