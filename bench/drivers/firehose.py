"""The writing end of a pipe: for each number on stdin, writes that one of the messages in three framings.

python -m bench.drivers.firehose BYTES
"""

from __future__ import annotations

import os
import sys

from .streams import CODECS, LIMIT, text_message


def main() -> None:
    message = text_message(int(sys.argv[1]))
    framed = [encode(message, LIMIT) for encode, _ in CODECS.values()]
    while wish := os.read(0, 1):
        rest = memoryview(framed[int(wish)])
        while rest:
            rest = rest[os.write(1, rest) :]


if __name__ == "__main__":
    main()
