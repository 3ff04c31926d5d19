"""The author's side of the `hook` contract: one function per phase, for as many rounds as the host asks.

    from plughost_sdk import hook

    provider = hook.Provider("provider/github", version="1.0.0", capabilities=["provider:github"])

    @provider.generate
    def generate(request):
        for job in request.schema.jobs:
            yield hook.fragment(f"{job.id}.yml", "…", format="yaml")

    provider.run()

Or a class with the same names: `class GitHub(hook.Provider)`, its `name` and `version`, and `def generate(self,
request)`. Theory of operation: protobuf takes longer to import than Python takes to start, so nothing here imports
it. The handshake is read and written without it, and it is loaded while the host prepares its first request.
"""

from __future__ import annotations

import gc
import os
import sys

from . import stdio
from .hook_conversation import PHASES, Conversation, say
from .hook_handshake import LIMIT, encode_plugin_info
from .hook_parts import APPEND, MERGE, REPLACE, PartError, error, fragment, info, run, skip, warning

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn

    from google.protobuf.message import Message

    from . import hook_messages as messages

__all__ = [
    "APPEND",
    "LIMIT",
    "MERGE",
    "REPLACE",
    "PartError",
    "Provider",
    "error",
    "fragment",
    "info",
    "messages",
    "run",
    "skip",
    "warning",
]

MATRICES = (
    "native",
    "expanded",
)  # the provider writes matrices by itself, or the host multiplies the jobs out

EXIT_STARTED_BY_HAND = 2


