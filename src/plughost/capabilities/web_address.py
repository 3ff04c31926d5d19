"""A URL that a plugin wants fetched -> scheme, host, port and the rest, in one spelling. Resolves and fetches nothing.

One spelling, because what is compared with the allow-list must be the very thing that is connected to: lower case,
IDNA, no dot at the end, addresses as their shortest text. What programs read in different ways is no address at all:
a name in front of the host, a backslash, blanks, numbers that only some take for an IPv4 address.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from .grants import Grant

URL_LIMIT = 8192  # characters: what the usual servers take in a request line
HOST_LIMIT = 253  # characters of a name in DNS; the IDNA codec is slow beyond
PORTS = {"http": 80, "https": 443}
FIRST_FREE_PORT = (
    1024  # below live other services (SSH, SMTP), some of which can be talked into things by HTTP
)
LAST_PORT = 65_535
LOCALHOST = "localhost"

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(
    r"[0-9]+|0x[0-9a-f]*"
)  # as the last part of a host: old libraries read 0x7f.1 as an address
_UNFIT = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class WebAddress:
    """Where a request goes. *host* is as `spelled` returns it; *rest* is the path and the query, percent-encoded."""

    scheme: str
    host: str
    port: int
    rest: str

    @property
    def authority(self) -> str:
        """Return what the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.rest}"


def parse(url: str) -> WebAddress | None:
    """Return where *url* leads, or None if it is none that a plugin may have: http and https, no name or password."""
    found = examine(url)
    return None if isinstance(found, str) else found


def examine(url: str) -> WebAddress | str:
    """Return where *url* leads, or the rule by which it is none that a plugin may have."""
    if len(url) > URL_LIMIT or _UNFIT.search(url):
        return f"over {URL_LIMIT} characters, or with blanks, backslashes or control characters"
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, spelled(parts.hostname or ""), parts.port
    except ValueError:
        return "it is no address"
    if scheme not in PORTS:
        return "it is not http or https"
    if host is None:
        return "its host is no name and no address"
    if "@" in parts.netloc:
        return "it has a name or password in front of its host"
    port = PORTS[scheme] if port is None else port
    if port not in PORTS.values() and not FIRST_FREE_PORT <= port <= LAST_PORT:
        return f"port {port} is not served: only 80, 443 and those from {FIRST_FREE_PORT} on are"
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]")
    return WebAddress(scheme, host, port, f"{path}?{query}" if query else path)


def follow(address: WebAddress, location: str) -> WebAddress | None:
    """Return where a redirect from *address* to *location* leads, or None if that is none that a plugin may have."""
    if len(location) > URL_LIMIT or _UNFIT.search(location):
        return None
    try:
        return parse(urljoin(address.url, location))
    except ValueError:
        return None


def spelled(host: str) -> str | None:
    """Return *host* in the one spelling that is compared and connected to, or None if it is no host."""
    address = literal(host.strip("[]") if ":" in host else host)
    if address is not None:
        return str(address)
    if not host or len(host) > HOST_LIMIT or ":" in host:
        return None
    try:
        name = host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return None
    labels = name.removesuffix(".").split(".")
    if not all(_LABEL.fullmatch(each) for each in labels) or _NUMBER.fullmatch(labels[-1]):
        return None
    return ".".join(labels)


def literal(host: str) -> Address | None:
    """Return the IP address that *host* is the text of, or None. One with a zone names an interface, not a host."""
    try:
        return None if "%" in host else ipaddress.ip_address(host)
    except ValueError:
        return None


def covers_host(grant: Grant, host: str) -> bool:
    """Tell whether *grant* covers *host*, which is `spelled`: an entry is one host, and there are no patterns."""
    if isinstance(grant, bool):
        return grant
    return any(spelled(each) == host for each in grant)
