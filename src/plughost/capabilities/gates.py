"""A plugin's call of a `host/*` method -> allowed, or refused. Serves nothing, opens nothing, resolves no name.

Everything that is gated is named here, so that a method without a gate cannot slip in: an unknown one is refused as
unknown. What a gate lets through still meets the guards of whoever serves it: the files beneath a root are opened
without following a symlink, and the address that a host's name stands for is looked at when it is known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ..messages.jsonrpc import CAPABILITY_DENIED, INVALID_PARAMS, METHOD_NOT_FOUND
from ..messages.quoting import is_utf8, quote
from .grants import Capability, Grants, covers_path, covers_topic
from .web_address import covers_host, examine

# characters: what the system itself takes in one piece. A path is also looked at name by name, which costs.
PATH_LIMIT = 4096
OUTSIDE = "fs.read"  # stands for the capability where no capability would help: beneath none of the roots
HOST_TOPICS = "host."  # how topics begin that the host alone publishes; no capability would help here either

# Where each capability may read. The contract names two places for the sessions; hosts of both kinds exist.
ROOTS: Mapping[Capability, tuple[str, ...]] = {
    Capability.READ_SESSIONS: ("~/.agents-in-a-box/sessions", "~/.claude/agents-in-a-box/sessions"),
    Capability.READ_CLAUDE_LOGS: ("~/.claude/projects",),
    Capability.READ_CODEX_LOGS: ("~/.codex/sessions",),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not served, as JSON-RPC says it. *data* names what was asked for."""

    code: int
    message: str
    data: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Root:
    """A directory that a capability opens. *path* is the directory itself; *spellings* are what it may be called."""

    capability: Capability
    path: str
    spellings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A path beneath a root, as the names that lead to it; none for the root itself."""

    root: str
    names: tuple[str, ...]


def denied(capability: str, **data: str) -> Refusal:
    """Return the refusal of what *capability* would allow."""
    return Refusal(CAPABILITY_DENIED, f"capability denied: {capability}", data or None)


def invalid(message: str) -> Refusal:
    """Return the refusal of a call that is allowed, and cannot be served as it is."""
    return Refusal(INVALID_PARAMS, message)


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of one plugin. *actions* are the host's own that start a child or write: each with its capability."""

    grants: Grants
    roots: tuple[Root, ...] = ()
    home: str = ""
    actions: Mapping[str, Capability] = field(default_factory=dict)

    def judge(self, method: str, params: object) -> Refusal | None:
        """Return why the call is refused, or None if it is allowed. *params* are decoded: members by their names."""
        match method:
            case "host/snapshot/get" | "host/snapshot/subscribe":
                return _judge(params, "topic", self.topic)
            case "host/snapshot/publish":
                return _judge(params, "topic", self.publish)
            case "host/fs/read_dir" | "host/fs/read_file":
                return _judge(params, "path", self.path)
            case "host/network/fetch":
                return _judge(params, "url", self.url)
            case "host/action/invoke":
                return _judge(params, "action", self.action)
            case "host/log":
                return None
            case _:
                return Refusal(METHOD_NOT_FOUND, f"method not found: {method[:PATH_LIMIT]}")

    def topic(self, topic: str) -> Refusal | None:
        """Judge the use of a topic, by whichever of the snapshot methods, or declared in the manifest."""
        if covers_topic(self.grants.of(Capability.EVENT_BUS), topic):
            return None
        return denied(Capability.EVENT_BUS, topic=topic[:PATH_LIMIT])

    def publish(self, topic: str) -> Refusal | None:
        """Judge a publish: what begins with `host.` every plugin can take for the host's own word, so it has to be."""
        if topic.startswith(HOST_TOPICS):
            return denied(f"{HOST_TOPICS}*", topic=topic[:PATH_LIMIT])
        return self.topic(topic)

    def path(self, path: str) -> Refusal | None:
        """Judge the reading of *path*."""
        found = self.place(path)
        return found if isinstance(found, Refusal) else None

    def place(self, path: str) -> Place | Refusal:
        """Return where *path* lies beneath a granted root. `..` is taken out here: below a root no symlink leads on."""
        if len(path) > PATH_LIMIT or "\0" in path or not is_utf8(path):
            return invalid(f"read {quote(path)}: not a path")
        wanted = None
        for root, names in self._beneath(self._whole(path)):
            if covers_path(self.grants.of(root.capability), names):
                return Place(root.path, names)
            wanted = wanted or root.capability
        return denied(wanted or OUTSIDE, path=path)

    def url(self, url: str) -> Refusal | None:
        """Judge the fetching of *url* by its host; the address behind it is judged when it is known."""
        grant = self.grants.of(Capability.NETWORK)
        if not grant:
            return denied(Capability.NETWORK)
        address = examine(url)
        if isinstance(address, str):
            return invalid(f"fetch {quote(url)}: {address}")
        return None if covers_host(grant, address.host) else denied(Capability.NETWORK, host=address.host)

    def action(self, action: str) -> Refusal | None:
        """Judge the invoking of *action*: another plugin's is free, the host's own may need a capability."""
        needed = self.actions.get(action)
        return None if needed is None or self.grants.has(needed) else denied(needed, action=action)

    def _whole(self, path: str) -> str:
        """Return *path* from the top, without `.` and `..`. Only `~/` means a home, and that of the host."""
        if self.home and (path == "~" or path.startswith("~/")):
            path = f"{self.home}/{path[2:]}"
        return lexical(path) if path.startswith("/") else path

    def _beneath(self, path: str) -> Iterator[tuple[Root, tuple[str, ...]]]:
        for root in self.roots:
            for spelling in root.spellings:
                if path == spelling:
                    yield root, ()
                elif path.startswith(f"{spelling.rstrip('/')}/"):
                    yield root, tuple(path[len(spelling.rstrip("/")) + 1 :].split("/"))


def lexical(path: str) -> str:
    """Return an absolute *path* without `.`, `..` and doubled slashes. Looks at no file."""
    return f"/{os.path.normpath(path).lstrip('/')}"


def _judge(params: object, name: str, judge: Callable[[str], Refusal | None]) -> Refusal | None:
    value = getattr(params, name, None)
    return judge(value) if isinstance(value, str) else invalid(f"`{name}` must be a string")
