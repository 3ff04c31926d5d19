"""What a plugin wants fetched -> the server's answer, if its grant covers every step of the way. Keeps no connection.

Each hop is judged as if it were the first: the scheme, the host against the allow-list, every address behind it. The
request goes to an address that was judged, straight, past any proxy. A fetch waits for the network: call it from a
thread, not from a loop. It needs nothing beyond the standard library.
"""

from __future__ import annotations

import http.client
import re
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ...capabilities.gates import Gates, Refusal, denied, invalid
from ...capabilities.grants import Capability, Grant, Grants
from ...capabilities.web_address import Address, WebAddress, follow, parse
from ...contracts.duplex.messages import FRAME_BYTES, Header, NetworkFetchParams, NetworkFetchResult
from ...messages.quoting import quote
from .exchange import Answer, Deadline, ask
from .frame_room import raw_bytes
from .reach import Resolver, addresses, may_reach, resolve

REDIRECTS = 5  # as many as the shorteners and the moved pages of one address take
HEADERS = 100  # of a request
HEADERS_LIMIT = 65_536  # characters of all headers, of a request and of an answer
ESCAPED = 6  # bytes that a character of a header may become in JSON
BODY_LIMIT = raw_bytes(FRAME_BYTES - 65_536 - ESCAPED * HEADERS_LIMIT)  # bytes: what fits the answer's frame
TIMEOUT_S = 30.0  # of the whole fetch, all redirects included: a plugin that waits longer looks dead

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Those between two machines are ours, and so are those that say where a message ends or whom it is for.
OURS = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# All that goes along to another origin: any other header may be a key that was meant for the first one.
HARMLESS = frozenset(
    {"accept", "accept-encoding", "accept-language", "content-language", "content-type", "user-agent"}
)
MOVED = frozenset({301, 302, 303, 307, 308})
SAME_METHOD = frozenset({307, 308})

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_FOLD = re.compile(r"[\r\n]+[ \t]*")


@dataclass(frozen=True, slots=True)
class Fetcher:
    """How fetches are done. *resolver*, *now* and *context* are for those who have their own."""

    resolver: Resolver = resolve
    now: Callable[[], float] = time.monotonic
    context: ssl.SSLContext | None = None
    timeout_s: float = TIMEOUT_S
    body_limit: int = BODY_LIMIT

    def fetch(self, request: NetworkFetchParams, grant: Grant) -> NetworkFetchResult | Refusal:
        """Return what the server answers, whatever its status, or why it was not asked or not understood."""
        gates = Gates(Grants({Capability.NETWORK: grant}))
        refusal = gates.url(request.url) or _flaw(request)
        if refusal is not None:
            return refusal
        address = parse(request.url)
        assert address is not None  # or the gate would have refused it
        step = _Step(address, request.method.upper() or "GET", request.headers, request.body)
        try:
            return self._walk(gates, grant, step)
        except TimeoutError:
            return invalid(f"fetch {quote(request.url)}: over {self.timeout_s:g} seconds")
        except (OSError, http.client.HTTPException) as error:
            return invalid(f"fetch {quote(request.url)}: {_told(error)}")

    def _walk(self, gates: Gates, grant: Grant, step: _Step) -> NetworkFetchResult | Refusal:
        deadline = Deadline(self.now, self.timeout_s)
        for _ in range(REDIRECTS + 1):
            refusal = gates.url(step.address.url)
            if refusal is not None:
                return refusal
            machines = addresses(step.address.host, self.resolver, deadline.left())
            # One that may not be reached spoils the name: whoever answers for it is not to be trusted.
            hidden = next((each for each in machines if not may_reach(grant, step.address.host, each)), None)
            if hidden is not None:
                return _private(step.address.host, hidden)
            answer = self._ask(step, machines, deadline)
            location = _location(answer)
            if location is None:
                return self._result(step, answer)
            target = follow(step.address, location)
            if target is None or (step.address.scheme, target.scheme) == ("https", "http"):
                return invalid(f"fetch {quote(step.address.url)}: redirected to {quote(location)}")
            step = step.moved(target, answer.status)
        return invalid(f"fetch {quote(step.address.url)}: over {REDIRECTS} redirects")

    def _ask(self, step: _Step, machines: Sequence[Address], deadline: Deadline) -> Answer:
        return ask(
            step.address,
            machines,
            step.method,
            step.sent(),
            step.body,
            deadline=deadline,
            limit=self.body_limit,
            context=self.context,
        )

    def _result(self, step: _Step, answer: Answer) -> NetworkFetchResult | Refusal:
        headers = tuple(_received(answer.headers))
        if answer.body is None:
            return invalid(f"fetch {quote(step.address.url)}: over {self.body_limit} bytes")
        if _length(headers) > HEADERS_LIMIT:
            return invalid(f"fetch {quote(step.address.url)}: over {HEADERS_LIMIT} characters of headers")
        return NetworkFetchResult(answer.status, headers, answer.body)


