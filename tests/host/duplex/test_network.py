"""Fetches against servers on loopback: what is allowed arrives whole, everything else is refused before it is asked."""

from __future__ import annotations

import ssl
import subprocess
from itertools import count
from pathlib import Path

import msgspec
import pytest

from plughost.capabilities.gates import Refusal
from plughost.contracts.duplex.messages import FRAME_BYTES, NetworkFetchParams, NetworkFetchResult
from plughost.host.duplex import exchange, network
from plughost.host.duplex.network import BODY_LIMIT, HEADERS, HEADERS_LIMIT, OURS, REDIRECTS, Fetcher
from plughost.messages.jsonrpc import CAPABILITY_DENIED, INVALID_PARAMS
from tests.host.duplex.web import OK, Web, serving

pytestmark = pytest.mark.usefixtures("leak_check")

LISTED = ("site.example", "127.0.0.1")


def fetch(url, grant=LISTED, *, names=None, fetcher=None, **request):
    known = {"site.example": ["127.0.0.1"], "other.example": ["127.0.0.1"], **(names or {})}
    options = {"resolver": known.__getitem__, "timeout_s": 20, **(fetcher or {})}
    return Fetcher(**options).fetch(NetworkFetchParams(url, **request), grant)


def code(answer) -> int | None:
    return answer.code if isinstance(answer, Refusal) else None


def moved(location: str, status: int = 302) -> bytes:
    return f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()


def then(first: bytes, rest: bytes = OK):
    """Answer the first request with *first*, all others with *rest*."""
    seen = count()
    return lambda _: rest if next(seen) else first


def test_an_answer_arrives_whole():
    said = b"HTTP/1.1 404 No\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 3\r\n\r\n\x00\xff\n"
    with serving(said) as web:
        answer = fetch(web.url("/a?b=c"))
    assert answer == NetworkFetchResult(
        404, (("X-A", "1"), ("x-a", "2"), ("Content-Length", "3")), b"\x00\xff\n"
    )
    assert web.requests[0].startswith(b"GET /a?b=c HTTP/1.1\r\n")


def test_the_request_says_what_the_plugin_said_and_no_more():
    with serving() as web:
        fetch(web.url(), method="post", body=b"\x00body", headers=(("X-Key", "v\xe9"), ("Accept", "a")))
    head, _, body = web.requests[0].partition(b"\r\n\r\n")
    assert body == b"\x00body"
    assert sorted(head.split(b"\r\n")) == sorted(
        [
            b"POST / HTTP/1.1",
            f"Host: site.example:{web.port}".encode(),
            b"X-Key: v\xe9",
            b"Accept: a",
            b"Connection: close",
            b"Accept-Encoding: identity",
            b"Content-Length: 5",
        ]
    )


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", ""])
def test_the_usual_methods_are_served(method):
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" if method == "HEAD" else OK
    with serving(said) as web:
        assert fetch(web.url(), method=method).body == (b"" if method == "HEAD" else b"ok")
    assert web.requests[0].split()[0].decode() == (method or "GET")


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "GET /x HTTP/1.1\r\nX:", "G T", "é", "get\n"])
def test_other_methods_are_refused_unasked(method):
    with serving() as web:
        assert code(fetch(web.url(), method=method)) == INVALID_PARAMS
    assert not web.requests


@pytest.mark.parametrize(
    "header",
    [
        *((name.title(), "x") for name in sorted(OURS)),
        ("X", "a\r\nHost: evil"),
        ("X", "a\nb"),
        ("X", "a\0"),
        ("X", "ł"),
        ("X\r\nY", "a"),
        ("X:", "a"),
        ("", "a"),
        (" Host", "a"),
        ("Host ", "a"),
        ("é", "a"),
    ],
    ids=lambda header: repr(header),
)
def test_a_header_that_is_ours_or_none_is_refused_unasked(header):
    with serving() as web:
        assert code(fetch(web.url(), headers=(header,))) == INVALID_PARAMS
    assert not web.requests


