"""Watches whether calls may have written anything, whatever becomes of the request that makes them."""

from __future__ import annotations

from typing import Any, Protocol

from keyfold.api import find_operation
from keyfold.api.statements import only_selects
from keyfold.errors import InternalServerError, KeyfoldError, ServiceError, Unreachable


class _Executor(Protocol):
    async def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]: ...


class WriteWatch:
    """An executor that notes whether a write was carried out, or may have been."""

    def __init__(self, executor: _Executor) -> None:
        self._executor: Any = executor
        self.reports_retries: bool = getattr(executor, "reports_retries", False)
        self.may_have_written = False

    async def execute(
        self, operation: str, request: dict[str, Any], /, **options: Any
    ) -> dict[str, Any]:
        """Carry out one operation; raises ServiceError."""
        if self.may_have_written or _is_read(operation, request):
            return await self._executor.execute(operation, request, **options)
        # Set before: a task that is cancelled while it waits never learns what was done.
        self.may_have_written = True
        try:
            return await self._executor.execute(operation, request, **options)
        except KeyfoldError as error:
            self.may_have_written = not _is_refusal(error)
            raise

    def __repr__(self) -> str:
        return repr(self._executor)


def _is_read(operation: str, request: dict[str, Any]) -> bool:
    row = find_operation(operation)
    return only_selects(request) if row.has_statements else row.is_read


def _is_refusal(error: KeyfoldError) -> bool:
    """Return whether an error says for certain that nothing was written."""
    if isinstance(error, InternalServerError):
        return False
    return isinstance(error, ServiceError | Unreachable)
