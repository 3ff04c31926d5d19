"""URLs in one spelling: what is compared is what is connected to, and what can be read in two ways is nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plughost.capabilities.web_address import HOST_LIMIT, URL_LIMIT, follow, parse, spelled


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.b", "http://a.b/"),
        ("HTTP://A.B:80/x?y#z", "http://a.b/x?y"),
        ("https://a.b:443", "https://a.b/"),
        ("https://a.b:80/", "https://a.b:80/"),
        ("http://a.b./", "http://a.b/"),
        ("http://a.b:/", "http://a.b/"),
        ("http://a.b:1024/", "http://a.b:1024/"),
        ("http://a.b:65535/", "http://a.b:65535/"),
        ("http://ä.b/ö?ü=é", "http://xn--4ca.b/%C3%B6?%C3%BC=%C3%A9"),
        ("http://a.b/%2e%2E/c%20d", "http://a.b/%2e%2E/c%20d"),
        ("http://a_b.c/", "http://a_b.c/"),
        ("http://localhost:8000/", "http://localhost:8000/"),
        ("http://1.2.3.4/", "http://1.2.3.4/"),
        ("http://[2001:DB8:0::1]/", "http://[2001:db8::1]/"),
        ("http://１.2.3.4.a/", "http://1.2.3.4.a/"),
    ],
)
def test_an_address_has_one_spelling(url, expected):
    address = parse(url)
    assert address.url == expected
    assert parse(address.url) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.b",
        "//a.b/",
        "http:",
        "http://",
        "http:///a",
        "http:a.b",
        "ftp://a.b/",
        "file:///a",
        "gopher://a.b/",
        "javascript:1",
        "data:,a",
        "ws://a.b",
        "http://u@a.b/",
        "http://u:p@a.b/",
        "http://@a.b/",
        "http://a.b@c.d/",
        "http://a.b\\@c.d/",
        "http://a.b\\c",
        "http://a b/",
        "http://a.b/ c",
        "http://a.b/\r\nX: y",
        "http://a.b/\t",
        "\x00http://a.b/",
        " http://a.b/",
        "http://a.b/\x7f",
        "http://a.b/\ud800",
        "http://a.b:0/",
        "http://a.b:22/",
        "http://a.b:25/",
        "http://a.b:1023/",
        "http://a.b:65536/",
        "http://a.b:-1/",
        "http://a.b:x/",
        "http://a.b:99999999999/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0x7f000001/",
        "http://0/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.1.1/",
        "http://1.2.3.256/",
        "http://１27.1/",
        "http://a.0x/",
        "http://[::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[::1/",
        "http://::1/",
        "http://[a.b]/",
        "http://[]/",
        "http://./",
        "http://a..b/",
        "http://.a/",
        "http://a../",
        "http://-a.b/",
        "http://a-.b/",
        "http://*.b/",
        "http://a%2eb/",
        "http://a,b/",
        "http://" + "a" * 64 + ".b/",
    ],
)
def test_what_programs_read_in_different_ways_is_no_address(url):
    assert parse(url) is None


def test_a_url_is_bounded():
    start = "http://a.b/"
    assert parse(start.ljust(URL_LIMIT, "x")) is not None
    assert parse(start.ljust(URL_LIMIT + 1, "x")) is None


def test_a_name_is_bounded():
    name = ".".join(["a" * 49] * 5)
    assert spelled(name.ljust(HOST_LIMIT, "b")) is not None
    assert spelled(name.ljust(HOST_LIMIT + 1, "b")) is None
    assert spelled("ä" * 1_000_000) is None


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/b", "http://a.b/b"),
        ("c", "http://a.b/x/c"),
        ("?q", "http://a.b/x/y?q"),
        ("//c.d/e", "http://c.d/e"),
        ("https://c.d", "https://c.d/"),
        ("../../../e", "http://a.b/e"),
        ("file:///etc/passwd", None),
        ("http://u@a.b/", None),
        ("//c.d:22/", None),
        ("/\\c.d", None),
        ("/a b", None),
        ("http://[", None),
        ("/" + "x" * URL_LIMIT, None),
    ],
)
def test_a_redirect_leads_to_an_address_or_nowhere(location, expected):
    found = follow(parse("http://a.b/x/y"), location)
    assert (found.url if found else None) == expected


@settings(max_examples=25)
@given(st.text(alphabet="aA.:/@\\[]%0x1ä-#? ", max_size=20))
def test_whatever_parses_parses_to_itself_again(tail):
    address = parse(f"http://{tail}")
    if address is not None:
        assert parse(address.url) == address
        assert spelled(address.host) == address.host
