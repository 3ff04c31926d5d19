"""The path of a fragment: its one spelling, and what is refused before any disk is asked."""

import pytest

from plughost.errors import FragmentError
from plughost.fragments.paths import DEPTH_LIMIT, NAME_LIMIT, PATH_LIMIT, normalise, refuse_collisions

LONG = "/".join(["d" * 200] * 25)


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("a", "a"),
        ("./a//b", "a/b"),
        (".//././a/./b.yml", "a/b.yml"),
        (".github/workflows/ci.yml", ".github/workflows/ci.yml"),
        ("..a/...b", "..a/...b"),
        (" a/ b.c", " a/ b.c"),
        ("git~2/git~10/x.git~1", "git~2/git~10/x.git~1"),
        (".git-x/.git~1/.gitmodules", ".git-x/.git~1/.gitmodules"),
        ("aux.yml", "aux.yml"),
        ("~/a", "~/a"),
        ("a b/ü–字.txt", "a b/ü–字.txt"),
        ("ab:c", "ab:c"),
        (".gitignore", ".gitignore"),
        (".gitlab/git", ".gitlab/git"),
        ("plughost.toml", "plughost.toml"),
        ("x.plughost", "x.plughost"),
        ("n" * NAME_LIMIT, "n" * NAME_LIMIT),
        ("/".join("d" * DEPTH_LIMIT), "/".join("d" * DEPTH_LIMIT)),
        (LONG[: PATH_LIMIT - 2] + "/x", LONG[: PATH_LIMIT - 2] + "/x"),
        ("./" * 2047 + "ab", "ab"),
    ],
    ids=lambda text: text[:20],
)
def test_a_plain_path_gets_its_one_spelling(path, plain):
    assert normalise("one", path) == plain
    assert normalise("one", plain) == plain


REFUSED = {
    "empty": "",
    "here": ".",
    "here-slash": "./",
    "dots": "././.",
    "slashes": "//",
    "root": "/",
    "absolute": "/etc/passwd",
    "drive": "C:\\x",
    "drive-slash": "c:/x",
    "drive-relative": "C:x",
    "share": "\\\\host\\x",
    "backslash": "a\\b",
    "backslash-dots": "..\\x",
    "up": "..",
    "up-file": "../x",
    "up-inside": "a/../b",
    "up-genuine": ".github/workflows/../../x.yml",
    "up-end": "a/..",
    "up-dotted": "./../x",
    "trailing": "a/",
    "trailing-dot": "a/.",
    "nul": "a\0b",
    "newline": "a\nb",
    "escape": "a\x1b[31mb",
    "delete": "a\x7f",
    "c1": "a\x9b1m",
    "separator": "a\u2028b",
    "bidi": "a\u202egpj.exe",
    "surrogate": "a\udc80",
    "name+1": "n" * (NAME_LIMIT + 1),
    "name-bytes+1": "ü" * 128,
    "depth+1": "/".join("d" * (DEPTH_LIMIT + 1)),
    "path+1": "./" * 2047 + "abc",
    "git": ".git/config",
    "git-file": ".git",
    "git-case": "a/.GiT/hooks/post-checkout",
    "git-ignorable": ".g\u200dit/config",
    "git-dot": ".git./config",
    "git-blank": ".git /config",
    "git-dots-and-blanks": "a/.GIT. . ./config",
    "git-stream": ".git::$INDEX_ALLOCATION/config",
    "git-blank-stream": ".git .:x/config",
    "git-short": "GIT~1/config",
    "git-short-dot": "git~1./config",
    "git-short-stream": "git~1:x",
    "git-ignorable-dot": ".git.\u200d/config",
    "dots-alone": "...",
    "ends-in-dot": "a/b./c",
    "ends-in-dots": "a..",
    "ends-in-blank": "a /b",
    "blank": " ",
    "file-ends-in-blank": "a/b.yml ",
    "ends-in-hidden-dot": "a.\u200d",
    "store": ".plughost-generate/journal",
    "store-deep": "a/.Plughost-Generate",
    "ours": ".plughost-removed-1-1",
    "pass": ".tree.plughost/snapshot.json",
    "pass-lock": ".tree.plughost.lock",
}


@pytest.mark.parametrize("path", REFUSED.values(), ids=REFUSED)
def test_a_path_that_is_not_plain_is_refused_with_its_plugin(path):
    with pytest.raises(FragmentError) as caught:
        normalise("one", path)
    assert caught.value.plugin == "one"
    assert str(caught.value).isprintable()
    assert caught.value.path == path
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("README", "readme"),
        ("a/B.yml", "A/b.yml"),
        ("caf\u00e9", "cafe\u0301"),
        ("stra\u00dfe", "STRASSE"),
        ("a\u200db", "ab"),
        ("a", "a/b"),
        ("A", "a/b/c"),
        ("x/y/z", "x/Y"),
    ],
)
def test_two_paths_that_some_system_takes_for_one_are_refused_in_either_order(one, other):
    for first, second in ((one, other), (other, one)):
        with pytest.raises(FragmentError) as caught:
            refuse_collisions([(first, "plug-one"), (second, "plug-two")])
        assert {"plug-one", "plug-two"} <= set(str(caught.value).replace(":", " ").split())


def test_paths_that_only_begin_alike_are_two_files():
    refuse_collisions([("a", "x"), ("ab", "y"), ("a.b/c", "x"), ("ab.c", "y"), ("A.d", "z")])
    refuse_collisions([("A/x", "one"), ("a/y", "two")])
