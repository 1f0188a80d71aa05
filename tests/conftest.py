"""What every test may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from keyfold.engine import Engine

pytest_plugins = ["tests.endpoints.plugin"]

# A loaded machine is no failure, so no example has a deadline.
settings.register_profile("default", deadline=None, max_examples=50)
settings.register_profile(
    "long", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")


@pytest.fixture(params=["memory", "file"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An open engine, in memory and on a file; what the test leaves in it is verified."""
    path = ":memory:" if request.param == "memory" else tmp_path / "engine.db"
    with Engine.open(path) as engine:
        yield engine
        assert engine.verify() == []
