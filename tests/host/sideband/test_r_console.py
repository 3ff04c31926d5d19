"""Consoles with real R: state, errors, plots, questions, interrupts and ends, by the name that a user gives."""

from __future__ import annotations

import shutil

import pytest

from plughost.contracts.sideband.items import Image, Stream, Text
from plughost.errors import ManifestError
from plughost.manifest.sideband_binding import R_WORKER
from tests.host.sideband.lab import Desk, Lab

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.needs("Rscript"), pytest.mark.thin(8, "sideband-r-host")]
PNG = b"\x89PNG\r\n\x1a\n"
FOREVER_S = 600  # longer than any test lives
PATIENT = {"handshake_s": 50.0, "teardown_s": 50.0}  # R takes its time where others are busy


@pytest.fixture
def desk(lab: Lab) -> Desk:
    return lab.console("r", **PATIENT)


def stderr_of(reply: object) -> str:
    items = getattr(reply, "items", ())
    return "".join(item.text for item in items if isinstance(item, Text) and item.stream is Stream.STDERR)


@requirement("sideband:cell:state")
def test_what_one_request_defines_the_next_one_finds(desk: Desk) -> None:
    reply = desk.run("x <- 1:3\nf <- function(n) {\n\n  n * 2\n}\nmean(x)")
    assert (reply.text, reply.state, reply.error) == ("[1] 2\n", "ready", False)
    assert desk.run("f(21)").text == "[1] 42\n"
    assert desk.console.generation == 1


@requirement("sideband:output:merged")
def test_messages_warnings_and_errors_stand_where_code_raised_them(desk: Desk) -> None:
    for _ in range(5):
        reply = desk.run("print(1)\nmessage('m')\nprint(2)\nwarning('w')\nprint(3)\nstop('e')")
        shown = [(str(item.stream), item.text) for item in reply.items if isinstance(item, Text)]
        assert shown == [
            ("stdout", "[1] 1\n"),
            ("stderr", "m\n"),
            ("stdout", "[1] 2\n"),
            ("stderr", "Warning message:\nw\n"),
            ("stdout", "[1] 3\n"),
            ("stderr", "Error: e\n"),
        ]


@requirement("sideband:cell:error")
def test_errors_and_warnings_are_on_stderr_and_the_session_goes_on(desk: Desk) -> None:
    reply = desk.run("y <- 5\ncat('before\\n')\nstop('why')\ny <- 6")
    assert (reply.text, reply.error) == ("before\nError: why\n", True)
    assert stderr_of(reply) == "Error: why\n"
    reply = desk.run("y\nlog(-y)")
    assert (stderr_of(reply), reply.error) == ("Warning message:\nIn log(-y) : NaNs produced\n", False)
    assert reply.text.startswith("[1] 5\n[1] NaN\n")
    reply = desk.run("cat(6 * 7)\n1 +")
    assert reply.error
    assert "42" not in reply.text


@requirement("sideband:image:sent", "sideband:output:before")
def test_plots_come_as_pictures_in_their_place(desk: Desk) -> None:
    reply = desk.run("cat('one\\n'); plot(1:3); plot(3:1); cat('two\\n')")
    kinds = [type(item) for item in reply.items]
    assert kinds == [Text, Image, Text, Image]
    assert all(each.data.startswith(PNG) and each.mime_type == "image/png" for each in reply.images)
    assert len({each.id for each in reply.images}) == 2
    (update,) = desk.run("lines(1:3)").images
    assert (update.id, update.is_new) == (reply.images[1].id, False)
    assert desk.run("x <- 1").images == ()


READERS = {
    "readline": "readline('name? ')",
    "stdin": "readLines(stdin(), 1)",
    "file": "readLines(file('stdin'), 1)",
    "scan": "scan(what = '', n = 1, quiet = TRUE)",
}


@requirement("sideband:input:asked", "sideband:input:given", "sideband:input:waiting")
@pytest.mark.parametrize("code", READERS.values(), ids=READERS)
def test_a_question_waits_for_its_answer(desk: Desk, code: str) -> None:
    reply = desk.run(f"x <- {code}\nx")
    assert reply.state == "waiting for stdin"
    if code == READERS["readline"]:
        assert reply.prompt == "name? "
    reply = desk.answer("quit()")
    assert (reply.state, reply.text) == ("ready", '[1] "quit()"\n')
    assert desk.run("x").text == '[1] "quit()"\n'


BUSY = {
    "sleeping": f"cat('here'); Sys.sleep({FOREVER_S})",
    "computing": "cat('here')\nrepeat {}",
    "vectors": "cat('here')\nrepeat sort(runif(1000))",
    "child": f"system('echo here; sleep {FOREVER_S}')",
}


