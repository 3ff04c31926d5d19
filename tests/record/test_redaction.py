"""What looks like a secret is not shown, and what does not is."""

import pytest

from plughost.record.redaction import is_secret, redact, redacted


@pytest.mark.parametrize(
    "text",
    [
        "get https://bob:hunter2@example.org/x",
        "get https://bob:hunt/er2@example.org/x".replace("/er2", "@hunter2"),
        "https://:hunter2@host",
        "Authorization: Bearer hunter2",
        "authorization: basic hunter2",
        "sent bearer hunter2, got 401",
        "BEARER  hunter2",
        "password=hunter2",
        "my_password_file: hunter2",
        "DB_PASSWD = hunter2;",
        'password="hunter2 and hunter2" rest',
        "token: 'hunter2 hunter2'",
        '{"api_key": "hunter2"}',
        '{\\"apiKey\\": \\"hunter2 hunter2\\"}',
        "https://host/?a=1&access_token=hunter2&b=2",
        'password="hunter2',
    ],
)
def test_a_secret_in_a_text_is_hidden(text):
    assert "hunter2" not in redact(text)
    assert "***" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "basic setup",
        "http://host:80/a@b",
        "12:30@noon",
        "tokens were counted",
        "mail ada@example.org",
        "a: b",
    ],
)
def test_a_text_without_a_secret_stays_as_it_is(text):
    assert redact(text) == text


def test_what_stands_around_a_secret_is_kept():
    assert redact("a https://bob:x@host/p b") == "a https://bob:***@host/p b"
    assert redact("x?token=1&page=2") == "x?token=***&page=2"


@pytest.mark.parametrize(
    "key", ["password", "Authorization", "apiKey", "api-key", "GITHUB_TOKEN", "clientSecret"]
)
def test_the_value_of_a_telling_key_is_hidden_at_every_level(key):
    assert is_secret(key)
    assert redacted({"a": [{key: {"x": 1}, "b": 2}]}) == {"a": [{key: "***", "b": 2}]}


@pytest.mark.parametrize("key", ["path", "monkey", "keyboard", "author", "pass"])
def test_the_value_of_an_ordinary_key_is_shown(key):
    assert redacted({key: [1, None, True, "x"]}) == {key: [1, None, True, "x"]}


def test_values_are_shown_only_so_deep():
    assert redacted([[[1]]], 2) == [["…"]]
    assert redacted([[1]], 2) == [[1]]


@pytest.mark.parametrize(
    "piece", ['token="', "token='", "password ", "://a:", "token", "bearer ", "token='\""]
)
def test_a_text_made_to_be_slow_is_searched_like_any_other(piece):
    redact(
        piece * (65_536 // len(piece))
    )  # a pattern that goes back would take minutes: the bound is the test's
