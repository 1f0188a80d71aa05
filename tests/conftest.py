"""What every test may ask for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from keyfold.engine import Engine

pytest_plugins = ["tests.demo_run", "tests.endpoints.plugin", "tests.random_seeds"]

# The width of a terminal decides nothing. pytest loads readline, which sets these for child processes,
# such as the workers of a parallel run.
for _name in ("COLUMNS", "LINES"):
    os.environ.pop(_name, None)

# A busy machine is no failure, so nothing has a deadline, and examples may take long to make.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The ordinary run has the same examples each time: nobody's change fails on somebody else's bug.
settings.register_profile("default", _PATIENT, max_examples=50, derandomize=True)
# The long run has new ones, after those that failed before; `print_blob` says how to repeat one.
settings.register_profile(
    "long",
    _PATIENT,
    max_examples=2_000,
    derandomize=False,
    database=DirectoryBasedExampleDatabase(Path(__file__).parents[1] / ".hypothesis" / "examples"),
    print_blob=True,
)
settings.load_profile("default")

_folders = count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder for one test.

    pytest's own also keeps a link to the newest folder of each test, which takes milliseconds
    while another process syncs its files.
    """
    name = re.sub(r"\W+", "_", request.node.name)[:40]
    folder = tmp_path_factory.getbasetemp() / f"{name}-{next(_folders)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(params=["memory", "file"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An open engine, in memory and on a file; what the test leaves in it is verified."""
    in_memory = request.param == "memory"
    path = ":memory:" if in_memory else request.getfixturevalue("tmp_path") / "engine.db"
    # What goes on in the background would make answers depend on when it does.
    with Engine.open(path, upkeep_seconds=None) as engine:
        yield engine
        assert engine.verify() == []
