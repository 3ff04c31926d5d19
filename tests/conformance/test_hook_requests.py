"""The requests of a check: as a host would send them, and as odd as they are meant to be."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from plughost_sdk import hook_messages as wire

from plughost.conformance import hook_odd_requests as odd
from plughost.conformance import hook_requests as requests
from plughost.conformance.hook_requests import Sample
from plughost.contracts.hook.messages import EXCHANGES, FRAME_BYTES, Phase

INFO = wire.PluginInfo(name="provider/github", capabilities=["provider:github"])
NATIVE = wire.PluginInfo(name="provider/github", metadata={"plughost.matrix": "native"})

each_phase = pytest.mark.parametrize("phase", list(Phase))


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return requests.sample(None, tmp_path)


@each_phase
def test_a_phase_is_asked_for_with_its_own_message(phase: Phase, sample: Sample) -> None:
    assert isinstance(requests.ordinary(sample, INFO, phase, {}), EXCHANGES[phase].request)


@each_phase
def test_the_same_is_asked_twice_with_the_same_bytes(phase: Phase, sample: Sample) -> None:
    once, twice = (requests.ordinary(sample, INFO, phase, {}) for _ in range(2))
    assert once.SerializeToString(deterministic=True) == twice.SerializeToString(deterministic=True)


def test_what_was_answered_before_is_part_of_what_is_asked(sample: Sample) -> None:
    results = {
        Phase.DETECT: wire.DetectResult(facts={"lang": "python"}),
        Phase.PLAN: wire.PlanResult(resources=[wire.Resource(id="job")]),
        Phase.GENERATE: wire.GenerateResult(fragments=[wire.Fragment(path="a.yml")]),
    }
    generate = requests.ordinary(sample, INFO, Phase.GENERATE, results)
    validate = requests.ordinary(sample, INFO, Phase.VALIDATE, results)
    assert isinstance(generate, wire.GenerateRequest)
    assert isinstance(validate, wire.ValidateRequest)
    assert generate.target == "github"
    assert dict(generate.facts) == {"lang": "python"}
    assert [each.id for each in generate.graph] == ["job"]
    assert set(generate.work_signatures) == {"lint", "test"}
    assert [each.path for each in validate.rendered] == ["a.yml"]


def test_a_plugin_is_given_the_matrix_that_it_wants(sample: Sample) -> None:
    sample.native.project.name = "as written"
    assert sample.schema(NATIVE).project.name == "as written"
    assert sample.schema(INFO).project.name == "sample"


def test_a_schema_that_is_changed_is_a_copy(sample: Sample) -> None:
    odd.leading_out(odd.broken(sample.schema(INFO)))
    assert sample.schema(INFO) == sample.expanded


@each_phase
@pytest.mark.parametrize("size", [10_000, 10_001, 100_000, FRAME_BYTES])
def test_a_request_is_filled_to_the_byte(phase: Phase, size: int, sample: Sample) -> None:
    assert odd.filled(requests.ordinary(sample, INFO, phase, {}), size).ByteSize() == size


@pytest.mark.parametrize("size", [10_000, 20_000, FRAME_BYTES])
def test_a_request_is_swollen_to_the_byte(size: int, sample: Sample) -> None:
    request = odd.swollen(requests.ordinary(sample, INFO, Phase.GENERATE, {}), size)
    assert request.ByteSize() == size


def test_a_request_that_is_too_long_already_is_not_filled(sample: Sample) -> None:
    request = requests.ordinary(sample, INFO, Phase.PLAN, {})
    assert odd.filled(request, 10).ByteSize() < 1_000


def test_a_pipeline_without_jobs_can_be_swollen(sample: Sample) -> None:
    request = wire.GenerateRequest(schema=wire.CigenSchema())
    assert odd.swollen(request, 5_000).ByteSize() == 5_000


@each_phase
def test_unknown_fields_are_in_every_part_and_change_nothing_else(phase: Phase, sample: Sample) -> None:
    request = odd.with_unknown_fields(requests.ordinary(sample, INFO, phase, {}))
    assert len(UnknownFieldSet(request)) == 5
    for part in odd.parts(request):
        assert len(UnknownFieldSet(part)) == 5
    request.DiscardUnknownFields()
    assert request == requests.ordinary(sample, INFO, phase, {})


@each_phase
def test_an_unreadable_request_is_unreadable_in_every_phase(phase: Phase) -> None:
    with pytest.raises(DecodeError):
        EXCHANGES[phase].request.FromString(odd.UNREADABLE)


def test_unknown_values_stay_what_they_are_on_the_wire(sample: Sample) -> None:
    request = odd.with_unknown_values(requests.ordinary(sample, INFO, Phase.GENERATE, {}))
    again = wire.GenerateRequest.FromString(request.SerializeToString())
    assert again.graph[-1].type == odd.NO_SUCH_VALUE
    assert again.schema.workflows[0].run_when[-1].kind == odd.NO_SUCH_VALUE


@each_phase
def test_an_empty_request_takes_no_byte(phase: Phase) -> None:
    assert odd.empty(phase).ByteSize() == 0
