"""An `envelope` plugin's own manifest to the binding that starts its worker. Starts nothing."""

from __future__ import annotations

import os
from pathlib import Path

from plughost_sdk import envelope_worker  # importing it is what keeps it compiled

from .binding import PYTHON_WORDS, USUAL_ENVIRONMENT, Binding, EnvelopeOptions, Environment
from .envelope_manifest import FILE_NAME, EnvelopeManifest, limits_of

CONTRACT = "envelope"
WORKER = os.path.abspath(envelope_worker.__file__)
VALIDATE = ("--mode", "validate")  # what is added to the command of a worker that only looks at variables

# For what a worker starts, in a directory of anybody's files: `python -c "import json"` would run a json.py in there,
# and leave bytecode beside it. The worker itself is isolated, and heeds neither.
FOR_CHILDREN = {"PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def bind(manifest: EnvelopeManifest) -> Binding:
    """Return the binding of *manifest*: its own command, or the Python worker with the plugin's directory."""
    return Binding(
        name=manifest.name,
        contract=CONTRACT,
        command=_command(manifest),
        directory=manifest.directory,
        cwd=manifest.directory,
        source=str(manifest.directory / FILE_NAME),
        description=manifest.description,
        environment=Environment(
            (*USUAL_ENVIRONMENT, *manifest.environment), dict(FOR_CHILDREN) if _is_isolated(manifest) else {}
        ),
        limits=limits_of(manifest),
        envelope=EnvelopeOptions(manifest.lenient),
    )


def _is_isolated(manifest: EnvelopeManifest) -> bool:
    """Tell whether its worker is a Python of ours. Any other would no longer find what is beside its script."""
    return not manifest.command or manifest.command[0] in PYTHON_WORDS


def _command(manifest: EnvelopeManifest) -> tuple[str, ...]:
    """Return the worker's command line. It runs in the tree, so files of the plugin get their whole path."""
    if not manifest.command:
        return ("python", WORKER, str(manifest.directory))
    program, *rest = manifest.command
    return (program, *(_whole(manifest.directory, word) for word in rest))


def _whole(directory: Path, word: str) -> str:
    is_file = not word.startswith("-") and os.path.isfile(directory / word)
    return str(directory / word) if is_file else word
