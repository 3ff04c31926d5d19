"""The tables of keys in docs/reference/binding.md, from the types that read a plugin.toml. Writes no file."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec

from plughost.manifest import binding
from plughost.manifest.sideband_limits import SidebandLimits

BEGIN, END = "<!-- keys: begin -->", "<!-- keys: end -->"

_MEANINGS = {
    "plugin.name": "the plugin's own name; its handshake must say the same",
    "plugin.contract": "`execute`, `hook` or `sideband`; for `envelope` there is [manifest.yml](manifest-yml.md), "
    "for `duplex` [manifest.toml](manifest-toml.md)",
    "plugin.command": "the program and its arguments, never a shell line; see [below](#command)",
    "plugin.cwd": "the directory it runs in, relative to this file",
    "plugin.description": "one line for people",
    "plugin.survivors": "`end`: what outlives the plugin is ended and reported; `allow`: it is only reported",
    "capabilities.allow": "what the plugin may ask for; see [the guide](../guides/capabilities.md)",
    "environment.pass": "variables that it gets from the host's environment, where they are set. "
    "`NO_COLOR` is 1 and `TERM` is dumb unless they are here or in `set`",
    "environment.set": "variables that it is given",
    "limits.timeout_s": "seconds for a whole call, from its start to its exit; of `hook`, for each hook; "
    "of `sideband`, until a reply",
    "limits.launch_s": "seconds for the system to start the program",
    "limits.handshake_s": "seconds until the handshake is answered",
    "limits.teardown_s": "seconds to exit by itself after the answer",
    "limits.terminate_s": "seconds between SIGTERM and SIGKILL",
    "limits.reap_s": "seconds for the system to take it away after SIGKILL",
    "limits.line_bytes": "bytes of one protocol line, either way, its ending not counted",
    "limits.frame_bytes": "bytes of one frame of `hook`, either way, its length not counted; "
    "of `sideband`, of one line beside the output",
    "limits.stderr_bytes": "bytes of stderr that are kept for the autopsy",
    "limits.memory_mb": "MiB of memory; see [what is counted](../guides/limits-and-environment.md#memory)",
    "limits.cpu_s": "seconds of CPU time, of each process by itself",
    "limits.open_files": "open descriptors, of each process by itself",
    "limits.processes": "processes and threads of the user, not only of the plugin; refused for root",
    "limits.file_mb": "MiB of any one file it writes",
    "limits.head_chars": "characters from the beginning of what one reply shows; `sideband` only",
    "limits.tail_chars": "characters from its end; the whole is in a file then; `sideband` only",
    "limits.images": "pictures in one reply; `sideband` only",
    "limits.image_bytes": "bytes of all pictures in one reply; `sideband` only",
    "limits.spool_bytes": "bytes of all files with whole outputs, while the console is open; `sideband` only",
    "execute.spares": "processes kept started and shaken hands with; see [the guide](../guides/spares.md)",
    "execute.strict": "`true`: bytes on stdout after the answer fail the call instead of being a warning",
    "hook.phases": "what it is asked for, in this order; empty: what it declares, or plan and generate",
    "sideband.echoes": "`true`: it shows what it reads, as a terminal does; that echo is taken out of its output",
    "check.echo": "prints `{text}` and a line feed",
    "check.warn": "the same on standard error",
    "check.set": "remembers `{text}`",
    "check.get": "prints what was remembered",
    "check.value": "an expression whose value is shown with `{text}` in it",
    "check.block": "several lines, blank ones among them, that print `{text}` twice",
    "check.broken": "prints `{text}` in its first line, and cannot be read as a whole",
    "check.error": "raises an error that shows `{text}`",
    "check.wait": "prints `{text}`, and goes on until it is interrupted",
    "check.read": "reads a line with the prompt `{text}`, and prints it",
    "check.readers": "each reads a line in another way, and prints it",
    "check.run": "runs `{command}`, words without quotes, in a shell of its own",
    "check.variables": "prints the names of the environment's variables",
    "check.forked": "prints, from a forked copy, where its descriptors in `/proc/self/fd` lead",
    "check.exit": "ends the session with status 3",
    "check.flood": "prints `{text}` 20 000 times, each on a line",
    "check.picture": "draws a new picture that shows `{text}`",
    "check.repaint": "changes the latest picture to show `{text}` too",
    "check.background": "once there is a file `{file}`, changes that picture while no request runs, "
    "and removes the file",
    "check.help": "shows some help",
    "check.module": "takes a module from the working directory, which prints `{text}`",
    "check.module_file": "the name of that module's file",
    "check.module_text": "and what is in it",
}

_TYPE_NAMES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def page(path: Path) -> str:
    """Return binding.md, which is at *path*, with its tables of keys made anew."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"docs/reference/binding.md lacks its markers: {BEGIN} and {END}")
    return f"{before}{begin}\n{_key_tables()}{end}{after}"


