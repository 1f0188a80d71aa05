"""`pytest --engine NAME`: tests that take a road run on somebody else's engine, and no others do.

The engine is started with the first test that needs it, by each process that runs tests, and
stopped with the last. `make test-NAME` installs it first.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.endpoints.engines import ENGINES, ForeignEngine
from tests.endpoints.known import Known
from tests.endpoints.namespaces import is_alone
from tests.endpoints.processes import running


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the engine's name."""
    text = "run the tests of stores and designs on somebody else's engine"
    parser.getgroup("endpoints").addoption("--engine", choices=sorted(ENGINES), help=text)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what the tests run on."""
    engine = _find_engine(config)
    return None if engine is None else f"engine: {engine.title}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what does not run on the engine, and expect what is known to fail there."""
    engine = _find_engine(config)
    if engine is None:
        return
    left = [item for item in items if not _is_abroad(item)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if _is_abroad(item)]
    known = Known.load(engine.name)
    # Of a file of which tests were named, not all are there.
    if not any("::" in argument for argument in config.args):
        unused = known.find_unused(item.nodeid for item in items)
        if unused:
            listed = "\n".join(unused)
            raise pytest.UsageError(f"{engine.name}.json lists tests that are not there:\n{listed}")
    # What is listed is the engine's own fault, with its reason. It still has to fail: strict makes an
    # error of one that passes, so that the list stays true.
    for item in items:
        reason = known.find_reason(item.nodeid)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=f"{engine.title}: {reason}", strict=True))


@pytest.fixture(scope="session")
def foreign_url(pytestconfig: pytest.Config) -> Iterator[str]:
    """Where the engine listens."""
    engine = _find_engine(pytestconfig)
    assert engine is not None  # or no test would ask
    if not (engine.is_confined or is_alone()):
        message = f"{engine.title} listens on every address: run `make test-{engine.name}`"
        raise pytest.UsageError(message)
    with running(engine.title, engine.install()) as url:
        yield url


def _find_engine(config: pytest.Config) -> ForeignEngine | None:
    name = config.getoption("--engine")
    return None if name is None else ENGINES[name]


def _is_abroad(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and (
        hasattr(item, "callspec") and item.callspec.params.get("transport") == "foreign"
    )
