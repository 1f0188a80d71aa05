"""The server that all clients talk to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a server listens, in a process of its own; it must end well, and without a word."""
    errors = tmp_path_factory.mktemp("server") / "errors"
    command = [sys.executable, "-m", "keyfold", "serve", "--memory", "--port", "0", "--json"]
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
