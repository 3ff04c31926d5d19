"""One `hook` plugin with many faults, chosen by its first argument: `hook.FAULTS` lists them. Raw bytes, no SDK."""

import os
import struct
import sys
import time

from hook_bytes import block, exactly, fields, frame, number, text, write

NAME = "provider/canary"
CAPABILITY = "provider:canary"
PHASES = ("detect", "plan", "generate", "validate", "preflight")
SCHEMA_FIELD = {"plan": 3, "generate": 4, "validate": 2}
LIMIT = 10_485_760
KNOWN = 100  # no field of this contract has a higher number
FOREVER_S = 60  # as far as anyone can tell: more than any deadline


def main(fault):
    if fault == "exits-at-once":
        return 3
    if fault == "prints-first":
        write(b"Starting up...\n")
    if fault == "prints-a-blank-line":
        write(b"\n")
    hello = read_frame(fault)
    if hello is None:
        if fault == "prints-without-a-greeting":
            write(b"Nobody there?\n")
        linger(fault == "deaf-at-first")
        return 1
    if fault == "silent":
        linger(True)
    status = check_version(fault, hello)
    if status is not None:
        return status
    introduce(fault)
    return serve(fault, chosen_round(fault))


def check_version(fault, hello):
    """Return the exit status for a greeting of another version, or None to go on."""
    try:
        greeting = fields(hello)
    except ValueError:
        if fault != "guesses-the-greeting":
            return fail("the greeting cannot be read")
        greeting = {1: [1]}
    if fault == "refuses-unknown-fields" and max(greeting) > KNOWN:
        return fail("a strange greeting")
    version = greeting.get(1, [0])[0]
    if version == 1 or fault == "takes-any-version" or (fault == "takes-older-versions" and version < 1):
        return None
    if fault == "mismatch-in-other-words":
        return fail("I do not know this")
    if fault != "mismatch-without-a-word":
        fail("Error: Protocol version mismatch: core=%d, plugin=1" % version)
    linger(fault == "mismatch-lingers")
    return 0 if fault == "mismatch-is-success" else 1


def introduce(fault):
    name = {"no-name": b"", "other-name": b"provider/sparrow"}.get(fault, NAME.encode())
    version = b"1.0.%d" % os.getpid() if fault == "moody" else b"1.0.0"
    declared = {"odd-phase": b"plan,deploy", "empty-phases": b""}.get(fault, ",".join(PHASES).encode())
    body = block(1, name) + block(2, version)
    if fault != "no-version":
        body += number(3, 2 if fault == "wrong-version" else 1)
    for capability in capabilities(fault):
        body += block(4, capability.encode())
    if fault != "declares-nothing":
        body += block(7, block(1, b"plughost.phases") + block(2, declared))
    if fault == "moody-metadata":
        body += block(7, block(1, b"started") + block(2, b"%d" % time.time_ns()))
    if fault == "introduces-itself-in-json":
        body = b'{"name": "provider/canary"}'
    if fault == "huge-introduction":
        write((LIMIT + 1).to_bytes(4, "big") + body)
        sys.exit(1)
    if fault == "closes-its-output":
        os.close(1)
        return
    if fault == "half-an-introduction":
        write(frame(body)[:-5])
        linger(True)
    after = {"chatty": frame(b""), "says-that-it-is-ready": b"ready\n"}.get(fault, b"")
    write(frame(body) + after)


def capabilities(fault):
    if fault == "undeclared":
        return []
    if fault == "padded-capability":
        return [CAPABILITY + " "]
    return [CAPABILITY, *{"twice-the-same-capability": [CAPABILITY], "greedy": ["root:all"]}.get(fault, [])]


def chosen_round(fault):
    chosen = os.environ.get("PLUGHOST_HOOK_ROUND", "")
    if chosen == "" or fault == "declares-nothing":
        return list(PHASES[:4] if fault == "always-as-declared" else PHASES[1:3])
    if chosen == "declared":
        return ["detect", "generate", "plan", "validate"] if fault == "generates-first" else list(PHASES[:4])
    if fault == "refuses-what-is-chosen":
        sys.exit(fail("a variable that nobody knows"))
    forgotten = fault == "ignores-what-is-chosen" or (fault == "forgets-preflight" and chosen == PHASES[-1])
    return list(PHASES[:4]) if forgotten else chosen.split(",")