def test_headers_are_bounded():
    with serving() as web:
        assert code(fetch(web.url(), headers=(("X", ""),) * HEADERS)) is None
        assert code(fetch(web.url(), headers=(("X", ""),) * (HEADERS + 1))) == INVALID_PARAMS
        assert code(fetch(web.url(), headers=(("X", "x" * (HEADERS_LIMIT - 1)),))) is None
        assert code(fetch(web.url(), headers=(("X", "x" * HEADERS_LIMIT),))) == INVALID_PARAMS
    assert len(web.requests) == 2


@pytest.mark.parametrize(
    "grant", [False, (), ("other.example", "127.0.0.1"), ("*.example",), ("127.0.0.1",)], ids=repr
)
def test_a_host_that_is_not_granted_is_neither_asked_nor_resolved(grant):
    with serving() as web:
        answer = fetch(web.url(), grant, fetcher={"resolver": {}.__getitem__})
    assert (code(answer), answer.message) == (CAPABILITY_DENIED, "capability denied: network")
    assert not web.requests


@pytest.mark.parametrize("grant", [True, ("site.example",), ("site.example", "127.0.0.2")], ids=repr)
@pytest.mark.parametrize("host", ["site.example", "127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
def test_a_private_address_is_not_reached_by_any_name_or_spelling(grant, host):
    with serving() as web:
        answer = fetch(web.url(host=host), grant, names={"localhost": ["127.0.0.1"]})
    assert code(answer) == CAPABILITY_DENIED
    assert not web.requests


def test_a_private_address_is_reached_if_it_is_listed():
    with serving() as web:
        assert fetch(web.url(host="127.0.0.1"), ("127.0.0.1",)).body == b"ok"
        assert (
            fetch(web.url(host="localhost"), ("localhost",), names={"localhost": ["127.0.0.1"]}).body == b"ok"
        )


def test_one_private_address_among_public_ones_spoils_the_name():
    with serving() as web:
        answer = fetch(web.url(), ("site.example",), names={"site.example": ["8.8.8.8", "127.0.0.1"]})
    assert code(answer) == CAPABILITY_DENIED
    assert not web.requests


def test_a_name_is_resolved_once_so_that_it_cannot_change_its_mind():
    asked = []

    def rebinding(name):
        asked.append(name)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    with serving() as web:
        assert fetch(web.url(), fetcher={"resolver": rebinding}).body == b"ok"
    assert asked == ["site.example"]


def test_the_next_address_is_tried_if_the_first_takes_no_connection():
    with serving() as web:
        names = {"site.example": ["127.0.0.2", "127.0.0.1"]}
        assert fetch(web.url(), (*LISTED, "127.0.0.2"), names=names).body == b"ok"


def test_no_proxy_of_the_environment_is_used(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with serving() as web:
        assert fetch(web.url()).body == b"ok"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_on_the_same_host_is_followed(status):
    with serving(then(moved("/there", status))) as web:
        assert fetch(web.url()).body == b"ok"
    assert web.requests[1].startswith(b"GET /there ")


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("http://other.example:{port}/", CAPABILITY_DENIED),
        ("//other.example:{port}/", CAPABILITY_DENIED),
        ("http://site.example.evil/", CAPABILITY_DENIED),
        ("http://169.254.169.254/latest/meta-data", CAPABILITY_DENIED),
        ("http://127.0.0.2:{port}/", CAPABILITY_DENIED),
        ("http://localhost:{port}/", CAPABILITY_DENIED),
        ("http://site.example@other.example/", INVALID_PARAMS),
        ("http://2130706433:{port}/", INVALID_PARAMS),
        ("file:///etc/passwd", INVALID_PARAMS),
        ("gopher://site.example/", INVALID_PARAMS),
        ("http://site.example:22/", INVALID_PARAMS),
        ("http://[", INVALID_PARAMS),
        ("/a b", INVALID_PARAMS),
    ],
)
def test_a_redirect_is_judged_like_a_first_request(location, expected):
    ports = []
    with serving(lambda _: moved(location.format(port=ports[0]))) as web:
        ports.append(web.port)
        assert code(fetch(web.url())) == expected
    assert len(web.requests) == 1


def test_a_redirect_to_a_granted_name_is_judged_by_its_address_too():
    with serving(lambda _: moved("http://inner.example/")) as web:
        answer = fetch(web.url(), (*LISTED, "inner.example"), names={"inner.example": ["10.0.0.1"]})
    assert code(answer) == CAPABILITY_DENIED


@pytest.mark.parametrize(("hops", "expected"), [(REDIRECTS, None), (REDIRECTS + 1, INVALID_PARAMS)])
def test_redirects_are_counted(hops, expected):
    seen = count(1)
    with serving(lambda _: moved("/again") if next(seen) <= hops else OK) as web:
        assert code(fetch(web.url())) == expected
    assert len(web.requests) == REDIRECTS + 1


@pytest.mark.parametrize(
    ("status", "method", "expected"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (302, "PUT", "PUT"),
        (307, "POST", "POST"),
        (308, "DELETE", "DELETE"),
        (303, "HEAD", "HEAD"),
    ],
)
def test_a_redirect_keeps_or_drops_the_method_with_its_body(status, method, expected):
    end = b"HTTP/1.1 204 OK\r\n\r\n"
    with serving(then(moved("/b", status), end)) as web:
        fetch(web.url(), method=method, body=b"body", headers=(("Content-Type", "x"),))
    assert web.requests[1].split()[0].decode() == expected
    kept = expected == method
    assert web.requests[1].endswith(b"body") is kept
    assert web.header("Content-Type") == ("x" if kept else None)


def test_keys_stay_with_the_origin_they_were_meant_for():
    keys = (("Authorization", "a"), ("Cookie", "b"), ("X-Api-Key", "c"), ("Accept", "d"))
    ports = []
    with serving(then(moved("/here"))) as web:
        fetch(web.url(), headers=keys)
        assert [web.header(name) for name, _ in keys] == ["a", "b", "c", "d"]
    with serving(
        lambda request: OK if b"other" in request else moved(f"http://other.example:{ports[0]}/")
    ) as web:
        ports.append(web.port)
        assert fetch(web.url(), (*LISTED, "other.example"), headers=keys).body == b"ok"
        assert [web.header(name) for name, _ in keys] == [None, None, None, "d"]


def test_a_redirect_without_a_place_is_an_answer():
    with serving(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n") as web:
        assert fetch(web.url()).status == 302


def test_the_largest_answer_fits_a_frame_and_a_larger_one_is_refused():
    value = b"\x01" * 1000
    lines = b"".join(b"x: " + value + b"\r\n" for _ in range(65))

    def said(size):
        return b"HTTP/1.1 200 OK\r\n" + lines + b"Content-Length: %d\r\n\r\n" % size + bytes(size)

    with serving(said(BODY_LIMIT)) as web:
        answer = fetch(web.url())
    assert len(answer.body) == BODY_LIMIT
    wire = msgspec.json.encode({"jsonrpc": "2.0", "id": 2**64 - 1, "result": answer})
    assert len(wire) <= FRAME_BYTES
    with serving(said(BODY_LIMIT + 1)) as web:
        assert code(fetch(web.url())) == INVALID_PARAMS


@pytest.mark.parametrize("size", [9, 10, 11])
@pytest.mark.parametrize("form", ["length", "chunked", "close"])
def test_a_body_is_bounded_however_it_is_sent(size, form):
    body = b"x" * size
    said = {
        "length": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + body,
        "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"1\r\nx\r\n" * size
        + b"0\r\n\r\n",
        "close": b"HTTP/1.1 200 OK\r\n\r\n" + body,
    }[form]
    with serving(said) as web:
        answer = fetch(web.url(), fetcher={"body_limit": 10})
    assert code(answer) == (None if size <= 10 else INVALID_PARAMS)


@pytest.mark.parametrize(
    "said",
    [
        b"\r\n",
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 99 low\r\n\r\n",
        b"HTTP/1.1 1000 high\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 101 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 65_536 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + (b"x: " + b"y" * 40_000 + b"\r\n") * 2 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 70_000,
        b"x" * 70_000,
    ],
    ids=lambda said: repr(said[:60] + said[-10:]),
)
def test_what_is_not_http_or_ends_early_is_an_error_and_no_answer(said):
    with serving(said) as web:
        assert code(fetch(web.url())) == INVALID_PARAMS


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n" + bytes(200_000),
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
    ],
    ids=["negative chunk", "endless continue"],
)
def test_an_answer_without_end_is_cut_off(said, monkeypatch):
    monkeypatch.setattr(exchange, "OVERHEAD", 100_000)
    with serving(said) as web:
        assert code(fetch(web.url(), fetcher={"body_limit": 10})) == INVALID_PARAMS


