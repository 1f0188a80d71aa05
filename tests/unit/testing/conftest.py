"""Fixtures of the in-process service tests: no network, and no settings of the machine."""

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
    """Remove all AWS settings: keys, region, profile and the files in the home directory."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    # boto3 caches a default session with the settings at the time it was created.
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections to other machines."""
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: Any) -> None:
        if address[0] == "127.0.0.1":
            connect(self, address)
            return
        raise AssertionError(f"an attempt to connect to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def service() -> Iterator[Service]:
    """Yield a service with a table and a stopped clock."""
    with dynamodb(clock=Clock(1_800_000_000.0)) as service:
        service.execute("CreateTable", CREATE)
        yield service
        assert service.engine.verify() == []
