"""A directory with `envelope` plugins to what is wrong with them, without running or importing any.

Errors are what the host or the worker would refuse; warnings what works but is probably not meant.
"""

from __future__ import annotations

import ast
import difflib
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ManifestError
from ..manifest import envelope_manifest, working_directory, yaml_document
from ..manifest.envelope_manifest import FILE_NAME, EnvelopeManifest
from ..manifest.envelope_registry import MARKS, plugin_directories
from ..messages.quoting import LONGEST, listed, quote
from . import lint_source
from .lint_class import BASE, ENTRIES, Foreign, Lineage, Package, PluginClass, literal
from .lint_report import Finding, LintReport, PluginLint, error, info, warning

HOOKS = ("can_handle", "transform")  # without these there is no plugin
REMOVED_HOOK = "transform_readme"  # of an earlier version of the contract
UNKNOWN_LIMIT = 20  # keys that are told: more are not slips
HIGH_SHARE = 0.5  # of a cap: above it, an operator may want to know
TEXTS = ("name", "version", "api_version")
LISTS = ("supported_extensions", "required_variables", "optional_variables")


def lint(path: Path, *, strict: bool = False) -> LintReport:
    """Return what is wrong with the plugin in *path*, or with each in its directories. Raises ManifestError.

    With *strict*, warnings are errors.
    """
    working_directory.require(path)
    if not os.path.isdir(path):
        problem = "not a directory" if os.path.lexists(path) else "not there"
        raise ManifestError(str(path), "", problem, f"Give a directory with a {FILE_NAME}, or one of such")
    report = LintReport(_with_duplicates([_lint_plugin(each) for each in _plugins(path)]))
    return report.strict() if strict else report


def _plugins(path: Path) -> list[Path]:
    if os.path.lexists(path / FILE_NAME):
        return [path]
    children = plugin_directories(path)
    if any(os.path.lexists(child / FILE_NAME) for child in children):
        return children
    if any(os.path.lexists(path / mark) for mark in MARKS):
        return [path]
    if not children:
        raise ManifestError(str(path), "", f"holds no plugin: no {FILE_NAME}", "Check the path")
    return children


def _lint_plugin(directory: Path) -> PluginLint:
    file = directory / FILE_NAME
    name = directory.absolute().name
    if not os.path.lexists(file):
        return PluginLint(directory, name, (error("manifest", f"missing {FILE_NAME}"),))
    try:
        document = yaml_document.read(file)
    except ManifestError as flaw:
        return PluginLint(directory, name, (_of_flaw(flaw), *_lint_sources(directory, None)))
    flaws = envelope_manifest.flaws(document, str(file))
    if any(flaw.key == "name" for flaw in flaws):
        return PluginLint(directory, name, (*map(_of_flaw, flaws), *_lint_sources(directory, None)))
    manifest = None if flaws else envelope_manifest.of_document(document, directory, str(file))
    about = [_of_flaw(flaw) for flaw in flaws] if manifest is None else _lint_manifest(manifest)
    return PluginLint(directory, document["name"], (*about, *_lint_sources(directory, manifest)))


def _of_flaw(flaw: ManifestError) -> Finding:
    return error("manifest", f"{flaw.problem}. {flaw.remedy}", flaw.key or None)


def _with_duplicates(plugins: list[PluginLint]) -> tuple[PluginLint, ...]:
    """Return *plugins*, those that share a name with an error more."""
    names = Counter(plugin.name for plugin in plugins)
    return tuple(
        replace(plugin, findings=(*plugin.findings, _duplicate(names[plugin.name])))
        if names[plugin.name] > 1
        else plugin
        for plugin in plugins
    )


def _duplicate(count: int) -> Finding:
    return error("duplicate-name", f"{count} plugins here have this name: the host would use none", "name")


def _lint_manifest(manifest: EnvelopeManifest) -> list[Finding]:
    """Return what is odd about a manifest that can be used."""
    found = [_unknown_key(key) for key in manifest.unknown[:UNKNOWN_LIMIT]]
    found += [warning("odd-value", each.text, each.key) for each in manifest.remarks]
    bare = [key for key in ("author", "description") if not getattr(manifest, key).strip()]
    found += [warning("undocumented", "missing: an operator sees it beside the name", key) for key in bare]
    directory = manifest.directory.name
    if directory != manifest.name:
        found.append(warning("directory-name", f"the directory is called {quote(directory)}", "name"))
    if not manifest.supported_extensions:
        found.append(warning("no-extensions", "empty: no file would be given to it", "supported_extensions"))
    for key, cap in (
        ("timeout_seconds", envelope_manifest.TIMEOUT_CAP_S),
        ("memory_mb", envelope_manifest.MEMORY_CAP_MB),
    ):
        value = getattr(manifest.isolation, key)
        if value > cap * HIGH_SHARE:
            found.append(info("high-limit", f"{value:g} is over half of the cap, {cap}", f"isolation.{key}"))
    return found


