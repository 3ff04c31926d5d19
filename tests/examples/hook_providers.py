"""The bundled providers in memory, and short words for the schemas that they are given."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from plughost_sdk import hook
from plughost_sdk.hook_messages import (
    CigenSchema,
    CustomStep,
    Diagnostic,
    GenerateRequest,
    GenerateResult,
    JobDefinition,
    RunStep,
    Step,
    UsesStep,
)
from ruamel.yaml import YAML

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "hook"
PACKAGES = {
    "github-actions": "github_actions",
    "woodpecker": "woodpecker",
}  # the folder of an example, and its package


def load(example: str) -> hook.Provider:
    """Return the provider of *example*, as `python provider.py` would find its modules."""
    folder = EXAMPLES / example
    spec = importlib.util.spec_from_file_location(f"provider_of_{PACKAGES[example]}", folder / "provider.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        importlib.import_module(PACKAGES[example])  # what the phases import later is found through it
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    provider = module.provider
    assert isinstance(provider, hook.Provider)
    return provider


def part(example: str, name: str) -> ModuleType:
    """Return a module of *example*."""
    load(example)
    return importlib.import_module(f"{PACKAGES[example]}.{name}")


def generate(provider: hook.Provider, schema: CigenSchema) -> GenerateResult:
    target = provider.name.rpartition("/")[2]
    result = provider.answer("generate", GenerateRequest(target=target, schema=schema))
    assert isinstance(result, GenerateResult)
    return result


def files(result: GenerateResult) -> dict[str, Any]:
    """Return what was written by path, read as YAML 1.2 by a reader that is not the providers'."""
    return {each.path: YAML(typ="safe", pure=True).load(each.content) for each in result.fragments}


def codes(result: Any, level: int | None = None) -> list[str]:
    return [each.code for each in result.diagnostics if level in (None, each.level)]


def errors(result: Any) -> list[str]:
    return codes(result, Diagnostic.LEVEL_ERROR)


def schema(*jobs: JobDefinition, **fields: Any) -> CigenSchema:
    return CigenSchema(version="1", jobs=jobs, **fields)


def job(*steps: Step | str, id: str = "test", **fields: Any) -> JobDefinition:
    return JobDefinition(
        id=id, steps=[run(each) if isinstance(each, str) else each for each in steps], **fields
    )


def run(command: str, **fields: Any) -> Step:
    return Step(run=RunStep(command=command, **fields))


def uses(module: str, **fields: Any) -> Step:
    return Step(uses=UsesStep(module=module, **fields))


def custom(kind: str, yaml: str = "") -> Step:
    return Step(custom=CustomStep(kind=kind, yaml=yaml))
