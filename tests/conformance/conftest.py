"""Options of the conformance run."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Cases may be put to a server instead of the embedded engine."""
    group = parser.getgroup("conformance")
    group.addoption("--endpoint", help="the URL of a server to put the cases to")
    group.addoption(
        "--implementation",
        default="endpoint",
        help="the name under which the cases list that server's differences",
    )
