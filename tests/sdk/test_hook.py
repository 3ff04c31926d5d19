"""The author's side of `hook` without its wire: what a provider declares, what handlers return, what is answered."""

import itertools

import pytest
from plughost_sdk import hook
from plughost_sdk import hook_messages as m

PHASES = ("detect", "plan", "generate", "validate", "preflight")
WITH_DIAGNOSTICS = PHASES[:-1]
REQUESTS = {phase: getattr(m, f"{phase.capitalize()}Request") for phase in PHASES}
RESULTS = {phase: getattr(m, f"{phase.capitalize()}Result") for phase in PHASES}


def make(**handlers):
    provider = hook.Provider("provider/probe", version="1.0")
    for phase, handler in handlers.items():
        getattr(provider, phase)(handler)
    return provider


def answer(phase, handler):
    return make(**{phase: handler}).answer(phase, REQUESTS[phase]())


def the_diagnostic(result, code):
    """Return the only thing that a failed result holds: an error."""
    (diagnostic,) = result.diagnostics
    assert result == type(result)(diagnostics=[diagnostic])
    assert (diagnostic.level, diagnostic.code) == (m.Diagnostic.LEVEL_ERROR, code)
    assert diagnostic.title
    assert diagnostic.message
    return diagnostic


def raising(error):
    def handler(request):
        raise error

    return handler


# What a provider says about itself


def test_the_handshake_says_what_the_provider_was_given():
    provider = hook.Provider(
        "provider/github",
        version="1.2.3",
        capabilities=["provider:github", "cache:native"],
        requires=["lang:rust"],
        conflicts_with=["provider:*"],
        matrix="native",
    )
    provider.generate(print)
    assert provider.plugin_info() == m.PluginInfo(
        name="provider/github",
        version="1.2.3",
        protocol=1,
        capabilities=["provider:github", "cache:native"],
        requires=["lang:rust"],
        conflicts_with=["provider:*"],
        metadata={"plughost.phases": "generate", "plughost.matrix": "native"},
    )


def test_phases_are_declared_in_the_order_of_a_round_whatever_the_order_of_the_code():
    provider = make(**dict.fromkeys(reversed(PHASES), print))
    assert provider.phases == PHASES
    assert provider.plugin_info().metadata["plughost.phases"] == ",".join(PHASES)


def test_matrices_are_multiplied_out_unless_the_provider_says_otherwise():
    assert make(generate=print).plugin_info().metadata["plughost.matrix"] == "expanded"


def test_a_decorated_function_stays_usable():
    provider = make()

    @provider.generate
    def generate(request):
        return request.upper()

    assert generate("a") == "A"


def test_a_class_says_the_same_with_attributes_and_methods():
    class GitHub(hook.Provider):
        name = "provider/github"
        version = "2.0"
        capabilities = ("provider:github",)
        conflicts_with = ("provider:*",)
        matrix = "native"

        def generate(self, request):
            yield hook.fragment("ci.yml", self.name)

        def plan(self, request):
            return None

    provider = GitHub()
    assert provider.plugin_info() == m.PluginInfo(
        name="provider/github",
        version="2.0",
        protocol=1,
        capabilities=["provider:github"],
        conflicts_with=["provider:*"],
        metadata={"plughost.phases": "plan,generate", "plughost.matrix": "native"},
    )
    (fragment,) = provider.answer("generate", m.GenerateRequest()).fragments
    assert fragment.content == "provider/github"


def test_arguments_win_over_the_attributes_of_a_class():
    class Named(hook.Provider):
        name, version, capabilities = "a", "1", ("x:y",)

    info = Named("b", version="2", capabilities=[]).plugin_info()
    assert (info.name, info.version, list(info.capabilities)) == ("b", "2", [])


def test_a_class_may_leave_phases_to_decorators():
    class Half(hook.Provider):
        name, version = "half", "1"

        def plan(self, request):
            return None

    provider = Half()
    provider.generate(lambda request: None)
    assert provider.phases == ("plan", "generate")


