"""A host's name -> the addresses that a plugin may reach by it, or why not. Connects to nothing.

An allow-list of names is worth nothing if a name may stand for any address: whoever runs a name server could send a
plugin into the host's own network. So every address behind a name is looked at, one that is not public spoils the
name, and the caller connects to what was looked at, without asking the name server again.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable

from ...capabilities.grants import Grant
from ...capabilities.web_address import LOCALHOST, Address, literal, spelled

Resolver = Callable[[str], list[str]]  # a name to the texts of its addresses; raises OSError

_MAPPED = ipaddress.ip_network("::ffff:0:0/96")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")  # all that is given out of IPv6
_CLOSED = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # protocol assignments; older Pythons call parts of it global
            "192.88.99.0/24",  # relays into 6to4
            "224.0.0.0/4",  # multicast
            "2001::/23",  # protocol assignments, with Teredo, which carries an IPv4 address
            "2002::/16",  # 6to4, which carries one as well
            "3fff::/20",  # documentation
        ),
    )
)


def is_public(address: Address) -> bool:
    """Tell whether *address* is a single machine's on the open internet, and so is the IPv4 address that it carries."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _MAPPED or address in _NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
        if address not in _UNICAST:
            return False
    return address.is_global and not any(
        address.version == each.version and address in each for each in _CLOSED
    )


def may_reach(grant: Grant, host: str, address: Address) -> bool:
    """Tell whether *grant* lets a plugin reach *address* under the name *host*: public, or listed itself."""
    if is_public(address):
        return True
    if isinstance(grant, bool):
        return False
    listed = {spelled(each) for each in grant}
    return str(address) in listed or (address.is_loopback and host == LOCALHOST and LOCALHOST in listed)


def resolve(name: str) -> list[str]:
    """Return the addresses of *name* as the system knows them, in its order. Raises OSError."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def addresses(host: str, resolver: Resolver, timeout_s: float) -> list[Address]:
    """Return what *host* stands for, or what it is. Raises OSError, and TimeoutError after *timeout_s* seconds."""
    address = literal(host)
    if address is not None:
        return [address]
    texts = _within(timeout_s, lambda: resolver(host))
    found = [each for each in map(literal, texts) if each is not None]
    if not found or len(found) < len(texts):  # one with a zone is on this machine's own network
        raise OSError("no address that can be connected to")
    return found


def _within(timeout_s: float, ask: Callable[[], list[str]]) -> list[str]:
    """Return what *ask* returns. The system's resolver cannot be stopped; a thread of its own can be left behind."""
    answers: list[list[str] | OSError] = []

    def work() -> None:
        try:
            answers.append(ask())
        except (OSError, UnicodeError) as error:
            answers.append(error if isinstance(error, OSError) else OSError(str(error)))

    thread = threading.Thread(target=work, name="plughost-resolve", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if not answers:
        raise TimeoutError("its name was not resolved in time")
    answer = answers[0]
    if isinstance(answer, OSError):
        raise answer
    return answer