def test_a_server_that_says_nothing_costs_the_time_limit_and_no_more():
    with serving(b"") as web:
        answer = fetch(web.url(), fetcher={"timeout_s": 0.2})
    assert code(answer) == INVALID_PARAMS
    assert web.requests


def test_the_time_limit_is_over_the_whole_fetch_and_not_over_each_byte():
    clock = count()
    with serving(lambda _: moved("/again")) as web:
        answer = fetch(web.url(), fetcher={"now": lambda: float(next(clock)), "timeout_s": 8})
    assert code(answer) == INVALID_PARAMS
    assert 1 <= len(web.requests) <= REDIRECTS


def test_a_port_where_nobody_listens_and_a_name_that_nobody_knows_are_errors():
    with serving() as web:
        pass
    assert code(fetch(web.url())) == INVALID_PARAMS

    def unknown(name):
        raise OSError("unknown")

    assert code(fetch(web.url(), fetcher={"resolver": unknown})) == INVALID_PARAMS


def test_headers_between_two_machines_are_left_out_and_folds_are_undone():
    said = (
        b"HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nUpgrade: h2c\r\n"
        b"X-Fold: a\r\n  b\r\nX-Keep: \xe9\r\nContent-Length: 0\r\n\r\n"
    )
    with serving(said) as web:
        headers = fetch(web.url()).headers
    assert headers == (("X-Fold", "a b"), ("X-Keep", "é"), ("Content-Length", "0"))


