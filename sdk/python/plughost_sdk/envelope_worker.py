"""The program that a host starts to run a plugin's package. Started by path or with -m, never imported.

    python -I envelope_worker.py [PACKAGE_DIR] [--mode validate] [--ahead]

It holds next to nothing because a program is compiled at each start. What it imports is kept compiled.
"""

if __name__ == "__main__":
    import sys

    from plughost_sdk.envelope_command import run_command

    run_command(sys.argv[1:])
