"""The runner and image of a job to `runs-on` and `container`."""

from __future__ import annotations

import re
from typing import Any

from plughost_sdk.hook_messages import CigenSchema, JobDefinition

from .notes import Notes
from .raw import NO_IMAGE
from .yaml_reader import read

DEFAULT = "ubuntu-latest"

# `ubuntu-24.04` is a machine of GitHub's, `ubuntu:24.04` an image. What an expression gives is taken for a machine.
_MACHINE = re.compile(r"\$\{\{.*|(?:ubuntu|macos|windows)[^:/]*", re.DOTALL)


def machine(job: JobDefinition, schema: CigenSchema, notes: Notes) -> dict[str, Any]:
    """Return `runs-on`, and `container` if the job has an image of its own."""
    image = "" if job.image == NO_IMAGE else job.image
    is_machine = bool(_MACHINE.fullmatch(image))
    found = _runner(job.runner or ("" if is_machine else schema.project.default_runner), schema, notes)
    if is_machine and not found:
        return {"runs-on": image}
    built = {"runs-on": DEFAULT} | found
    if image and image != built["runs-on"]:
        built["container"] = {"image": image}
    return built


def _runner(name: str, schema: CigenSchema, notes: Notes) -> dict[str, Any]:
    if not name:
        return {}
    if name not in schema.runners:
        return {"runs-on": name}  # a label of GitHub's or of a machine of one's own
    config = schema.runners[name].provider_config
    value = read(config["github"]) if "github" in config else None
    if value is None:
        value = {key: read(config[key]) for key in ("runs-on", "container") if key in config}
    if not isinstance(value, dict):
        return {"runs-on": value}
    value = {key.replace("_", "-"): each for key, each in value.items()}
    known = {key: value[key] for key in ("runs-on", "container") if key in value}
    if "runs-on" not in known:
        hint = f"Write `github: {{runs-on: …}}` under the runner; {DEFAULT} is used"
        notes.warning("GITHUB_RUNNER", f"the runner {name!r} does not say runs-on", hint)
    for key in sorted(value.keys() - known.keys()):
        notes.warning(
            "GITHUB_RUNNER",
            f"runner {name}: {key!r} is left out",
            "GitHub knows runs-on and container",
        )
    return known