def test_a_packed_body_is_handed_over_packed():
    said = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08"
    with serving(said) as web:
        assert fetch(web.url(), headers=(("Accept-Encoding", "gzip"),)).body == b"\x1f\x8b\x08"
    assert web.requests[0].lower().count(b"accept-encoding") == 1


def test_the_plain_fetch_resolves_by_the_system():
    with serving() as web:
        assert network.fetch(NetworkFetchParams(web.url(host="localhost")), ("localhost",)).body == b"ok"
        assert code(network.fetch(NetworkFetchParams(web.url(host="localhost")), True)) == CAPABILITY_DENIED


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-subj", "/CN=site.example", "-addext", "subjectAltName=DNS:site.example", "-days", "2"),
            *("-keyout", path / "key.pem", "-out", path / "cert.pem"),
        ],
        check=True,
        capture_output=True,
        timeout=250,
    )
    return path


def tls(certificate: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    return server, ssl.create_default_context(cafile=str(certificate / "cert.pem"))


def secure(web: Web, host: str = "site.example") -> str:
    return web.url(host=host).replace("http:", "https:")


@pytest.mark.needs("openssl")
def test_a_certificate_has_to_be_for_the_name_and_by_somebody_trusted(certificate):
    server, trusting = tls(certificate)
    with serving(context=server) as web:
        assert fetch(secure(web), fetcher={"context": trusting}).body == b"ok"
        assert code(fetch(secure(web))) == INVALID_PARAMS
        answer = fetch(
            secure(web, "other.example"), ("other.example", "127.0.0.1"), fetcher={"context": trusting}
        )
        assert code(answer) == INVALID_PARAMS
    assert len(web.requests) == 1


@pytest.mark.needs("openssl")
def test_a_redirect_never_leads_out_of_encryption(certificate):
    server, trusting = tls(certificate)
    with serving() as plain, serving(lambda _: moved(plain.url()), server) as web:
        assert code(fetch(secure(web), fetcher={"context": trusting})) == INVALID_PARAMS
    assert not plain.requests
