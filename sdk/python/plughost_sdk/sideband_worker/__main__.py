"""The program: makes the modules beside it importable under one name, and starts the session. Never imported.

It holds next to nothing because a program is compiled at each start. What it imports is kept compiled.
"""

if __name__ == "__main__":
    import os
    import sys

    home, name = os.path.split(os.path.dirname(os.path.abspath(__file__)))
    sys.path[0] = home
    session = __import__(f"{name}.session", fromlist=["Session"])
    if getattr(sys.flags, "safe_path", sys.flags.isolated):
        del sys.path[0]
    else:
        sys.path[0] = ""  # the user's modules come from where the user is, as in any interactive Python
    sys.argv = [""]
    session.Session().run()
