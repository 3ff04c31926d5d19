"""A provider that is killed at any byte of what it writes leaves the output directory untouched, and nothing else."""

from __future__ import annotations

import pytest
from plughost_sdk import hook_messages as wire

from plughost import FailureCode, PluginFailure, Stage
from tests.host.hook.lab import Lab, frame, generated, info, rounds

ANSWERS = [
    frame(info("provider/doomed", "plan,generate,validate")),
    frame(wire.PlanResult(resources=[wire.Resource(id="job:test")])),
    frame(generated(("ci.yml", "on: push\n"))),
    frame(wire.ValidateResult(diagnostics=[wire.Diagnostic(message="fine")])),
]
# The whole exchange, byte by byte: how many answers were whole, and how many bytes came of the next.
CUTS = [(whole, at) for whole, answer in enumerate(ANSWERS) for at in range(len(answer))]


def killed(whole: int, at: int) -> list[str]:
    """Return the words of a provider that is killed *at* a byte of an answer, after those that were *whole*."""
    words = [word for answer in ANSWERS[:whole] for word in ("read", f"write:{answer.hex()}")]
    return [*words, "read", f"write:{ANSWERS[whole][:at].hex()}", "die:9"]


@pytest.mark.requirement("hook:fragment:atomic", "hook:failure:exit-before-answer")
@pytest.mark.thin(9, "bytes at which a provider is killed")
@pytest.mark.parametrize(("whole", "at"), CUTS)
def test_killed_at_any_byte_it_leaves_the_directory_untouched(whole: int, at: int, lab: Lab) -> None:
    lab.kind = "asyncio" if at % 2 else "blocking"
    lab.write({"ci.yml": "old\n", "kept/a": "kept\n"})
    before = lab.portrait()
    healthy = lab.play(*rounds(generated(("more.yml", "x\n")), introduction=info("provider/healthy")))
    with pytest.raises(PluginFailure) as caught:
        lab.generate(lab.play(*killed(whole, at)), healthy)
    failure = caught.value
    assert (failure.code, failure.stage) == (
        FailureCode.CRASHED,
        Stage.EXECUTE if whole else Stage.HANDSHAKE,
    )
    assert failure.autopsy.exit is not None
    assert failure.autopsy.exit.signal_name == "SIGKILL"
    assert lab.portrait() == before


@pytest.mark.requirement("hook:exit:gone")
def test_killed_after_its_last_byte_it_has_answered(both: Lab) -> None:
    words = [word for answer in ANSWERS for word in ("read", f"write:{answer.hex()}")]
    result = both.generate(both.play(*words, "drain", "die:9"))
    assert both.files() == {"ci.yml": "on: push\n"}
    assert len(result.providers[0].warnings) == 1
