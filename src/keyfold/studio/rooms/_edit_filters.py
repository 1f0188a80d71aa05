"""The items that a bulk edit or an export is about: of an entity and a filter, or with given keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keyfold.model._schemas import EntitySchema
from keyfold.store._canonical_items import to_canonical
from keyfold.store._own_items import is_own_item
from keyfold.studio._actions import StudioCall
from keyfold.studio._bodies import StudioBody
from keyfold.studio._problems import StudioProblem
from keyfold.studio.rooms._edit_reads import find_partition, iterate_keys, read_item, read_page
from keyfold.studio.rooms._item_filters import ItemFilter, parse_filter
from keyfold.values import Item, restore_binaries

# One page of a scan; the browser asks for the next.
_PAGE = 500
_MOST_KEYS = 100


@dataclass(frozen=True, slots=True)
class ChosenItems:
    """Items that were chosen, out of `scanned` ones; `after` is where the next page begins."""

    items: list[Item]
    scanned: int
    after: Mapping[str, Any] | None
    # Keys that were given, and have no item.
    missing: tuple[Item, ...] = ()


def choose_items(call: StudioCall) -> ChosenItems:
    """Return one page of the items that a request is about.

    Its `filter` has an `entity`, or null for all, and a text `where`; or it has `keys`. Its `after` is that
    of the page before. Keyfold's own items are never among them.
    """
    wanted = StudioBody(dict(call.body.mapping("filter")))
    if "keys" in wanted:
        return _choose_keys(call, wanted.sequence("keys"))
    schema = find_schema(call, wanted.optional_text("entity"))
    text = wanted.optional_text("where") or ""
    only = () if schema is None else (schema.name,)
    tests: ItemFilter = parse_filter(call.table, text, only)
    partition = find_partition(schema, tests.equalities)
    items, after = read_page(call, schema, partition, call.body.optional_mapping("after"), _PAGE)
    chosen = [
        each
        for each in items
        if not is_own_item(call.table, each) and tests.accepts(call.table, restore_binaries(each))
    ]
    return ChosenItems(chosen, len(items), after)


def _choose_keys(call: StudioCall, given: list[Any]) -> ChosenItems:
    if len(given) > _MOST_KEYS:
        message = f"filter.keys has {len(given):,} keys; at most {_MOST_KEYS} go in one request."
        raise StudioProblem(400, "request-malformed", message)
    items: list[Item] = []
    missing: list[Item] = []
    for key in iterate_keys(call, given):
        found = read_item(call, key)
        if found is None:
            missing.append(key)
        elif not is_own_item(call.table, found):
            items.append(found)
    return ChosenItems(items, len(given), None, tuple(missing))


def find_schema(call: StudioCall, name: str | None) -> EntitySchema | None:
    """Return the entity of a name; None for no name. Raises StudioProblem."""
    if name is None:
        return None
    schema = call.table.entities.get(name)
    if schema is None:
        known = ", ".join(call.table.entities)
        message = f"{call.table.name} has no entity {name!r}; it has {known}."
        raise StudioProblem(404, "entity-unknown", message)
    return schema


def make_digest(item: Item) -> str:
    """Return a text that tells an item from the same one after a change."""
    return hashlib.sha256(to_canonical(item)).hexdigest()
