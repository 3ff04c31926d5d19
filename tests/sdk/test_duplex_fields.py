"""Members of the wire's objects: bytes are base64 of one spelling, whatever else could be read from it."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk import duplex_fields as fields


@given(payload=st.binary(max_size=40), at=st.integers(0, 60), odd=st.text("QR+/=_-!\n é", max_size=4))
def test_only_base64_that_is_spelled_as_we_would_is_taken(payload, at, odd):
    spelled = base64.b64encode(payload).decode()
    assert fields.from_wire(spelled, "payload") == payload
    changed = spelled[:at] + odd + spelled[at + len(odd) :]
    try:
        found = fields.from_wire(changed, "payload")
    except ValueError:
        return
    assert base64.b64encode(found).decode() == changed


@pytest.mark.parametrize(
    "odd", ["QR==", "QUJ=", "QQ", "QQ=", "QQ===", "QQ==QQ==", "=QQ=", "Q Q==", "QQ==\n", "é", "____"]
)
def test_base64_of_another_spelling_is_refused(odd):
    with pytest.raises(ValueError, match="payload is not base64"):
        fields.from_wire(odd, "payload")
