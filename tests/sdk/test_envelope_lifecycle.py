"""One run of a plugin: the order of its hooks, and what each way to end one makes of the reply."""

import json
from pathlib import Path

import pytest
from plughost_sdk.envelope import FileChange, Plugin, PluginContext, PluginError, PluginInputRequired, field
from plughost_sdk.envelope_lifecycle import Lifecycle
from plughost_sdk.envelope_log import line

HOOKS = ("pre_transform_all", "can_handle", "describe_changes", "transform", "post_transform_all")
QUESTION = PluginInputRequired([field("color", "Colour?")], "It matters")
PROMPT = {"fields": QUESTION.fields, "reason": "It matters"}


class Recorder:
    """A log that remembers."""

    def __init__(self):
        self.records = []

    def debug(self, message, /, **context):
        self.write("DEBUG", message, context)

    def write(self, level, message, context):
        self.records.append((level, message, context))

    def of(self, level):
        return [(message, context) for each, message, context in self.records if each == level]


class Probe(Plugin):
    """Notes its calls, and does what the test wants in each."""

    name, version, supported_extensions = "probe", "1", (".txt",)

    def __init__(self, **acts):
        self.calls = []
        self.acts = acts

    def _do(self, hook, *arguments):
        self.calls.append((hook, *arguments))
        act = self.acts.get(hook)
        if isinstance(act, BaseException):
            raise act
        return act(*arguments) if callable(act) else act

    def can_handle(self, path, variables):
        return self._do("can_handle", path.name) is not False

    def transform(self, path, ctx):
        self._do("transform", path.name)

    def pre_transform_all(self, ctx):
        self._do("pre_transform_all")

    def post_transform_all(self, ctx):
        self._do("post_transform_all")

    def describe_changes(self, path, ctx):
        found = self._do("describe_changes", path.name)
        return super().describe_changes(path, ctx) if found is None else found

    def on_plugin_failure(self, error, ctx):
        self._do("on_plugin_failure", error)


class Odd(BaseException):
    pass


def run(plugin, files=("a.txt", "b.txt"), **context):
    log = Recorder()
    status, reply = Lifecycle(plugin, PluginContext(dst_root="/d", log=log, **context), list(files)).run()
    return status, reply, log


def statuses(reply):
    return [(entry["path"], entry["status"]) for entry in reply["per_file"]]


# What a run does


def test_hooks_are_called_in_order():
    probe = Probe()
    assert run(probe)[0] == 0
    assert probe.calls == [
        ("pre_transform_all",),
        ("can_handle", "a.txt"),
        ("transform", "a.txt"),
        ("can_handle", "b.txt"),
        ("transform", "b.txt"),
        ("post_transform_all",),
    ]


def test_the_reply_of_a_success_is_whole():
    _, reply, _ = run(Probe(), ["a.txt"])
    assert reply == {
        "result": "success",
        "per_file": [{"path": "a.txt", "status": "modified", "changes": None}],
        "log_records": [],
        "input_required": None,
        "error_message": None,
    }


def test_the_outer_hooks_are_called_even_without_files():
    probe = Probe()
    status, reply, _ = run(probe, [])
    assert (status, reply["result"], reply["per_file"]) == (0, "success", [])
    assert probe.calls == [("pre_transform_all",), ("post_transform_all",)]


def test_a_file_that_is_not_handled_is_skipped():
    probe = Probe(can_handle=lambda name: name == "b.txt")
    assert statuses(run(probe)[1]) == [("a.txt", "skipped"), ("b.txt", "modified")]
    assert ("transform", "a.txt") not in probe.calls


@pytest.mark.parametrize(
    ("given", "path"),
    [("a.txt", "/d/a.txt"), ("sub/a.txt", "/d/sub/a.txt"), ("/e/a.txt", "/e/a.txt"), ("../a", "/d/../a")],
)
def test_a_hook_gets_a_path_and_the_reply_the_text_as_it_was_given(given, path):
    seen = []
    probe = Probe()
    probe.transform = lambda path, ctx: seen.append(path)
    _, reply, _ = run(probe, [given])
    assert seen == [Path(path)]
    assert reply["per_file"][0]["path"] == given


