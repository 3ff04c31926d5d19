"""Bindings on disk."""

import pytest

PLUGIN = """
[plugin]
name = "{name}"
contract = "execute"
command = ["python", "plugin.py"]
"""


@pytest.fixture
def put_plugin(tmp_path):
    """Return a function that writes a binding into a directory of its own, and returns the directory."""

    def put(where, name=None, text=None):
        directory = tmp_path / where
        directory.mkdir(parents=True)
        (directory / "plugin.toml").write_text(
            PLUGIN.format(name=name or directory.name) if text is None else text
        )
        return directory

    return put
