"""What an edit does: the fields and index entries that change, the guards that move, and the units it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from keyfold.capacity import TRANSACTION_FACTOR, EntryChange, find_index_write, write_units
from keyfold.model import Index, Table
from keyfold.model._schemas import EntitySchema
from keyfold.store._guard_actions import (
    GuardAction,
    UniqueValues,
    find_guard_actions,
    has_expired,
    unique_values_in,
)
from keyfold.store._guards import guard_item
from keyfold.studio._actions import StudioCall
from keyfold.studio._shown_items import find_entity
from keyfold.studio._shown_keys import show_key
from keyfold.studio.rooms._drafts import DraftFault, DraftInvalid, DraftItem
from keyfold.studio.rooms._edit_forms import find_manager, value_in
from keyfold.values import (
    AttributeValue,
    Item,
    item_size_bytes,
    normalise_item,
    normalise_value,
    restore_binaries,
)


@dataclass(frozen=True, slots=True)
class ItemEdit:
    """An edit of one item: as it was read, and as it will be; None for an item that does not exist.

    Items are normalised. `old` and `new` are their entities, None for items of no entity.
    """

    table: Table
    now: datetime
    before: Item | None
    after: Item | None
    old: EntitySchema | None
    new: EntitySchema | None
    value: BaseModel | None = field(default=None, repr=False)

    @property
    def key(self) -> Item:
        """The primary key of the item as it was read, or of a new one."""
        item = self.after if self.before is None else self.before
        assert item is not None  # one of them exists
        return key_of(self.table, item)

    @property
    def is_expired(self) -> bool:
        """Whether the item that was read has expired, and so counts as deleted."""
        return self.before is not None and has_expired(self.table, self.before, self.now)

    @property
    def moves(self) -> bool:
        """Whether the key changes, so that the item is deleted and created anew."""
        if self.before is None or self.after is None:
            return False
        return key_of(self.table, self.before) != key_of(self.table, self.after)


def key_of(table: Table, item: Item) -> Item:
    """Return the primary key of an item."""
    return {name: item[name] for name in table.key.names}


def read_time(call: StudioCall) -> datetime:
    """Return the time of a call."""
    return datetime.fromtimestamp(call.now, UTC)


def plan_edit(
    call: StudioCall, before: Item | None, draft: DraftItem | None, now: datetime
) -> ItemEdit:
    """Return the edit that puts the item of a draft in the place of `before`; None deletes it.

    The store's own values follow: the version is counted up, and the time of the write is set. Raises
    DraftInvalid for an item that would be of another entity.
    """
    table = call.table
    old = None if before is None else find_entity(table, restore_binaries(before))
    if draft is None:
        return ItemEdit(table, now, before, None, old, None)
    new, after = draft.schema, dict(draft.item)
    edit = ItemEdit(table, now, before, after, old, new, draft.value)
    if before is not None and not edit.moves and old is not new and old is not None:
        what = "of no entity" if new is None else f"a {new.name}"
        fact = f"It would no longer be a {old.name}, but {what}: delete it, and create the other."
        raise DraftInvalid([DraftFault("", fact)])
    if new is None:
        return edit
    if before is not None and new is old and before != after:
        _set_managed(new, before, after, now)
    return edit


def _set_managed(schema: EntitySchema, before: Item, after: Item, now: datetime) -> None:
    version, completion = schema.version_field, schema.completion
    if version is not None:
        after[version.stored] = {"N": str(read_version(schema, before) + 1)}
    if completion is not None and completion.updated is not None:
        updated = completion.updated
        after[updated.stored] = normalise_value(updated.codec.encode(now))[0]


def read_version(schema: EntitySchema, item: Item) -> int:
    """Return the version of an item; 0 if it has none, or one that is no number."""
    assert schema.version_field is not None  # callers have checked
    stored = schema.version_field.find(item) or {}
    text = str(stored.get("N", "0"))
    return int(text) if text.isdigit() else 0


# What changes.


def show_changes(edit: ItemEdit) -> list[dict[str, Any]]:
    """Return the fields, and other attributes, that an edit changes.

    Each has `name`, `attribute`, `before` and `after` (null if it is not set), and `by`: `you`, or what
    sets it (`version`, `created`, `updated`, `index key`).
    """
    before, after = edit.before or {}, edit.after or {}
    schema = edit.new or edit.old
    shown: list[dict[str, Any]] = []
    seen: set[str] = set()
    if schema is not None:
        for name, each in schema.fields.items():
            seen |= set() if each.is_part else {each.stored}
            was = value_in(edit.old, name, edit.before)
            will = value_in(edit.new, name, edit.after)
            if was != will:
                attribute = None if each.is_part else each.stored
                by = find_manager(schema, each) or "you"
                shown.append(_show_change(name, attribute, was, will, by))
    derived = frozenset[str]() if schema is None else schema.own_attributes
    for name in dict.fromkeys([*before, *after]):
        if name in seen or before.get(name) == after.get(name):
            continue
        if schema is not None and name in edit.table.key.names:
            continue  # its parts are shown
        by = "index key" if name in derived else "you"
        shown.append(_show_change(name, name, before.get(name), after.get(name), by))
    return shown


def _show_change(
    name: str,
    attribute: str | None,
    before: AttributeValue | None,
    after: AttributeValue | None,
    by: str,
) -> dict[str, Any]:
    return {"name": name, "attribute": attribute, "before": before, "after": after, "by": by}


_ENTRY_WORDS = {
    EntryChange.INSERTED: "appears",
    EntryChange.DELETED: "vanishes",
    EntryChange.UPDATED: "changes",
    EntryChange.MOVED: "moves",
}


def show_entries(edit: ItemEdit) -> list[dict[str, Any]]:
    """Return the index entries that an edit changes, with their keys before and after, and their units."""
    shown: list[dict[str, Any]] = []
    for index in edit.table.indexes:
        write = find_index_write(
            edit.before, edit.after, index.key.names, _projected(edit.table, index)
        )
        units = write.units
        if write.change is EntryChange.UNCHANGED and not edit.moves:
            continue
        change = _ENTRY_WORDS.get(write.change)
        keys = [
            _entry_key(index, *each) for each in ((edit.old, edit.before), (edit.new, edit.after))
        ]
        if edit.moves:
            # Entries have the primary key: none stays as it is.
            change = _word_of(*keys)
            units = _entry_units(edit.table, index, edit.before, edit.after, moves=True)
            if change is None:
                continue
        shown.append(
            {
                "index": index.name,
                "change": change,
                "before": keys[0],
                "after": keys[1],
                "units": units,
            }
        )
    return shown


def _word_of(before: Any, after: Any) -> str | None:
    if before is None:
        return None if after is None else "appears"
    return "vanishes" if after is None else "moves"


def _entry_key(
    index: Index, schema: EntitySchema | None, item: Item | None
) -> list[dict[str, Any]] | None:
    """Return the key of an item's entry in an index, decoded; None if it has none."""
    if item is None or any(name not in item for name in index.key.names):
        return None
    parts = (
        {}
        if schema is None
        else {each.attribute: each for each in schema.index_keys.get(index.name, ())}
    )
    return [show_key(parts.get(name), name, item[name]) for name in index.key.names]


