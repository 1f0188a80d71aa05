"""A plugin of pytest for runs of mutants."""

from __future__ import annotations

import tomllib
from functools import cache

import pytest
from _pytest.nodes import Node
from hypothesis import HealthCheck, Phase, settings

from tests.mutants.watchdog import Watchdog

# A mutant is killed by the first example that fails: making it smaller would take most of the time.
settings.register_profile(
    "mutants",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=25,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)

# mutmut 3.8 reads an attribute of tests that pytest 9.2 has renamed.
if not hasattr(Node, "_nodeid"):
    Node._nodeid = property(lambda node: node.nodeid)  # pyright: ignore - the point of this line


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the files in the order in which a group lists them, and tests in memory before others.

    The first test that fails decides, and mutmut names the tests in random order.
    """
    project = tomllib.loads((config.rootpath / "pyproject.toml").read_text("utf-8"))
    chosen: list[str] = project["tool"]["mutmut"]["pytest_add_cli_args_test_selection"]

    def cost(item: pytest.Item) -> tuple[int, bool]:
        place = next(place for place, each in enumerate(chosen) if item.nodeid.startswith(each))
        return place, "memory" not in item.name

    items.sort(key=cost)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Watch the time, and forget statements that an earlier test has made.

    mutmut runs the tests that reach a function, and those that find its result cached do not.
    """
    # Not before the first test: mutmut forks after the tests are collected.
    _start_watchdog().begin()
    # Not at the top: the mutant is not on the path when this module is imported.
    from keyfold.engine.storage import RowSet
    from keyfold.engine.storage.log_statements import log_statements

    log_statements.cache_clear()
    for value in vars(getattr(item, "module", None)).values():
        if isinstance(value, RowSet):
            object.__setattr__(value, "prepared", None)


@cache
def _start_watchdog() -> Watchdog:
    return Watchdog()
