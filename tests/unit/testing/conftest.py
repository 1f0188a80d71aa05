"""What tests of the in-process service share: no network, and nothing of the machine's settings."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.testing import Clock, Service, dynamodb
from tests.unit.testing.tables import CREATE


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No keys, no region, no profile, and a home without files."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    # boto3 keeps a session of its own, with what was configured when it was made.
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever tries to connect to anything but this machine fails."""
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: Any) -> None:
        if address[0] == "127.0.0.1":
            connect(self, address)
            return
        raise AssertionError(f"an attempt to connect to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def service() -> Iterator[Service]:
    """A service with a table, at a time that stands still."""
    with dynamodb(clock=Clock(1_800_000_000.0)) as service:
        service.execute("CreateTable", CREATE)
        yield service
        assert service.engine.verify() == []