def _projected(table: Table, index: Index) -> frozenset[str] | None:
    if index.project == "all":
        return None
    more = () if isinstance(index.project, str) else index.project
    return frozenset((*table.key.names, *index.key.names, *more))


# Guards and units.


def find_guards(edit: ItemEdit) -> list[GuardAction]:
    """Return what an edit does to the guards of unique values."""
    actions: list[GuardAction] = []
    sides = [(edit.old, edit.before), (edit.new, edit.after)]
    schema, before, after = edit.new, edit.before, edit.after
    if schema is edit.old and schema is not None and before and after and not edit.moves:
        old, new = (
            unique_values_in(schema, restore_binaries(each), edit.now) for each in (before, after)
        )
        return list(find_guard_actions(schema, restore_binaries(edit.key), old, new))
    for schema, item in sides:
        if schema is not None and item is not None and schema.unique:
            found = unique_values_in(schema, restore_binaries(item), edit.now)
            none: UniqueValues = dict.fromkeys(schema.unique)
            old, new = (found, none) if item is edit.before else (none, found)
            owner = restore_binaries(key_of(edit.table, item))
            actions += find_guard_actions(schema, owner, old, new)
    return actions


def show_guards(edit: ItemEdit) -> list[dict[str, Any]]:
    """Return the unique values that an edit takes and releases."""
    return [
        {
            "field": each.field,
            "guard": each.name,
            "value": normalise_value(each.value)[0],
            "change": "taken" if each.kind == "take" else "released",
        }
        for each in find_guards(edit)
    ]


