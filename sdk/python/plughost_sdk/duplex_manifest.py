"""The manifest that a plugin declares at init: from TOML, or made of what its handlers are. Raises ValueError.

tomllib costs as much to import as Python to start. A plugin that gives no manifest does without.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from typing import Any

ABI_VERSION = 2


def read(given: str | os.PathLike[str], beside: str) -> dict[str, Any]:
    """Return the manifest *given*: its text, if that has a line feed, or a path seen from the file *beside*."""
    import tomllib

    if isinstance(given, str) and "\n" in given:
        text = given
    else:
        path = os.path.join(os.path.dirname(os.path.abspath(beside)), given)
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise ValueError(f"the manifest cannot be read: {error}") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"manifest TOML invalid: {error}") from None


def check(manifest: dict[str, Any], name: str, version: str) -> None:
    """Raise unless the manifest is of the plugin *name* *version* and of this contract's ABI."""
    plugin = manifest.get("plugin")
    if not isinstance(plugin, dict):
        raise ValueError("the manifest has no [plugin] table")
    for key, expected in (("name", name), ("version", version), ("abi_version", ABI_VERSION)):
        if plugin.get(key) != expected:
            raise ValueError(
                f"plugin.{key} is {plugin.get(key)!r} in the manifest and {expected!r} in the code"
            )


def settings(manifest: dict[str, Any], given: Any) -> Any:
    """Return the settings *given* at init with the manifest's defaults in place of those that are missing.

    A host that knows no settings gives None. What is no `[[config]]` entry with a key is left out.
    """
    entries = manifest.get("config")
    if not isinstance(entries, list) or not (given is None or isinstance(given, dict)):
        return given
    known = [each for each in entries if isinstance(each, dict) and isinstance(each.get("key"), str)]
    if not known:
        return given
    return {**{each["key"]: _default(each) for each in known}, **(given or {})}


def _default(entry: dict[str, Any]) -> Any:
    """Return the default of a setting, which a manifest spells as a text, as a value of its kind."""
    kind, said = entry.get("kind"), entry.get("default", "")
    if not isinstance(said, str):
        return said
    if kind == "bool":
        return said.strip().lower() in ("true", "1", "yes", "on")
    if kind == "int":
        digits = said.removeprefix("-")
        return int(said) if digits.isascii() and digits.isdigit() else 0
    choices = entry.get("choices")
    if kind == "enum" and not said and isinstance(choices, list) and choices:
        return choices[0]
    return said


def make(
    name: str, version: str, commands: list[str], namespaces: list[str], topics: list[str]
) -> dict[str, Any]:
    """Return the manifest of a plugin that gives none."""
    return {
        "plugin": {"name": name, "version": version, "abi_version": ABI_VERSION},
        "provides": {"commands": commands, "cli_namespaces": namespaces},
        "subscribes": {"snapshots": topics},
    }