@pytest.mark.parametrize("bad", ["", " ", " padded", "padded ", "line\n", 5, "\ud800"])
def test_a_word_that_is_empty_or_padded_or_cannot_be_sent_is_refused_wherever_it_is_given(bad):
    with pytest.raises(ValueError):
        hook.Provider(bad, version="1")
    with pytest.raises(ValueError):
        hook.Provider("p", version=bad)
    for words in ("capabilities", "requires", "conflicts_with"):
        with pytest.raises(ValueError):
            hook.Provider("p", version="1", **{words: ["a:b", bad]})


@pytest.mark.parametrize(
    "bad", [{}, {"name": "p"}, {"version": "1"}], ids=["neither", "no version", "no name"]
)
def test_a_provider_has_a_name_and_a_version(bad):
    with pytest.raises(ValueError):
        hook.Provider(**bad)


@pytest.mark.parametrize("words", ["capabilities", "requires", "conflicts_with"])
def test_a_word_listed_twice_and_a_string_in_place_of_a_list_are_refused(words):
    for bad in (["a:b", "a:b"], "a:b"):
        with pytest.raises(ValueError):
            hook.Provider("p", version="1", **{words: bad})


@pytest.mark.parametrize("bad", ["", "Native", "both"])
def test_a_matrix_is_native_or_expanded(bad):
    with pytest.raises(ValueError):
        hook.Provider("p", version="1", matrix=bad)


@pytest.mark.parametrize("phase", PHASES)
def test_a_phase_defined_twice_is_refused_and_one_without_a_function_too(phase):
    provider = make(**{phase: print})
    with pytest.raises(ValueError):
        getattr(provider, phase)(len)
    with pytest.raises(TypeError):
        getattr(make(), phase)("name")


def test_a_provider_that_answers_nothing_does_not_run():
    with pytest.raises(ValueError):
        make().run()


# Parts


def test_a_fragment_is_the_whole_file_unless_it_says_otherwise():
    assert hook.fragment("a.yml", "x") == m.Fragment(
        path="a.yml", content="x", strategy=m.MERGE_STRATEGY_REPLACE
    )
    assert hook.fragment("a.yml", "x", format="yaml", strategy=hook.APPEND, order=-3) == m.Fragment(
        path="a.yml", content="x", strategy=m.MERGE_STRATEGY_APPEND, order=-3, format="yaml"
    )


def test_the_strategies_are_those_of_the_schema():
    assert [hook.REPLACE, hook.MERGE, hook.APPEND] == [
        m.MERGE_STRATEGY_REPLACE,
        m.MERGE_STRATEGY_MERGE,
        m.MERGE_STRATEGY_APPEND,
    ]


@pytest.mark.parametrize(
    ("function", "level"),
    [
        (hook.error, m.Diagnostic.LEVEL_ERROR),
        (hook.warning, m.Diagnostic.LEVEL_WARNING),
        (hook.info, m.Diagnostic.LEVEL_INFO),
    ],
    ids=["error", "warning", "info"],
)
def test_a_diagnostic_has_its_level_and_all_that_is_said_about_it(function, level):
    assert function("CODE", "text") == m.Diagnostic(level=level, code="CODE", message="text")
    full = function("C", "text", title="t", hint="h", file="f", line=3, column=4, snippet="s")
    assert full == m.Diagnostic(
        level=level,
        code="C",
        title="t",
        message="text",
        fix_hint="h",
        loc=m.SourceLocation(file="f", line=3, column=4, snippet="s"),
    )


def test_a_diagnostic_without_a_place_has_no_location():
    assert not hook.error("C", "text").HasField("loc")


BAD_PARTS = {
    "surrogate in content": lambda: hook.fragment("a", "\ud800"),
    "surrogate in path": lambda: hook.fragment("\ud800", "a"),
    "content of another type": lambda: hook.fragment("a", 5),
    "no content": lambda: hook.fragment("a", None),
    "bytes that are not text": lambda: hook.fragment("a", b"\xff"),
    "order out of range": lambda: hook.fragment("a", "b", order=2**31),
    "unknown strategy": lambda: hook.fragment("a", "b", strategy=4),
    "no strategy": lambda: hook.fragment("a", "b", strategy=0),
    "negative line": lambda: hook.error("C", "m", line=-1),
    "line out of range": lambda: hook.error("C", "m", line=2**32),
    "no message": lambda: hook.warning("C", None),
    "surrogate in hint": lambda: hook.info("C", "m", hint="\udfff"),
    "signature of another type": lambda: hook.run(signature="text"),
    "surrogate in reason": lambda: hook.skip(reason="\ud800"),
}


