"""Designs on every road to a database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import transports
from tests.unit.designs import stale_databases


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test of a design on every road."""
    transports.parametrize(metafunc)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what an engine of others cannot be told: to lag."""
    if config.getoption("--engine") is None:
        return
    left = [item for item in items if _has(item, stale_databases.LAGGING)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


def _has(item: pytest.Item, value: object) -> bool:
    callspec = getattr(item, "callspec", None)
    return callspec is not None and any(each is value for each in callspec.params.values())


@pytest.fixture(autouse=True)
def transport(request: pytest.FixtureRequest) -> Iterator[None]:
    """How the database is reached."""
    token = stale_databases.transport.set(transports.find_transport(request))
    yield
    stale_databases.transport.reset(token)
