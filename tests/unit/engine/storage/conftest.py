"""The fixture of tests that every storage has to pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from keyfold.engine.storage import Storage
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