def _unknown_key(key: str) -> Finding:
    meant = difflib.get_close_matches(key, envelope_manifest.RULES, 1)
    advice = f"did you mean `{meant[0]}`?" if meant else "take it out"
    return warning("unknown-key", f"nobody knows this key; {advice}", key)


def _lint_sources(directory: Path, manifest: EnvelopeManifest | None) -> list[Finding]:
    """Return what the sources tell; without a usable manifest, only what they tell by themselves."""
    if manifest is not None and manifest.command:
        message = f"it has a command of its own, {quote(manifest.command[0])}: no source was checked"
        return [info("own-command", message, "command")]
    modules, found = lint_source.load(directory)
    for module in modules.values():
        found += lint_source.habits(module, network=manifest is None or manifest.isolation.network)
    if not any(_is_file(directory / entry) for entry in ENTRIES):
        missing = error("no-plugin", f"neither {ENTRIES[0]} nor {ENTRIES[1]} is there")
        return found if manifest is None else [missing, *found]
    package = Package(directory.absolute().name, modules)
    if package.entry is None:
        return found  # it cannot be parsed, which was said
    return [*_lint_class(package, manifest), *found]


def _is_file(path: Path) -> bool:
    return os.path.lexists(path) and not os.path.isdir(path)


def _lint_class(package: Package, manifest: EnvelopeManifest | None) -> list[Finding]:
    chosen = _choose(package)
    if isinstance(chosen, Finding):
        return [chosen]
    lineage = package.lineage(chosen)
    at = f"{chosen.module.at(chosen.node)}: {listed([chosen.node.name])}"
    members = lineage.members()
    found = []
    if lineage.is_known and not lineage.is_plugin:
        found.append(error("plugin-base", f"{at} is no subclass of the SDK's {BASE}"))
    for hook in HOOKS:
        if hook not in members and lineage.is_known:
            found.append(error("missing-method", f"{at} does not define {hook}", hook))
        elif isinstance(members.get(hook), ast.AsyncFunctionDef):
            found.append(error("async-method", f"{at}: its {hook} is a coroutine, which nobody awaits", hook))
    if REMOVED_HOOK in members:
        message = f"{at}: its {REMOVED_HOOK} is never called: the README is the host's to write"
        found.append(error("removed-hook", message, REMOVED_HOOK))
    return found if manifest is None else [*found, *_differences(at, lineage, manifest)]


def _choose(package: Package) -> PluginClass | Finding:
    """Return the class that the worker would take, or why there is none."""
    exported = package.exported()
    if isinstance(exported, PluginClass):
        return exported
    candidates = package.subclasses()
    whole = [each for each in candidates if set(HOOKS) <= package.lineage(each).members().keys()]
    candidates = whole or candidates  # a base of the plugin's own is none
    if len(candidates) == 1:
        return candidates[0]
    assert package.entry is not None
    entry = package.entry.path
    if candidates:
        names = listed([each.node.name for each in candidates])
        return error("no-plugin", f"{entry}: it has several plugins ({names}); name one of them {BASE}")
    if isinstance(exported, Foreign) and not exported.is_base:
        return info("cannot-tell", f"{entry}: what {BASE} is can only be told by running it")
    return error("no-plugin", f"{entry}: it has no class {BASE}; define or import it there")


def _differences(at: str, lineage: Lineage, manifest: EnvelopeManifest) -> list[Finding]:
    """Return where the class spells out something else than the manifest."""
    members = lineage.members()
    found = []
    for key in TEXTS:
        value = literal(members.get(key))
        if value is not ... and value != getattr(manifest, key):
            message = f"{at} says {_shown(value)}, the manifest {quote(getattr(manifest, key))}"
            found.append(error("class-differs", message, key))
    for key in LISTS:
        value = literal(members.get(key))
        if value is ... or _as_set(value) == _as_set(getattr(manifest, key)):
            continue
        message = f"{at} says {_shown(value)}, the manifest {_shown(list(getattr(manifest, key)))}"
        grave = key == "supported_extensions"
        found.append(
            error("class-differs", message, key) if grave else warning("class-differs", message, key)
        )
    return found


def _as_set(value: Any) -> frozenset[str] | None:
    """Return texts without order and case, which make no difference; None for what is no list of texts."""
    if not isinstance(value, list | tuple | set | frozenset):
        return None
    return frozenset(each.lower() for each in value) if all(isinstance(each, str) for each in value) else None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
