"""What a host may ask and tell: what is no such thing is refused before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from plughost.contracts.duplex import host as contract
from plughost.contracts.duplex.keys import ALT, KeyCode, KeyEvent, KeyKind
from plughost.errors import LocalProtocolError
from plughost.messages import strict_json

J = KeyCode("char", ch="j")

KEYS = [
    KeyEvent(J),
    KeyEvent(KeyCode("char", ch="時"), mods=255),
    KeyEvent(KeyCode("f", n=0)),
    KeyEvent(KeyCode("f", n=255), kind=KeyKind.RELEASE),
    *(KeyEvent(KeyCode("esc"), ALT, kind) for kind in KeyKind),
]


@pytest.mark.parametrize("event", KEYS)
def test_a_key_is_told_as_it_is(event: KeyEvent) -> None:
    for _ in range(2):  # the second one was seen before
        assert contract.key("main", event, 7) == contract.HandleKeyParams("main", event, 7)


def no_keys() -> list[Any]:
    """Return what can be built and is no key: a Struct checks nothing when it is made."""
    wrong: Any = KeyEvent
    code: Any = KeyCode
    return [
        None,
        "j",
        wrong(code("char", ch="ab")),
        wrong(code("char", ch="")),
        wrong(code("char", ch=["j"])),
        wrong(code("char", ch=7)),
        wrong(code("bogus")),
        wrong(code("f", n=-1)),
        wrong(code("f", n=256)),
        wrong(J, mods=300),
        wrong(J, mods=-1),
        wrong(J, mods=2**80),
        wrong(J, mods="1"),
        wrong(J, mods=object()),
        wrong(J, kind="zzz"),
        wrong("j"),
        wrong({"type": "bogus"}),
        wrong(None),
    ]


@pytest.mark.parametrize("event", no_keys())
def test_what_is_no_key_is_refused(event: Any) -> None:
    for _ in range(2):
        with pytest.raises(LocalProtocolError):
            contract.key("main", event, 7)


@pytest.mark.parametrize("mods", [1.0, True], ids=repr)
def test_a_number_that_only_equals_one_of_a_key_seen_before_is_not_sent_as_it_is(mods: Any) -> None:
    contract.key("main", KeyEvent(J, mods=1), 7)
    assert strict_json.encode(contract.key("main", KeyEvent(J, mods=mods), 7).key.mods, "mods") == b"1"
