from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keyfold.cli._demo import run_demo
from keyfold.connect import open_executor


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the data sets of the four designs, after their patterns have run."""
    file = tmp_path_factory.mktemp("imports") / "demo.db"
    run_demo(str(file), now=datetime(2026, 7, 1, tzinfo=UTC))
    return file


@pytest.fixture
def database(demo: Path) -> Iterator[Any]:
    with open_executor(str(demo), keeps_expired=True) as executor:
        yield executor
