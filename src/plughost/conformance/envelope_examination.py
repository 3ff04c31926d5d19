"""The conversations that the checks of the `envelope` contract look at, each held when it is first asked for.

Theory of operation. The ordinary conversation comes first, as a host would hold it: if the worker asks, it is
answered and another one is started, in the same tree. The answers are then told to the workers of all other
conversations, which so come to their ends. Each of those has a tree of its own, laid out alike. Where the kernel
can, a worker is kept from writing outside that tree's surroundings; within them it is free, so that it can be seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from ..contracts.envelope import host as envelope
from ..contracts.envelope import prompts
from ..contracts.envelope.messages import Field, InputRequired
from ..errors import TreeError
from ..manifest.binding import Binding
from ..manifest.envelope_binding import CONTRACT
from ..process.launcher import Launcher
from .envelope_ground import Ground, Layout
from .envelope_seen import Seen
from .envelope_subject import MADE_UP, Subject
from .probe import Probe

SMALL_PIECE = 7  # bytes; no message or number of it comes whole
LARGE_PIECE = 50_021  # bytes; a prime, so that it fits no buffer
UNKNOWN = {"x_unknown": {"files": ["decoy"], "result": "decoy", "list": [1, [2, {"a": None}]]}}
PROVOKED = "given a file that is not there"
GONE = "plughost-check-no-such-file.txt"
DATE = "2026-01-31"


class Examination:
    """One plugin and what was seen of it. *answers* are the operator's, by field id."""

    def __init__(
        self,
        subject: Subject,
        launcher: Launcher,
        layout: Layout | None = None,
        answers: Mapping[str, Any] | None = None,
    ) -> None:
        self.subject = subject
        self.answers: dict[str, Any] = {}  # what the worker was told in the ordinary conversation
        self.unfit: tuple[str, ...] = ()  # what is wrong with the operator's answers
        self._launcher = launcher
        self._layout = layout if layout is not None else Layout(subject.manifest)
        self._given = dict(answers or {})

    # The ordinary conversation

    @cached_property
    def rounds(self) -> tuple[Seen, ...]:
        """The ordinary conversation, worker by worker: all but the last have asked."""
        rounds: list[Seen] = []
        with self._ground() as ground:
            files: Sequence[str] = ground.files
            while True:
                seen = self._transform(ground, files, "given ordinary files")
                rounds.append(seen)
                question = seen.question if seen.asks else None
                if not isinstance(question, InputRequired) or len(rounds) > prompts.MOST_ROUNDS:
                    break
                if self.asked_again(question) or not self._answer(question):
                    break
                told = () if isinstance(seen.reply, str) else seen.reply.reports
                files = envelope.remaining(files, told, str(ground.root))
        return tuple(rounds)

    @property
    def ordinary(self) -> Seen:
        """The worker that brought the ordinary conversation to its end."""
        return self.rounds[-1]

    def asked_again(self, question: InputRequired) -> list[str]:
        """Return the ids of *question* that were answered already."""
        return [field.id for field in question.fields if field.id in self.answers]

    def _answer(self, question: InputRequired) -> bool:
        """Add answers to *question* to those that workers are told; False if the operator's do not fit."""
        given = {field.id: self._given.get(field.id, _made_up(field)) for field in question.fields}
        accepted, self.unfit = prompts.accept(question.fields, given)
        if not self.unfit:
            self.answers |= accepted
        return not self.unfit

    # The others

    @cached_property
    def without_files(self) -> Seen:
        with self._next_ground() as ground:
            return self._transform(ground, (), "given no file")

    @cached_property
    def relative(self) -> Seen:
        with self._next_ground() as ground:
            files = [path.removeprefix(f"{ground.root}/") for path in ground.files]
            return self._transform(ground, files, "given relative paths")

    @cached_property
    def with_unknown_fields(self) -> Seen:
        with self._next_ground() as ground:
            when = "when the request and its context hold fields it does not know"
            return self._transform(ground, ground.files, when, extra=UNKNOWN)

    @cached_property
    def in_pieces(self) -> Seen:
        with self._next_ground() as ground:
            when = f"when its request comes in pieces of {SMALL_PIECE} bytes"
            return self._transform(ground, ground.files, when, piece=SMALL_PIECE)

    @cached_property
    def large(self) -> Seen:
        with self._next_ground() as ground:
            limit = self.subject.binding.limits.line_bytes
            when = f"when its request has {limit} bytes"
            return self._transform(ground, ground.files, when, fill=limit, piece=LARGE_PIECE)

    @cached_property
    def dry(self) -> Seen:
        with self._next_ground() as ground:
            return self._transform(ground, ground.files, "in a dry run", dry_run=True)

    @cached_property
    def provoked(self) -> Seen:
        """It is given a file that is not there: a host would not, but a file may vanish."""
        with self._next_ground() as ground:
            return self._transform(ground, [str(ground.root / GONE)], PROVOKED)

    @cached_property
    def cut_off(self) -> Seen:
        with self._ground() as ground:
            return self._converse(ground, self._bound(ground), b"", (), "when its input ends at once")

    @cached_property
    def cut_short(self) -> Seen:
        with self._ground() as ground:
            line = self._line(self._request(ground, ground.files))
            half = line[: len(line) // 2]
            return self._converse(
                ground, self._bound(ground), half, (), "when its input ends within the request"
            )

    @cached_property
    def validation(self) -> Seen:
        return self._validate(self.subject.variables, "asked to validate")

    @property
    def validations(self) -> tuple[Seen, ...]:
        """The validation, unless the manifest does not say that the worker knows of such."""
        manifest = self.subject.manifest
        return (self.validation,) if manifest is None or manifest.validates else ()

    @cached_property
    def validation_of_nothing(self) -> Seen:
        return self._validate({}, "asked to validate no variables")

    @property
    def is_hopeless(self) -> bool:
        """It gave no answer to an ordinary request, so other requests would tell nothing new."""
        return self.ordinary.exit is None or self.ordinary.envelope is None

    @property
    def transforms(self) -> tuple[Seen, ...]:
        """Every conversation in which it was told to transform."""
        if self.is_hopeless:
            return self.rounds
        return (
            *self.rounds,
            self.without_files,
            self.relative,
            self.with_unknown_fields,
            self.in_pieces,
            self.large,
            self.dry,
            self.provoked,
        )

    # Holding them

    def _ground(self) -> Ground:
        # A confined worker cannot write to its plugin's directory; whether another one does is looked at.
        manifest = self.subject.manifest
        watched = manifest.directory if manifest is not None and not self.subject.confined else None
        return Ground(self._layout, watched)

    def _next_ground(self) -> Ground:
        """Return a tree for a conversation that is told the answers of the ordinary one, which is held first."""
        _ = self.rounds
        return self._ground()

    def _bound(self, ground: Ground) -> Binding:
        return self.subject.bound(ground.root, ground.temporary, ground.home)

    def _transform(
        self,
        ground: Ground,
        files: Sequence[str],
        when: str,
        *,
        dry_run: bool = False,
        extra: Mapping[str, Any] | None = None,
        fill: int = 0,
        piece: int = 0,
    ) -> Seen:
        request = self._request(ground, files, dry_run=dry_run)
        request |= extra or {}
        request["context"] |= extra or {}
        line = self._line(request)
        if fill:
            request["x_fill"] = "x" * max(0, fill - len(line) - len(',"x_fill":""') + 1)
            line = self._line(request)
        return self._converse(ground, self._bound(ground), line, files, when, piece=piece)

    def _validate(self, variables: Mapping[str, Any], when: str) -> Seen:
        with self._ground() as ground:
            binding = envelope.validation_binding(self._bound(ground))
            request = self._request(ground, (), dry_run=True)
            request["context"]["variables"] = variables
            request["extra_inputs"] = None
            return self._converse(ground, binding, self._line(request), (), when)

    def _request(self, ground: Ground, files: Sequence[str], *, dry_run: bool = False) -> dict[str, Any]:
        return {
            "plugin_module": self.subject.module,
            "context": {
                "variables": self.subject.variables,
                "dst_root": str(ground.root),
                "answers_file": str(ground.root / ".exlab-answers.yml"),
                "template_name": "check",
                "template_version": "1",
                "run_kind": "test",
                "equipment_id": "CHECK",
                "project": "CHECK",
                "dry_run": dry_run,
                "log": "stderr",
            },
            "files": list(files),
            "dry_run": dry_run,
            "extra_inputs": self.answers or None,
        }

    def _line(self, message: Mapping[str, Any]) -> bytes:
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        limit = self.subject.binding.limits.line_bytes
        if len(line) > limit + 1:
            problem = f"a request of {len(line) - 1} bytes is over the limit of {limit}"
            raise TreeError(CONTRACT, problem, "Give fewer files, or shorter variables")
        return line

    def _converse(
        self,
        ground: Ground,
        binding: Binding,
        data: bytes,
        files: Sequence[str],
        when: str,
        *,
        piece: int = 0,
    ) -> Seen:
        within = binding.limits.timeout_s
        with Probe(self._launcher, binding) as probe:
            if data:
                probe.send(data, within, piece=piece)
            probe.close_stdin()
            status = probe.wait_exit(within)
        return Seen(
            when,
            tuple(files),
            bytes(probe.stdout),
            bytes(probe.stderr),
            status,
            ground.changed(),
            ground.strayed(),
            ground.forbidden(),
            str(ground.root),
        )


def _made_up(field: Field) -> Any:
    """Return an answer that fits *field*."""
    if field.default is not None:
        return field.default
    match field.type:
        case "choice":
            return (field.options or (MADE_UP,))[0]
        case "date":
            return DATE
        case "boolean":
            return True
        case "string" | "text":
            return MADE_UP
