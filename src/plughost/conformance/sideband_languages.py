"""The code that a check sends, by the language that a worker names. Knows Python and R; any other is in its binding."""

from __future__ import annotations

import msgspec

from ..manifest.sideband_snippets import Snippets

_PYTHON = Snippets(
    echo='print("{text}")',
    warn='import sys\nsys.stderr.write("{text}\\n")',
    set='remembered = "{text}"',
    get="print(remembered)",
    value='"{text}".upper().lower()',
    block='def twice():\n\n    for _ in range(2):\n\n        print("{text}")\n\ntwice()',
    broken='print("{text}")\nif (',
    error='raise ValueError("{text}")',
    wait='import time\nprint("{text}", flush=True)\nwhile True:\n    time.sleep(3600)',
    read='print(input("{text}"))',
    readers=(
        "import sys\nprint(sys.stdin.readline())",
        "import sys\nprint(next(iter(sys.stdin)))",
        "import sys\nprint(sys.stdin.buffer.readline().decode())",
        (
            "import threading\nlines = []\n"
            "reader = threading.Thread(target=lambda: lines.append(input()))\n"
            "reader.start()\nreader.join()\nprint(lines[0])"
        ),
    ),
    run='import subprocess\n_ = subprocess.run(["sh", "-c", "{command}"])',
    variables="import os\nprint(*os.environ)",
    forked=(
        "import os\nchild = os.fork()\nif not child:\n    for fd in os.listdir('/proc/self/fd'):\n        try:\n"
        "            print(os.readlink('/proc/self/fd/' + fd), flush=True)\n        except OSError:\n"
        "            pass\n    os._exit(0)\n_ = os.waitpid(child, 0)"
    ),
    exit="import sys\nsys.exit(3)",
    flood='for _ in range(20000):\n    print("{text}")',
    picture=(
        "import matplotlib.pyplot as plt\nfigure = plt.figure(figsize=(1, 1))\n"
        '_ = figure.text(0.1, 0.1, "{text}")'
    ),
    repaint='_ = figure.text(0.5, 0.5, "{text}")',
    background=(
        "import os, threading, time\ndef later():\n    while not os.path.exists('{file}'):\n"
        "        time.sleep(0.005)\n    figure.text(0.9, 0.9, '{text}')\n    os.remove('{file}')\n"
        "threading.Thread(target=later, daemon=True).start()"
    ),
    help="help(len)",
    module='import plughost_module\nplughost_module.show("{text}")',
    module_file="plughost_module.py",
    module_text="def show(text):\n    print(text)\n",
)
_R = Snippets(
    echo='cat("{text}\\n")',
    warn='message("{text}")',
    set='remembered <- "{text}"',
    get='cat(remembered, "\\n", sep = "")',
    value='tolower("{text}")',
    block='twice <- function() {\n\n  for (i in 1:2) {\n\n    cat("{text}\\n")\n  }\n}\n\ntwice()',
    broken='cat("{text}\\n")\nif (',
    error='stop("{text}")',
    wait='cat("{text}\\n")\nrepeat Sys.sleep(3600)',
    read='cat(readline("{text}"), "\\n", sep = "")',
    readers=(
        'cat(readLines("stdin", 1), "\\n", sep = "")',
        'cat(scan("stdin", "", n = 1, quiet = TRUE), "\\n", sep = "")',
    ),
    run='invisible(system("{command}"))',
    variables="cat(names(Sys.getenv()))",
    forked=(
        "child <- parallel::mcparallel({\n"
        '  for (fd in list.files("/proc/self/fd", full.names = TRUE)) cat(Sys.readlink(fd), "\\n", sep = "")\n'
        "})\ninvisible(parallel::mccollect(child))"
    ),
    exit="quit(status = 3)",
    flood='for (i in 1:20000) cat("{text}\\n")',
    picture='plot(1, main = "{text}")',
    repaint='text(1, 1, "{text}")',
    help='help("mean")',
    module='source("plughost_module.R")\nshow_text("{text}")',
    module_file="plughost_module.R",
    module_text='show_text <- function(text) cat(text, "\\n", sep = "")\n',
)
LANGUAGES = {"python": _PYTHON, "r": _R}
NONE = Snippets()


def snippets(language: str, own: Snippets) -> Snippets:
    """Return what to send: what the binding has, and for a known *language* the rest."""
    known = LANGUAGES.get(language.lower(), NONE)
    said = {name: code for name in Snippets.__struct_fields__ if (code := getattr(own, name))}
    merged: Snippets = msgspec.structs.replace(known, **said)
    return merged
