"""The R worker of `sideband`: real R, real pipes, and the contract of the Python worker where R can keep it."""

import base64
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.sdk.sideband_wire import Worker

RSCRIPT = shutil.which("Rscript")
PROGRAM = Path(__file__).parents[2] / "sdk" / "r" / "sideband_worker.R"
PNG = b"\x89PNG\r\n\x1a\n"

pytestmark = [pytest.mark.needs("Rscript"), pytest.mark.thin(12, "sideband-r")]
requirement = pytest.mark.requirement


def start(cwd):
    worker = Worker(python=RSCRIPT, program=PROGRAM, flags=("--vanilla",), cwd=cwd, env={"TMPDIR": str(cwd)})
    worker.hello = worker.message("backend_info")
    return worker


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A place for one worker, which those have in turn who leave it as it was."""
    workers = []
    yield workers, lambda: start(tmp_path_factory.mktemp("cwd"))
    for worker in workers:
        worker.close()


@pytest.fixture
def shared(bench, request):
    """A worker for cells that leave it as it was. A test that fails takes it along, and no other test."""
    workers, make = bench
    if not workers:
        workers.append(make())
    failures = request.session.testsfailed
    yield workers[0]
    if request.session.testsfailed != failures:
        workers.pop().close()


@pytest.fixture
def worker(leak_check, tmp_path):
    """A worker of the test's own."""
    worker = start(tmp_path)
    yield worker
    worker.close()


def interrupt(worker, *, signalled=False, **members):
    """Interrupt by message alone, or as a host does that also sends the whole group a signal, which may be faster."""
    if signalled:
        os.killpg(worker.process.pid, signal.SIGINT)
    worker.interrupt(signalled=False, **members)


# How it starts


@requirement("sideband:hello:first")
def test_it_introduces_itself(shared):
    assert shared.hello["language"] == "r"
    assert shared.hello["supports_images"] is True
    told = shared.hello["plughost"]
    assert (told["worker"], told["request_ids"], told["marks"]) == ("r", True, True)
    assert told["pid"] == shared.process.pid


