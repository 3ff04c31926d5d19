"""The reference page of `manifest.toml` and `narrow.toml`, from the rules that read them. Writes no file."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from plughost.capabilities.gates import ROOTS
from plughost.manifest import duplex_limits, duplex_manifest, duplex_narrowing
from plughost.manifest.binding import Limits

_INTRODUCTION = """\
# The manifest: `manifest.toml`

What a plugin of the [`duplex` contract](spec-duplex.md) says about itself. It lies in the plugin's directory, and the
host reads it without running the plugin. Directory, plugin and program have one name:

```toml
[plugin]
name = "board"
version = "1.0.0"
abi_version = 2

[capabilities]
event_bus = ["board.*"]

[provides]
screens = ["board"]
```
"""

_ROOTS = "".join(
    f"| `{capability.value}` | {', '.join(f'`{place}`' for place in places)} |\n"
    for capability, places in ROOTS.items()
)

_END = f"""
An unknown key is ignored, and an unknown capability is one that is not granted: the contract may grow. Whatever else is
wrong is an error that names the file and the key, before anything is started, and hides no other plugin. Two plugins of
one name are both refused. A link may lead from one place of a root to another, never out of it.

Where files are read, unless the host says otherwise (`roots` in Python, `--logs` on the command line):

| capability | reads beneath |
|---|---|
{_ROOTS}
## `narrow.toml`

What the host says about the plugin. It lies beside the manifest, or is given in code as `plughost.Narrowing`. It takes
away and never gives: a grant that the manifest does not ask for is an error.

<!-- file: board/narrow.toml -->
```toml
command = ["python", "board.py"]    # instead of the program of the plugin's name

[capabilities]
event_bus = ["board.cards"]         # of what the manifest asks for, only this
network = false                     # nothing of it

[limits]
render_s = 1.0

[environment]
pass = ["PATH", "LANG", "HOME"]
```

