"""The worker's side of the wire: one request in, one reply out, and the exit status that goes with it.

Theory of operation: the wire is moved out of reach before any code of the plugin runs. The reply is written
once, whole, at the very end, by the process that was asked; so whatever happens earlier leaves no reply,
and the host never takes half of one for the whole.
"""

import os
import sys

from . import stdio
from .envelope_frame import (
    EXIT_CRASHED,
    EXIT_SUCCESS,
    FRAME_LIMIT,
    FrameRefused,
    object_of,
    read_frame,
    to_json,
)

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .envelope import Plugin

    Load = Callable[[dict[str, Any]], type[Plugin]]

EXIT_STARTED_BY_HAND = 2
LENIENT = "--lenient"  # in the command: a host may leave out members that the contract shows


def serve(load: "Load", *, validate: bool, introduction: str, ahead: bool = False) -> int:
    """Answer the request on stdin with the class that *load* finds for it. Returns the status to exit with.

    *ahead* says that we were started before the request, which will name files.
    """
    if stdio.is_terminal():
        sys.stderr.write(introduction)
        sys.exit(EXIT_STARTED_BY_HAND)
    return _Conversation(load).serve(validate=validate, ahead=ahead)


def flush() -> None:
    """Write what is left in the standard streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # closed, or replaced by something of the plugin's


class _Conversation:
    def __init__(self, load: "Load") -> None:
        self._load = load
        self._process = os.getpid()
        self._write = -1

    def serve(self, *, validate: bool, ahead: bool) -> int:
        try:
            read, self._write = stdio.claim()
            os.register_at_fork(after_in_child=self._let_go)
            if not validate:
                from . import envelope_lifecycle  # noqa: F401  before the request is there, for which we may wait
            request = object_of(read_frame(read, ahead=ahead), "the request", optional=False)
            os.close(read)
            if LENIENT not in sys.argv:
                _demand(request, ("context",) if validate else ("context", "files"))
            return self._validate(request) if validate else self._transform(request)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plugin may raise anything, also while it is imported
            _log(error)
            return EXIT_CRASHED
        finally:  # nothing may follow the reply, not even from an exit handler
            self._let_go()

    def _transform(self, request: "dict[str, Any]") -> int:
        from .envelope_context import context_of, files_of
        from .envelope_lifecycle import Lifecycle

        context, files = context_of(request), files_of(request)
        plugin = self._load(request)()
        status, reply = Lifecycle(plugin, context, files).run()
        return status if reply is None else self._answer(reply, status)

    def _validate(self, request: "dict[str, Any]") -> int:
        context = object_of(request.get("context"), "context")
        variables = object_of(context.get("variables"), "variables")
        try:
            plugin = self._load(request)()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            said = _log(error, "the plugin cannot be imported: ")
            return self._answer({"errors": [f"import_failed: {said}"]}, EXIT_SUCCESS)
        errors: object = plugin.validate_variables(variables)
        if not isinstance(errors, list) or not all(isinstance(each, str) for each in errors):
            raise TypeError("validate_variables must return a list of strings")
        return self._answer({"errors": errors, "plugin": _introduction(plugin)}, EXIT_SUCCESS)

    def _answer(self, reply: "dict[str, Any]", status: int) -> int:
        """Write *reply*, and return the status to exit with."""
        if os.getpid() != self._process:  # a child of the plugin has returned from the hook that made it
            os._exit(EXIT_CRASHED)
        try:
            body = to_json(reply)
        except (ValueError, TypeError, RecursionError) as error:
            _log(error, f"{_culprit(reply)} cannot be sent as JSON: ")
            return EXIT_CRASHED
        if len(body) > FRAME_LIMIT:
            from .envelope_log import Log

            Log().error(f"the reply of {len(body)} bytes is over the limit of {FRAME_LIMIT} bytes")
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


def _demand(request: "dict[str, Any]", members: "tuple[str, ...]") -> None:
    """Raise FrameRefused unless *request* has all *members*: without them the plugin would work on a guess."""
    for name in members:
        if request.get(name) is None:
            raise FrameRefused(f"the request has no {name}; {LENIENT} in the worker's command does without")


def _log(error: BaseException, what: str = "") -> str:
    """Log *error*, and return what it says. A validation that finds nothing wrong needs none of what this imports."""
    from .envelope_lifecycle import log_exception, words
    from .envelope_log import Log

    said = words(error)
    log_exception(Log(), f"{what}{said}", error)
    return said


def _introduction(plugin: "Plugin") -> "dict[str, Any]":
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


def _culprit(reply: "dict[str, Any]") -> str:
    """Return what in *reply* cannot be sent."""
    for entry in reply.get("per_file", ()):
        for at, change in enumerate(entry["changes"] or ()):
            try:
                to_json(change)
            except (ValueError, TypeError, RecursionError):
                return f"the detail of change {at} of {entry['path']!r}"
    return "the reply"