@requirement("sideband:transport:descriptors")
@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"MCP_CONSOLE_IPC_READ_FD": "x", "MCP_CONSOLE_IPC_WRITE_FD": "4"},
        {"MCP_CONSOLE_IPC_READ_FD": "0", "MCP_CONSOLE_IPC_WRITE_FD": "1"},
        {"MCP_CONSOLE_IPC_READ_FD": "98", "MCP_CONSOLE_IPC_WRITE_FD": "99"},
    ],
    ids=["absent", "no-number", "standard", "closed"],
)
def test_without_the_sideband_it_says_so_and_fails(variables):
    done = subprocess.run(
        [RSCRIPT, "--vanilla", str(PROGRAM)],
        env={"PATH": os.defpath, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 2
    assert b"sideband" in done.stderr
    assert done.stdout == b""


@requirement("sideband:transport:hidden")
def test_neither_code_nor_its_children_find_the_sideband(shared):
    reply = shared.run(
        "cat(Sys.getenv('MCP_CONSOLE_IPC_READ_FD'), Sys.getenv('MCP_CONSOLE_IPC_WRITE_FD'), sep='')"
    )
    assert reply.out == ""
    listing = "for fd in /proc/self/fd/*; do readlink $fd; done"
    for code in (
        f"system({listing!r})",
        f"cat(system2('sh', c('-c', shQuote({listing!r})), stdout=TRUE), sep='\\n')",
        f"p <- pipe({listing!r}); cat(readLines(p), sep='\\n'); close(p)",
        f"p <- parallel::mcparallel(system({listing!r})); invisible(parallel::mccollect(p))",
    ):
        found = shared.run(code).out.split("\n")
        side = os.readlink(f"/proc/self/fd/{shared.answers}")
        assert len(found) > 3
        assert side not in found
        assert not [each for each in found if "relay" in each]


# What a cell is

CELLS = {
    "1 + 1": "[1] 2\n",
    "1; 2": "[1] 1\n[1] 2\n",
    "x <- 5": "",
    "invisible(5)": "",
    "f <- function(a) {\n\n  a * 2\n}\nf(4)": "[1] 8\n",
    "for (i in 1:2) {\n  print(i)\n}": "[1] 1\n[1] 2\n",
    "if (FALSE) {\n  1\n} else\n  2": "[1] 2\n",
    "NULL": "NULL\n",
    "'é \U0001f600'": '[1] "é \U0001f600"\n',
    'r"(C:\\dir)"': '[1] "C:\\\\dir"\n',
    "# nothing": "",
    "\n": "",
    "1\r\n2\r\n": "[1] 1\n[1] 2\n",
    "print('a'); cat('b')": '[1] "a"\nb',
    "system('echo child')": "child\n",
    "system('exit 3')": "",
    "tryCatch(stop('a'), error = function(e) cat('caught'))": "caught",
    "invisible(7)\n.Last.value": "[1] 7\n",
    "setClass('P', representation(x = 'numeric'))(x = 1)": 'An object of class "P"\nSlot "x":\n[1] 1\n\n',
    "factor('a')": "[1] a\nLevels: a\n",
    "environmentName(environment())": '[1] "R_GlobalEnv"\n',
}


@requirement("sideband:cell:whole")
@requirement("sideband:cell:value")
@pytest.mark.parametrize("code", CELLS)
def test_a_cell_shows_what_r_shows(shared, code):
    reply = shared.run(code)
    assert (reply.out, reply.err) == (CELLS[code], "")
    assert reply.end == {"type": "request_end", "request_id": shared.number, "marked": True}


ERRORS = {
    "stop('why')": "Error: why\n",
    "f <- function(a) stop('why ', a)\nf(1)": "Error in f(1) : why 1\n",
    "1 + 'a'": 'Error in 1 + "a" : non-numeric argument to binary operator\n',
    "stop('a', call. = FALSE)": "Error: a\n",
    "nothing_there": "Error: object 'nothing_there' not found\n",
    "f <- function() { warning('first'); stop('then') }\nf()": (
        "Error in f() : then\nIn addition: Warning message:\nIn f() : first\n"
    ),
    "options(warn = 2); on <- log(-1)": "Error in log(-1) : (converted from warning) NaNs produced\n",
}


@requirement("sideband:cell:error")
@pytest.mark.parametrize("code", ERRORS)
def test_an_error_is_shown_as_r_shows_it(shared, code):
    reply = shared.run(f"cat('before\\n')\n{code}\ncat('never\\n')")
    shared.run("options(warn = 0)")
    assert (reply.out, reply.err) == ("before\n", ERRORS[code])
    assert reply.end["error"] is True


@requirement("sideband:cell:whole")
@pytest.mark.parametrize("code", ["1 +", "f <- function( {", "'open", ")", "x y", "if (TRUE) {", "'a\\0b'"])
def test_nothing_runs_of_what_cannot_be_read(shared, code):
    reply = shared.run(f"cat('ran')\n{code}")
    assert reply.out == ""
    assert reply.err.startswith("Error: ")
    assert reply.end["error"] is True


def test_a_nul_in_the_code_is_an_error_and_no_end(shared):
    reply = shared.run("cat('ran')\x00")
    assert reply.out == ""
    assert reply.end["error"] is True


WARNINGS = {
    "warning('w')": "Warning message:\nw\n",
    "x <- log(-1)": "Warning message:\nIn log(-1) : NaNs produced\n",
    "for (i in 1:12) warning(i)": "There were 12 warnings (use warnings() to see them)\n",
    "for (i in 1:60) warning(i)": "There were 50 or more warnings (use warnings() to see the first 50)\n",
    "suppressWarnings(warning('w'))": "",
    "options(warn = 1); warning('w'); options(warn = 0)": "Warning: w\n",
    "message('m')": "m\n",
    "write('e', stderr())": "e\n",
    "system('echo e >&2')": "e\n",
}


@requirement("sideband:output:raw")
@pytest.mark.parametrize("code", WARNINGS)
def test_warnings_and_messages_go_to_stderr(shared, code):
    reply = shared.run(code)
    assert (reply.out, reply.err) == ("", WARNINGS[code])
    assert "error" not in reply.end


def test_r_finds_its_last_warnings_and_the_calls_of_its_last_error(shared):
    shared.run("f <- function(x) g(x); g <- function(x) stop('deep')")
    shared.run("warning('kept')")
    shared.run("f(2)")
    assert shared.run("traceback()").out == '3: stop("deep")\n2: g(x)\n1: f(2)\n'
    assert shared.run("warnings()").out == "Warning message:\nkept\n"


@requirement("sideband:cell:state")
@pytest.mark.parametrize(
    "code",
    [
        "f <- function() f(); f()",
        "invokeRestart('abort')",
        "closeAllConnections()",
        "sink('/dev/null'); print(1); sink()",
        "break",
        "return(1)",
        "gc(); rm(list = ls(all.names = TRUE)); keep <- 5",
        "parallel::mccollect(parallel::mcparallel(quit(status = 3)))",
        "browser(expr = FALSE)",
        "f <- function(x) x; debug(f); f(1)",
    ],
)
def test_the_session_survives(shared, code):
    shared.run("keep <- 5")
    shared.run(code)
    assert shared.run("keep; dir.exists(tempdir())").out == "[1] 5\n[1] TRUE\n"


def test_an_output_that_is_diverted_does_not_divert_the_marks(shared):
    assert shared.run("sink('/dev/null')\nprint(1)").out == ""
    assert shared.run("print(2)\nsink()\nprint(3)").out == "[1] 3\n"


@requirement("sideband:cell:help")
def test_help_flows_inline(shared):
    assert "Arithmetic Mean" in shared.run("?mean").out


def test_browser_asks_and_runs_expressions_where_it_stopped(shared):
    shared.send("f <- function(inner) { browser(); inner }\nf(41)")
    for line in ("inner + 1", "nothing_there", "where", "inner <- 9", "c"):
        assert shared.message("readline_start")["prompt"] == "Browse[1]> "
        shared.answer(line + "\n")
    reply = shared.finish()
    assert reply.out == "Called from: f(41)\n[1] 42\nf(41)\n[1] 9\n"
    assert "nothing_there" in reply.err
    assert shared.run("1").out == "[1] 1\n"


def test_browser_can_be_quit(shared):
    shared.send("browser(); cat('never')")
    shared.message("readline_start")
    shared.answer("Q\n")
    assert shared.finish().out == "Called from: top level\n"


def test_what_the_user_wants_done_at_an_error_is_done(shared):
    reply = shared.run("options(error = quote(cat('done')))\nstop('why')")
    shared.run("options(error = NULL)")
    assert (reply.out, reply.err) == ("done", "Error: why\n")


# What comes over the wire


@requirement("sideband:line:robust")
@requirement("sideband:line:unknown")
@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b"[1]",
        b"{}",
        b'"text"',
        b"\xff",
        b'{"type":5}',
        b'{"type":"unknown"}',
        b'{"type":"session_end"',
        b'{"type":"session_end"} x',
        b'{"type":"session_end"}\x00',
        b'{"type":"session_end","a":01}',
        b'{"type":"session_end","a":"\\x"}',
        b'{"type":"session_end","a":"\\ud800"}',
        b'{"type":"session_end","a":"\t"}',
        b'{"type":"session_end","request_id":null}',
        b'{"type":"stdin_write"}',
        b'{"type":"stdin_write","text":1}',
        b'{"type":"stdin_write","text":"quit()\\n","request_id":true}',
        b'{"type":"stdin_write","text":"quit()\\n","request_id":0}',
        b'{"type":"stdin_write","text":"quit()\\n","request_id":1.5}',
        b'{"type":"stdin_write","text":"quit()\\n","mark":""}',
        b'{"type":"stdin_write","text":"quit()\\n","mark":"\\n"}',
        b'{"type":"stdin_write","text":"quit()\\n","image_mark":"00"}',
        b'{"type":"stdin_write","text":"quit()\\n","image_mark":"' + b"F" * 32 + b'"}',
        b'{"type":"interrupt","request_id":"1"}',
        b"[" * 10_000,
    ],
    ids=lambda line: line[:60].decode("latin-1"),
)
def test_a_line_that_is_wrong_costs_only_itself(shared, line):
    shared.raw(line + b"\n")
    reply = shared.run("'alive'")
    assert reply.out == '[1] "alive"\n'
    assert reply.messages == []


