"""The author's side of the `envelope` contract: a class whose hooks transform the files of a directory.

    from plughost_sdk.envelope import Plugin

    class Stamp(Plugin):
        name, version, supported_extensions = "stamp", "1.0.0", [".txt"]

        def can_handle(self, path, variables):
            return True

        def transform(self, path, ctx):
            path.write_text(path.read_text() + ctx.variables["operator"])

A worker makes one instance and calls: `pre_transform_all`, then for each file `can_handle` and
`transform` (`describe_changes` in a dry run), then `post_transform_all`.
"""

import abc
import os
import sys

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any, NoReturn

    from .envelope_context import FileChange, PluginContext
    from .envelope_prompt import field

__all__ = [
    "FileChange",
    "Plugin",
    "PluginContext",
    "PluginError",
    "PluginInputRequired",
    "field",
    "run",
]


def __getattr__(name: str) -> "Any":
    """Return what not every plugin needs, imported when it is first asked for."""
    if name == "field":
        from . import envelope_prompt as home
    elif name in ("FileChange", "PluginContext"):
        from . import envelope_context as home  # type: ignore[no-redef]
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(home, name)


class PluginError(Exception):
    """Raise it in a hook to end the run as failed, with a message for people."""


class PluginInputRequired(Exception):
    """Raise it in a hook to ask the operator. The run is repeated from this file on, with `ctx.extra_inputs`.

    *fields* are made with `field`, or dicts alike. Raises ValueError that names what is wrong with them.
    """

    def __init__(self, fields: "list[dict[str, Any]]", reason: str) -> None:
        from .envelope_prompt import checked_all

        if not isinstance(reason, str):
            raise ValueError(f"the reason is a string, not {reason!r}")
        super().__init__(reason)
        self.fields = checked_all(fields)
        self.reason = reason

    def __reduce__(self) -> "tuple[Any, ...]":
        return type(self), (self.fields, self.reason)


class Plugin(abc.ABC):
    """A plugin of the `envelope` contract. The names of the class are those of its manifest."""

    name: str = ""
    version: str = ""
    supported_extensions: "Sequence[str]" = ()
    api_version: str = "1"
    required_variables: "Sequence[str]" = []  # noqa: RUF012  nobody changes a Sequence
    optional_variables: "Sequence[str]" = []  # noqa: RUF012  likewise

    @abc.abstractmethod
    def can_handle(self, path: "Path", variables: "dict[str, Any]") -> bool:
        """Tell whether this plugin has something to do with the file. If it raises, the file is left out."""

    @abc.abstractmethod
    def transform(self, path: "Path", ctx: "PluginContext") -> None:
        """Change the file, and whatever else belongs to it. May be called again after the operator was asked."""

    def validate_variables(self, variables: "dict[str, Any]") -> list[str]:
        """Return what is wrong with the variables, before any file is touched. Nothing wrong: an empty list."""
        missing = [name for name in self.required_variables if _is_empty(variables.get(name))]
        return [f"required variable '{name}' is missing or empty" for name in missing]

    def pre_transform_all(self, ctx: "PluginContext") -> None:  # noqa: B027  a hook need not be used
        """Prepare. Called in each worker, before its first file; a pass over many files has several."""

    def describe_changes(self, path: "Path", ctx: "PluginContext") -> "list[FileChange]":  # noqa: ARG002
        """Say what `transform` would do, without doing it."""
        from .envelope_context import FileChange

        return [FileChange(path, "modify", f"{self.name} would modify {path.name}")]

    def post_transform_all(self, ctx: "PluginContext") -> None:  # noqa: B027  likewise
        """Finish. Called in each worker, after its last file, also if there was none."""

    def on_plugin_failure(self, error: BaseException, ctx: "PluginContext") -> None:  # noqa: B027  likewise
        """Clean up. Called after any exception of a hook; what is raised here is logged and goes no further."""


def run(plugin_class: "type[Plugin]") -> "NoReturn":
    """Serve one request over stdin and stdout, then exit. Started in a terminal, say what this is instead."""
    from .envelope_conversation import LENIENT, flush, serve

    validate = [word for word in sys.argv[1:] if word != LENIENT] == ["--mode", "validate"]
    status = serve(lambda _request: plugin_class, validate=validate, introduction=_introduction(plugin_class))
    if validate:  # nothing was done that an exit handler would have to finish, and the host waits
        flush()
        os._exit(status)
    sys.exit(status)


def _introduction(plugin_class: "type[Plugin]") -> str:
    script = os.path.basename(sys.argv[0]) or "this file"
    return (
        f"{plugin_class.name} {plugin_class.version} is a plughost plugin (contract: envelope). A host starts it; it\n"
        f"does not run by itself. It transforms files: {', '.join(plugin_class.supported_extensions)}.\n\n"
        f'Try it:     echo \'{{"context": {{}}, "files": ["FILE"], "dry_run": true}}\' | python {script}\n'
    )


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