@requirement("sideband:interrupt:delivered", "sideband:interrupt:told")
@pytest.mark.parametrize("code", BUSY.values(), ids=BUSY)
def test_whatever_runs_is_interrupted_and_state_survives(desk: Desk, code: str) -> None:
    desk.run("x <- 'kept'")
    # If the signal ends the command long before the message is met, the question behind it is interrupted.
    desk.begin_until(f"{code}\nreadline('never? ')\ncat('never')", "here")
    assert desk.interrupt() == "delivered"
    while (reply := desk.poll()).state != "ready":
        assert reply.state in ("running", "waiting for stdin")
    assert reply.error
    assert "never" not in reply.text
    assert desk.run("x").text == '[1] "kept"\n'
    assert desk.console.generation == 1


def test_a_question_can_be_interrupted_and_an_interrupt_of_nothing_does_no_harm(desk: Desk) -> None:
    assert desk.interrupt() == "idle"
    assert desk.run("readline('? ')").state == "waiting for stdin"
    assert desk.interrupt() == "delivered"
    reply = desk.poll()
    assert (reply.state, reply.error) == ("ready", True)
    assert desk.run("'on'").text == '[1] "on"\n'


def test_an_interrupt_around_the_end_of_a_request_never_reaches_the_next(desk: Desk) -> None:
    for number in range(15):
        desk.begin("invisible(1)")
        assert desk.interrupt() in ("delivered", "idle")
        while desk.poll().state != "ready":
            pass
        assert desk.run(f"cat({number})").text == str(number)


ENDS = {
    "quit()": (False, "exit status 0"),
    "q('no', 3)": (True, "exit status 3"),
    "tools::pskill(Sys.getpid(), tools::SIGKILL)": (True, "SIGKILL"),
}


@requirement("sideband:end:announced", "sideband:end:lost")
@pytest.mark.parametrize("code", ENDS)
def test_a_worker_that_ends_is_reported_and_replaced(desk: Desk, code: str) -> None:
    error, status = ENDS[code]
    desk.run("x <- 1")
    reply = desk.run(f"cat('last words\\n'); flush(stdout()); {code}")
    assert (reply.state, reply.error, reply.text) == ("ended", error, "last words\n")
    assert any(status in each for each in reply.notices)
    reply = desk.run("exists('x')")
    assert (reply.generation, reply.text) == (2, "[1] FALSE\n")


def test_a_restart_forgets_what_was_in_memory(desk: Desk) -> None:
    desk.run("x <- 1")
    desk.restart()
    assert desk.run("exists('x')").text == "[1] FALSE\n"
    assert desk.console.generation == 2


@requirement("sideband:output:bounded")
def test_a_megabyte_of_output_is_whole(lab: Lab) -> None:
    desk = lab.console("r", head_chars=2_000, tail_chars=2_000, **PATIENT)
    reply = desk.run("for (i in 1:20000) cat(sprintf('%050d\\n', i))")
    whole = "".join(f"{number:050}\n" for number in range(1, 20_001))
    assert reply.full_output is not None
    assert reply.full_output.read_text() == whole
    assert whole.startswith(reply.items[0].text)
    reply = desk.run("cat(strrep('x', 1500))")
    assert (reply.text, reply.full_output) == ("x" * 1500, None)


@pytest.mark.parametrize("name", ["R", "Rscript", "{Rscript}", "{R}"])
def test_r_is_found_by_its_name_and_by_its_program(lab: Lab, name: str) -> None:
    programs = {program: shutil.which(program) for program in ("R", "Rscript")}
    if programs["R"] is None:
        pytest.skip("there is Rscript, but no R")
    reply = lab.console(name.format(**programs), **PATIENT).run("R.version$language")
    assert reply.text == '[1] "R"\n'


def test_the_project_names_a_worker_with_limits_variables_and_a_place_of_its_own(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = lab.home / "workers/numbers"
    (home / "data").mkdir(parents=True)
    (home / "plugin.toml").write_text(
        f"""
        [plugin]
        name = "numbers"
        contract = "sideband"
        command = ["Rscript", "{R_WORKER}"]
        cwd = "data"
        [environment]
        set = {{ ANSWER = "42" }}
        [limits]
        handshake_s = 50
        head_chars = 2000
        tail_chars = 2000
        """
    )
    (lab.home / "plughost.toml").write_text('[plugins]\nnumbers = "workers/numbers"\n')
    monkeypatch.chdir(lab.home)
    console = lab.host.console("numbers")
    reply = console.run("cat(basename(getwd()), Sys.getenv('ANSWER'), nzchar(Sys.getenv('HOME')))")
    assert reply.text == "data 42 FALSE"
    assert console.run("cat(strrep('x', 5000))").full_output is not None


def test_without_r_the_error_says_what_to_install(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(lab.home))
    with pytest.raises(ManifestError) as caught:
        lab.console("r")
    assert "r-base-core" in str(caught.value)