@requirement("sideband:line:unknown")
@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "utf-8"])
def test_members_that_are_unknown_and_escapes_of_every_kind_are_read(shared, ascii_only):
    text = "cat('\"\\\\/\b\f\té\u0800\U0001f600\x7f')\n"
    shared.number += 1
    message = {"more": [1, -2.5e3, None, {"a": [True]}], "type": "stdin_write", "text": text, "": 0}
    message |= {"request_id": shared.number, "mark": f"{shared.number:032x}"}
    shared.raw(json.dumps(message, ensure_ascii=ascii_only).encode() + b"\r\n")
    shared.payload(text.encode())
    assert shared.finish().out == '"\\/\b\f\té\u0800\U0001f600\x7f'


@requirement("sideband:request:large")
@requirement("sideband:request:exact")
def test_a_request_may_be_large_and_come_in_pieces(shared):
    text = "x <- '" + "aé\\n" * 200_000 + "'\nnchar(x)\n"
    shared.number += 1
    shared.tell(type="stdin_write", text=text, request_id=shared.number, mark=f"{shared.number:032x}")
    data = text.encode()
    for start_at, end_at in ((0, 1), (1, 8), (8, len(data))):  # the second cut is within a character
        shared.payload(data[start_at:end_at])
    assert shared.finish().out == "[1] 600000\n"


