"""A cell for a session: a damped swing as a picture, by matplotlib where it is installed, else pixel by pixel."""

import math
import struct
import sys
import zlib

WIDTH, HEIGHT, MARGIN = 640, 360, 16  # pixels

times = [step / 100 for step in range(1_001)]
swing = [math.exp(-time / 4) * math.cos(2 * math.pi * time) for time in times]


class Drawing:
    """A curve, for whoever can show a PNG."""

    def __init__(self, values):
        self.values = values

    def __repr__(self):
        return f"<a drawing of {WIDTH}x{HEIGHT}>"

    def _repr_png_(self):
        rows = [bytearray(b"\xff" * WIDTH) for _ in range(HEIGHT)]
        rows[HEIGHT // 2][:] = b"\xc0" * WIDTH
        before = None
        for column in range(MARGIN, WIDTH - MARGIN):
            at = (column - MARGIN) * (len(self.values) - 1) // (WIDTH - 2 * MARGIN)
            row = round(HEIGHT / 2 - self.values[at] * (HEIGHT / 2 - MARGIN))
            for each in range(min(row, before or row), max(row, before or row) + 1):
                rows[each][column] = 0
            before = row
        pixels = zlib.compress(b"".join(b"\0" + row for row in rows))  # 0: a row as it is
        header = struct.pack(">2I5B", WIDTH, HEIGHT, 8, 0, 0, 0, 0)  # 8 bits of grey
        chunks = ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
            for name, data in chunks
        )


sys.stdout.write(f"{len(swing)} values, from {min(swing):.2f} to {max(swing):.2f}\n")
try:
    from matplotlib import pyplot
except ImportError:
    drawing = Drawing(swing)
else:
    drawing = None
    figure, axes = pyplot.subplots(figsize=(6.4, 3.6))
    axes.plot(times, swing)
    axes.set(title="A damped swing", xlabel="seconds")
    axes.grid(visible=True)
    pyplot.show()
drawing  # noqa: B018  - the value of a cell's last line is shown