def test_a_dry_run_describes_and_does_not_transform():
    probe = Probe()
    status, reply, log = run(probe, ["a.txt"], dry_run=True)
    assert (status, reply["result"]) == (0, "success")
    summary = "probe would modify a.txt"
    change = {"path": "/d/a.txt", "kind": "modify", "summary": summary, "detail": {}}
    assert reply["per_file"] == [{"path": "a.txt", "status": "described", "changes": [change]}]
    assert [call[0] for call in probe.calls] == [hook for hook in HOOKS if hook != "transform"]
    assert log.records == []


def test_a_described_change_reaches_the_reply_as_it_is():
    change = FileChange("new.txt", "create", "writes it", {"lines": 3})
    _, reply, _ = run(Probe(describe_changes=[change]), ["a.txt"], dry_run=True)
    assert reply["per_file"][0]["changes"] == [
        {"path": "new.txt", "kind": "create", "summary": "writes it", "detail": {"lines": 3}}
    ]


@pytest.mark.parametrize(
    "found", [7, ["a change"], [None], [{"path": "a", "kind": "modify", "summary": "s"}]]
)
def test_a_description_that_is_none_is_a_crash(found):
    status, reply, log = run(Probe(describe_changes=found), dry_run=True)
    assert (status, reply) == (3, None)
    assert log.of("ERROR")[0][1]["hook"] == "describe_changes"


def test_progress_is_told_before_and_after_each_file():
    _, _, log = run(Probe(can_handle=lambda name: name == "a.txt"))
    assert [message for message, _ in log.of("DEBUG")] == ["file"] * 4
    assert [context for _, context in log.of("DEBUG")] == [
        {"plughost": "file", "path": path, "status": status, "index": index, "count": 2}
        for path, index, status in [
            ("a.txt", 0, "started"),
            ("a.txt", 0, "modified"),
            ("b.txt", 1, "started"),
            ("b.txt", 1, "skipped"),
        ]
    ]


# How a run ends early


@pytest.mark.parametrize(
    "error", [ValueError("odd name"), PluginError("odd name"), RecursionError("odd name")]
)
def test_a_file_whose_can_handle_raises_is_failed_and_the_run_goes_on(error):
    def judge(name):
        if name == "a.txt":
            raise error

    probe = Probe(can_handle=judge)
    status, reply, log = run(probe)
    assert (status, reply["result"]) == (0, "success")
    assert statuses(reply) == [("a.txt", "failed"), ("b.txt", "modified")]
    assert reply["per_file"][0]["error"] == f"can_handle raised {type(error).__name__}: odd name"
    assert "judge" in log.of("WARNING")[0][1]["traceback"]
    assert "on_plugin_failure" not in [call[0] for call in probe.calls]


@pytest.mark.parametrize("hook", HOOKS)
def test_a_question_from_any_hook_ends_the_run_and_reaches_the_reply(hook):
    probe = Probe(**{hook: QUESTION})
    status, reply, log = run(probe, dry_run=hook == "describe_changes")
    assert (status, reply["result"], reply["input_required"]) == (2, "input_required", PROMPT)
    assert probe.calls[-2][0] == hook
    assert probe.calls[-1] == ("on_plugin_failure", QUESTION)
    if hook in ("can_handle", "describe_changes", "transform"):
        assert statuses(reply) == [("a.txt", "input_required")]
    assert log.of("ERROR") == []


def test_a_question_after_some_files_keeps_what_was_done():
    def ask(name):
        if name == "b.txt":
            raise QUESTION

    _, reply, log = run(Probe(transform=ask), ["a.txt", "b.txt", "c.txt"])
    assert statuses(reply) == [("a.txt", "modified"), ("b.txt", "input_required")]
    assert log.of("DEBUG")[-1][1]["status"] == "input_required"


