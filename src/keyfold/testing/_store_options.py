"""The types of the functions that open stores for tests, and their options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack

if TYPE_CHECKING:
    # Not at runtime: pytest loads this in every run, with or without tests that use stores.
    from keyfold.model import Table
    from keyfold.store import AsyncStore, Hook, Store
    from keyfold.store._plans import OnInvalid


class StoreOptions(TypedDict, total=False):
    """The options of a store that a test may set; see `keyfold.open`."""

    cursor_key: bytes
    on_invalid: OnInvalid
    on_call: Hook | Sequence[Hook]


class OpenStore(Protocol):
    """Opens stores for a test: the type of the fixture `keyfold_store`."""

    def __call__(
        self, tables: Table | Sequence[Table], /, **options: Unpack[StoreOptions]
    ) -> Store:
        """Return a store for one or more tables; see `Service.open`."""
        ...


class OpenAsyncStore(Protocol):
    """Opens async stores for a test: the type of the fixture `keyfold_async_store`."""

    def __call__(
        self, tables: Table | Sequence[Table], /, **options: Unpack[StoreOptions]
    ) -> AsyncStore:
        """Return a store for one or more tables; see `Service.open_async`."""
        ...
