"""A run over providers, from the pipeline file to files on disk: detect, plan, generate, combine, validate, write.

Theory of operation. Every phase is a barrier: all providers that answer it are asked at the same time, and the next
phase begins when all have answered, because what one detects is told to all. Nothing is written before every provider
has answered everything and is gone, so one that fails, at whatever byte, leaves the directory as it was.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

from ... import fragments
from ...contracts.hook import detection as detections
from ...contracts.hook import host as hook
from ...contracts.hook.detection import Detection
from ...contracts.hook.messages import Phase
from ...errors import LocalProtocolError, ManifestError
from ...files.checkpoints import checkpoint
from ...manifest.binding import Binding
from ...messages.quoting import is_utf8
from . import repository
from .generation import Finding, Generation, Offered, ProviderReport, finding
from .steps import AskAll, Connect, Flow, HookLink, Retire, Work

if TYPE_CHECKING:
    from ...pipeline import Pipeline

_STRATEGIES = {
    wire.MERGE_STRATEGY_UNSPECIFIED: "replace",
    wire.MERGE_STRATEGY_REPLACE: "replace",
    wire.MERGE_STRATEGY_MERGE: "merge",
    wire.MERGE_STRATEGY_APPEND: "append",
}


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What is to be generated, and where to."""

    bindings: tuple[Binding, ...]
    native: wire.CigenSchema
    expanded: wire.CigenSchema
    out: Path | None = None
    write: bool = True
    root: Path = Path()  # what Detect looks at
    facts: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    work_signatures: Mapping[str, bytes] | None = None


def plan(
    bindings: Sequence[Binding],
    schema: str | os.PathLike[str] | Pipeline | wire.CigenSchema,
    out: str | os.PathLike[str] | None,
    *,
    write: bool = True,
    root: str | os.PathLike[str] | None = None,
    facts: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    work_signatures: Mapping[str, bytes] | None = None,
) -> RunOptions:
    """Return the options of a run, checked. Raises ManifestError for the schema, LocalProtocolError for the rest."""
    from ...pipeline import Pipeline, read

    if not bindings:
        raise LocalProtocolError("a run needs at least one plugin")
    _check_texts("facts", facts)
    _check_texts("flags", flags)
    given: Mapping[Any, Any] = work_signatures or {}  # whatever no type checker has stopped
    for job, signature in given.items():
        if not isinstance(job, str) or not is_utf8(job) or not isinstance(signature, bytes):
            raise LocalProtocolError("work_signatures: give bytes for each job")
    for place in (out, root):
        if place is not None and "\0" in os.fspath(place):
            raise LocalProtocolError("a path holds a NUL character")
    for binding in bindings:
        hook.check_contract(binding)
    if isinstance(schema, wire.CigenSchema):
        native = expanded = schema
    else:
        pipeline = schema if isinstance(schema, Pipeline) else read(Path(schema))
        native, expanded = pipeline.native, pipeline.expanded
    return RunOptions(
        bindings=tuple(bindings),
        native=native,
        expanded=expanded,
        out=Path(out) if out is not None else None,
        write=write and out is not None,
        root=Path(root) if root is not None else Path(),
        facts=dict(facts or {}),
        flags=dict(flags or {}),
        work_signatures=work_signatures,
    )