def _private(host: str, address: Address) -> Refusal:
    """Return the refusal of *address*, which `network = true` does not cover: it has to be in the list itself."""
    told = f"{address} is a private address, and only a list that names it opens it"
    return denied(f"{Capability.NETWORK} ({told})", host=host, address=str(address))


def fetch(request: NetworkFetchParams, grant: Grant) -> NetworkFetchResult | Refusal:
    """Fetch as a host does that has no wishes of its own."""
    return Fetcher().fetch(request, grant)


@dataclass(frozen=True, slots=True)
class _Step:
    """One request on the way."""

    address: WebAddress
    method: str
    headers: tuple[Header, ...]
    body: bytes | None

    def sent(self) -> list[Header]:
        """Return the headers as they are sent. The body is not unpacked here, so none is asked for packed."""
        own = [("Host", self.address.authority), *self.headers, ("Connection", "close")]
        if not any(name.lower() == "accept-encoding" for name, _ in self.headers):
            own.append(("Accept-Encoding", "identity"))
        if self.body is not None or self.method in ("POST", "PUT", "PATCH"):
            own.append(("Content-Length", str(len(self.body or b""))))
        return own

    def moved(self, target: WebAddress, status: int) -> _Step:
        """Return the request that a redirect asks for."""
        keeps = status in SAME_METHOD or self.method in ("GET", "HEAD")
        keeps = keeps or (status != 303 and self.method != "POST")
        home = (self.address.scheme, self.address.host, self.address.port)
        stays = home == (target.scheme, target.host, target.port)
        headers = tuple(
            (name, value)
            for name, value in self.headers
            if (stays or name.lower() in HARMLESS) and (keeps or not name.lower().startswith("content-"))
        )
        return _Step(target, self.method if keeps else "GET", headers, self.body if keeps else None)


def _flaw(request: NetworkFetchParams) -> Refusal | None:
    if request.method and request.method.upper() not in METHODS:
        return invalid(f"fetch: the method {quote(request.method)} is not served")
    if len(request.headers) > HEADERS or _length(request.headers) > HEADERS_LIMIT:
        return invalid(f"fetch: over {HEADERS} headers, or over {HEADERS_LIMIT} characters of them")
    for name, value in request.headers:
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            return invalid(f"fetch: {quote(name)} is not a header, or its value cannot be sent")
        if name.lower() in OURS:
            return invalid(f"fetch: the header {quote(name)} is the host's to set")
    return None


def _length(headers: Iterable[Header]) -> int:
    return sum(len(name) + len(value) for name, value in headers)


def _location(answer: Answer) -> str | None:
    """Return where *answer* redirects to, or None if it is no redirect."""
    if answer.status not in MOVED:
        return None
    return next((value.strip() for name, value in answer.headers if name.lower() == "location"), None)


def _received(headers: Iterable[Header]) -> Iterable[Header]:
    """Leave out what was between the server and us, and write each value in one line."""
    headers = list(headers)
    named = {
        each.strip().lower()
        for name, value in headers
        if name.lower() == "connection"
        for each in value.split(",")
    }
    named |= OURS - {"content-length"}
    for name, value in headers:
        if name.lower() not in named:
            yield name, _FOLD.sub(" ", value).strip()


def _told(error: Exception) -> str:
    """Return what went wrong, without the words of the server."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}" if isinstance(error, http.client.HTTPException) else str(error)
