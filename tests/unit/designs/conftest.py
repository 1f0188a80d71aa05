"""Designs on every road to a database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import roads
from tests.unit.designs import laggards


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test of a design on every road."""
    roads.parametrize(metafunc)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what an engine of others cannot be told: to lag."""
    if config.getoption("--engine") is None:
        return
    left = [item for item in items if _has(item, laggards.LAGGING)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


def _has(item: pytest.Item, value: object) -> bool:
    callspec = getattr(item, "callspec", None)
    return callspec is not None and any(each is value for each in callspec.params.values())


@pytest.fixture(autouse=True)
def road(request: pytest.FixtureRequest) -> Iterator[None]:
    """How the database is reached."""
    token = laggards.road.set(roads.find_road(request))
    yield
    laggards.road.reset(token)
