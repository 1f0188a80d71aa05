"""Written modules, run: whether their declarations hold, and which items they fit."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from types import ModuleType

from pydantic import ValidationError

from keyfold.errors import KeyfoldError
from keyfold.imports._inferred import InferredTable
from keyfold.imports._module_writer import write_module
from keyfold.model import Table
from keyfold.model._schemas import ItemMismatch
from keyfold.values import Item, normalise_item

_NAME = "_keyfold_imported"
# Annotations are resolved in the module of that name, so that there is one at a time.
_LOADING = Lock()


@dataclass(frozen=True, slots=True)
class FittedItem:
    """An item with the entity that its key says; `fits` if it is read and written as it is."""

    item: Item
    entity: str | None
    fits: bool


def load_tables(text: str) -> list[Table]:
    """Return the tables of a written module; raises DeclarationInvalid."""
    with _module() as module:
        exec(compile(text, f"{_NAME}.py", "exec"), vars(module))  # noqa: S102 - it is our own text
        tables = [each for each in vars(module).values() if isinstance(each, Table)]
        for table in tables:
            table.check()
    return tables


@contextmanager
def _module() -> Generator[ModuleType]:
    """Yield a module that annotations are resolved in while its classes are made."""
    module = ModuleType(_NAME)
    with _LOADING:
        sys.modules[_NAME] = module
        try:
            yield module
        finally:
            del sys.modules[_NAME]


def load_table(inferred: InferredTable) -> Table:
    """Return the declaration of an inferred table; raises DeclarationInvalid."""
    [table] = load_tables(write_module([inferred], title="Inferred."))
    return table


def fit_items(table: Table, items: Sequence[Item]) -> Iterator[FittedItem]:
    """Yield each item with its entity, and whether that entity keeps it as it is."""
    for item in items:
        try:
            schema = table.find_schema(item)
        except (ItemMismatch, KeyfoldError):
            yield FittedItem(item, None, fits=False)
            continue
        try:
            again = schema.encode(schema.decode(item))
        except (ItemMismatch, KeyfoldError, ValidationError, TypeError, ValueError):
            yield FittedItem(item, schema.name, fits=False)
            continue
        yield FittedItem(item, schema.name, _without_null(again) == _without_null(item))


def _without_null(item: Item) -> Item:
    """Return an item without attributes that are NULL: as None, they are not written."""
    return {name: each for name, each in normalise_item(item)[0].items() if "NULL" not in each}
