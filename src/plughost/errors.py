"""Every exception of plughost, and whose fault each one is.

PlughostError
├── ProtocolError
│   ├── LocalProtocolError       we, or the application, broke the contract: nothing was sent
│   └── RemoteProtocolError      the plugin broke it: the session is over
├── PluginFailure                the plugin failed: one of nine codes, with an autopsy
│   ├── LaunchFailed  HandshakeFailed  PluginTimeout  PluginCrashed  MalformedResponse
│   └── ToolNotExposed  ProtocolVersionMismatch  CapabilityNotDeclared  CapabilityNotAllowed
├── RemoteError                  the plugin answered, and its answer is an error
├── ManifestError                a binding or manifest is wrong: file, key and remedy
├── TreeError                    a directory of files, or its record, cannot be worked on: path and remedy
├── FragmentError                a plugin generated a file that cannot be written: plugin, path and remedy
├── HostClosed                   the host, or this plugin's handle, was closed
└── Unsupported                  this system cannot do it; never done silently by halves

The classes under PluginFailure are in `failures`, beside the table that explains them.
"""

from __future__ import annotations


class PlughostError(Exception):
    """The root of everything that plughost raises on purpose."""


class ProtocolError(PlughostError):
    """A contract was broken. Raised only as one of its two subclasses, which say by whom."""


class LocalProtocolError(ProtocolError):
    """We were about to break the contract. Nothing was sent."""


class RemoteProtocolError(ProtocolError):
    """The plugin broke the contract."""


class RemoteError(PlughostError):
    """The plugin answered with an error of its own: *code* for programs, *message* for people, *data* if it sent any.

    All three are the plugin's words, unchanged: whoever shows them escapes them.
    """

    def __init__(self, plugin: str, code: str, message: str, data: object = None) -> None:
        super().__init__(f"{plugin}: {message} ({code})" if code else f"{plugin}: {message}")
        self.plugin = plugin
        self.code = code
        self.message = message
        self.data = data

    def __reduce__(self) -> tuple[type[RemoteError], tuple[str, str, str, object]]:
        return type(self), (
            self.plugin,
            self.code,
            self.message,
            self.data,
        )  # so that process pools can pass it on


class ManifestError(PlughostError):
    """A file that describes a plugin is wrong: where, what, and what to do about it."""

    def __init__(self, source: str, key: str, problem: str, remedy: str) -> None:
        at = f"{source}: {key}" if key else source
        super().__init__(f"{at}: {problem}. {remedy}" if remedy else f"{at}: {problem}")
        self.source = source
        self.key = key
        self.problem = problem
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[ManifestError], tuple[str, str, str, str]]:
        return type(self), (self.source, self.key, self.problem, self.remedy)


class TreeError(PlughostError):
    """A directory of files, or the record of what was done to it, cannot be worked on: which path, why, what to do."""

    def __init__(self, path: str, problem: str, remedy: str) -> None:
        super().__init__(f"{path}: {problem}. {remedy}")
        self.path = path
        self.problem = problem
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[TreeError], tuple[str, str, str]]:
        return type(self), (self.path, self.problem, self.remedy)


SHOWN = 120  # characters of a path that stand in a message; the error has all of it


class FragmentError(PlughostError):
    """What a plugin generated cannot become a file: whose fragment, which path, why, what to do."""

    def __init__(self, plugin: str, path: str, problem: str, remedy: str) -> None:
        cut = path if len(path) <= SHOWN else f"{path[:SHOWN]}…"  # a plugin's own text, of any length
        super().__init__(
            f"{plugin}: {cut!r}: {problem}. {remedy}" if path else f"{plugin}: {problem}. {remedy}"
        )
        self.plugin = plugin
        self.path = path
        self.problem = problem
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[FragmentError], tuple[str, str, str, str]]:
        return type(self), (self.plugin, self.path, self.problem, self.remedy)


class HostClosed(PlughostError):
    """The host was closed, so no plugin can be called any more."""


class Unsupported(PlughostError):
    """This system cannot do what was asked for."""
