"""An application that works in a session: runs cells, keeps figures as files, answers, survives a crash.

    python analyse.py OUT [WORKER]

OUT is a directory for pictures. WORKER is the Python that runs the cells, or its virtual environment; this one
otherwise. Every reply is shown as a timeline.
"""

import sys
from pathlib import Path

import plughost

FIGURE = Path(__file__).with_name("figure.py").read_text(encoding="utf-8")
ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/svg+xml": ".svg"}


def show(reply: plughost.Reply, out: Path) -> None:
    """Print what *reply* holds, in order, and save its pictures below *out*."""
    for at, item in enumerate(reply.items):
        match item:
            case plughost.Text(stream, text):
                for line in text.splitlines():
                    print(f"  {stream}  {line}")
            case plughost.Image(_, mime_type, data):
                # Its id is the worker's word: no path is made of that.
                path = out / f"picture-{reply.request_id or 0}-{at}{ENDINGS.get(mime_type, '.bin')}"
                path.write_bytes(data)
                print(f"  image   {path}")
            case plughost.Prompt(prompt):
                print(f"  prompt  {prompt}")
            case plughost.Notice(text):
                print(f"  notice  {text}")
            case plughost.Omitted(chars):
                print(f"  omitted {chars} characters; all of them are in {reply.full_output}")
    print(f"  = {reply.state}, worker {reply.generation}{', failed' if reply.error else ''}")


def main(out: Path, worker: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with plughost.blocking.Host() as host:
        console = host.console(worker, name="analysis")

        print("> a cell, and the next one that finds what it left")
        show(console.run("data = [3, 1, 4, 1, 5, 9, 2, 6]"), out)
        show(console.run("sorted(data)[len(data) // 2]"), out)

        print("> a figure")
        show(console.run(FIGURE, timeout=300), out)

        print("> a cell that asks")
        show(console.run("factor = int(input('factor? '))\n[factor * n for n in data]"), out)
        show(console.answer("10"), out)

        print("> a cell that never ends")
        show(console.run("while True:\n    pass", timeout=0.1), out)
        print(f"  interrupt: {console.interrupt()}")
        show(console.poll(timeout=60), out)

        print("> a cell that takes the worker with it")
        show(console.run("import os\nos.abort()"), out)
        show(console.run("'data' in globals()"), out)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else sys.executable)
