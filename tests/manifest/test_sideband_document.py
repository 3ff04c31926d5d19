"""A `plugin.toml` of a `sideband` worker: limits of its own, and code for its check."""

from __future__ import annotations

from pathlib import Path

import pytest

from plughost.contracts.sideband import host
from plughost.errors import ManifestError
from plughost.manifest import binding
from plughost.manifest.binding import Binding
from plughost.manifest.sideband_limits import SidebandLimits
from plughost.manifest.sideband_snippets import Snippets

HEAD = '[plugin]\nname = "bird"\ncontract = "sideband"\ncommand = ["./bird"]\n'
HERE = Path(__file__).parent


def parse(rest: str = "", head: str = HEAD) -> Binding:
    return binding.parse(head + rest, HERE)


def test_without_a_word_it_has_what_is_usual_for_workers() -> None:
    found = parse()
    assert (found.contract, found.limits, found.check) == ("sideband", SidebandLimits(), Snippets())
    assert binding.of_command("sideband", ["./bird"]).limits == SidebandLimits()


def test_a_file_is_read_as_a_text_is(tmp_path: Path) -> None:
    (tmp_path / "plugin.toml").write_text(HEAD + "[limits]\nimages = 3\n", encoding="utf-8")
    assert binding.read(tmp_path).limits == SidebandLimits(images=3)


def test_it_may_set_limits_that_only_workers_have() -> None:
    found = parse("[limits]\nhead_chars = 2048\nimages = 0\ntimeout_s = 5\n")
    assert found.limits == SidebandLimits(head_chars=2_048, images=0, timeout_s=5.0)


def test_it_may_be_said_to_echo() -> None:
    assert not host.terms(parse()).echoes
    assert host.terms(parse("[sideband]\nechoes = true\n")).echoes


@pytest.mark.parametrize("contract", ["execute", "hook"])
def test_no_other_contract_has_them(contract: str) -> None:
    with pytest.raises(ManifestError) as raised:
        parse("[limits]\nhead_chars = 2048\n", HEAD.replace("sideband", contract))
    assert raised.value.key == "limits.head_chars"


@pytest.mark.parametrize(
    ("rest", "key"),
    [
        ("[limits]\nhead_chars = 1023\n", "limits.head_chars"),
        ("[limits]\nimages = -1\n", "limits.images"),
        ("[limits]\nimages = true\n", "limits.images"),
        ("[limits]\nframe_bytes = 33554433\n", "limits.frame_bytes"),
        ('[check]\nehco = "x"\n', "check.ehco"),
        ("[check]\necho = 5\n", "check.echo"),
        ('[check]\nreaders = "x"\n', "check.readers"),
        ("[check]\nreaders = [5]\n", "check.readers[0]"),
        ("check = 5\n", "plugin.check"),
        ("[sideband]\nechoes = 1\n", "sideband.echoes"),
        ("[sideband]\necho = true\n", "sideband.echo"),
    ],
)
def test_a_wrong_key_is_named(rest: str, key: str) -> None:
    with pytest.raises(ManifestError) as raised:
        parse(rest)
    assert raised.value.key == key


def test_the_code_for_its_check_is_kept_as_it_is() -> None:
    found = parse('[check]\necho = "say {text}"\nreaders = ["a", "b"]\nblock = """\nx\n\ny\n"""\n')
    assert found.check == Snippets(echo="say {text}", readers=("a", "b"), block="x\n\ny\n")


def test_a_binding_made_in_code_is_held_to_the_same_rules() -> None:
    with pytest.raises(ManifestError) as raised:
        binding.replace(parse(), check=Snippets(echo=5))  # type: ignore[arg-type]
    assert raised.value.key == "check.echo"


@pytest.mark.parametrize("head", ["", "plugin = 5\n", "[plugin]\ncontract = 5\n", "plugin"])
def test_a_file_without_a_contract_is_refused_as_ever(head: str) -> None:
    with pytest.raises(ManifestError):
        parse(head=head)
