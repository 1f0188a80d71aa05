"""Agents' and frameworks' stores run unchanged, on a server and in process.

`programs/` has a program for each store, with the framework's released package, which pytest runs in
an environment of their own: what they require conflicts with ours.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keyfold.engine import Engine
from tests.clients.environments import Unavailable, make_python

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
PROGRAMS = [
    FOLDER / "programs" / f"{name}.py"
    for name in (
        "guide",
        "langchain_vectors",
        "langgraph_checkpoints",
        "langgraph_memory",
        "strands_sessions",
    )
]
_TIMEOUT_SECONDS = 300

pytestmark = pytest.mark.frameworks


@pytest.fixture(scope="session")
def python() -> str:
    try:
        return make_python("frameworks", FOLDER / "requirements.txt")
    except Unavailable as reason:
        # Only where the package registry cannot be reached.
        pytest.skip(str(reason))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_store_runs_in_process(program: Path, python: str, tmp_path: Path) -> None:
    run_program(python, program, home=tmp_path)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_store_runs_on_a_server_that_is_restarted(
    program: Path, python: str, tmp_path: Path
) -> None:
    file = tmp_path / "agents.db"
    with serve(file) as url:
        run_program(python, program, "-k", "not after_restart", home=tmp_path, url=url)
    with serve(file) as url:
        run_program(python, program, "-k", "after_restart", home=tmp_path, url=url)
    with Engine.open(file) as engine:
        assert engine.verify() == []


@contextmanager
def serve(file: Path) -> Generator[str]:
    """Serve a file on a free port, in a process of its own, and yield the URL."""
    command = [sys.executable, "-m", "keyfold", "serve", str(file), "--port", "0", "--json"]
    with (
        (file.parent / "errors").open("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
        errors.seek(0)
        assert (process.returncode, errors.read()) == (0, "")


def run_program(
    python: str, program: Path, *arguments: str, home: Path, url: str | None = None
) -> None:
    """Run a program's tests; all of them must pass."""
    # Neither our configuration nor our plugins: the programs are users'.
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull]
    options += [f"--rootdir={program.parent}", f"--confcutdir={program.parent}"]
    finished = subprocess.run(
        [python, "-m", "pytest", *options, str(program), *arguments],
        env=make_variables(home, url),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
        cwd=home,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert re.search(r"^\d+ passed", finished.stdout, re.MULTILINE)
    assert "skipped" not in finished.stdout


def make_variables(home: Path, url: str | None) -> dict[str, str]:
    """Return the environment of a user who has neither AWS nor settings, but perhaps a server."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "PYTHON", "LANG")) and "proxy" not in name.lower()
    }
    variables = kept | {
        "HOME": str(home),
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONUTF8": "1",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    return variables if url is None else variables | {"AWS_ENDPOINT_URL_DYNAMODB": url}
