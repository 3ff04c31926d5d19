"""Figures and pictures become messages: new or updated, once, bounded; without any configuration."""

import base64
import importlib.util
import struct
import subprocess
import sys

import pytest

from tests.sdk.sideband_wire import PYTHON, Kept, Worker

PNG = b"\x89PNG\r\n\x1a\n"


def has_matplotlib():
    if sys.executable == PYTHON:
        return importlib.util.find_spec("matplotlib") is not None
    return subprocess.run([PYTHON, "-c", "import matplotlib"], capture_output=True).returncode == 0


needs_matplotlib = pytest.mark.skipif(not has_matplotlib(), reason="needs matplotlib: install it to run this")


@pytest.fixture
def worker(leak_check, tmp_path):
    """A worker of the test's own."""
    worker = Worker(cwd=tmp_path)
    worker.message("backend_info")
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    kept = Kept(cwd=home, env={"HOME": str(home), "MPLCONFIGDIR": str(home)})
    yield kept
    kept.close()


@pytest.fixture
def plots(kept):
    """A worker with matplotlib, and no figure."""
    worker = kept.get("import matplotlib.pyplot as plt")
    first = worker.run("plt.close('all')")
    assert (first.out, first.err, first.messages) == ("", "", [])
    return worker


def images(reply):
    return [(m["id"], m["is_new"]) for m in reply.of("plot_image")]


def size(message):
    return struct.unpack(">II", base64.b64decode(message["data"])[16:24])


PAINTED = {
    "bytes": "DATA",
    "bytes with metadata": "(DATA, {'width': 1})",
    "base64": "__import__('base64').b64encode(DATA).decode()",
}


@pytest.mark.parametrize("kind", PAINTED)
def test_an_object_that_can_draw_itself_is_a_picture(worker, kind):
    worker.run(
        f"DATA = {PNG!r}\nclass P:\n    def _repr_png_(self): return {PAINTED[kind]}\n"
        "    def __repr__(self): return 'P!'"
    )
    reply = worker.run("print('before')\nP()")
    assert reply.out == "before\nP!\n"
    [told] = reply.of("plot_image")
    data = told.pop("data")
    assert base64.b64decode(data, validate=True) == PNG
    assert told == {
        "type": "plot_image",
        "id": "image-1",
        "mime_type": "image/png",
        "is_new": True,
        "request_id": worker.number,
    }
    assert worker.run("P").of("plot_image") == []  # the class is no picture


@pytest.mark.parametrize("base", ["a" * 24 + "00000000", "b" * 24 + "ffffffff"], ids=["counts", "wraps"])
def test_a_picture_is_marked_where_it_is_shown_if_the_host_says_from_what(worker, base):
    worker.run(
        f"import sys\nclass P:\n    def _repr_png_(self): return {PNG!r}\n    def __repr__(self): return 'P'"
    )
    worker.send("print('one')\nsys.displayhook(P())\nprint('two')\nP()", image_mark=base)
    reply = worker.finish()
    marks = [base[:24] + f"{(int(base[24:], 16) + n) % 2**32:08x}" for n in (1, 2)]
    assert [told["mark"] for told in reply.of("plot_image")] == marks
    assert reply.out == f"one\nP\n\x1e{marks[0]}\x1etwo\nP\n\x1e{marks[1]}\x1e"
    assert "mark" not in worker.run("P()").of("plot_image")[0]


def test_a_picture_is_no_less_shown_where_nobody_reads_stdout(worker):
    worker.run(f"class P:\n    def _repr_png_(self): return {PNG!r}\nimport sys\nsys.stdout = sys.stderr")
    worker.process.stdout.close()
    del worker.fds[next(fd for fd, name in worker.fds.items() if name == "out")]
    worker.send("P()", image_mark="a" * 32)
    told = worker.message("plot_image")
    assert "mark" not in told
    worker.message("request_end")


@pytest.mark.thin(3)
@pytest.mark.parametrize("result", ["None", "5", "b''", "'not base64'", "()"])
def test_a_painter_that_paints_nothing_is_no_picture(worker, result):
    reply = worker.run(f"class P:\n    def _repr_png_(self): return {result}\nP()")
    assert reply.of("plot_image") == []
    assert "error" not in reply.end


def test_a_painter_that_fails_is_the_users_error(worker):
    reply = worker.run("class P:\n    def _repr_png_(self): return 1/0\nP()")
    assert "ZeroDivisionError" in reply.err
    assert "sideband_worker" not in reply.err


@pytest.mark.parametrize("over", [0, 1])
def test_a_picture_may_be_so_large_and_no_larger(worker, over):
    reply = worker.run(f"class P:\n    def _repr_png_(self): return bytes({4_194_304 + over})\nP()")
    assert len(reply.of("plot_image")) == 1 - over
    assert ("4194305" in reply.err) == bool(over)


@needs_matplotlib
def test_a_figure_is_sent_new_then_updated_and_not_again(plots):
    reply = plots.run("lines = plt.plot([1, 2, 3])")
    [(name, is_new)] = images(reply)
    assert is_new
    assert base64.b64decode(reply.of("plot_image")[0]["data"]).startswith(PNG)
    assert images(plots.run("1")) == []
    assert images(plots.run("t = plt.title('more')")) == [(name, False)]
    assert images(plots.run("1")) == []
    assert images(plots.run("lines[0].set_data([0, 1], [5, 6])")) == [(name, False)]