def __getattr__(name: str) -> Any:
    """Give `hook.messages`, the protobuf classes, to whoever asks. Not before: they cost as much as a start."""
    if name == "messages":
        from . import hook_messages

        return hook_messages
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Provider:
    """A provider of the `hook` contract: what it is called, and what it does in which phase.

    *capabilities*, *requires* and *conflicts_with* are words like `provider:github`. With *matrix* `native` jobs
    come with their matrix, with `expanded` as one job for each combination. A subclass may say all of this with
    attributes of the class.
    """

    name: str = ""
    version: str = ""
    capabilities: Iterable[str] = ()
    requires: Iterable[str] = ()
    conflicts_with: Iterable[str] = ()
    matrix: str = "expanded"

    def __init__(
        self,
        name: str | None = None,
        *,
        version: str | None = None,
        capabilities: Iterable[str] | None = None,
        requires: Iterable[str] | None = None,
        conflicts_with: Iterable[str] | None = None,
        matrix: str | None = None,
    ) -> None:
        self.name = _plain("name", self.name if name is None else name)
        self.version = _plain("version", self.version if version is None else version)
        self.capabilities = _words(
            "capabilities", self.capabilities if capabilities is None else capabilities
        )
        self.requires = _words("requires", self.requires if requires is None else requires)
        self.conflicts_with = _words(
            "conflicts_with", self.conflicts_with if conflicts_with is None else conflicts_with
        )
        self.matrix = self.matrix if matrix is None else matrix
        if self.matrix not in MATRICES:
            raise ValueError(f"matrix is one of {', '.join(MATRICES)}, not {self.matrix!r}")
        self.env: dict[str, str] = {}  # what the host says in its Hello; empty before
        self._handlers: dict[str, Callable[..., Any]] = {}
        for phase in PHASES:
            if getattr(type(self), phase) is not getattr(Provider, phase):  # a subclass does this one
                self._handlers[phase] = getattr(self, phase)

    # The decorators. A subclass that defines a method of the same name needs none.

    def detect(self, function: Any, /) -> Any:
        """Find out what is in the repository: yield signals (str), facts (dict), a confidence, diagnostics."""
        return self._handle("detect", function)

    def plan(self, function: Any, /) -> Any:
        """Say what there is to do: yield resources, dependencies, diagnostics."""
        return self._handle("plan", function)

    def generate(self, function: Any, /) -> Any:
        """Write the files: yield fragments and diagnostics."""
        return self._handle("generate", function)

    def validate(self, function: Any, /) -> Any:
        """Look at the files that will be written: yield diagnostics."""
        return self._handle("validate", function)

    def preflight(self, function: Any, /) -> Any:
        """Decide whether a job should run: return `hook.run(…)`, `hook.skip(…)` or a bool."""
        return self._handle("preflight", function)

    def _handle(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise TypeError(f"{phase} is a decorator: it takes a function, not {function!r}")
        if phase in self._handlers:
            raise ValueError(f"{phase} is defined twice")
        self._handlers[phase] = function
        return function

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases that this provider answers, in the order of a round."""
        return tuple(phase for phase in PHASES if phase in self._handlers)

    def plugin_info(self) -> messages.PluginInfo:
        """Return what the handshake says about this provider."""
        from .hook_messages import PluginInfo

        return PluginInfo.FromString(self.encode_info())

    def encode_info(self) -> bytes:
        """Return the same as the bytes of its frame, without the help of protobuf."""
        return encode_plugin_info(
            self.name,
            self.version,
            self.capabilities,
            self.requires,
            self.conflicts_with,
            {"plughost.phases": ",".join(self.phases), "plughost.matrix": self.matrix},
        )

    def log(self, text: str) -> None:
        """Write a line to standard error, where the host collects what its plugins have to say."""
        say(text)

    def close(self) -> None:
        """Tidy up: called when the host has no more requests. For a subclass to override."""

    def answer(self, phase: str, request: Message) -> Any:
        """Answer one request and return the result as the wire would carry it: the provider without its wire.

        An exception is in the result, as a diagnostic. Preflight has no room for one: it is raised.
        Raises ValueError for a phase that is not declared, TypeError for a request of another phase.
        """
        from . import hook_reply

        if phase not in self.phases:
            raise ValueError(f"{self.name} does not declare {phase!r}; it declares {', '.join(self.phases)}")
        kind = hook_reply.REQUESTS[phase]
        if not isinstance(request, kind):
            raise TypeError(f"{phase} answers a {kind.__name__}, not a {type(request).__name__}")
        return hook_reply.RESULTS[phase].FromString(hook_reply.answer(phase, self._handlers[phase], request))

    def run(self) -> NoReturn:
        """Serve rounds over stdin and stdout until the host hangs up, then exit.

        Started in a terminal, say what this is instead. Raises ValueError if there is no phase to answer.
        """
        if not self.phases:
            raise ValueError(f"{self.name} answers no phase: decorate a function with @provider.generate")
        if stdio.is_terminal():
            say(self._introduction())
            sys.exit(EXIT_STARTED_BY_HAND)
        status = Conversation(self, self._handlers, *stdio.claim()).serve()
        # The host waits for our exit. Python would collect garbage once more before it ends, and there is much
        # of it after a large schema; exit handlers and threads are waited for all the same.
        gc.disable()
        gc.freeze()
        sys.exit(status)

    def _introduction(self) -> str:
        script = os.path.basename(sys.argv[0]) or "this file"
        return (
            f"{self.name} {self.version} is a plughost plugin (contract: hook). A host starts it; it does not\n"
            f"run by itself. Phases: {', '.join(self.phases)}.\n\n"
            f"Describe it:  plughost describe --contract hook -- python {script}\n"
            f"Check it:     plughost check --contract hook -- python {script}"
        )


def _plain(what: str, value: Any) -> str:
    if not isinstance(value, str) or not value or value != value.strip():
        raise ValueError(f"the {what} must be a non-empty string without surrounding blanks, not {value!r}")
    value.encode()  # refuse here what no handshake could carry: UnicodeEncodeError is a ValueError
    return value


def _words(what: str, values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str):  # its letters would be taken for words
        raise ValueError(f"{what} is a list of words, not the string {values!r}")
    words = tuple(_plain(f"word in {what}", each) for each in values)
    if len(set(words)) != len(words):
        raise ValueError(f"a word in {what} is listed twice")
    return words
