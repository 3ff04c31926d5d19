"""Runs a plugin's file, or becomes its program, under limits that are set first. Started by path, never imported.

    python -I loader.py LIMITS run  FILE [ARGS…]     run the Python file in this process
    python -I loader.py LIMITS own  FILE [ARGS…]     the same, of a file that we bring along
    python -I loader.py LIMITS exec PROGRAM [ARGS…]  become the program

It imports nothing that costs time. A plugin's file is compiled as it is now, as Python does with a program; of our own
what Python keeps compiled counts, as with an import. Under -I neither the working directory nor the environment can add
to the import path; the plugin's own directory is added behind the standard library, so that nothing in it can stand in
for a module of the library, by accident or on purpose.
"""

import os
import sys

CANNOT_LIMIT = 125  # exit status: a limit could not be set
CANNOT_EXECUTE = 126  # exit status: the program could not be started


def main() -> None:
    limits, mode, target, *arguments = sys.argv[1:]
    if limits != "-":
        _set(limits)
    if mode == "exec":
        _become(target, [target, *arguments])
    sys.argv = [target, *arguments]
    _add_path(os.path.dirname(os.path.abspath(target)))
    code = _kept(target) if mode == "own" else None
    if code is None:
        with open(target, "rb") as file:
            code = _code_of(file.read(), target)
    sys.excepthook = _without_us(sys.excepthook, main.__code__.co_filename)
    main_module = sys.modules["__main__"]
    main_module.__dict__.update(__file__=target, __cached__=None, __doc__=None)
    for name in (
        "main",
        "_set",
        "_become",
        "_add_path",
        "_code_of",
        "_kept",
        "_named",
        "_without_us",
        "CANNOT_LIMIT",
        "CANNOT_EXECUTE",
        "os",
        "sys",
    ):
        main_module.__dict__.pop(name, None)
    exec(code, main_module.__dict__)  # noqa: S102  running the plugin's file is what this is for


def _kept(path: str):  # type: ignore[no-untyped-def]
    """Return the code that Python keeps of *path*, if there is any and it is of the file as it is now.

    What is checked, is told in `plughost_sdk.envelope_worker`. For a plugin it would not do: one that was changed
    within a second, or whose files all have the same time, would be run as it was.
    """
    from _frozen_importlib_external import MAGIC_NUMBER
    from _imp import _fix_co_filename  # type: ignore[attr-defined]
    from marshal import loads

    directory, name = os.path.split(path)
    compiled = f"{name.removesuffix('.py')}.{sys.implementation.cache_tag}.pyc"
    try:
        with open(os.path.join(directory, "__pycache__", compiled), "rb", 0) as file:
            data = file.read()
        now = os.stat(path)
        numbers = [(each & 0xFFFFFFFF).to_bytes(4, "little") for each in (int(now.st_mtime), now.st_size)]
        if data[:16] != b"".join((MAGIC_NUMBER, bytes(4), *numbers)):
            return None
        code = loads(data[16:])  # noqa: S302  as Python does, from the same file
        _fix_co_filename(code, path)
    except (OSError, ValueError, TypeError, EOFError):
        return None
    return code


def _code_of(source: bytes, path: str):  # type: ignore[no-untyped-def]  # a type would cost an import
    """Return what `compile` returns, two milliseconds sooner. How, is told in `plughost_sdk.envelope_source`."""
    import _warnings

    found = []

    def stop(frame, event, _argument) -> None:  # type: ignore[no-untyped-def]
        if event == "call" and frame.f_code.co_filename == "<string>":
            found.append(frame.f_code)
            raise InterruptedError

    strict = ("error", None, Warning, None, 0)
    tracer = sys.gettrace()
    filters = sys.modules.get("warnings", _warnings).filters
    filters.insert(0, strict)
    sys.settrace(stop)
    try:
        exec(source, {})  # noqa: S102  it is stopped before it does anything
    except Exception:  # noqa: S110  ours, or one that `compile` will raise again
        pass
    finally:
        sys.settrace(tracer)
        filters.remove(strict)
    return _named(found[0], path) if found else compile(source, path, "exec")


def _named(code, path: str):  # type: ignore[no-untyped-def]
    constants = tuple(_named(each, path) if isinstance(each, type(code)) else each for each in code.co_consts)
    return code.replace(co_filename=path, co_consts=constants)


def _without_us(hook, ours: str):  # type: ignore[no-untyped-def]  # a type would cost an import
    """Return *hook* for tracebacks that begin with the plugin's own first frame."""

    def show(kind, error, trace) -> None:  # type: ignore[no-untyped-def]
        while trace is not None and trace.tb_frame.f_code.co_filename == ours:
            trace = trace.tb_next
        hook(kind, error.with_traceback(trace), trace)

    return show


def _set(limits: str) -> None:
    import resource

    for pair in limits.split(","):
        name, _, value = pair.partition("=")
        soft = int(value)
        try:
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (soft, soft + (name == "CPU")))
        except (OSError, ValueError) as error:
            os.write(2, f"plughost: cannot set the limit {name} to {value}: {error}\n".encode())
            os._exit(CANNOT_LIMIT)


def _become(program: str, words: list[str]) -> None:
    try:
        os.execv(program, words)
    except OSError as error:
        os.write(2, f"plughost: cannot start {program}: {error.strerror}\n".encode())
        os._exit(CANNOT_EXECUTE)


def _add_path(directory: str) -> None:
    for at, entry in enumerate(sys.path):
        if entry.endswith(("site-packages", "dist-packages")):
            sys.path.insert(at, directory)
            return
    sys.path.append(directory)


if __name__ == "__main__":
    main()
