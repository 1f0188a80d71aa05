"""Designs on every road to a database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import roads
from tests.unit.designs import laggards


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test of a design on every road."""
    roads.parametrize(metafunc, "road")


@pytest.fixture(autouse=True)
def road(request: pytest.FixtureRequest) -> Iterator[None]:
    """How the database is reached."""
    token = laggards.road.set(request.param)
    yield
    laggards.road.reset(token)
