"""Fixtures of storages and connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine.storage import Durability, Storage
from keyfold.engine.storage.connections import SqliteConnection, open_connection
from keyfold.errors import EngineClosed
from tests.unit.engine.storage.storages import STORAGES


@pytest.fixture(params=STORAGES)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    """Return an empty storage of each kind, and check its structure at the end."""
    opened = STORAGES[request.param](tmp_path)
    yield opened
    with suppress(EngineClosed):
        assert opened.read(lambda reader: reader.check_structure()) == []
    opened.close()


@pytest.fixture
def opening() -> Iterator[Callable[..., SqliteConnection]]:
    """Return a function that opens connections, which are closed at the end."""
    opened: list[SqliteConnection] = []

    def open_one(path: str, durability: Durability = "durable", **more: Any) -> SqliteConnection:
        opened.append(open_connection(path, durability, busy_seconds=5.0, **more))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close(True)
