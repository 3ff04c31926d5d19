"""What a provider could write: introductions and results, right and wrong in one field at a time, and bare bytes."""

from plughost_sdk import hook_messages as wire

from plughost.contracts.hook.messages import Phase

NAME = "provider/github"


def frame(body):
    """Return *body*, bytes or a message, behind its length."""
    data = body if isinstance(body, bytes) else body.SerializeToString(deterministic=True)
    return len(data).to_bytes(4, "big") + data


def info(**changes):
    """Return an introduction with *changes*."""
    return wire.PluginInfo(**{"name": NAME, "version": "1.0", "protocol": 1, **changes})


def declaring(phases, **changes):
    """Return an introduction that declares *phases*, separated by commas."""
    return info(metadata={"plughost.phases": phases}, **changes)


def block(number, body):
    """Return field *number* of a message, holding *body*, as bytes on the wire."""
    return varint(number << 3 | 2) + varint(len(body)) + body


def varint(value):
    low = bytearray()
    while value > 0x7F:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*low, value))


DIAGNOSTIC = wire.Diagnostic(
    level=wire.Diagnostic.LEVEL_WARNING,
    code="ODD",
    title="Odd",
    message="It is odd.",
    fix_hint="Even it out.",
    loc=wire.SourceLocation(file="cigen.yml", line=3, column=5, snippet="odd: true"),
)
# Of each phase: a request, and a result in which every field is set.
REQUESTS = {
    Phase.DETECT: wire.DetectRequest(repo=wire.RepoSnapshot(root_path="/src", files=["a.py"])),
    Phase.PLAN: wire.PlanRequest(schema=wire.CigenSchema(version="1"), flags={"fast": "yes"}),
    Phase.GENERATE: wire.GenerateRequest(target="github", schema=wire.CigenSchema(version="1")),
    Phase.VALIDATE: wire.ValidateRequest(rendered=[wire.Fragment(path="ci.yml", content="on: push\n")]),
    Phase.PREFLIGHT: wire.PreflightRequest(job_id="test", previous_signature=b"\x00\xff"),
}
RESULTS = {
    Phase.DETECT: wire.DetectResult(
        signals=["python"], facts={"lang": "python"}, confidence=0.5, diagnostics=[DIAGNOSTIC]
    ),
    Phase.PLAN: wire.PlanResult(
        resources=[wire.Resource(id="job:test", type=wire.RESOURCE_TYPE_JOB, attributes={"runner": "linux"})],
        deps=[wire.Dependency(**{"from": "a", "to": "b", "type": wire.DEPENDENCY_TYPE_REQUIRES})],
        diagnostics=[DIAGNOSTIC],
    ),
    Phase.GENERATE: wire.GenerateResult(
        fragments=[
            wire.Fragment(
                path="ci.yml",
                content="on: push\n",
                strategy=wire.MERGE_STRATEGY_REPLACE,
                order=-1,
                format="yaml",
            )
        ],
        diagnostics=[DIAGNOSTIC],
    ),
    Phase.VALIDATE: wire.ValidateResult(diagnostics=[DIAGNOSTIC]),
    Phase.PREFLIGHT: wire.PreflightResult(should_run=True, reason="changed", new_signature=b"\x01"),
}

INFO = frame(info())
EMPTY = frame(b"")  # an introduction of protocol 0, and a good result of every phase
STRAY = b"Hello world\n"