@requirement("sideband:request:ids")
def test_a_request_without_a_mark_gets_none(shared):
    number = shared.send("cat('plain')", mark=False)
    assert shared.message("request_end") == {"type": "request_end", "request_id": number}
    shared.printed("plain")
    shared.held["out"].clear()
    assert not shared.held["err"]


def test_requests_that_come_early_run_in_order(shared):
    first, second = shared.send("x <- 1; Sys.sleep(0.01)"), shared.send("x <- x + 1; x")
    assert shared.finish(first).end["request_id"] == first
    assert shared.finish(second).out == "[1] 2\n"


@requirement("sideband:request:mark")
def test_what_children_print_comes_before_the_marks(shared):
    for number in range(20):
        reply = shared.run(f"cat('r{number}'); system('printf c; printf e >&2')")
        assert (reply.out, reply.err) == (f"r{number}c", "e")


def test_input_that_was_not_announced_ends_the_session(worker):
    worker.tell(type="stdin_write", text="1+1\n", request_id=1)
    worker.payload(b"2+2\n")
    assert worker.message("session_end")["reason"] == "protocol_error"
    assert worker.drain() == 76


# Reading input


@requirement("sideband:input:asked")
@requirement("sideband:input:given")
def test_a_line_is_asked_for_with_its_prompt(shared):
    number = shared.send("name <- readline('name? ')\nname")
    assert shared.message("readline_start") == {
        "type": "readline_start",
        "prompt": "name? ",
        "request_id": number,
    }
    shared.answer("stop('é')\n")
    reply = shared.finish()
    assert reply.out == "[1] \"stop('é')\"\n"
    told = {"type": "readline_result", "prompt": "name? ", "line": "stop('é')\n", "request_id": number}
    assert reply.messages == [told]