@pytest.mark.parametrize("make_part", BAD_PARTS.values(), ids=BAD_PARTS)
def test_a_part_that_cannot_be_sent_is_refused_when_it_is_made(make_part):
    with pytest.raises(hook.PartError):
        make_part()


def test_a_diagnostic_knows_no_other_words():
    with pytest.raises(ValueError):
        hook.error("C", "m", colour="red")


def test_the_module_has_the_messages_and_no_names_that_it_has_not():
    assert hook.messages is m
    with pytest.raises(AttributeError):
        hook.message  # noqa: B018


# What handlers return

DIAGNOSTIC = hook.warning("W", "look")
RESOURCE = m.Resource(id="job/a", type=m.RESOURCE_TYPE_JOB)
DEPENDENCY = m.Dependency(to="b")
FRAGMENT = hook.fragment("a", "b")

MADE_OF = {
    "detect": (
        ["rust", {"a": "1"}, "node", {"b": "2"}, 0.5, DIAGNOSTIC],
        m.DetectResult(
            signals=["rust", "node"], facts={"a": "1", "b": "2"}, confidence=0.5, diagnostics=[DIAGNOSTIC]
        ),
    ),
    "plan": (
        [RESOURCE, DIAGNOSTIC, DEPENDENCY, RESOURCE],
        m.PlanResult(resources=[RESOURCE, RESOURCE], deps=[DEPENDENCY], diagnostics=[DIAGNOSTIC]),
    ),
    "generate": (
        [FRAGMENT, DIAGNOSTIC, FRAGMENT],
        m.GenerateResult(fragments=[FRAGMENT, FRAGMENT], diagnostics=[DIAGNOSTIC]),
    ),
    "validate": ([DIAGNOSTIC, DIAGNOSTIC], m.ValidateResult(diagnostics=[DIAGNOSTIC, DIAGNOSTIC])),
}


@pytest.mark.parametrize("phase", MADE_OF)
@pytest.mark.parametrize(
    "collect",
    [list, tuple, iter, lambda parts: (part for part in parts)],
    ids=["list", "tuple", "iter", "gen"],
)
def test_a_result_is_made_of_its_parts_in_their_order(phase, collect):
    parts, result = MADE_OF[phase]
    assert answer(phase, lambda request: collect(parts)) == result


@pytest.mark.parametrize("phase", MADE_OF)
def test_the_result_itself_may_be_returned(phase):
    _, result = MADE_OF[phase]
    assert answer(phase, lambda request: result) == result


@pytest.mark.parametrize("phase", MADE_OF)
def test_one_part_may_be_returned_by_itself(phase):
    assert answer(phase, lambda request: DIAGNOSTIC) == RESULTS[phase](diagnostics=[DIAGNOSTIC])


def test_a_signal_and_facts_may_be_returned_by_themselves():
    assert answer("detect", lambda request: "rust") == m.DetectResult(signals=["rust"])
    assert answer("detect", lambda request: {"a": "b"}) == m.DetectResult(facts={"a": "b"})


@pytest.mark.parametrize("phase", WITH_DIAGNOSTICS)
@pytest.mark.parametrize("nothing", [None, [], ()], ids=["None", "list", "tuple"])
def test_nothing_is_an_empty_result(phase, nothing):
    assert answer(phase, lambda request: nothing) == RESULTS[phase]()


