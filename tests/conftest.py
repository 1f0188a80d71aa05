"""What every test may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from keyfold.engine import Engine

pytest_plugins = ["tests.endpoints.plugin"]

# A loaded machine is no failure, so no example has a deadline, nor has the making of one.
_AT_LEISURE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default", _AT_LEISURE, max_examples=50)
settings.register_profile("long", _AT_LEISURE, max_examples=2_000)
settings.load_profile("default")


@pytest.fixture(params=["memory", "file"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An open engine, in memory and on a file; what the test leaves in it is verified."""
    path = ":memory:" if request.param == "memory" else tmp_path / "engine.db"
    # What goes on in the background would make answers depend on when it does.
    with Engine.open(path, upkeep_seconds=None) as engine:
        yield engine
        assert engine.verify() == []
