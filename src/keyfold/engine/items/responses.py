"""Rendering of items in responses: as dicts for Python callers, as bytes for the wire.

Operations pass items as they are stored. For the wire, the stored bytes are copied into the
response; for Python, they are parsed once, and binaries become bytes again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

import orjson

from keyfold.engine.items.deadlines import NO_DEADLINE, Deadline
from keyfold.engine.items.work import INLINE_BYTES, NeedsThread
from keyfold.engine.tables.table import Unreadable
from keyfold.values import Item, restore_binaries

_BINARY = re.compile(rb'"BS?":').search


class Rendering(Protocol):
    """Turns items into the form that a response holds."""

    @property
    def is_inline(self) -> bool:
        """Whether an event loop runs the operation; it raises NeedsThread if it is much work."""
        ...

    @property
    def deadline(self) -> Deadline:
        """When an operation that takes long has to end."""
        ...

    def stored(self, value: bytes) -> Any:
        """Render an item from its stored bytes."""
        ...

    def stored_list(self, values: Sequence[bytes]) -> Any:
        """Render a list of items from their stored bytes."""
        ...

    def item(self, item: Item) -> Any:
        """Render an item in the engine's form."""
        ...

    def items(self, items: list[Item]) -> Any:
        """Render a list of items in the engine's form."""
        ...


class PythonRendering:
    """Items as dicts, binaries as bytes."""

    is_inline = False
    deadline = NO_DEADLINE

    def stored(self, value: bytes) -> Item:
        item = orjson.loads(value)
        return restore_binaries(item) if may_hold_binary(value) else item

    def stored_list(self, values: Sequence[bytes]) -> list[Item]:
        joined = _join(values)
        items = orjson.loads(joined)
        return [restore_binaries(item) for item in items] if may_hold_binary(joined) else items

    def item(self, item: Item) -> Item:
        try:
            return restore_binaries(item)
        except (AttributeError, TypeError, ValueError) as error:
            # A write may just have replaced the item, so this error must not be lost.
            raise Unreadable("an item that was there") from error

    def items(self, items: list[Item]) -> list[Item]:
        return [restore_binaries(item) for item in items]


class WireRendering:
    """Items as JSON, copied from storage if they are returned whole."""

    is_inline = False

    def __init__(self, deadline: Deadline = NO_DEADLINE) -> None:
        self.deadline = deadline

    def stored(self, value: bytes) -> orjson.Fragment:
        return orjson.Fragment(value)

    def stored_list(self, values: Sequence[bytes]) -> orjson.Fragment:
        return orjson.Fragment(_join(values))

    def item(self, item: Item) -> Item:
        return item

    def items(self, items: list[Item]) -> list[Item]:
        return items


class InlineRendering(WireRendering):
    """The same for an event loop: it raises NeedsThread for a long item."""

    is_inline = True

    def stored(self, value: bytes) -> orjson.Fragment:
        if len(value) > INLINE_BYTES:
            raise NeedsThread
        return orjson.Fragment(value)


def _join(values: Sequence[bytes]) -> bytes:
    try:
        return b"[" + b",".join(values) + b"]"
    except TypeError as error:
        # A damaged row may hold something other than bytes.
        raise Unreadable("the text of an item") from error


def may_hold_binary(value: bytes) -> bool:
    """Return whether stored JSON may hold a binary; an attribute named B is a false positive."""
    return _BINARY(value) is not None