def uses_transaction(edit: ItemEdit) -> bool:
    """Return whether an edit is a transaction: it moves the item, or may change guards."""
    if edit.moves and not edit.is_expired:
        return True
    before, after = edit.before, edit.after
    if before is not None and edit.is_expired:
        before = None
    if after is None:
        return edit.old is not None and bool(edit.old.unique) and not edit.is_expired
    if edit.new is None or not edit.new.unique:
        return False
    if before is None:
        return any(each.value_in(after) for each in edit.new.unique.values())
    watched = {name for each in edit.new.unique.values() for name in each.attributes}
    return any(before.get(name) != after.get(name) for name in {*watched, edit.table.ttl or ""})


def count_units(edit: ItemEdit) -> dict[str, float]:
    """Return the write units that an edit takes: of the table, of its indexes, and of guards."""
    factor = TRANSACTION_FACTOR if uses_transaction(edit) else 1
    pairs: list[tuple[Item | None, Item | None]] = [(edit.before, edit.after)]
    if edit.moves:
        pairs = (
            [(None, edit.after)] if edit.is_expired else [(edit.before, None), (None, edit.after)]
        )
    table = sum(_table_units(*each) for each in pairs) * factor
    indexes = sum(
        _entry_units(edit.table, index, *each) for index in edit.table.indexes for each in pairs
    )
    guards = sum(
        _table_units(*each) * factor
        + sum(_entry_units(edit.table, index, *each) for index in edit.table.indexes)
        for each in _guard_changes(edit)
    )
    return {"table": table, "indexes": indexes, "guards": guards, "write": table + indexes + guards}


def _table_units(before: Item | None, after: Item | None) -> float:
    sizes = [0 if each is None else item_size_bytes(each) for each in (before, after)]
    return write_units(sizes[1], sizes[0])


def _entry_units(
    table: Table, index: Index, before: Item | None, after: Item | None, *, moves: bool = False
) -> float:
    names, projected = index.key.names, _projected(table, index)
    if moves:
        gone = find_index_write(before, None, names, projected).units
        return gone + find_index_write(None, after, names, projected).units
    return find_index_write(before, after, names, projected).units


def _guard_changes(edit: ItemEdit) -> Iterator[tuple[Item | None, Item | None]]:
    """Yield the guard items before and after an edit."""
    ttl = edit.table.ttl or ""
    expiry = None if edit.before is None else edit.before.get(ttl)
    changes: dict[str, list[Item | None]] = {}
    for each in find_guards(edit):
        sides = changes.setdefault(repr(each.identity), [None, None])
        if each.kind == "release":
            sides[0] = _make_guard(each, expiry)
            continue
        sides[1] = _make_guard(each, each.expiry)
        if (
            edit.before is not None
            and edit.new is edit.old
            and not edit.moves
            and not edit.is_expired
        ):
            was = (
                edit.new.unique[each.field].value_in(restore_binaries(edit.before))
                if edit.new
                else None
            )
            if was == each.value:
                # It only gets another expiry.
                sides[0] = _make_guard(each, expiry)
    for sides in changes.values():
        yield sides[0], sides[1]


def _make_guard(action: GuardAction, expiry: AttributeValue | None) -> Item:
    made = guard_item(action.table, action.name, action.value, action.owner, expiry)
    return normalise_item(made)[0]
