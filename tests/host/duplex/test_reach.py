"""Which addresses are the open internet's, and which names may stand for which addresses."""

from __future__ import annotations

import ipaddress
import threading

import pytest

from plughost.host.duplex.reach import addresses, is_public, may_reach

PRIVATE = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.9",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::",
    "3fff::1",
    "4000::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "172.15.255.255",
    "172.32.0.1",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]


@pytest.mark.parametrize("text", PRIVATE)
def test_an_address_that_is_not_a_machine_of_the_internet_is_not_public(text):
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_an_address_of_the_internet_is_public(text):
    assert is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize(
    ("grant", "host", "address", "allowed"),
    [
        (True, "a.b", "8.8.8.8", True),
        (True, "a.b", "127.0.0.1", False),
        (True, "127.0.0.1", "127.0.0.1", False),
        (True, "localhost", "127.0.0.1", False),
        (("a.b",), "a.b", "127.0.0.1", False),
        (("a.b", "localhost"), "a.b", "127.0.0.1", False),
        (("a.b", "127.0.0.1"), "a.b", "127.0.0.1", True),
        (("127.0.0.1",), "127.0.0.1", "127.0.0.1", True),
        (("127.0.0.1",), "127.0.0.2", "127.0.0.2", False),
        (("localhost",), "localhost", "127.0.0.1", True),
        (("LOCALHOST.",), "localhost", "::1", True),
        (("localhost",), "localhost", "10.0.0.1", False),
        (("localhost",), "localhost", "169.254.169.254", False),
        (("0:0::1",), "::1", "::1", True),
        (("10.0.0.0/8",), "10.0.0.1", "10.0.0.1", False),
    ],
)
def test_a_private_address_is_reached_only_if_it_is_listed_itself(grant, host, address, allowed):
    assert may_reach(grant, host, ipaddress.ip_address(address)) is allowed


def test_an_address_is_not_asked_for():
    def never(name):
        raise AssertionError(name)

    assert addresses("1.2.3.4", never, 1) == [ipaddress.ip_address("1.2.3.4")]


@pytest.mark.parametrize("texts", [[], ["fe80::1%eth0"], ["8.8.8.8", "fe80::1%1"], ["nonsense"]])
def test_a_name_without_an_address_that_can_be_judged_is_none(texts):
    with pytest.raises(OSError, match="address"):
        addresses("a.b", lambda _: texts, 5)


def test_the_resolvers_failure_is_the_callers():
    def fail(name):
        raise OSError(name)

    with pytest.raises(OSError, match=r"a\.b"):
        addresses("a.b", fail, 5)


def test_a_resolver_that_never_answers_is_left_behind():
    over = threading.Event()
    try:
        with pytest.raises(TimeoutError):
            addresses("a.b", lambda _: [str(over.wait())], 0.01)
    finally:
        over.set()