@needs_matplotlib
@pytest.mark.parametrize("ask", ["plt.show()", "figure", "figure.show()"])
def test_a_figure_that_code_asks_to_see_is_sent_although_it_has_not_changed(plots, ask):
    plots.run("plt.close('all')")
    [(name, _)] = images(plots.run("figure, axes = plt.subplots()\nx = axes.plot([1, 2])"))
    assert images(plots.run("1")) == []
    assert images(plots.run(ask)) == [(name, False)]


@needs_matplotlib
def test_a_new_figure_that_is_also_the_last_expression_is_sent_once(plots):
    plots.run("plt.close('all')")
    assert len(images(plots.run("figure, axes = plt.subplots()\nx = axes.plot([1, 2])\nfigure"))) == 1


@needs_matplotlib
@pytest.mark.parametrize("show", ["plt.show()", "1"])
def test_a_figure_that_cannot_be_drawn_is_complained_of_once_until_it_changes(plots, show):
    plots.run("plt.close('all')")
    reply = plots.run(f"x = plt.plot([1, 2])\nt = plt.title('$\\\\nonsense$')\n{show}")
    assert reply.err.count("ValueError:") == 1
    assert images(reply) == []
    assert plots.run("1").err == ""
    reply = plots.run("t = plt.title('fine')")
    assert len(images(reply)) == 1
    assert reply.err == ""


@needs_matplotlib
def test_show_sends_at_once_and_in_order_with_text(plots):
    plots.run("plt.close('all')")
    plots.send("print('one')\nplt.plot([1, 5])\nplt.show()\nprint('two')\ninput()")
    plots.message("plot_image", is_new=True)
    plots.message("readline_start")
    plots.answer("\n")
    assert plots.finish().of("plot_image") == []


@needs_matplotlib
def test_a_figure_of_several_panels_is_one_picture(plots):
    assert (
        len(
            images(
                plots.run(
                    "f, axes = plt.subplots(2, 2)\nx = [a.plot([1, n]) for n, a in enumerate(axes.flat)]"
                )
            )
        )
        == 1
    )


@needs_matplotlib
def test_a_figure_that_is_shown_as_it_changes_keeps_its_id(plots):
    reply = plots.run("for n in range(3):\n    plt.plot([n, 2 * n + 1])\n    plt.show()")
    told = images(reply)
    assert [is_new for _, is_new in told] == [True, False, False]
    assert len({name for name, _ in told}) == 1


@needs_matplotlib
def test_figures_stay_distinct_and_a_closed_number_is_new_again(plots):
    plots.run("plt.close('all')")
    reply = plots.run("for n in (1, 2):\n    plt.figure(n)\n    plt.plot([n, 2 * n, 0])")
    names = images(reply)
    assert [is_new for _, is_new in names] == [True, True]
    assert names[0] != names[1]
    plots.run("plt.close('all')")
    [(again, is_new)] = images(plots.run("plt.figure(1)\nx = plt.plot([3])"))
    assert is_new
    assert again not in [name for name, _ in names]


@needs_matplotlib
def test_a_figure_waits_for_no_end_before_a_question_or_after_an_error(plots):
    plots.run("plt.close('all')")
    assert len(images(plots.run("x = plt.plot([9, 1])\n1/0"))) == 1
    plots.send("plt.close('all')\nx = plt.plot([4, 1])\ninput('? ')")
    plots.message("plot_image")
    plots.message("readline_start", prompt="? ")
    plots.answer("\n")
    plots.finish()


@needs_matplotlib
def test_a_figure_survives_an_interrupt(plots):
    plots.run("plt.close('all')")
    plots.send("x = plt.plot([2, 7])\nimport time\nprint('here')\ntime.sleep(1000)")
    plots.printed("here")
    plots.interrupt(request_id=plots.number)
    reply = plots.finish()
    assert len(images(reply)) == 1
    assert "KeyboardInterrupt" in reply.err


@needs_matplotlib
@pytest.mark.timeout(300)
def test_a_huge_figure_is_drawn_in_fewer_pixels(plots):
    plots.run("plt.close('all')")
    [told] = plots.run("f = plt.figure(figsize=(200, 100), dpi=300)\nx = plt.plot([1, 2])").of("plot_image")
    width, height = size(told)
    assert width * height <= 4_194_304
    plots.run("plt.close('all')")
    noise = (
        "import numpy\nf = plt.figure(figsize=(13, 13))\nx = plt.figimage(numpy.random.rand(1300, 1300, 3))"
    )
    [told] = plots.run(noise).of("plot_image")
    assert len(base64.b64decode(told["data"])) <= 4_194_304


@needs_matplotlib
def test_a_figure_without_pyplot_is_shown_as_a_value(plots):
    plots.run("plt.close('all')")
    code = "from matplotlib.figure import Figure\nf = Figure()\nx = f.subplots().plot([1, 2])\nf"
    assert [is_new for _, is_new in images(plots.run(code))] == [True]


@needs_matplotlib
def test_a_thread_draws_nothing_until_a_request_ends(plots):
    plots.run("plt.close('all')\nimport threading")
    reply = plots.run("x = plt.plot([1, 3])\nt = threading.Thread(target=plt.show)\nt.start()\nt.join()")
    assert len(images(reply)) == 1
    assert reply.err == ""


@needs_matplotlib
def test_a_backend_that_someone_chose_is_respected(tmp_path, leak_check):
    worker = Worker(cwd=tmp_path, env={"MPLBACKEND": "svg", "HOME": str(tmp_path)})
    try:
        worker.message("backend_info")
        reply = worker.run("import matplotlib.pyplot as plt\nx = plt.plot([1])\nprint(plt.get_backend())")
        assert reply.out == "svg\n"
        assert len(images(reply)) == 1
    finally:
        worker.close()