class Run:
    """One run. `flow` is its course, told to a host step by step."""

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._links: list[HookLink] = []
        self._findings: list[Finding] = []
        self._detection = Detection()
        self._timings: dict[str, dict[str, float]] = {}

    def flow(self) -> Flow[Generation]:
        """Return the course of the run."""
        if (out := self._options.out) is not None:
            yield Work(
                partial(fragments.compare, (), out)
            )  # nobody works for a directory that cannot be used
        self._links = yield Connect(self._options.bindings)
        for link in self._links:
            if Phase.PREFLIGHT in _phases(link):
                problem = f"{_info(link).name} answers preflight only: there is nothing to generate"
                raise ManifestError(link.binding.reference, "phases", problem, "Leave it out")
        hook.check_set([(link.binding, _info(link)) for link in self._links])
        for link in self._links:
            handshake = hook.timings(link.conversation)
            self._timings[_info(link).name] = {
                stage: handshake[stage] for stage in ("launch", "handshake") if stage in handshake
            }
        yield from self._detect()
        plans = yield from self._ask(Phase.PLAN, self._plan_request)
        results = yield from self._ask(Phase.GENERATE, lambda link: self._generate_request(link, plans))
        offers = [
            fragments.Offer(_info(link).name, fragment)
            for link, result in results.items()
            for fragment in _fragments(result)
        ]
        offered = tuple(_offered(offer) for offer in offers)
        if self._failed:
            return (yield from self._end(offered, (), None))
        outputs = yield Work(lambda: fragments.combine(offers, check=checkpoint))
        yield from self._validate(outputs)
        return (yield from self._end(offered, tuple(outputs), self._options.out))

    # Phases

    def _detect(self) -> Flow[None]:
        if any(Phase.DETECT in _phases(link) for link in self._links):
            repo = yield Work(lambda: repository.snapshot(self._options.root))
            found = yield from self._ask(Phase.DETECT, lambda _: wire.DetectRequest(repo=repo))
            results = [(_info(link).name, result) for link, result in found.items()]
            self._detection = detections.aggregate(results)
            for each in self._detection.disagreements:
                self._findings.append(_disagreement(each))

    def _plan_request(self, link: HookLink) -> wire.PlanRequest:
        return wire.PlanRequest(
            capabilities=sorted({each for other in self._links for each in _info(other).capabilities}),
            facts=self._facts,
            schema=self._schema(link),
            flags=self._options.flags,
        )

    def _generate_request(self, link: HookLink, plans: Mapping[HookLink, Message]) -> wire.GenerateRequest:
        planned = plans.get(link)
        schema = self._schema(link)
        given = self._options.work_signatures
        return wire.GenerateRequest(
            target=hook.target(_info(link)),
            graph=planned.resources if isinstance(planned, wire.PlanResult) else (),
            work_signatures=signatures(schema) if given is None else given,
            schema=schema,
            facts=self._facts,
        )

    def _validate(self, outputs: Sequence[fragments.Output]) -> Flow[None]:
        rendered = [
            wire.Fragment(path=each.path, content=each.content.decode(), strategy=wire.MERGE_STRATEGY_REPLACE)
            for each in outputs
        ]
        yield from self._ask(
            Phase.VALIDATE, lambda link: wire.ValidateRequest(rendered=rendered, schema=self._schema(link))
        )

    def _ask(self, phase: Phase, request: Callable[[HookLink], Message]) -> Flow[dict[HookLink, Any]]:
        """Ask all who answer *phase*, keep their diagnostics, and return their results."""
        asked = [link for link in self._links if phase in _phases(link)]
        asks = tuple((link, hook.ask(link.binding, phase, request(link))) for link in asked)
        results = (yield AskAll(asks)) if asks else []
        for link, result in zip(asked, results, strict=True):
            name = _info(link).name
            self._timings[name][phase] = hook.timings(link.conversation).get("execute", 0.0)
            for diagnostic in getattr(result, "diagnostics", ()):
                self._findings.append(finding(name, phase, diagnostic))
        return dict(zip(asked, results, strict=True))

    # The end

    def _end(
        self,
        offered: tuple[Offered, ...],
        outputs: tuple[fragments.Output, ...],
        out: Path | None,
    ) -> Flow[Generation]:
        """Let the providers go; then, and only then, touch the disk."""
        yield Retire(tuple(self._links))
        reports = tuple(self._report(link) for link in self._links)
        changes: list[fragments.Change] = []
        writing = self._options.write and not self._failed
        if out is not None:
            action = fragments.write if writing else fragments.compare
            changes = yield Work(partial(action, outputs, out))
        return Generation(
            providers=reports,
            fragments=offered,
            diagnostics=tuple(self._findings),
            outputs=outputs,
            changes=tuple(changes),
            detection=self._detection,
            written=writing and out is not None,
        )

    def _report(self, link: HookLink) -> ProviderReport:
        info = _info(link)
        timings = self._timings[info.name]
        teardown = hook.timings(link.conversation).get("teardown")
        if teardown is not None:
            timings["teardown"] = teardown
        return ProviderReport(
            name=info.name,
            version=info.version,
            capabilities=tuple(info.capabilities),
            phases=tuple(_phases(link)),
            timings_ms=timings,
            warnings=(*hook.remarks(link.conversation), *hook.warnings(link.evidence())),
        )

    @property
    def _failed(self) -> bool:
        return any(each.level == "error" for each in self._findings)

    @property
    def _facts(self) -> dict[str, str]:
        return {**self._detection.facts, **self._options.facts}  # what the caller says is not overruled

    def _schema(self, link: HookLink) -> wire.CigenSchema:
        return self._options.native if hook.wants_native_matrix(_info(link)) else self._options.expanded


def _check_texts(what: str, given: Mapping[Any, Any] | None) -> None:
    """Raise LocalProtocolError unless *given* maps texts to texts, all of which can be sent."""
    for name, value in (given or {}).items():
        if not (isinstance(name, str) and isinstance(value, str) and is_utf8(name + value)):
            raise LocalProtocolError(f"{what}: give texts that UTF-8 can say, not {name!r}: {value!r}")


def signatures(schema: wire.CigenSchema) -> dict[str, bytes]:
    """Return, for each job, a digest of all that defines its work."""
    return {job.id: hashlib.sha256(job.SerializeToString(deterministic=True)).digest() for job in schema.jobs}


def _info(link: HookLink) -> wire.PluginInfo:
    assert link.conversation.info is not None
    return link.conversation.info


def _phases(link: HookLink) -> tuple[Phase, ...]:
    assert link.conversation.place is not None
    return link.conversation.place.phases


def _fragments(result: Message) -> Iterator[wire.Fragment]:
    assert isinstance(result, wire.GenerateResult)
    yield from result.fragments


def _offered(offer: fragments.Offer) -> Offered:
    fragment = offer.fragment
    strategy = _STRATEGIES.get(fragment.strategy, f"unknown ({fragment.strategy})")
    return Offered(offer.plugin, fragment.path, strategy, len(fragment.content.encode()))


def _disagreement(each: detections.Disagreement) -> Finding:
    return Finding(
        plugin=each.doubted,
        phase=Phase.DETECT,
        level="warning",
        code="FACT_DISPUTED",
        title="",
        message=f"it says otherwise than {each.believed} about {each.fact!r}; {each.believed} is believed",
    )