READERS = {
    "readline('')": "a",
    "readLines(n = 1)": "a",
    "readLines(stdin(), 2)": "a|b c",
    "readLines(file('stdin'), 2)": "a|b c",
    "readLines('/dev/stdin', 1)": "a",
    "scan(what = '', n = 3, quiet = TRUE)": "a|b|c",
    "scan('stdin', '', nlines = 2, quiet = TRUE)": "a|b|c",
    "scan(what = '', quiet = TRUE)": "a|b|c",
    "scan(text = 'own', what = '', quiet = TRUE)": "own",
}


@requirement("sideband:input:readers")
@requirement("sideband:input:leftover")
@pytest.mark.parametrize("code", READERS)
def test_every_reader_of_lines_is_served(shared, code):
    number = shared.send(f"cat('go')\ncat(paste({code}, collapse = '|'))")
    shared.printed("go")
    shared.answer("a\nb c\n\nleft\n")
    assert shared.finish(number).out == "go" + READERS[code]
    shared.send("readline()")
    assert shared.message("readline_start")["prompt"] == ""
    shared.answer("new\n")
    assert shared.finish().out == '[1] "new"\n'


def test_a_menu_can_be_answered(shared):
    shared.send("menu(c('x', 'y'))")
    assert shared.message("readline_start")["prompt"] == "Selection: "
    shared.answer("9\n2\n")
    reply = shared.finish()
    assert reply.out.startswith("1: x\n2: y\n")
    assert reply.out.endswith("[1] 2\n")


def test_compiled_code_is_served_as_well(shared):
    shared.send(
        "f <- compiler::cmpfun(function() paste(readline('1? '), readLines(n = 1), scan(n = 1)))\nf()"
    )
    assert shared.message("readline_start")["prompt"] == "1? "
    shared.answer("a\nb\n3\n")
    assert shared.finish().out == '[1] "a b 3"\n'
    shared.send("f <- compiler::cmpfun(function() { browser(); 1 })\nf()")
    shared.message("readline_start")
    shared.answer("c\n")
    assert shared.finish().out.endswith("[1] 1\n")


def test_an_answer_that_comes_too_late_never_runs(shared):
    shared.run("x <- 1")
    shared.answer("x <- 2\n")
    assert shared.run("x").out == "[1] 1\n"


@requirement("sideband:input:children")
@pytest.mark.parametrize(
    "code",
    [
        "length(system('cat', intern = TRUE))",
        "nchar(parallel::mccollect(parallel::mcparallel(readline('?')))[[1]])",
        "length(parallel::mccollect(parallel::mcparallel(readLines()))[[1]])",
    ],
)
def test_children_find_the_input_at_its_end(shared, code):
    reply = shared.run(code)
    assert reply.out == "[1] 0\n"
    assert reply.messages == []


# Interrupts

BUSY = {
    "sleep": "cat('in\\n'); Sys.sleep(600)",
    "loop": "cat('in\\n')\nrepeat {}",
    "command": "system('echo in; sleep 600')",
    "captured": "system('echo in >&2; sleep 600', intern = TRUE)",
    "pipe": "readLines(pipe('echo in >&2; sleep 600'))",
    "fork": "parallel::mclapply(1:2, function(i) { message('in'); Sys.sleep(600) }, mc.cores = 2)",
}
BY = pytest.mark.parametrize("signalled", [False, True], ids=["message", "message-and-signal"])


@requirement("sideband:interrupt:delivered")
@requirement("sideband:interrupt:answered")
@BY
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
@pytest.mark.parametrize("code", BUSY)
def test_what_runs_is_interrupted_and_memory_survives(shared, code, named, signalled):
    shared.run("keep <- 6")
    number = shared.send(f"{BUSY[code]}\nreadline('never? ')\ncat('never\\n')")
    shared.pump(lambda: b"in" in shared.held["out"] + shared.held["err"])  # so what it waits for has begun
    members = {"request_id": number} if named else {}
    interrupt(shared, signalled=signalled, **members)
    assert shared.message("interrupted") == {"type": "interrupted", "outcome": "delivered", **members}
    reply = shared.finish()
    assert "never" not in reply.out
    assert reply.end["error"] is True
    assert shared.run("keep; dir.exists(tempdir())").out == "[1] 6\n[1] TRUE\n"


