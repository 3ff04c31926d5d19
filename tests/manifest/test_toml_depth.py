"""TOML that is too deep for its parser is refused with its line; nothing in texts and comments counts."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.errors import ManifestError
from plughost.manifest.toml_depth import DEEPEST, MOST_DOTS, MOST_PARTS, check


def refusal(text):
    with pytest.raises(ManifestError) as caught:
        check(text, "some.toml")
    return caught.value


def key(parts, part="a", dot="."):
    return dot.join([part] * parts)


@pytest.mark.parametrize("dot", [".", " . ", "\t.\t"], ids=["plain", "blanks", "tabs"])
@pytest.mark.parametrize(
    "part", ["a", '"a.b"', "'a.b'", '"\\""'], ids=["bare", "basic", "literal", "escaped"]
)
@pytest.mark.parametrize("shape", ["{} = 1", "[{}]", "[[{}]]", "x = {{{} = 1}}", "x = {{y = 2, {} = 1}}"])
def test_a_key_has_so_many_parts_and_no_more(shape, part, dot):
    text = "# a\n" + shape.format(key(MOST_PARTS, part, dot))
    check(text, "some.toml")
    tomllib.loads(text)
    error = refusal("# a\n" + shape.format(key(MOST_PARTS + 1, part, dot)))
    assert (error.source, error.key) == ("some.toml", "")
    assert error.problem.startswith("line 2: ")
    assert error.remedy


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a = ", "}")], ids=["arrays", "tables"])
def test_brackets_nest_so_deep_and_no_deeper(opening, closing):
    def nested(depth):
        return f"\n\nx = {opening * (depth - 1)}{'{}' if opening != '[' else '[]'}{closing * (depth - 1)}"

    check(nested(DEEPEST), "some.toml")
    tomllib.loads(nested(DEEPEST))
    assert refusal(nested(DEEPEST + 1)).problem.startswith("line 3: ")


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_all_keys_together_have_so_many_dots(over):
    text = "".join(f"a.k{number} = 1\n" for number in range(MOST_DOTS + over))
    if over > 0:
        assert refusal(text).problem.startswith(f"line {MOST_DOTS + 1}: ")
    else:
        check(text, "some.toml")


DEEP = key(MOST_PARTS + 1) + "[" * (DEEPEST + 1)


@pytest.mark.parametrize(
    "text",
    [
        f'x = "{DEEP}"',
        f"x = '{DEEP}'",
        f'x = "\\"{DEEP}"',
        f'x = """{DEEP}\n"{DEEP}""{DEEP}\\"""{DEEP}"""',
        f"x = '''{DEEP}\n'{DEEP}''{DEEP}'''",
        f'x = """{DEEP}"""""\ny = "{DEEP}"',
        f'x = """{DEEP}""""\ny = "{DEEP}"',
        f"x = '''{DEEP}'''''\ny = '{DEEP}'",
        f"x = '''{DEEP}''''\ny = '{DEEP}'",
        f'# \'"{DEEP}\nx = 1 # """{DEEP}',
        f'"{DEEP}" = 1',
        f"'{DEEP}'.b = 1",
        "\n".join(f"a.k{number} = {number}.5" for number in range(MOST_PARTS * 2)),
        "x = [" + "1.5, " * MOST_PARTS * 2 + "]",
        "\n".join(["[[a]]"] * DEEPEST * 2),
        "x = [" + "[{}], " * DEEPEST * 2 + "]",
    ],
    ids=range(16),
)
def test_what_is_shallow_passes_whatever_its_texts_and_comments_hold(text):
    tomllib.loads(text)
    check(text, "some.toml")


@pytest.mark.parametrize("closing", [0, 1, 2])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_nothing_hides_behind_the_end_of_a_text(quote, closing):
    text = f"x = {quote * 3}a{quote * (3 + closing)}\n{key(MOST_PARTS + 1)} = 1\n"
    tomllib.loads(text)
    assert refusal(text).problem.startswith("line 2: ")


@pytest.mark.parametrize(
    "start",
    ['x = "', 'x = "a\n', "x = '", "x = '''", 'x = """', 'x = """"', 'x = "\\', 'x = "' + '\\"' * 200_000],
    ids=range(8),
)
def test_after_a_text_that_is_not_closed_the_parser_is_left_to_refuse(start):
    text = start + key(MOST_PARTS + 1)
    check(text, "some.toml")
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(text)


@given(
    st.lists(
        st.sampled_from(
            ["a", ".", "\n", "=", '"', "'", '"""', "'''", "\\", "#", "[", "]", "{", "}", ",", " ", "1"]
        )
    ).map("".join)
)
def test_whatever_the_parser_takes_and_is_short_is_not_refused(text):
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    check(text, "some.toml")


@given(
    st.lists(
        st.sampled_from(
            ["a=1\n", 'b="', '"\n', "c='''", "'''\n", 'd="""', '"""\n', "\\", '"', "'", "#\n", "x"]
        )
    ).map("".join)
)
def test_a_deep_key_after_what_the_parser_takes_is_always_found(text):
    try:
        tomllib.loads(f"{text}\n")
    except tomllib.TOMLDecodeError:
        return
    refusal(f"{text}\n{key(MOST_PARTS + 1, 'z')} = 1")
