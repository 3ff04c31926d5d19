"""The conversations that the checks of the `duplex` contract look at, each held when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import msgspec

from ..contracts.duplex import introduction
from ..contracts.duplex.introduction import Introduction
from ..contracts.duplex.messages import ABI_VERSION, FRAME_BYTES
from ..errors import ManifestError, RemoteProtocolError
from ..manifest import duplex_config, duplex_manifest
from ..manifest.binding import Binding
from ..manifest.duplex_manifest import DuplexManifest
from ..process.launcher import Launcher
from . import duplex_stub as stub
from .duplex_frames import notice
from .duplex_probe import USUAL, Hearing
from .duplex_subject import Subject
from .duplex_talk import SHUTDOWN, Answer, Patience, Talk
from .verdict import UNREADABLE, Flaw, Remark, Skip

INIT, RENDER, CLI = "plugin/init", "plugin/render", "plugin/cli_dispatch"
EVENT, KEY = "plugin/handle_event", "plugin/handle_key"
NOWHERE = "plugin/plughost-no-such-method"
LATER: dict[str, Any] = {"plughost_future": {"members": ["that", "nobody", "knows"], "yet": None}}
USUAL_SIZE = {"width": 80, "height": 24}
HOPELESS_S = 1.0  # for the answer to init of one that has left us waiting before
LINGERING_S = 0.05  # for one that is known not to exit by itself
# What is heard of one that has written without end before: what comes first is enough.
BRIEF = Hearing(bodies=1_000, size=2 * FRAME_BYTES)
ACK_S = 1.0  # for the answer to shutdown; without one its input is closed all the same
MOST_TOPICS = 8  # of those that a plugin is subscribed to, which are told of something


class Examination:
    """One plugin. Without *large* it is spared a body of the greatest length, without *call* its actions."""

    def __init__(
        self,
        subject: Subject,
        launcher: Launcher,
        patience: Patience,
        *,
        large: bool = True,
        call: bool = True,
    ) -> None:
        self.subject = subject
        self.launcher = launcher
        self.patience = patience
        self.sends_large = large
        self.calls_actions = call
        self.talks: list[Talk] = []  # all that were held so far
        self.strangers: list[Flaw | Skip | Remark] | None = None  # what events of no known kind do to it
        self.recovers = False  # it starts again after it was killed
        self._hangs = False  # a process of it has not answered init: the next one is not waited for as long
        self._lingers = False  # it does not exit when its input ends, and is not waited for again

    # What is known from the first conversation

    @cached_property
    def hello(self) -> Talk:
        """Init, a while of silence, shutdown and the end."""
        with self.talk("told to begin and to end", begins=False, tries=True) as talk:
            self.first = self.init(talk)
            if self.first is not None:
                talk.listen()
                shutdown, data = talk.request(SHUTDOWN, {})
                talk.probe.post(data)
                talk.await_answer(shutdown, min(ACK_S, self.patience.exit_s))
                talk.hang_up(self.patience.exit_s)
        return talk

    first: Answer | None = None

    @cached_property
    def introduced(self) -> Introduction | str:
        """Who it says it is, or why that cannot be known."""
        hello = self.hello
        if self.first is None:
            return f"it does not answer plugin/init: {hello.ending}"
        if not self.first.is_result:
            return f"it answers plugin/init with the error {self.first.code}: {self.first.message[:200]!r}"
        try:
            return introduction.read(self.first.result)
        except RemoteProtocolError as error:
            return f"its answer to plugin/init is none: {error}"

    @cached_property
    def manifest(self) -> DuplexManifest | Flaw:
        """Its manifest: the file's, or what it says at init if there is no file."""
        if self.subject.binding is not None:
            return self.subject.binding.manifest
        said = self.introduced
        assert isinstance(said, Introduction)
        least = {"name": said.name, "version": said.version, "abi_version": said.abi_version or ABI_VERSION}
        return self.said_manifest or self._read({"plugin": least}, said.name)

    @cached_property
    def said_manifest(self) -> DuplexManifest | Flaw | None:
        """The manifest that it sends at init, if it does."""
        said = self.introduced
        if isinstance(said, str) or said.manifest is None:
            return None
        return self._read(msgspec.json.decode(bytes(said.manifest)), said.name)

    def _read(self, document: dict[str, Any], name: str) -> DuplexManifest | Flaw:
        """Return the manifest that *document* is, as if it lay where it has to; or why it is none."""
        try:
            found = duplex_manifest.of_document(document, self.process.cwd / name, "what it says at init")
        except (ManifestError, ValueError) as error:  # ValueError: no path can have such a name
            return Flaw("duplex:init:reply", str(error))
        return replace(found, directory=self.process.cwd)

    @property
    def surface(self) -> DuplexManifest:
        """The manifest, which is known to be one."""
        assert isinstance(self.manifest, DuplexManifest)
        return self.manifest

    @property
    def process(self) -> Binding:
        assert self.subject.process is not None
        return self.subject.process

    @property
    def topics(self) -> list[str]:
        """The topics that it is told of: by its manifest, or because it asked at init."""
        asked = [_topic(each.params) for each in self.hello.called("host/snapshot/subscribe")]
        return list(dict.fromkeys([*self.surface.subscribes.snapshots, *filter(None, asked)]))[:MOST_TOPICS]

    @cached_property
    def works(self) -> frozenset[str]:
        """The methods to which it holds in an ordinary conversation; other axes do not ask for the rest again."""
        works: set[str] = set()
        todo = [method for method in (NOWHERE, RENDER, CLI, EVENT) if self._sample(method) is not None]
        while todo:
            with self.talk("asked for one thing after another", tries=True) as talk:
                while todo:
                    method = todo.pop(0)
                    if method == EVENT:
                        talk.tell_slowly(method, self._sample(method))
                    after = next(iter(sorted(works)), NOWHERE) if method == EVENT else method
                    got = talk.call(after, self._sample(after))
                    if got is None:
                        break
                    works.add(method)
        return frozenset(works)

    def _sample(self, method: str) -> dict[str, Any] | None:
        """Return harmless parameters of *method*, or None if the plugin does not offer it."""
        has = self.surface.provides
        match method:
            case "plugin/render":
                return {"viewport": USUAL_SIZE, "generation": 0} if has.screens else None
            case "plugin/cli_dispatch":
                names = has.cli_namespaces
                return {"namespace": names[0], "argv": ["--help"]} if names else None
            case "plugin/handle_event":
                return {"topic": self.topics[0], "payload": ""} if self.topics else None
            case _:
                return {}

    @cached_property
    def ping(self) -> tuple[str, dict[str, Any]]:
        """What it is known to answer: a method that it does not have, if it keeps to the contract."""
        method = next((each for each in (NOWHERE, RENDER, CLI) if each in self.works), NOWHERE)
        return method, self._sample(method) or {}

    # How conversations are held

    @contextmanager
    def talk(
        self, when: str, serve: stub.Serve = stub.usual, *, begins: bool = True, tries: bool = False
    ) -> Iterator[Talk]:
        """Give a new conversation, after init unless it *begins* otherwise; its input is ended afterwards.

        In one that *tries* it out, it is not known yet what it answers.
        """
        ping = None if tries else self.ping
        hearing = BRIEF if any(each.probe.flooded for each in self.talks) else USUAL
        with Talk(self.launcher, self.process, when, self.patience, serve, hearing) as talk:
            self.talks.append(talk)
            talk.ping = ping or talk.ping
            if begins:
                self.init(talk)
            yield talk
            if talk.ended is None and not talk.is_broken:
                talk.hang_up(LINGERING_S if self._lingers else None)
                self._lingers = self._lingers or talk.ended is None

    def init(self, talk: Talk, **more: Any) -> Answer | None:
        """Tell it to begin, and return what it answers."""
        params = self.init_params()
        mine, data = talk.request(INIT, {**params, **more}, **more)
        talk.probe.post(data)
        found = talk.await_answer(mine, HOPELESS_S if self._hangs else self.patience.init_s)
        talk.is_ready = found is not None
        talk.is_hopeless = found is None
        self._hangs = self._hangs or (found is None and not talk.is_gone and not talk.is_broken)
        return found

    def init_params(self) -> dict[str, Any]:
        binding = self.subject.binding
        granted = binding.capabilities.granted() if binding is not None else ("event_bus",)
        where = binding.manifest.file if binding is not None else self.process.cwd / "manifest.toml"
        said = {"manifest_path": str(where), "granted_capabilities": granted, "abi_version": ABI_VERSION}
        config = duplex_config.resolve(binding.manifest, None) if binding is not None else None
        return said if config is None else {**said, "config": config}

    def stir(self, talk: Talk) -> bool:
        """Make it do what it can do, one after another; False once it does not answer."""
        asked: list[int] = []
        for data in self.stirring(talk, asked):
            talk.probe.post(data)
            if not asked:
                talk.listen()
            answered = talk.await_answer(asked.pop()) is not None if asked else talk.answers_still()
            if not answered:
                return False
        return True

    def stirring(self, talk: Talk, asked: list[int]) -> Iterable[bytes]:
        """Yield frames that make it do what it can do; the ids of calls among them go into *asked*."""
        if EVENT in self.works:
            for topic in self.topics:
                yield notice(EVENT, {"topic": topic, "payload": ""})
        for screen in self.surface.provides.screens[:1]:
            yield notice(KEY, key(screen, "down"))
        for method in (RENDER, CLI):
            if method in self.works:
                mine, data = talk.request(method, self._sample(method))
                asked.append(mine)
                yield data

    def unanswered(self, talk: Talk, clause: str, what: str) -> Flaw | Skip:
        """Return that *clause* is broken because *what* was not answered; or a Skip, if other axes tell why."""
        if talk.is_broken:
            return UNREADABLE
        if not talk.is_ready:
            return Skip(f"{talk.when}, it did not answer plugin/init")
        return Flaw(clause, f"{talk.when}, it does not answer {what}: {talk.ending}")


def key(screen: str, name: str) -> dict[str, Any]:
    """Return the parameters of a key that was pressed."""
    return {"screen_id": screen, "key": {"code": {"type": name}, "mods": 0, "kind": "press"}, "generation": 0}


def _topic(params: msgspec.Raw) -> str | None:
    try:
        found = msgspec.json.decode(bytes(params), type=dict[str, Any]).get("topic")
    except msgspec.MsgspecError:
        return None
    return found if isinstance(found, str) else None