@requirement("sideband:interrupt:delivered")
@pytest.mark.parametrize("code", ["system('sleep 600')", "readLines(pipe('sleep 600'))"])
def test_a_command_that_is_about_to_begin_is_interrupted(shared, code):
    for _ in range(5):
        number = shared.send(f"{code}\ncat('never')")
        interrupt(shared, request_id=number)
        assert shared.finish(number).out == ""


@requirement("sideband:interrupt:discarded")
@BY
def test_what_waits_for_a_line_is_interrupted_and_lines_that_it_left_are_discarded(shared, signalled):
    number = shared.send("readline('? ')")
    shared.message("readline_start")
    interrupt(shared, signalled=signalled, request_id=number)
    assert shared.message("interrupted")["outcome"] == "delivered"
    assert shared.finish().end["error"] is True
    number = shared.send("invisible(readline('? '))\ncat('in\\n')\nSys.sleep(600)")
    shared.message("readline_start")
    shared.answer("read\nleft\n")
    shared.printed("in\n")
    interrupt(shared, signalled=signalled, request_id=number)
    assert shared.finish().end["error"] is True
    shared.send("readline('? ')")
    shared.message("readline_start")
    shared.answer("whole\n")
    assert shared.finish().out == '[1] "whole"\n'


@requirement("sideband:interrupt:delivered")
@BY
def test_code_may_handle_its_interrupt_and_is_interrupted_once(shared, signalled):
    shared.send(
        "tryCatch({cat('in\\n'); Sys.sleep(600)}, interrupt = function(i) cat('mine\\n'))\nreadline('on? ')"
    )
    shared.printed("in\n")
    interrupt(shared, signalled=signalled, request_id=shared.number)
    shared.message("readline_start", prompt="on? ")
    assert shared.message("interrupted")["outcome"] == "delivered"
    shared.answer("yes\n")
    reply = shared.finish()
    assert reply.out == 'in\nmine\n[1] "yes"\n'
    assert "error" not in reply.end


@requirement("sideband:interrupt:idle")
def test_an_interrupt_of_nothing_does_no_harm(shared):
    shared.run("1")
    for members in ({}, {"request_id": shared.number}, {"request_id": 999_999}):
        interrupt(shared, **members)
        assert shared.message("interrupted") == {"type": "interrupted", "outcome": "idle", **members}
    reply = shared.run("Sys.sleep(0.01); 'unharmed'")
    assert reply.out == '[1] "unharmed"\n'


@requirement("sideband:interrupt:answered")
def test_an_interrupt_of_another_request_interrupts_nothing(shared):
    shared.send("readline('? '); 'done'")
    shared.message("readline_start")
    interrupt(shared, request_id=shared.number + 5)
    assert shared.message("interrupted")["outcome"] == "idle"
    shared.answer("\n")
    assert shared.finish().out.endswith('[1] "done"\n')


@requirement("sideband:interrupt:answered")
@BY
def test_an_interrupt_at_the_very_end_never_hits_the_next_request(shared, signalled):
    for _ in range(10):
        number = shared.send("invisible(1)")
        interrupt(shared, signalled=signalled, request_id=number)
        shared.message("interrupted", request_id=number)
        shared.finish(number)
        assert shared.run("cat('next')").out == "next"


# Pictures


def pictures(reply):
    told = reply.of("plot_image")
    for each in told:
        assert each["mime_type"] == "image/png"
        assert base64.b64decode(each["data"], validate=True).startswith(PNG)
    return [(each["id"], each["is_new"]) for each in told]


@pytest.fixture
def canvas(shared):
    """The worker without any open device."""
    yield shared
    shared.run("graphics.off()")


