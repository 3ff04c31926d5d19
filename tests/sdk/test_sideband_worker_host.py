"""The worker and the host's own session together: pictures stand where they were shown; no end of a pipe is lent."""

import os
import sys

import pytest

import plughost.blocking
from plughost.contracts.sideband.items import Image, Text
from plughost.errors import Unsupported
from plughost.process.local import LocalLauncher
from tests.sdk.sideband_wire import PYTHON
from tests.sdk.test_sideband_worker_pictures import needs_matplotlib

requirement = pytest.mark.requirement
pytestmark = pytest.mark.thin(3, "sideband-worker-host")

PATIENCE_S = 200.0
PAINT = (
    "import os, subprocess, sys, threading\n"
    "class P:\n"
    "    def __init__(self, data): self.data = data\n"
    "    def _repr_png_(self): return self.data\n"
    "    def __repr__(self): return ''\n"
    "def paint(data): sys.displayhook(P(data))\n"
)


@pytest.fixture
def console(leak_check, tmp_path):
    """A console with a Python worker."""
    with plughost.blocking.Host() as host, host.console(PYTHON, cwd=tmp_path) as console:
        console.run(PAINT, timeout=PATIENCE_S)
        yield console


def shown(reply):
    """Return texts as they are, neighbouring ones joined, and pictures as their bytes; without the line of a repr."""
    found = []
    for item in reply.items:
        if isinstance(item, Text) and found and isinstance(found[-1], str):
            found[-1] += item.text
        elif isinstance(item, Text | Image):
            found.append(item.text if isinstance(item, Text) else item.data)
    return [each.replace("\n", "") if isinstance(each, str) else each for each in found]


@requirement("sideband:image:placed", "sideband:image:sent")
def test_a_picture_stands_between_what_is_printed_before_and_after_it(console):
    for _ in range(20):
        reply = console.run(
            "print('one')\npaint(b'1')\nprint('two')\npaint(b'2')\nprint('three')", timeout=PATIENCE_S
        )
        assert shown(reply) == ["one", b"1", "two", b"2", "three"]


@requirement("sideband:image:placed")
def test_so_it_does_among_the_output_of_programs_threads_and_raw_descriptors(console):
    reply = console.run(
        "subprocess.run(['echo', 'program'])\npaint(b'1')\nos.write(1, b'raw')\npaint(b'2')\n"
        "t = threading.Thread(target=print, args=['thread'])\nt.start(); t.join()\npaint(b'3')\n"
        "print('held back', end='')\npaint(b'4')\nprint('x' * 200_000)\npaint(b'5')\nprint('last')",
        timeout=PATIENCE_S,
    )
    assert shown(reply) == [
        "program",
        b"1",
        "raw",
        b"2",
        "thread",
        b"3",
        "held back",
        b"4",
        "x" * 200_000,
        b"5",
        "last",
    ]


@requirement("sideband:image:placed")
def test_a_closed_or_replaced_stdout_loses_no_picture_and_no_place(console):
    reply = console.run(
        "print('one')\nos.close(1); sys.stdout = open(os.devnull, 'w')\npaint(b'1')", timeout=PATIENCE_S
    )
    assert shown(reply) == ["one", b"1"]
    console.run("sys.stdout = sys.__stdout__", timeout=PATIENCE_S)
    reply = console.run("print('two')\nsys.stdout = open(os.devnull, 'w')\npaint(b'2')", timeout=PATIENCE_S)
    assert shown(reply) == ["two", b"2"]
    console.run("sys.stdout = sys.__stdout__", timeout=PATIENCE_S)
    assert shown(console.run("print('three')\npaint(b'3')\nprint('four')", timeout=PATIENCE_S)) == [
        "three",
        b"3",
        "four",
    ]


@requirement("sideband:image:placed")
def test_many_pictures_keep_their_places(console):
    reply = console.run("for n in range(50):\n    print('text', n)\n    paint(b'%d' % n)", timeout=PATIENCE_S)
    assert shown(reply) == [each for n in range(50) for each in (f"text {n}", b"%d" % n)]


@needs_matplotlib
@requirement("sideband:image:placed")
def test_a_figure_stands_where_it_is_shown(console):
    reply = console.run(
        "import os\nos.environ['MPLCONFIGDIR'] = os.getcwd()\nimport matplotlib.pyplot as plt\n"
        "print('one')\nplt.plot([1, 2])\nplt.show()\nprint('two')\nsubprocess.run(['echo', 'three'])\n"
        "plt.figure()\nplt.plot([2, 1])\nplt.show()\nprint('four')",
        timeout=PATIENCE_S,
    )
    assert [each if isinstance(each, str) else each[:4] for each in shown(reply)] == [
        "one",
        b"\x89PNG",
        "twothree",
        b"\x89PNG",
        "four",
    ]


def inodes(lines):
    return {line for line in lines.split() if line.isdigit()}


@requirement("sideband:transport:ends")
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc to look at descriptors")
def test_the_host_has_one_end_of_each_pipe_of_the_worker_and_lends_it_to_nobody(console):
    reply = console.run(
        "import stat\nfor fd in os.listdir('/proc/self/fd'):\n"
        "    try: found = os.fstat(int(fd))\n    except OSError: continue\n"
        "    if stat.S_ISFIFO(found.st_mode): print(found.st_ino)",
        timeout=PATIENCE_S,
    )
    theirs = inodes(reply.text)
    mine = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found = str(os.fstat(int(name)).st_ino)
        except OSError:  # the descriptor of the listing itself
            continue
        if found in theirs:
            mine.append(found)
            assert not os.get_inheritable(int(name))
    assert len(mine) == len(set(mine)) == 5  # stdin, stdout, stderr, and the sideband both ways


@requirement("sideband:transport:windows")
def test_where_there_are_no_pipes_for_it_starting_a_worker_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(Unsupported):
        LocalLauncher()
