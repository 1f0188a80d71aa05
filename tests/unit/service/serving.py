"""Calls of a pattern service in process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from keyfold import Table
from keyfold.service import Caller, FixedCaller, ServiceSettings, create_app

SUPPORT = Caller(("support",), {})


@asynccontextmanager
async def serving(
    table: Table, database: Any = ":memory:", *, caller: Caller | None = None, **options: Any
) -> AsyncGenerator[httpx2.AsyncClient]:
    """Open a client of a service; `caller` sends all its requests."""
    if caller is not None:
        options["authenticator"] = FixedCaller(caller)
    app = create_app(table, database, ServiceSettings(**options))
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost/") as client:
        try:
            yield client
        finally:
            await app.database.close()