@pytest.mark.parametrize(
    ("returned", "result"),
    [
        (True, m.PreflightResult(should_run=True)),
        (False, m.PreflightResult()),
        (hook.run(), m.PreflightResult(should_run=True)),
        (
            hook.run(reason="new", signature=b"\xff"),
            m.PreflightResult(should_run=True, reason="new", new_signature=b"\xff"),
        ),
        (hook.skip(reason="same"), m.PreflightResult(reason="same")),
        (m.PreflightResult(reason="r"), m.PreflightResult(reason="r")),
    ],
    ids=["true", "false", "run", "run with reason", "skip", "message"],
)
def test_a_preflight_is_answered_with_a_decision(returned, result):
    assert answer("preflight", lambda request: returned) == result


@pytest.mark.parametrize("returned", [None, [], [True], 1, "run", m.PlanResult()], ids=repr)
def test_a_preflight_that_does_not_decide_is_not_answered(returned):
    with pytest.raises(TypeError, match="preflight"):
        answer("preflight", lambda request: returned)


WRONG = {
    "int": 5,
    "bytes": b"text",
    "object": object(),
    "None among parts": [None],
    "nested list": [[DIAGNOSTIC]],
    "a class": m.Diagnostic,
    "another phase's result": m.Hello(),
    "true": True,
}


@pytest.mark.parametrize("phase", WITH_DIAGNOSTICS)
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_value_of_another_type_is_answered_with_an_error_that_names_the_phase(phase, wrong, capsys):
    diagnostic = the_diagnostic(answer(phase, lambda request: wrong), "REPLY_INVALID")
    assert diagnostic.title == "TypeError"
    assert phase in diagnostic.message
    assert diagnostic.loc.file == __file__
    assert diagnostic.message in capsys.readouterr().err


@pytest.mark.parametrize("phase", ["plan", "generate", "validate"])
@pytest.mark.parametrize("wrong", ["text", {"a": "b"}, 0.5], ids=["str", "dict", "float"])
def test_what_only_detect_takes_is_refused_by_the_others(phase, wrong):
    the_diagnostic(answer(phase, lambda request: wrong), "REPLY_INVALID")


@pytest.mark.parametrize(
    "wrong",
    ["\ud800", {"a": 5}, {5: "a"}, {"a": "\ud800"}, -0.001, 1.001, float("nan"), float("inf")],
    ids=["signal", "number", "key", "fact", "under 0", "over 1", "nan", "infinity"],
)
def test_a_finding_that_cannot_be_sent_is_answered_with_an_error(wrong):
    the_diagnostic(answer("detect", lambda request: ["rust", wrong]), "REPLY_INVALID")


@pytest.mark.parametrize("confidence", [0.0, 0.25, 1.0])
def test_a_confidence_is_a_number_from_0_to_1(confidence):
    assert answer("detect", lambda request: [confidence]).confidence == confidence


@pytest.mark.parametrize(
    "make_part",
    [each for name, each in BAD_PARTS.items() if "reason" not in name and "signature" not in name],
    ids=[name for name in BAD_PARTS if "reason" not in name and "signature" not in name],
)
def test_a_bad_part_is_answered_with_an_error_that_names_its_line(make_part, capsys):
    diagnostic = the_diagnostic(answer("generate", lambda request: [make_part()]), "REPLY_INVALID")
    assert (diagnostic.loc.file, diagnostic.loc.line) == (__file__, make_part.__code__.co_firstlineno)
    assert "Traceback" in capsys.readouterr().err


# Exceptions


@pytest.mark.parametrize("phase", WITH_DIAGNOSTICS)
def test_an_exception_is_answered_as_a_diagnostic_and_its_traceback_goes_to_stderr(phase, capsys):
    handler = raising(KeyError("colour"))
    diagnostic = the_diagnostic(answer(phase, handler), "PLUGIN_EXCEPTION")
    assert (diagnostic.title, diagnostic.message) == ("KeyError", "'colour'")
    assert (diagnostic.loc.file, diagnostic.loc.line) == (__file__, handler.__code__.co_firstlineno + 1)
    captured = capsys.readouterr()
    assert "Traceback" in captured.err
    assert captured.out == ""


def test_the_location_is_the_innermost_line_even_if_it_is_not_the_providers_own():
    import json.decoder

    diagnostic = the_diagnostic(answer("plan", lambda request: json.loads("{")), "PLUGIN_EXCEPTION")
    assert diagnostic.title == "JSONDecodeError"
    assert diagnostic.loc.file == json.decoder.__file__


