"""The pair of envelope and exit code, with real workers: sizes, noise, lies, and ends without a word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.host.envelope.lab import Lab

MIB = 1_048_576

# A worker that is told the size of its reply in a variable, and changes the tree before it answers.
SIZED = """
    with open(files[0], "a") as file:
        file.write("changed\\n")
    size = told["context"]["variables"]["size"]
    reply = json.dumps({"result": "success", "per_file": [{"path": files[0], "status": "modified"}], "pad": ""})
    reply = reply[:-2] + "x" * (size - len(reply)) + '"}\\n'
    data = reply.encode()
    while data:
        data = data[os.write(1, data):]
    os._exit(0)
"""


@pytest.mark.requirement("envelope:frame:bounded")
@pytest.mark.thin(2)
@pytest.mark.parametrize("size", [60_000, 65_535, 65_536, 65_537, 200_000, MIB - 1, MIB])
def test_a_reply_of_any_size_up_to_the_limit_is_heard_whole(size: int, lab: Lab) -> None:
    entry = lab.one(lab.raw("sized", SIZED), variables={"size": size})
    assert entry.status == "success"
    assert [told.path for told in entry.per_file] == ["a.txt"]
    assert entry.files_affected == ["a.txt"]


@pytest.mark.requirement("envelope:frame:bounded", "envelope:tree:undone")
@pytest.mark.parametrize("size", [MIB + 1, 20 * MIB])
def test_a_reply_over_the_limit_is_malformed_and_what_was_done_is_undone(size: int, both: Lab) -> None:
    before = both.portrait()
    entry = both.one(both.raw("sized", SIZED), variables={"size": size})
    assert entry.status == "failed"
    assert entry.failure is not None
    assert entry.failure.code == "malformed_response"
    assert both.portrait() == before


@pytest.mark.parametrize("size", [60_000, 66_000])
def test_a_question_with_a_long_reason_is_asked_whole(size: int, lab: Lab) -> None:
    asks = lab.plugin(
        "asks",
        """
        def transform(self, path, ctx):
            if not ctx.extra_inputs:
                raise PluginInputRequired([field("colour", "Colour?")], "r" * ctx.variables["size"])
            path.write_text(ctx.extra_inputs["colour"])
        """,
    )
    questions = []

    def ask(question: Any) -> dict[str, str]:
        questions.append(question)
        return {"colour": "blue"}

    assert lab.one(asks, variables={"size": size}, ask=ask).status == "success"
    assert [len(question.reason) for question in questions] == [size]
    assert lab.text("a.txt") == "blue"


NOISES = {
    "print": 'print("noise")',
    "descriptor": 'os.write(1, b"noise\\n")',
    "child": 'subprocess.run(["echo", "noise"], check=True)',
    "forged": """os.write(1, b'{"result": "failed"}\\n')""",
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("asking", [False, True], ids=["plain", "asking"])
def test_noise_on_stdout_neither_spoils_a_reply_nor_a_question(noise: str, asking: bool, lab: Lab) -> None:
    noisy = lab.plugin(
        "noisy",
        f"""
        def transform(self, path, ctx):
            {NOISES[noise]}
            if {asking} and not ctx.extra_inputs:
                raise PluginInputRequired([field("word", "Word?")], "needed")
            path.write_text(ctx.extra_inputs.get("word", "done"))
        """,
    )
    entry = lab.one(noisy, ask=lambda question: {"word": "said"})
    assert entry.status == "success"
    assert lab.text("a.txt") == ("said" if asking else "done")
    assert all(b"noise" in stderr or b"failed" in stderr for stderr in lab.raw_stderr("noisy"))


def test_noise_of_a_worker_without_our_sdk_is_malformed(both: Lab) -> None:
    noisy = both.raw("noisy", 'os.write(1, b"noise\\n"); answer(result="success")')
    entry = both.one(noisy)
    assert entry.status == "failed"
    assert entry.failure is not None
    assert entry.failure.code == "malformed_response"


@pytest.mark.requirement("envelope:frame:strict")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "written",
    [
        "[]",
        "null",
        "{}",
        '{"result": "splendid"}',
        '{"result": "timeout", "per_file": []}',
        '{"result": "success", "log_records": [], "input_required": null}',
        '{"result": "success", "per_file": {}}',
        '{"result": "success", "per_file": [{"path": 1, "status": "modified"}]}',
        '{"result": "success", "per_file": [{"path": "a", "status": 1}]}',
        '{"result": "success", "per_file": [], "input_required": {"fields": [], "reason": ""}}',
        '{"result": "success", "per_file": []}\n{"result": "success", "per_file": []}',
        '{"result": "success", "per_file": [], "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"result": "success", "per_file": [], "error_message": "\\ud800"}',
    ],
    ids=lambda text: text[:40],
)
def test_an_envelope_that_is_not_quite_one_fails_and_undoes(written: str, lab: Lab) -> None:
    before = lab.portrait()
    odd = lab.raw("odd", f"open(files[0], 'w'); os.write(1, {written!r}.encode() + b'\\n'); os._exit(0)")
    entry = lab.one(odd)
    assert entry.status == "failed"
    assert entry.failure is not None
    assert entry.failure.code == "malformed_response"
    assert lab.portrait() == before


@pytest.mark.requirement("envelope:reply:judged")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("end", "code", "exit_code"),
    [
        ('answer(1, result="success")', "malformed_response", 1),
        ('answer(2, result="success")', "malformed_response", 2),
        ('answer(0, result="failed")', "malformed_response", 0),
        ('answer(3, result="success")', "crashed", 3),
        ('answer(124, result="success")', "crashed", 124),
        ("os._exit(0)", "crashed", 0),
        ("os._exit(2)", "crashed", 2),
        ("os._exit(3)", "crashed", 3),
        ("os._exit(124)", "crashed", 124),
        ("os.kill(os.getpid(), signal.SIGSEGV); time.sleep(9)", "crashed", -11),
        ('os.write(1, b\'{"result": "succ\'); os._exit(0)', "crashed", 0),
    ],
)
def test_only_three_pairs_are_answers_and_124_is_never_believed(
    end: str, code: str, exit_code: int, lab: Lab
) -> None:
    before = lab.portrait()
    entry = lab.one(lab.raw("liar", f"open(files[0], 'w').close(); {end}"))
    assert entry.status == "failed"
    assert entry.failure is not None
    assert (entry.failure.code, entry.isolation.exit_code) == (code, exit_code)
    assert entry.error
    assert lab.portrait() == before


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("hook", "end"),
    [
        ("pre_transform_all(self, ctx)", "os._exit(0)"),
        ("transform(self, path, ctx)", "sys.exit(0)"),
        ("transform(self, path, ctx)", "os._exit(0)"),
        ("transform(self, path, ctx)", "os.kill(os.getpid(), 11)"),
        ("post_transform_all(self, ctx)", "raise SystemExit"),
    ],
)
def test_a_hook_that_ends_its_process_has_not_succeeded(hook: str, end: str, lab: Lab) -> None:
    before = lab.portrait()
    entry = lab.one(lab.plugin("quits", f"def {hook}:\n    open(ctx.dst_root / 'a.txt', 'w').close(); {end}"))
    assert entry.status == "failed"
    assert entry.crash
    assert lab.portrait() == before


def test_a_detail_that_json_cannot_say_fails_the_dry_run(lab: Lab) -> None:
    vague = lab.plugin(
        "vague",
        """
        def describe_changes(self, path, ctx):
            return [FileChange(path, "modify", "s", {"set": {1, 2}})]
        """,
    )
    entry = lab.one(vague, dry_run=True)
    assert entry.status == "failed"
    assert entry.crash


def test_a_plugins_own_error_is_recorded_in_its_words(both: Lab) -> None:
    entry = both.one(
        both.plugin("honest", "def transform(self, path, ctx):\n    raise PluginError('no room')")
    )
    assert (entry.status, entry.error, entry.isolation.exit_code) == ("failed", "no room", 1)
    assert not entry.crash
    assert [(told.path, told.status, told.error) for told in entry.per_file] == [
        ("a.txt", "failed", "no room")
    ]


@pytest.mark.requirement("envelope:record:truth")
def test_a_megabyte_of_excuses_is_cut_in_the_record(lab: Lab) -> None:
    wordy = lab.raw(
        "wordy",
        "answer(1, result='failed', error_message='m' * 300_000, per_file="
        "[{'path': files[0], 'status': 'failed', 'error': 'e' * 300_000}] + "
        "[{'path': f'invented-{n}', 'status': 'modified'} for n in range(5_000)])",
    )
    entry = lab.one(wordy)
    assert entry.status == "failed"
    assert [told.path for told in entry.per_file] == ["a.txt"]
    assert (lab.root / ".exlab-wizard/creation.json").stat().st_size < 65_536
