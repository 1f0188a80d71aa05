"""Run the tests of designs on every transport."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import transports
from tests.unit.designs import stale_databases


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test of a design on every transport."""
    transports.parametrize(metafunc)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests with stale reads on other engines, which cannot be told to return them.

    Where indexes lag, too: stale reads include late indexes.
    """
    is_foreign = config.getoption("--engine") is not None
    deselected = [
        item
        for item in items
        if _has(item, stale_databases.STALE_READS) and (is_foreign or _has_lag(item))
    ]
    config.hook.pytest_deselected(items=deselected)
    items[:] = [item for item in items if item not in deselected]


def _has(item: pytest.Item, value: object) -> bool:
    callspec = getattr(item, "callspec", None)
    return callspec is not None and any(each is value for each in callspec.params.values())


def _has_lag(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return callspec is not None and callspec.params.get("transport") == "lagging"


@pytest.fixture(autouse=True)
def transport(request: pytest.FixtureRequest) -> Iterator[None]:
    """How the database is reached."""
    token = stale_databases.transport.set(transports.find_transport(request))
    yield
    stale_databases.transport.reset(token)
