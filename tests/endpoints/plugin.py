"""`pytest --engine NAME`: run only the tests that take a transport, on another engine.

Each process that runs tests starts the engine for the first test that needs it, and stops it after
the last. `make test-NAME` installs it first.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.endpoints.engines import ENGINES, ForeignEngine
from tests.endpoints.known_differences import KnownDifferences
from tests.endpoints.namespaces import is_isolated
from tests.endpoints.processes import running


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the `--engine` option."""
    text = "run the tests of stores and designs on another engine"
    parser.getgroup("endpoints").addoption("--engine", choices=sorted(ENGINES), help=text)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Report which engine the tests run on."""
    engine = _find_engine(config)
    return None if engine is None else f"engine: {engine.title}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that do not run on the engine, and mark known differences as xfail."""
    engine = _find_engine(config)
    if engine is None:
        return
    left = [item for item in items if not _uses_foreign_engine(item)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if _uses_foreign_engine(item)]
    known = KnownDifferences.load(engine.name)
    # If single tests were named, the others in their files are not collected.
    if not any("::" in argument for argument in config.args):
        unused = known.find_unused(item.nodeid for item in items)
        if unused:
            listed = "\n".join(unused)
            raise pytest.UsageError(f"{engine.name}.json lists tests that do not exist:\n{listed}")
    # Listed tests fail because of the engine, for the given reason. They still have to fail:
    # strict turns one that passes into an error, so that the list stays true.
    for item in items:
        reason = known.find_reason(item.nodeid)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=f"{engine.title}: {reason}", strict=True))


@pytest.fixture(scope="session")
def foreign_url(pytestconfig: pytest.Config) -> Iterator[str]:
    """Start the engine and yield its URL."""
    engine = _find_engine(pytestconfig)
    assert engine is not None  # only tests with an engine use this fixture
    if not (engine.is_confined or is_isolated()):
        message = f"{engine.title} listens on every address: run `make test-{engine.name}`"
        raise pytest.UsageError(message)
    with running(engine.title, engine.install()) as url:
        yield url


def _find_engine(config: pytest.Config) -> ForeignEngine | None:
    name = config.getoption("--engine")
    return None if name is None else ENGINES[name]


def _uses_foreign_engine(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and (
        hasattr(item, "callspec") and item.callspec.params.get("transport") == "foreign"
    )