`command` is as in [a binding](binding.md#command), `[environment]` [too](binding.md#environment). The limits, of which
those not named here are [those of every plugin](binding.md#limits):

| key | default | meaning |
|---|---|---|
"""

# The type and the meaning of each key.
_KEYS = {
    "plugin.name": (
        "string",
        "letters, digits, `_`, `-` and `.`; the directory's and the program's too",
    ),
    "plugin.version": ("string", "its own version, a semantic one; init must say the same"),
    "plugin.abi_version": ("integer", "the version of the contract: 2"),
    "plugin.description": ("string", "one line for people"),
    "capabilities.read_sessions": ("grant", "`host/fs/*` beneath the sessions"),
    "capabilities.write_plugin_data": ("grant", "actions of the host's own that write, if it says so"),
    "capabilities.event_bus": (
        "grant",
        "`host/snapshot/*`; a list holds topics, or their beginnings with `*`",
    ),
    "capabilities.network": ("grant", "`host/network/fetch`; a list holds the names of hosts"),
    "capabilities.spawn_subprocess": (
        "grant",
        "actions of the host's own that start a program, if it says so",
    ),
    "capabilities.read_claude_logs": (
        "grant",
        "`host/fs/*` beneath these logs; a list holds paths beneath them",
    ),
    "capabilities.read_codex_logs": (
        "grant",
        "`host/fs/*` beneath these logs; a list holds paths beneath them",
    ),
    "provides.screens": ("list of strings", "screens that `plugin/render` draws"),
    "provides.commands": ("list of strings", "actions that others may invoke"),
    "provides.cli_namespaces": ("list of strings", "first words of command lines; each is an action too"),
    "provides.snapshots": ("list of strings", "topics that it publishes"),
    "subscribes.snapshots": ("list of strings", "topics that it is told of, from the start"),
    "subscribes.latest_state": ("list of strings", "of these topics only the newest publish matters"),
    "lifecycle.spawn": ("`lazy` or `eager`", "started when it is needed, or with the host"),
    "lifecycle.idle_reap_secs": ("integer", "whole seconds without use after which it is ended; 0: never"),
    "lifecycle.exit_zero_is_crash": (
        "boolean",
        "`false`: it may end by itself when it has nothing more to do",
    ),
    "config.key": ("string", "the setting's name; begin each with `[[config]]`"),
    "config.kind": ("`path`, `string`, `bool`, `enum` or `int`", "what a value is"),
    "config.label": ("string", "for people"),
    "config.default": ("string", "the value if nobody gives one, spelled as a text"),
    "config.choices": ("list of strings", "of an `enum`"),
}
_LIMITS = {
    "timeout_s": "seconds for one command; an action has the time that its caller gives, or any",
    "handshake_s": "seconds from the start until init is answered",
    "render_s": "seconds for one screen",
    "write_s": "seconds for it to read what it is sent",
    "teardown_s": "seconds from the end of its input, which follows `plugin/shutdown`, to its exit",
    "terminate_s": "seconds between SIGTERM and SIGKILL",
    "frame_bytes": "bytes of one body, either way",
    "values": "values in one message of the plugin; a quarter of it in an answer that may be anything",
    "key_lane": "keys that may wait; older ones are dropped",
    "backoff_s": "seconds before each next start after a failure; the last one stays",
    "failure_window_s": "seconds after which a failure is forgotten",
    "failures_to_quarantine": "failures within that time that quarantine it",
    "stable_s": "seconds of running after which the row of waits begins anew",
    "idle_reap_s": "whole seconds without use after which it is ended; 0: never",
}


def manifest_page() -> str:
    """Return the keys of both files. Raises SystemExit for a key that is not explained, or is no key."""
    tables = {**duplex_manifest.TABLES, "config": duplex_manifest.CONFIG}
    _compare(
        "manifest.toml", set(_KEYS), {f"{table}.{key}" for table, keys in tables.items() for key in keys}
    )
    _compare("narrow.toml", set(_LIMITS), _own_limits())
    rows = "".join(_table(table, list(keys)) for table, keys in tables.items())
    grants = "\nA *grant* is `true`, `false`, or a list of what is granted; an empty list grants nothing.\n"
    return _INTRODUCTION + rows + grants + _END + "".join(_limit_row(key) for key in _LIMITS)


def _compare(file: str, explained: set[str], known: set[str]) -> None:
    if odd := explained ^ known:
        raise SystemExit(f"tools/duplex_pages.py and the rules of {file} differ in: {', '.join(sorted(odd))}")


def _own_limits() -> set[str]:
    """Return the limits that only these plugins have, or have with another default."""
    usual, own = Limits(), duplex_limits.DuplexLimits()
    names = own.__struct_fields__
    return {name for name in names if not hasattr(usual, name) or getattr(usual, name) != getattr(own, name)}


def _table(table: str, keys: list[str]) -> str:
    head = f"\n### `{'[[config]]' if table == 'config' else f'[{table}]'}`\n\n"
    lines = "| key | type | default | meaning |\n|---|---|---|---|\n"
    for key in keys:
        kind, meaning = _KEYS[f"{table}.{key}"]
        lines += f"| `{key}` | {kind} | {_default(table, key)} | {meaning} |\n"
    return head + lines


_OWNERS = {
    "plugin": duplex_manifest.DuplexManifest,
    "capabilities": duplex_manifest.Capabilities,
    "provides": duplex_manifest.Provides,
    "subscribes": duplex_manifest.Subscribes,
    "lifecycle": duplex_manifest.Lifecycle,
    "config": duplex_manifest.ConfigEntry,
}


def _default(table: str, key: str) -> str:
    field = next(each for each in dataclasses.fields(_OWNERS[table]) if each.name == key)
    return "required" if field.default is dataclasses.MISSING else _spelled(field.default)


def _limit_row(key: str) -> str:
    value = getattr(duplex_narrowing.Narrowing().limits, key)
    shown = "as the manifest says" if value is None else _spelled(value)
    return f"| `{key}` | {shown} | {_LIMITS[key]} |\n"


def _spelled(value: Any) -> str:
    return f"`{msgspec.json.encode(value).decode()}`"