@requirement("sideband:image:id")
@requirement("sideband:image:sent")
def test_a_plot_is_new_once_and_updated_when_it_changes(canvas):
    reply = canvas.run("plot(1:3)")
    assert (reply.out, reply.err) == ("", "")
    [(first, new)] = pictures(reply)
    assert new
    assert pictures(canvas.run("1 + 1")) == []
    assert pictures(canvas.run("lines(3:1)")) == [(first, False)]
    [(second, new)] = pictures(canvas.run("plot(3:1)"))
    assert new
    assert second != first


DRAWINGS = {
    "for (i in 1:3) plot(i)": 3,
    "par(mfrow = c(1, 2)); plot(1); plot(2)": 1,
    "par(mfrow = c(1, 2)); plot(1); plot(2); plot(3)": 2,
    "plot(1); par(new = TRUE); plot(2)": 1,
    "library(grid); grid.newpage(); grid.rect(); grid.newpage(); grid.circle()": 2,
    "plot(1); invisible(dev.off())": 1,
    "plot(1); graphics.off()": 1,
    "plot(1); stop('after')": 1,
    "plot(1); dev.new(); plot(2)": 2,
    "pdf(NULL); plot(1); invisible(dev.off())": 0,
    "png(tempfile()); plot(1); invisible(dev.off())": 0,
    "dev.new()": 0,
}


@requirement("sideband:image:id")
@pytest.mark.parametrize("code", DRAWINGS)
def test_a_page_is_a_picture(canvas, code):
    told = pictures(canvas.run(code))
    assert [new for _, new in told] == [True] * DRAWINGS[code]
    assert len({name for name, _ in told}) == DRAWINGS[code]
    assert pictures(canvas.run("invisible()")) == []


@requirement("sideband:image:sent")
@pytest.mark.parametrize(
    ("mark", "marks"),
    [
        ("0" * 32, ("0" * 31 + "1", "0" * 31 + "2")),
        ("ab" * 12 + "fffffffe", ("ab" * 12 + "ffffffff", "ab" * 12 + "00000000")),
        ("9" * 24 + "8000ffff", ("9" * 24 + "80010000", "9" * 24 + "80010001")),
    ],
    ids=["first", "wrapped", "carried"],
)
def test_a_picture_has_its_place_in_the_output(canvas, mark, marks):
    canvas.number += 1
    text = "cat('a'); plot(1); cat('b'); plot(2); cat('c')\n"
    canvas.tell(
        type="stdin_write",
        text=text,
        request_id=canvas.number,
        mark=f"{canvas.number:032x}",
        image_mark=mark,
    )
    canvas.payload(text.encode())
    reply = canvas.finish()
    assert tuple(each["mark"] for each in reply.of("plot_image")) == marks
    # A page is sent when it is left, or at the end: until then more may be drawn on it.
    assert reply.out == "ab\x1e{}\x1ec\x1e{}\x1e".format(*marks)
    assert "mark" not in canvas.run("plot(3)").of("plot_image")[0]


@requirement("sideband:image:sent")
def test_a_picture_comes_before_the_question_behind_it(canvas):
    canvas.send("plot(1); readline('good? ')")
    canvas.message("readline_start")
    assert [each["type"] for each in canvas.messages] == ["plot_image"]
    canvas.answer("y\n")
    assert canvas.finish().out == '[1] "y"\n'


@requirement("sideband:image:sent")
def test_a_picture_of_an_interrupted_request_is_sent(canvas):
    canvas.send("plot(1); cat('in'); Sys.sleep(60)")
    canvas.printed("in")
    interrupt(canvas)
    assert len(pictures(canvas.finish())) == 1


# The end

EXITS = {
    "quit()": 0,
    "q('no', 3)": 3,
    "quit(status = 4)": 4,
    "f <- compiler::cmpfun(function() q(status = 256 + 5)); f()": 5,
}


