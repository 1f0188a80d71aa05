from __future__ import annotations

from collections.abc import Iterator

import pytest

from keyfold.engine import Engine
from tests.unit.wire.server.http import Wire, make_table


@pytest.fixture
def wire() -> Iterator[Wire]:
    """Yield connections to an in-memory engine that has one table."""
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        make_table(engine)
        wire = Wire(engine)
        yield wire
        wire.close()
