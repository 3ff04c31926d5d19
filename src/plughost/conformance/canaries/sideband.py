"""The faults of the `sideband` canary by axis, each with the clause that it breaks. The worker is `sideband_plugin.py`.

    python sideband_plugin.py FAULT

`well-behaved` is the one without a fault, and VARIANTS have none either. The worker is raw bytes: no SDK. It speaks a
language of its own, for which SNIPPETS is the table of its binding.
"""

from __future__ import annotations

from pathlib import Path

PROGRAM = Path(__file__).with_name("sideband_plugin.py")
NAME = "canary"
SNIPPETS = """\
[check]
echo = "say {text}"
warn = "warn {text}"
set = "keep {text}"
get = "tell"
value = "= {text}"
block = '''
twice {

say {text}

}
'''
broken = '''
say {text}
nonsense
'''
error = "fail {text}"
wait = "hang {text}"
read = "ask {text}"
readers = ["get"]
run = "shell {command}"
variables = "names"
forked = "fork"
exit = "leave 3"
flood = "flood {text}"
picture = "draw {text}"
repaint = "repaint {text}"
background = "later {file}"
help = "help"
module = "use {text}"
module_file = "module.canary"
module_text = "say WORD"
"""
WITHOUT_IDS = "without-ids"  # the oldest kind of worker
VARIANTS = ("says-more-than-is-known", WITHOUT_IDS)

# By axis: what breaks which clause. The names of axes and clauses lack the contract's.
BY_AXIS = {
    "introduction": {
        "starts-without-descriptors": "transport:descriptors",
        "exits-0-without-descriptors": "transport:descriptors",
        "silent-without-descriptors": "transport:descriptors",
        "never-introduces-itself": "hello:first",
        "exits-at-once": "hello:first",
        "closes-the-sideband": "hello:first",
        "speaks-before-its-introduction": "hello:first",
        "introduces-itself-twice": "hello:first",
    },
    "requests": {
        "counts-characters": "request:exact",
        "takes-what-is-there": "request:exact",
        "forgets-ids": "request:ids",
        "names-another-id": "request:ids",
        "echoes-another-id": "request:ids",
        "ends-twice": "request:ids",
        "repeats-the-last-end": "request:ids",
        "loses-one-in-a-hundred": "request:ids",
    },
    "marks": {
        "hides-its-marks": "request:mark",
        "marks-one-stream": "request:mark",
        "marks-stderr-only": "request:mark",
        "marks-too-late": "request:mark",
        "prints-behind-its-mark": "request:mark",
    },
    "robustness": {
        "dies-of-an-unknown-message": "line:unknown",
        "dies-of-an-unknown-member": "line:unknown",
        "dies-of-no-json": "line:robust",
        "dies-of-no-object": "line:robust",
        "dies-of-bytes-that-are-no-text": "line:robust",
        "dies-of-a-wrong-member": "line:robust",
        "dies-of-a-long-line": "line:robust",
    },
    "large-request": {"small-requests-only": "request:large"},
    "code": {
        "a-blank-line-ends-a-block": "cell:whole",
        "runs-what-it-can-read": "cell:whole",
        "shows-no-values": "cell:value",
    },
    "errors": {
        "hides-its-errors": "cell:error",
        "says-nothing-of-errors": "cell:error",
        "dies-of-an-error": "cell:error",
    },
    "state": {"forgets": "cell:state"},
    "help": {"pages-its-help": "cell:help"},
    "place": {"runs-elsewhere": "cell:place"},
    "reading": {
        "asks-without-a-word": "input:asked",
        "reports-no-lines": "input:asked",
        "runs-its-input": "input:given",
        "runs-late-input": "input:given",
        "one-way-to-read": "input:readers",
        "keeps-what-is-left": "input:leftover",
    },
    "children": {"shares-its-input": "input:children"},
    "hidden": {
        "leaves-the-variables": "transport:hidden",
        "leaks-to-children": "transport:hidden",
        "leaks-to-forks": "transport:hidden",
    },
    "output": {
        "one-stream-for-both": "output:raw",
        "decodes-output": "output:raw",
        "loses-output": "output:raw",
        "marks-no-order": "output:marked",
        "marks-the-order-on-one-stream": "output:marked",
    },
    "pictures": {
        "never-draws": "image:sent",
        "sends-all-pictures-again": "image:sent",
        "marks-no-pictures": "image:sent",
        "marks-pictures-from-0": "image:sent",
        "says-marks-that-it-does-not-write": "image:sent",
        "one-id-for-all": "image:id",
        "another-id-when-it-changes": "image:id",
        "always-new": "image:id",
        "draws-in-the-background": "image:background",
    },
    "interrupt": {
        "ignores-interrupts": "interrupt:delivered",
        "dies-of-an-interrupt": "interrupt:delivered",
        "loses-its-memory": "interrupt:delivered",
        "never-answers-interrupts": "interrupt:answered",
        "says-idle-always": "interrupt:answered",
        "says-delivered-always": "interrupt:answered",
        "interrupts-another-request": "interrupt:answered",
        "keeps-input-of-interrupted-code": "interrupt:discarded",
    },
    "idle-interrupt": {
        "dies-of-an-idle-interrupt": "interrupt:idle",
        "forgets-at-an-idle-interrupt": "interrupt:idle",
    },
    "session-end": {"ignores-session-end": "end:asked", "ends-only-when-idle": "end:asked"},
    "host-gone": {"ignores-the-end-of-the-sideband": "end:eof"},
    "exit": {
        "leaves-without-a-word": "end:announced",
        "says-another-status": "end:announced",
        "exits-with-another-status": "end:announced",
        "speaks-after-its-end": "end:announced",
    },
    "lines": {
        "writes-no-json": "line:json",
        "writes-an-array": "line:json",
        "writes-no-type": "line:json",
        "writes-no-utf-8": "line:json",
        "writes-wrong-members": "line:json",
        "base64-that-is-none": "line:json",
        "writes-a-long-line": "line:limit",
    },
}
AXES = {fault: f"sideband:{axis}" for axis, faults in BY_AXIS.items() for fault in faults}
# Each fault that breaks a clause for workers, with that clause.
FAULTS = {fault: f"sideband:{clause}" for faults in BY_AXIS.values() for fault, clause in faults.items()}
# Faults that show by a process that stays or is silent: give these short time limits.
SLOW = (
    "starts-without-descriptors",
    "never-introduces-itself",
    "counts-characters",
    "loses-one-in-a-hundred",
    "small-requests-only",
    "asks-without-a-word",
    "shares-its-input",
    "ignores-interrupts",
    "never-answers-interrupts",
    "ignores-session-end",
    "ends-only-when-idle",
    "ignores-the-end-of-the-sideband",
)