def test_an_exception_half_way_leaves_nothing_of_what_was_yielded():
    def handler(request):
        yield FRAGMENT
        yield DIAGNOSTIC
        raise RuntimeError("half way")

    the_diagnostic(answer("generate", handler), "PLUGIN_EXCEPTION")


def test_a_type_error_of_the_handler_is_its_exception_and_not_its_reply():
    def handler(request):
        yield FRAGMENT
        len(5)

    assert the_diagnostic(answer("generate", handler), "PLUGIN_EXCEPTION").title == "TypeError"


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("no words")


@pytest.mark.parametrize(
    "error",
    [
        OSError("\ud800"),
        Unspeakable(),
        ValueError(),
        ExceptionGroup("many", [ValueError(1)]),
        StopIteration(1),
    ],
    ids=["surrogate", "unspeakable", "empty", "group", "stop"],
)
def test_an_exception_whatever_its_words_is_answered(error):
    assert the_diagnostic(answer("plan", raising(error)), "PLUGIN_EXCEPTION").title == type(error).__name__


def test_endless_recursion_is_answered():
    def handler(request):
        return handler(request)

    assert the_diagnostic(answer("plan", handler), "PLUGIN_EXCEPTION").title == "RecursionError"


def test_an_exception_with_too_long_a_story_is_answered_as_too_large():
    story = "x" * (hook.LIMIT + 1)
    the_diagnostic(answer("plan", raising(ValueError(story))), "REPLY_TOO_LARGE")


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
def test_an_exit_is_not_answered_for(error):
    with pytest.raises(type(error)):
        answer("generate", raising(error))


def test_an_exception_of_preflight_is_raised_because_its_result_has_no_room_for_it():
    with pytest.raises(KeyError):
        answer("preflight", raising(KeyError("colour")))


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_reply_is_sent_up_to_the_limit_to_the_byte(over, capsys):
    around = len(m.GenerateResult(fragments=[hook.fragment("a", "x" * hook.LIMIT)]).SerializeToString())
    size = hook.LIMIT + over - (around - hook.LIMIT)
    result = answer("generate", lambda request: [hook.fragment("a", "x" * size)])
    if over > 0:
        diagnostic = the_diagnostic(result, "REPLY_TOO_LARGE")
        assert str(hook.LIMIT) in diagnostic.message
        assert str(hook.LIMIT + 1) in diagnostic.message
        assert diagnostic.message in capsys.readouterr().err
    else:
        assert len(result.SerializeToString()) == hook.LIMIT + over
        assert len(result.fragments[0].content) == size


class Endless:
    """Yields *part* for ever, and knows whether it was told to stop."""

    def __init__(self, part):
        self.part, self.taken, self.closed = part, 0, False

    def handle(self, request):
        try:
            while True:
                self.taken += 1
                yield self.part
        finally:
            self.closed = True


@pytest.mark.parametrize(
    ("phase", "part"),
    [
        ("generate", hook.fragment("a", "x" * 100_000)),
        ("validate", hook.warning("W", "x" * 100_000)),
        ("plan", m.Resource(id="x" * 100_000)),
        ("detect", "x" * 100_000),
        ("detect", {"x": "x" * 100_000}),
        ("detect", {"x" * 100_000: "x"}),
    ],
    ids=["fragments", "diagnostics", "resources", "signals", "facts", "names"],
)
def test_a_handler_without_an_end_is_stopped_at_the_limit_and_closed(phase, part):
    endless = Endless(part)
    diagnostic = the_diagnostic(answer(phase, endless.handle), "REPLY_TOO_LARGE")
    assert str(hook.LIMIT) in diagnostic.message
    assert diagnostic.loc.line == Endless.handle.__code__.co_firstlineno
    assert endless.closed
    assert endless.taken == hook.LIMIT // 100_000 + 1


