"""What the examples of the pages must leave as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from keyfold.designs import letsgo


@pytest.fixture(autouse=True)
def letsgo_as_it_was() -> Iterator[None]:
    """Take away the categories that an example has declared: the table is every test's."""
    table = letsgo.table
    before = dict(table.entities)
    yield
    table.entities.clear()
    table.entities.update(before)
