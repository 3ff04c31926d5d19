"""One run of a plugin: calls its hooks in order, and turns what they do into a reply and an exit status.

Theory of operation: whatever a hook raises ends the run, but for `can_handle`, which only ends its file. A
question to the operator and a `PluginError` are answers of the plugin. Anything else is a crash, and a crash
has no reply: `sys.exit(0)` in a hook must never look like success. `KeyboardInterrupt` ends the process as SIGINT does.
"""

import os

from .envelope import PluginError, PluginInputRequired
from .envelope_context import FileChange
from .envelope_frame import EXIT_CRASHED, EXIT_FAILED, EXIT_INPUT_REQUIRED, EXIT_SUCCESS
from .envelope_log import CUT, shown

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from .envelope import Plugin, PluginContext
    from .envelope_log import Log

    Reply = dict[str, Any]

WORDS_LIMIT = 4_096  # characters of an exception's message that are logged and sent: as many as a host keeps
TRACEBACK_LIMIT = 16_384  # characters of a traceback that are logged: its end, where the cause is


class Lifecycle:
    """Runs *plugin* over *files*, which are relative to the context's destination or absolute."""

    def __init__(self, plugin: "Plugin", context: "PluginContext", files: list[str]) -> None:
        self._plugin = plugin
        self._context = context
        self._files = files
        self._per_file: list[dict[str, Any]] = []
        self._hook = ""
        self._index: int | None = None  # of the file at hand

    def run(self) -> "tuple[int, Reply | None]":
        """Return the exit status and the reply, or no reply after a crash."""
        try:
            self._call("pre_transform_all", self._context)
            for index, given in enumerate(self._files):
                self._index = index
                self._visit(given)
            self._index = None
            self._call("post_transform_all", self._context)
        except KeyboardInterrupt:
            raise  # it is what SIGINT raises: somebody wants this to end, and the host puts right what it left
        except BaseException as error:
            return self._end(error)
        return EXIT_SUCCESS, self._reply("success")

    def _call(self, hook: str, *arguments: "Any") -> "Any":
        self._hook = hook
        return getattr(self._plugin, hook)(*arguments)

    def _visit(self, given: str) -> None:
        from pathlib import Path  # as late as this: it costs as much as starting Python

        path = Path(os.path.join(self._context.dst_root, given))
        entry: dict[str, Any] = {"path": given, "status": "skipped", "changes": None}
        self._per_file.append(entry)
        self._tell_progress("started")
        if self._handles(path, entry):
            if self._context.dry_run:
                changes = self._call("describe_changes", path, self._context)
                entry.update(status="described", changes=[_described(each) for each in changes])
            else:
                self._call("transform", path, self._context)
                entry.update(status="modified")
        self._tell_progress(entry["status"])

    def _handles(self, path: "Path", entry: "dict[str, Any]") -> bool:
        try:
            return bool(self._call("can_handle", path, self._context.variables))
        except PluginInputRequired:
            raise
        except Exception as error:
            entry.update(status="failed", error=_cut(f"can_handle raised {words(error)}"))
            log_exception(self._context.log, entry["error"], error, level="WARNING", path=entry["path"])
            return False

    # The end

    def _end(self, error: BaseException) -> "tuple[int, Reply | None]":
        asked = isinstance(error, PluginInputRequired)
        if not asked and not isinstance(error, PluginError):
            message = f"{self._hook} raised {words(error)}"
            log_exception(self._context.log, message, error, hook=self._hook, path=self._path())
        self._close_entry("input_required" if asked else "failed", error)
        self._clean_up(error)
        if isinstance(error, PluginInputRequired):
            prompt = {"fields": error.fields, "reason": error.reason}
            return EXIT_INPUT_REQUIRED, self._reply("input_required", prompt=prompt)
        if isinstance(error, PluginError):
            return EXIT_FAILED, self._reply("failed", error=message_of(error))
        return EXIT_CRASHED, None

    def _close_entry(self, status: str, error: BaseException) -> None:
        if self._index is None:
            return
        entry = self._per_file[self._index]
        entry.update(status=status, changes=None)
        if status == "failed":
            entry.update(error=message_of(error))
        self._tell_progress(status)

    def _clean_up(self, error: BaseException) -> None:
        if isinstance(error, SystemExit):
            return
        try:
            self._plugin.on_plugin_failure(error, self._context)
        except KeyboardInterrupt:
            raise
        except BaseException as another:
            message = "on_plugin_failure raised; cleanup may be incomplete"
            log_exception(self._context.log, message, another, hook="on_plugin_failure")

    def _reply(self, result: str, *, prompt: "Reply | None" = None, error: str | None = None) -> "Reply":
        return {
            "result": result,
            "per_file": self._per_file,
            "log_records": [],
            "input_required": prompt,
            "error_message": error,
        }

    def _path(self) -> str | None:
        return None if self._index is None else self._files[self._index]

    def _tell_progress(self, status: str) -> None:
        if self._context.dry_run or self._index is None:
            return
        self._context.log.debug(
            "file",
            plughost="file",
            path=self._path(),
            status=status,
            index=self._index,
            count=len(self._files),
        )


def words(error: BaseException) -> str:
    """Return the type of an exception and what it says."""
    text = shown(error, str)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def message_of(error: BaseException) -> str:
    """Return what an exception says, as much of it as is kept, or its type if it says nothing."""
    text = shown(error, str)
    return _cut(text) if text.strip() else type(error).__name__


def _cut(text: str) -> str:
    return text if len(text) <= WORDS_LIMIT else text[:WORDS_LIMIT] + CUT


def log_exception(
    log: "Log", message: str, error: BaseException, *, level: str = "ERROR", **context: "Any"
) -> None:
    """Log *message* with the traceback of *error*, from the first frame that is not ours."""
    context = {key: value for key, value in context.items() if value is not None}
    said = words(error)[:WORDS_LIMIT]
    log.write(level, message[:WORDS_LIMIT], {"error": said, **context, "traceback": _traceback(error)})


def _traceback(error: BaseException) -> str:
    ours = (os.path.dirname(__file__) + os.sep, "<frozen importlib")
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(ours):
        trace = trace.tb_next
    try:
        import traceback

        text = "".join(traceback.format_exception(type(error), error, trace))
    except Exception:  # an exception that cannot be shown, or no memory left to show it
        return words(error)
    return text if len(text) <= TRACEBACK_LIMIT else "…" + text[-TRACEBACK_LIMIT:]


def _described(change: object) -> "dict[str, Any]":
    if not isinstance(change, FileChange):
        raise TypeError(f"describe_changes returns a list of FileChange, and this is in it: {shown(change)}")
    return {
        "path": str(os.fspath(change.path)),
        "kind": change.kind,
        "summary": str(change.summary),
        "detail": change.detail,
    }
