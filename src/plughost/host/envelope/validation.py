"""Validation before a pass: each worker checks the variables before a file changes.

Only workers that know `--mode validate` are started for it. An objection stops the pass. A worker that gives no
answer makes its own plugin fail, and no other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...contracts.envelope import host as envelope
from ...contracts.envelope.host import Attempt
from ...contracts.envelope.session import Mode
from ...failures import PluginFailure
from ...manifest.binding import Binding
from ...manifest.envelope_manifest import EnvelopeManifest
from .ledger import Said
from .options import PassOptions
from .steps import Finish, Flow, Launch, WorkerLink
from .worker_log import WorkerLog

AT_ONCE = 8  # workers; each is a process of its own


@dataclass(slots=True)
class Validation:
    """A plugin that is asked about the variables: its worker, what that wrote, and what came of it."""

    manifest: EnvelopeManifest
    log: WorkerLog
    link: WorkerLink | None = None  # None: it could not be started
    attempt: Attempt = field(default_factory=Attempt)

    @property
    def worker(self) -> WorkerLink:
        assert self.link is not None, "it was started"
        return self.link

    @property
    def failure(self) -> PluginFailure:
        assert self.attempt.failure is not None, "it has failed"
        return self.attempt.failure

    @property
    def problem(self) -> str:
        """Why it failed."""
        return self.log.blamed(self.attempt)


class Validations:
    """The validations of one pass. *bind* returns the binding of a worker that may write nothing."""

    def __init__(
        self,
        options: PassOptions,
        bind: Callable[[EnvelopeManifest], Binding],
        open_log: Callable[[str, int], WorkerLog],
    ) -> None:
        self.heard: list[Said] = []  # what the workers wrote to stderr
        self.failed: dict[str, Validation] = {}  # by plugin
        self._options = options
        self._bind = bind
        self._open_log = open_log

    def objections_of_unasked(self) -> list[str]:
        """Return the objections for plugins whose workers do not know `--mode validate`."""
        silent = [manifest for manifest in self._options.manifests if not manifest.validates]
        return [problem for each in silent for problem in envelope.unasked(each, self._options.variables)]

    def launch(self) -> Flow[list[Validation]]:
        """Start the workers, and return what was started."""
        launched: list[Validation] = []
        for manifest in self._options.manifests:
            if not manifest.validates:
                continue
            if len(launched) >= AT_ONCE:
                yield Finish(launched[-AT_ONCE].worker)
            begun = Validation(manifest, self._open_log(manifest.name, 0))
            try:
                begun.link = yield self._launch(begun)
                launched.append(begun)
                self.heard.append((begun.worker.process.pid, manifest.name, begun.log))
            except PluginFailure as failure:
                begun.attempt = Attempt(failure=failure)
                self.failed[manifest.name] = begun
        return launched

    def _launch(self, begun: Validation) -> Launch:
        binding = envelope.validation_binding(self._bind(begun.manifest))
        line = envelope.validation_line(begun.manifest, self._options.context, binding.limits.line_bytes)
        return Launch(binding, Mode.VALIDATE, begun.log, line)

    def finish(self, launched: list[Validation]) -> Flow[list[str]]:
        """Wait for the workers, and return what they object to."""
        problems: list[str] = []
        for each in launched:
            link = each.worker
            yield Finish(link)
            each.attempt = envelope.conclude(link.binding, link.conversation, link.evidence())
            if each.attempt.failure is not None:
                self.failed[each.manifest.name] = each
            else:
                variables = self._options.variables
                problems += envelope.objections(each.manifest, link.conversation, each.attempt, variables)
        return problems