@pytest.mark.parametrize("hook", [hook for hook in HOOKS if hook != "can_handle"])
def test_an_error_of_the_plugin_ends_the_run_as_failed(hook):
    error = PluginError("no such column")
    probe = Probe(**{hook: error})
    status, reply, log = run(probe, dry_run=hook == "describe_changes")
    assert (status, reply["result"], reply["error_message"]) == (1, "failed", "no such column")
    assert probe.calls[-1] == ("on_plugin_failure", error)
    if hook in ("describe_changes", "transform"):
        failed = {"path": "a.txt", "status": "failed", "changes": None, "error": "no such column"}
        assert reply["per_file"] == [failed]
    assert log.of("ERROR") == []


def test_an_error_after_the_last_file_leaves_the_files_as_they_were_reported():
    _, reply, _ = run(Probe(post_transform_all=PluginError("late")))
    assert statuses(reply) == [("a.txt", "modified"), ("b.txt", "modified")]


@pytest.mark.parametrize("error", [PluginError(), PluginError(""), PluginError(" ")])
def test_an_error_without_words_is_called_by_its_type(error):
    assert run(Probe(transform=error))[1]["error_message"] == "PluginError"


@pytest.mark.parametrize(
    "error", [ValueError("boom"), MemoryError("boom"), Odd("boom"), GeneratorExit("boom")]
)
@pytest.mark.parametrize("hook", [hook for hook in HOOKS if hook != "can_handle"])
def test_any_other_exception_is_a_crash_without_a_reply(hook, error):
    probe = Probe(**{hook: error})
    status, reply, log = run(probe, dry_run=hook == "describe_changes")
    assert (status, reply) == (3, None)
    assert probe.calls[-1] == ("on_plugin_failure", error)
    ((message, context),) = log.of("ERROR")
    assert "boom" in message
    assert (context["hook"], context["error"]) == (hook, f"{type(error).__name__}: boom")
    assert "raise act" in context["traceback"]


@pytest.mark.parametrize("code", [0, 1, None])
@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_that_exits_is_a_crash_and_is_not_cleaned_up_after(hook, code):
    probe = Probe(**{hook: SystemExit(code)})
    status, reply, log = run(probe, dry_run=hook == "describe_changes")
    assert (status, reply) == (3, None)
    assert probe.calls[-1][0] == hook
    assert log.of("ERROR")[0][1]["hook"] == hook


def test_a_keyboard_interrupt_goes_its_way():
    probe = Probe(transform=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run(probe)
    assert "on_plugin_failure" not in [call[0] for call in probe.calls]


@pytest.mark.parametrize("another", [ValueError("x"), PluginError("x"), QUESTION, SystemExit(0), Odd()])
@pytest.mark.parametrize(
    ("error", "expected"), [(PluginError("first"), 1), (QUESTION, 2), (OSError("first"), 3)]
)
def test_what_the_clean_up_raises_is_logged_and_changes_nothing(error, expected, another):
    status, _, log = run(Probe(transform=error, on_plugin_failure=another))
    assert status == expected
    message, context = log.of("ERROR")[-1]
    assert message == "on_plugin_failure raised; cleanup may be incomplete"
    assert context["error"].startswith(type(another).__name__)


def test_a_traceback_begins_with_the_plugins_own_code_and_is_bounded():
    _, _, log = run(Probe(transform=ValueError("x")))
    lines = log.of("ERROR")[0][1]["traceback"].splitlines()
    assert __file__ in lines[1]
    _, _, log = run(Probe(transform=ValueError("x" * 1_000_000)))
    ((message, context),) = log.of("ERROR")
    data = line("ERROR", message, context)
    assert json.loads(data)["context"]["traceback"].endswith("xxx\n")


def test_an_exception_that_cannot_be_shown_is_called_by_its_type():
    class Unshowable(Exception):
        def __str__(self):
            raise ValueError

    status, _, log = run(Probe(transform=Unshowable()))
    assert status == 3
    assert "Unshowable" in log.of("ERROR")[0][0]