def serve(fault, turns):
    count = 0
    while True:
        phase = turns[count % len(turns)]
        if fault == "forgets-its-place" and count >= len(turns):
            phase = turns[(count + 1) % len(turns)]
        request = read_frame(fault)
        if request is None:
            return goodbye(fault, count % len(turns))
        if fault == "small-buffer" and len(request) > 65_536:
            return fail("a request of over 65536 bytes")
        if fault == "no-answer":
            return fail("it is not worth an answer")
        if fault == "one-round-only" and count == len(turns):
            return 0
        if fault == "crashes-in-the-second-round" and count == len(turns):
            raise KeyError(phase)
        try:
            respond(fault, phase, count // len(turns), request)
        except ValueError as error:
            if fault == "unreadable-is-success":
                return 0
            if fault != "reads-on-whatever-comes":
                return fail("the request cannot be read: %s" % error)
        count += 1


def goodbye(fault, place):
    if fault == "prints-at-its-exit":
        write(b"Goodbye.\n")
    if fault == "answers-the-end":
        write(frame(b""))
    linger(fault == "lingers")
    if fault == "mid-round-is-failure" and place:
        return fail("there should be more")
    return 7 if fault == "exit-7" else 0


def respond(fault, phase, turn, request):
    """Write the answer to *request*. Raises ValueError if it cannot be read."""
    asked = fields(request)
    schema = fields(asked[SCHEMA_FIELD[phase]][0]) if asked.get(SCHEMA_FIELD.get(phase)) else None
    jobs = [fields(job) for job in (schema or {}).get(4, [])]
    if fault == "refuses-unknown-parts" and any(max(job) > KNOWN for job in jobs if job):
        sys.exit(fail("a strange job"))
    if fault == "refuses-unknown-values" and has_strange_condition(schema):
        sys.exit(fail("a strange condition"))
    if phase == "detect":
        sure = 3.0 if fault == "overconfident" else 0.5
        fact = block(2, block(1, b"canary") + block(2, b"yes"))
        body = block(1, b"sample") + fact + b"\x1d" + struct.pack("<f", sure)
    elif phase == "plan":
        body = b"".join(block(1, block(1, text(job, 1)) + number(2, 1)) for job in jobs)
    elif phase == "generate":
        body = generate(fault, turn, schema, jobs, len(request))
    else:
        body = number(1, 1) if phase == "preflight" else b""
    answer(fault, phase, body)


def answer(fault, phase, body):
    linger(fault == "hangs" and phase == "plan")
    if fault == "prints-before-an-answer" and phase == "plan":
        write(b"Planning...\n")
    if phase == "generate":
        if fault == "answers-in-json":
            body = b'{"fragments": []}'
        if fault == "answers-with-half-a-message":
            body = block(1, block(1, b"a.txt"))[:-2]
        if fault == "answers-with-another-message":
            body = number(1, 1) + block(2, b"provider/canary")
    if len(body) > LIMIT:
        if fault == "answers-too-much":
            write(frame(body))
        if fault == "dies-of-too-much":
            sys.exit(1)
        fail("the answer would be %d bytes long" % len(body))
        body = error_of(b"the answer would be too long")
    after = b""
    if phase == "plan":
        after = {"prints-after-an-answer": b"Planned.\n", "answers-twice": frame(body)}.get(fault, b"")
    write(frame(body) + after)


def generate(fault, turn, schema, jobs, size):
    if schema is None:
        if fault == "crashes-without-a-schema":
            raise KeyError("schema")
        return error_of(b"" if fault == "error-without-words" else b"there is no schema")
    if fault == "one-megabyte-only" and size > 1_048_576:
        return error_of(b"a megabyte is enough for everyone")
    made = b""
    for name in sorted({text(job, 10) or b"ci" for job in jobs}):
        safe = name.replace(b"-", b"").replace(b"_", b"").isalnum()
        if not safe and fault == "crashes-on-bad-names":
            raise KeyError(name)
        if not safe and fault != "follows-names-anywhere":
            made += error_of(b"no name for a file: " + name)
            continue
        made += fragment(fault, turn, name, jobs)
    return made


def fragment(fault, turn, name, jobs):
    path = {
        "absolute-path": b"/tmp/canary.json",
        "dotted-path": b"canary/../../canary.json",
        "backslashes": b"canary\\ci.json",
        "no-path": b"",
    }.get(fault, b"canary/%s.json" % name)
    pairs = [b'"made": "by a canary"', b'"file": "of JSON"']
    if os.getpid() % 2:  # a well-behaved one may change its mind about the order, which means nothing
        pairs.reverse()
    if fault == "signs-with-its-pid":
        pairs.append(b'"pid": %d' % os.getpid())
    if fault == "counts":
        pairs.append(b'"turn": %d' % turn)
    strategy = turn % 2 + 1 if fault == "other-strategy" else 1
    content = b"caf\xe9" if fault == "answers-in-latin-1" else b"{" + b", ".join(pairs) + b"}\n"
    made = block(1, block(1, path) + block(2, content) + number(3, strategy) + block(5, b"json"))
    commands = (
        b"".join(map(commands_of, jobs)) + b"# end of the commands, which were written by a canary\n" * 20
    )
    return made + block(
        1, block(1, b"canary/%s.sh" % name.replace(b"/", b"")) + block(2, commands) + number(3, 1)
    )


def commands_of(job):
    found = b""
    for step in job.get(5, []):
        for run in fields(step).get(1, []):
            found += text(fields(run), 2) + b"\n"
    return found


def has_strange_condition(schema):
    for workflow in (schema or {}).get(8, []):
        for condition in fields(workflow).get(3, []):
            if fields(condition).get(1, [0])[0] > 4:
                return True
    return False


def error_of(message):
    return block(2, number(1, 1) + block(2, b"CANARY") + block(4, message))


def read_frame(fault):
    """Read one frame, properly or with the fault's own idea of reading. None at the end between two frames."""
    if fault == "reads-once":
        data = os.read(0, LIMIT + 4)
        return data[4:] if len(data) >= 4 + int.from_bytes(data[:4], "big") else read_badly(data)
    header = os.read(0, 4) if fault == "reads-its-header-at-once" else exactly(4)
    if not header:
        return None
    if len(header) < 4:
        return cut_off(fault)
    size = int.from_bytes(header, "big")
    body = exactly(size)
    return body if len(body) == size else cut_off(fault)


def read_badly(data):
    return sys.exit(fail("half a frame")) if data else None


def cut_off(fault):
    return sys.exit(0 if fault == "cut-off-is-success" else fail("the input ends inside a frame"))


def fail(words):
    sys.stderr.write(words + "\n")
    return 1


def linger(stays):
    """Stay for ever if that is the fault, as far as anyone can tell."""
    if stays:
        time.sleep(FOREVER_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "well-behaved"))
