"""How the tests of the command line run it, and on what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from keyfold.cli import main
from keyfold.engine import Engine
from keyfold.wire.server import Server
from tests.transports import Transport, find_transport, parametrize
from tests.unit.cli.program import Outcome, Run


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what takes a road on every one that a URL leads to."""
    parametrize(metafunc, by=("client",))


@pytest.fixture
def transport(request: pytest.FixtureRequest) -> Transport:
    """How the database is reached."""
    return find_transport(request)


@pytest.fixture
def url(transport: Transport, tmp_path: Path) -> Iterator[str]:
    """Where a database is that has none of the designs' tables."""
    if transport.kind == "foreign":
        yield transport.url
        return
    path = tmp_path / "database.db"
    if transport.kind == "embedded":
        yield str(path)
        return
    with Engine.open(path, upkeep_seconds=None) as engine, Server(engine).running() as url:
        yield url


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `keyfold` in this process."""

    def run(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as exited:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Outcome(exited.value.code, printed.out, printed.err)

    return run