@pytest.mark.parametrize(
    ("phase", "part"),
    [
        ("generate", m.Fragment()),
        ("validate", m.Diagnostic()),
        ("detect", ""),
        ("detect", {}),
        ("detect", 0.5),
    ],
    ids=["fragments", "diagnostics", "signals", "facts", "confidences"],
)
def test_parts_that_take_no_bytes_are_counted(phase, part, monkeypatch):
    monkeypatch.setattr("plughost_sdk.hook_reply.PARTS_LIMIT", 100)
    endless = Endless(part)
    assert "100" in the_diagnostic(answer(phase, endless.handle), "REPLY_TOO_LARGE").message
    assert (endless.taken, endless.closed) == (101, True)


def test_as_many_parts_as_the_limit_are_sent(monkeypatch):
    monkeypatch.setattr("plughost_sdk.hook_reply.PARTS_LIMIT", 100)
    assert len(answer("generate", lambda request: [FRAGMENT] * 100).fragments) == 100


def test_a_part_of_another_type_stops_a_handler_without_an_end():
    endless = Endless(5)
    the_diagnostic(answer("generate", endless.handle), "REPLY_INVALID")
    assert (endless.taken, endless.closed) == (1, True)


def test_a_preflight_without_an_end_is_not_asked_for_any_of_it():
    endless = Endless(True)
    with pytest.raises(TypeError, match="preflight"):
        answer("preflight", endless.handle)
    assert endless.taken == 0


def test_a_handler_that_fails_while_it_is_closed_is_told_of_its_first_fault():
    def handler(request):
        try:
            yield 5
        finally:
            raise RuntimeError("cannot stop")

    the_diagnostic(answer("generate", handler), "REPLY_INVALID")


def test_an_iterator_that_cannot_be_closed_is_answered_too():
    the_diagnostic(answer("generate", lambda request: itertools.repeat(5)), "REPLY_INVALID")
    the_diagnostic(
        answer("generate", lambda request: itertools.repeat(hook.fragment("a", "x" * 100_000))),
        "REPLY_TOO_LARGE",
    )


def test_many_small_parts_are_sent_up_to_the_limit_to_the_byte():
    fragments = [hook.fragment("a", "x" * 9_989)] * 1_048  # 10 000 bytes each, less what leads in to it
    size = m.GenerateResult(fragments=fragments).ByteSize()
    last = next(
        hook.fragment("b", "x" * length)
        for length in range(hook.LIMIT - size - 20, hook.LIMIT)
        if m.GenerateResult(fragments=[hook.fragment("b", "x" * length)]).ByteSize() == hook.LIMIT - size
    )
    assert len(answer("generate", lambda request: [*fragments, last]).fragments) == len(fragments) + 1
    over = hook.fragment("b", last.content + "x")
    the_diagnostic(answer("generate", lambda request: iter([*fragments, over])), "REPLY_TOO_LARGE")


def test_a_preflight_that_says_too_much_is_not_answered():
    with pytest.raises(ValueError, match=str(hook.LIMIT)):
        answer("preflight", lambda request: hook.run(signature=b"x" * hook.LIMIT))


def test_equal_results_are_equal_bytes_whatever_the_order_of_their_facts():
    from plughost_sdk.hook_reply import answer as reply

    facts = {f"fact-{number}": "x" for number in range(20)}
    backwards = dict(reversed(facts.items()))
    request = m.DetectRequest()
    assert reply("detect", lambda _: facts, request) == reply("detect", lambda _: backwards, request)


# Asking in memory


def test_the_handler_gets_the_request_itself():
    seen = []
    make(generate=seen.append).answer("generate", m.GenerateRequest(target="github"))
    assert [request.target for request in seen] == ["github"]


@pytest.mark.parametrize("phase", ["plan", "close", "", "other"])
def test_a_phase_that_is_not_declared_is_not_answered(phase):
    with pytest.raises(ValueError):
        make(generate=print).answer(phase, m.PlanRequest())


def test_a_request_of_another_phase_is_not_answered():
    with pytest.raises(TypeError):
        make(generate=print).answer("generate", m.PlanRequest())


def test_a_log_line_goes_to_stderr(capsys):
    make().log("hello")
    captured = capsys.readouterr()
    assert (captured.err, captured.out) == ("hello\n", "")
