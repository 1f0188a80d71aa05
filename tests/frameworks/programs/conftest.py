"""Where the programs' DynamoDB is: at the URL in the environment, or in their own process."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from keyfold.testing import Service, dynamodb

SERVED = "AWS_ENDPOINT_URL_DYNAMODB" in os.environ


@pytest.fixture(scope="session", autouse=True)
def service() -> Iterator[Service | None]:
    """Redirect every client of this process to one engine, unless a server is given."""
    if SERVED:
        yield None
        return
    with dynamodb() as service:
        yield service
