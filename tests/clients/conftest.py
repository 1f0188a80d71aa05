"""The server that all clients use. It verifies their signatures."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

# The access key of all clients.
ACCESS_KEY, SECRET, TOKEN = "AKIDCLIENTS", "a/secret+of=40", "a/session+token=="

_KEYS = f"""
[keys.{ACCESS_KEY}]
secret = "{SECRET}"
token = "{TOKEN}"
name = "clients"
admin = true
"""


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a server in a separate process and yield its URL; it must exit without errors."""
    folder = tmp_path_factory.mktemp("server")
    errors, keys = folder / "errors", folder / "keys.toml"
    keys.touch(0o600)
    keys.write_text(_KEYS, "utf-8")
    command = [sys.executable, "-m", "keyfold", "serve", "--memory", "--port", "0", "--json"]
    command += ["--auth", str(keys)]
    with (
        errors.open("w") as stderr,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            assert line, errors.read_text()
            yield json.loads(line)["url"]
        finally:
            process.terminate()
            process.wait()
    assert (process.returncode, errors.read_text()) == (0, "")
