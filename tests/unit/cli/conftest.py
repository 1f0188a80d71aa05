"""Fixtures of the command line tests: running a command, and the database it uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from keyfold.cli import main
from keyfold.engine import Engine
from keyfold.testing import Clock, Service
from keyfold.wire.server import Server
from tests.lagging import open_lagging_core
from tests.transports import Transport, find_transport, parametrize
from tests.unit.cli.program import Outcome, Run


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that take a transport on every transport that has a URL."""
    parametrize(metafunc, by=("client",))


@pytest.fixture
def transport(request: pytest.FixtureRequest) -> Transport:
    """Return the transport of the test."""
    return find_transport(request)


@pytest.fixture
def url(transport: Transport, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of a database without the designs' tables."""
    if transport.kind == "foreign":
        yield transport.url
        return
    if transport.kind == "lagging":
        with (
            closing(open_lagging_core(Clock())) as core,
            Server(Service(core)).running() as url,
        ):
            yield url
        return
    path = tmp_path / "database.db"
    if transport.kind == "embedded":
        yield str(path)
        return
    with Engine.open(path, upkeep_seconds=None) as engine, Server(engine).running() as url:
        yield url


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `keyfold` in this process."""

    def run(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as exited:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Outcome(exited.value.code, printed.out, printed.err)

    return run
