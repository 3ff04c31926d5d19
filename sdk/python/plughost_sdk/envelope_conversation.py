"""The worker's side of the wire: one request in, one reply out, and the exit status that goes with it.

Theory of operation: the wire is moved out of reach before any code of the plugin runs. The reply is written
once, whole, at the very end, by the process that was asked; so whatever happens earlier leaves no reply,
and the host never takes half of one for the whole.
"""

from __future__ import annotations

import gc
import os
import sys

from . import stdio
from .envelope_context import PluginContext
from .envelope_frame import FRAME_LIMIT, FrameRefused, read_frame, to_json
from .envelope_lifecycle import EXIT_CRASHED, EXIT_SUCCESS, Lifecycle, log_exception, words
from .envelope_log import Log

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from .envelope import Plugin

    Load = Callable[[dict[str, Any]], type[Plugin]]

EXIT_STARTED_BY_HAND = 2

_TEXTS = ("template_name", "template_version", "run_kind", "equipment_id", "project")


def serve(load: Load, *, validate: bool, introduction: str, ahead: bool = False) -> NoReturn:
    """Answer the request on stdin with the class that *load* finds for it, then exit. *ahead*: it will name files."""
    if stdio.is_terminal():
        sys.stderr.write(introduction)
        sys.exit(EXIT_STARTED_BY_HAND)
    status = _Conversation(load).serve(validate=validate, ahead=ahead)
    if validate:  # nothing was done that an exit handler would have to finish, and the host waits
        _flush()
        os._exit(status)
    # The host waits for our exit. Python would collect garbage once more before it ends, which takes longer
    # than a small file; exit handlers and threads are waited for all the same.
    gc.disable()
    gc.freeze()
    sys.exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # closed, or replaced by something of the plugin's


class _Conversation:
    def __init__(self, load: Load) -> None:
        self._load = load
        self._log = Log()
        self._process = os.getpid()
        self._write = -1

    def serve(self, *, validate: bool, ahead: bool) -> int:
        try:
            read, self._write = stdio.claim()
            os.register_at_fork(after_in_child=self._let_go)
            request = _object(read_frame(read, ahead=ahead), "the request")
            os.close(read)
            return self._validate(request) if validate else self._transform(request)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plugin may raise anything, also while it is imported
            log_exception(self._log, words(error), error)
            return EXIT_CRASHED
        finally:  # nothing may follow the reply, not even from an exit handler
            self._let_go()

    def _transform(self, request: dict[str, Any]) -> int:
        context, files = _context(request, self._log), _files(request)
        plugin = self._load(request)()
        status, reply = Lifecycle(plugin, context, files).run()
        return status if reply is None else self._answer(reply, status)

    def _validate(self, request: dict[str, Any]) -> int:
        variables = _object(_context_of(request).get("variables"), "variables")
        try:
            plugin = self._load(request)()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            log_exception(self._log, f"the plugin cannot be imported: {words(error)}", error)
            return self._answer({"errors": [f"import_failed: {words(error)}"]}, EXIT_SUCCESS)
        errors: object = plugin.validate_variables(variables)
        if not isinstance(errors, list) or not all(isinstance(each, str) for each in errors):
            raise TypeError("validate_variables must return a list of strings")
        return self._answer({"errors": errors, "plugin": _introduction(plugin)}, EXIT_SUCCESS)

    def _answer(self, reply: dict[str, Any], status: int) -> int:
        """Write *reply*, and return the status to exit with."""
        if os.getpid() != self._process:  # a child of the plugin has returned from the hook that made it
            os._exit(EXIT_CRASHED)
        try:
            body = to_json(reply)
        except (ValueError, TypeError, RecursionError) as error:
            log_exception(self._log, f"{_culprit(reply)} cannot be sent as JSON: {words(error)}", error)
            return EXIT_CRASHED
        if len(body) > FRAME_LIMIT:
            self._log.error(f"the reply of {len(body)} bytes is over the limit of {FRAME_LIMIT} bytes")
            return EXIT_CRASHED
        stdio.write_all(self._write, body + b"\n")
        return status

    def _let_go(self) -> None:
        """Close the wire: at the end, and in a child of the plugin, which must not hold it."""
        write, self._write = self._write, -1
        try:
            os.close(write)
        except OSError:
            pass  # it is closed already


def _context(request: dict[str, Any], log: Log) -> PluginContext:
    given = _context_of(request)
    return PluginContext(
        variables=_object(given.get("variables"), "variables"),
        dst_root=_text(given, "dst_root"),
        answers_file=_text(given, "answers_file"),
        dry_run=_flag(request, "dry_run") or _flag(given, "dry_run"),
        extra_inputs=_object(request.get("extra_inputs"), "extra_inputs"),
        log=log,
        **{key: _text(given, key) for key in _TEXTS},
    )


def _context_of(request: dict[str, Any]) -> dict[str, Any]:
    return _object(request.get("context"), "context")


def _files(request: dict[str, Any]) -> list[str]:
    files = request.get("files")
    if files is None:
        return []
    if not isinstance(files, list) or not all(isinstance(each, str) for each in files):
        raise FrameRefused("files must be a list of strings")
    return files


# Null counts as missing: a host may spell out what it does not know.


def _object(value: object, name: str) -> dict[str, Any]:
    if value is None and name != "the request":
        return {}
    if not isinstance(value, dict):
        raise FrameRefused(f"{name} must be an object, not {type(value).__name__}")
    return value


def _text(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise FrameRefused(f"{key} must be a string, not {type(value).__name__}")
    return value or ""


def _flag(given: dict[str, Any], key: str) -> bool:
    value = given.get(key)
    if value is not None and not isinstance(value, bool):
        raise FrameRefused(f"{key} must be true or false, not {type(value).__name__}")
    return bool(value)


def _introduction(plugin: Plugin) -> dict[str, Any]:
    """Return what the class says about itself, for the host to compare with the manifest."""
    extensions = plugin.supported_extensions
    if isinstance(extensions, str):
        extensions = [extensions]
    return {
        "name": str(plugin.name),
        "version": str(plugin.version),
        "supported_extensions": [str(each) for each in extensions],
        "api_version": str(plugin.api_version),
    }


def _culprit(reply: dict[str, Any]) -> str:
    """Return what in *reply* cannot be sent."""
    for entry in reply.get("per_file", ()):
        for at, change in enumerate(entry["changes"] or ()):
            try:
                to_json(change)
            except (ValueError, TypeError, RecursionError):
                return f"the detail of change {at} of {entry['path']!r}"
    return "the reply"