def _key_tables() -> str:
    tables = msgspec.structs.fields(binding._Document)
    unused = _MEANINGS.keys() - {key for table in tables for key, _ in _keys(table)}
    if unused:
        raise SystemExit(
            f"tools/binding_page.py explains keys that no binding has: {', '.join(sorted(unused))}"
        )
    return "".join(map(_key_table, tables))


def _keys(table: msgspec.structs.FieldInfo) -> list[tuple[str, msgspec.structs.FieldInfo]]:
    """Return the fields of *table*, each with its whole name in the file."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(table.type)}
    if table.encode_name == "limits":
        more = msgspec.structs.fields(SidebandLimits)
        fields |= {field.encode_name: field for field in more if field.encode_name not in fields}
    return [(f"{table.encode_name}.{name}", field) for name, field in fields.items()]


_TABLE_NOTES = {
    "check": "For `sideband`: code in the worker's language, which `plughost check` sends. "
    "Of Python and R it is known; what is empty is not tried.\n\n",
}


def _key_table(table: msgspec.structs.FieldInfo) -> str:
    rows = "".join(_key_row(key, field) for key, field in _keys(table))
    note = _TABLE_NOTES.get(table.encode_name, "")
    head = f"\n### `[{table.encode_name}]`\n\n{note}| key | type | default | meaning |\n|---|---|---|---|\n"
    return f"{head}{rows}\n"


def _key_row(key: str, field: msgspec.structs.FieldInfo) -> str:
    if key not in _MEANINGS:
        raise SystemExit(f"tools/binding_page.py does not explain the key {key}")
    return f"| `{field.encode_name}` | {_type(field.type)} | {default(field)} | {_MEANINGS[key]} |\n"


def _type(kind: Any) -> str:
    """Say in words what a value of *kind* is, with its bounds."""
    if hasattr(kind, "__metadata__"):
        return _type(kind.__origin__) + "".join(_bounds(meta) for meta in kind.__metadata__)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (list, tuple):
        return f"list of {_type(arguments[0])}s"
    if origin is dict:
        return f"table of {_type(arguments[1])}s"
    if arguments and all(isinstance(each, str) for each in arguments):
        return " or ".join(f"`{each}`" for each in arguments)
    if type(None) in arguments:
        return next(_type(each) for each in arguments if each is not types.NoneType)
    return _TYPE_NAMES[kind]


def _bounds(meta: msgspec.Meta) -> str:
    lowest = f", over {meta.gt}" if meta.gt is not None else f", at least {meta.ge}"
    return f"{lowest}, at most {meta.le}"


def default(field: msgspec.structs.FieldInfo) -> str:
    """Say what a key is if it is not written."""
    if field.required:
        return "required"
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if value is None:
        return "no limit"
    others = (
        (contract, usual[field.name]) for contract, usual in _OTHER_DEFAULTS.items() if field.name in usual
    )
    shown = [f"`{contract}`: {_spelled(usual)}" for contract, usual in others if usual != value]
    return "; ".join([_spelled(value), *shown])


def _spelled(value: object) -> str:
    return f"`{msgspec.json.encode(value).decode()}`"


_OTHER_DEFAULTS = {
    contract: {
        name: getattr(limits, name)
        for name in binding.Limits.__struct_fields__
        if getattr(limits, name) != getattr(binding.Limits(), name)
    }
    for contract, limits in {"hook": binding.HookLimits(), "sideband": SidebandLimits()}.items()
}
