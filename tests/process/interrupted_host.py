"""A host that is interrupted at random moments of its work, again and again, and then counts what it has left.

    python interrupted_host.py KIND TIMES BUNDLED DIRECTORY

It prints how many descriptors and children it has more than before, and how often it was interrupted.
"""

import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

from plughost import blocking

KIND, TIMES, BUNDLED, HERE = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> int:
    tasks = Path("/proc/self/task").glob("*/children")
    return sum(len(task.read_text().split()) for task in tasks)


def execute(host: blocking.Host) -> None:
    plugin = host.add(BUNDLED / "execute/greeter")
    try:
        plugin.call("greet", {"name": "x"})
    finally:
        plugin.close()


def hook(host: blocking.Host) -> None:
    host.generate([BUNDLED / "hook/woodpecker"], BUNDLED / "hook/cigen.yml")


def envelope(host: blocking.Host) -> None:
    host.run_pass(HERE, [BUNDLED / "envelope/header-stamper"])


def interrupt(delay: float) -> None:
    time.sleep(delay)  # the moment is the point
    os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    work = {"execute": execute, "hook": hook, "envelope": envelope}[KIND]
    chance = random.Random(KIND)
    interrupted = 0
    with blocking.Host() as host:
        work(host)  # what it has to import takes longer than all the rest
        began = time.monotonic()
        work(host)
        usual = time.monotonic() - began
        before = descriptors(), children()
        for _ in range(TIMES):
            thread = threading.Thread(target=interrupt, args=(chance.uniform(0, usual),))
            try:
                thread.start()
                work(host)
                thread.join()
            except KeyboardInterrupt:
                interrupted += 1
            thread.join()
        left = descriptors() - before[0], children() - before[1], interrupted > 0
        sys.stdout.write(f"{left}\n")


main()