@requirement("sideband:end:announced")
@pytest.mark.parametrize("code", EXITS)
def test_an_exit_of_the_users_ends_the_session_with_its_status(worker, code):
    number = worker.send(f".Last <- function() cat('last')\ncat('bye ')\n{code}\ncat('never')")
    assert worker.message("request_end") == {"type": "request_end", "request_id": number, "marked": True}
    assert worker.message("session_end") == {"type": "session_end", "reason": "exit", "status": EXITS[code]}
    assert worker.drain() == EXITS[code]
    assert bytes(worker.held["out"]) == b"bye last\x1e%032x\x1e" % number


RUNNING = {
    "nothing": None,
    "sleep": "Sys.sleep(60)",
    "command": "system('sleep 60')",
    "question": "readline('? ')",
    "stubborn": "repeat tryCatch(Sys.sleep(60), interrupt = function(i) 0)",
}


@requirement("sideband:end:asked")
@requirement("sideband:end:eof")
@pytest.mark.parametrize("how", ["asked", "gone"])
@pytest.mark.parametrize("running", RUNNING)
def test_whatever_runs_the_session_ends_and_leaves_nothing_behind(worker, tmp_path, running, how):
    if RUNNING[running]:
        worker.send(f"cat('in\\n')\n{RUNNING[running]}")
        worker.printed("in\n")
    if how == "asked":
        worker.tell(type="session_end")
    else:
        spare = os.dup(worker.answers)
        os.close(worker.control)
        worker.control = spare
    status = worker.drain()
    assert status in (
        0,
        -signal.SIGKILL,
    )  # if it does not go in time: what it runs may not let it, or the machine
    if status == 0:
        assert worker.messages[-1]["reason"] == ("asked" if how == "asked" else "host_gone")
    worker.process.stdin.close()
    assert not list(tmp_path.glob("Rtmp*"))


@requirement("sideband:end:holders")
def test_a_worker_that_is_killed_leaves_nobody_holding_its_output(worker):
    worker.run("1")
    worker.process.kill()
    assert worker.drain() == -signal.SIGKILL


def test_code_and_answers_that_are_announced_with_an_empty_text_are_taken(worker):
    for _ in range(2):
        worker.tell(type="stdin_write", text="")
        worker.payload(b"x <- 6 * 7\nx\n")
        assert worker.message("request_end") == {"type": "request_end"}
        worker.printed("42\n")
        worker.held["out"].clear()
    worker.tell(type="stdin_write", text="")
    worker.payload(b"n <- readline('who? ')\ncat('hello', n)\n")
    worker.message("readline_start", prompt="who? ")
    worker.tell(type="stdin_write", text="")
    worker.payload(b"Ada\n")
    worker.message("request_end")
    worker.printed("hello Ada")


@pytest.mark.parametrize("text", ["", "Ada", "Ada\n"], ids=["empty", "announced so", "announced with it"])
def test_an_answer_without_its_line_feed_is_a_line(worker, text):
    code = "readline('who? ')\n"
    worker.tell(type="stdin_write", text=code)
    worker.payload(code.encode())
    worker.message("readline_start", prompt="who? ")
    worker.tell(type="stdin_write", text=text)
    worker.payload(b"Ada")
    worker.message("request_end")
    worker.printed('[1] "Ada"\n')


@pytest.mark.parametrize("text", ["", "print(1)\n"], ids=["empty", "announced"])
def test_input_without_its_last_line_feed_is_an_error_and_the_session_goes_on(worker, text):
    worker.tell(type="stdin_write", text=text)
    worker.payload(b"print(1)")
    assert worker.message("request_end")["error"] is True
    worker.printed("does not end in a line feed", "err")
    worker.tell(type="stdin_write", text="print(2)\n", request_id=2)
    worker.payload(b"\nprint(2)\n")
    worker.message("request_end", request_id=2)
    worker.printed("[1] 2\n")
    assert b"[1] 1" not in worker.held["out"]


def test_input_other_than_announced_is_refused_with_a_sentence(worker):
    worker.tell(type="stdin_write", text="print(1)\n", request_id=1)
    worker.payload(b"print(2)\n")
    assert worker.drain() == 76
    assert b"not what stdin_write announced" in worker.held["err"]
