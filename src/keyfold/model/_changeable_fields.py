"""Whether an update can change a field by itself, without the rest of the entity."""

from __future__ import annotations

from collections.abc import Iterable

from keyfold.errors import KeyFieldChanged, UpdateInvalid
from keyfold.expressions import Path
from keyfold.model._checked_changes import USE_CHANGE
from keyfold.model._codecs import StoredField
from keyfold.model._key_parts import KeyPart
from keyfold.model._paths import FieldPath, path_info
from keyfold.model._schemas import EntitySchema


def find_field(schema: EntitySchema, field: FieldPath) -> StoredField | None:
    """Return the top-level field that a path starts with; None for a free-form attribute."""
    return schema.codec.by_stored.get(str(path_info(field).path.steps[0]))


def find_target(schema: EntitySchema, field: FieldPath, *, is_unchecked: bool) -> Path:
    """Return the path of a field that an update changes.

    Raises UpdateInvalid and KeyFieldChanged if it cannot be changed. With `is_unchecked`, checks
    across fields do not count.
    """
    info = path_info(field)
    if info.owner != schema.name:
        fact = f"{field!r} is a field of another entity"
        raise UpdateInvalid(schema.name, fact, f"Use {schema.name}.f.")
    stored = find_field(schema, field)
    if not is_unchecked:
        check_alone(schema, field, stored)
    if stored is not None:
        if stored.name in schema.key_fields:
            raise KeyFieldChanged(schema.name, stored.name)
        error = set_by_store_error(schema, stored)
        if error is not None:
            raise error
    return info.path


def set_by_store_error(schema: EntitySchema, field: StoredField) -> UpdateInvalid | None:
    """Return the error of setting a version or a timestamp, which the store sets; None for others."""
    if field is schema.version_field:
        fact = f"{field.name} is the Version field, which every write increments"
        return UpdateInvalid(schema.name, fact, "Leave it out.")
    if schema.completion is not None and schema.completion.is_set_by_store(field):
        fact = f"{field.name} is a timestamp, which the store sets"
        return UpdateInvalid(schema.name, fact, "Leave it out, or replace() the entity.")
    return None


def check_alone(schema: EntitySchema, field: FieldPath, stored: StoredField | None) -> None:
    """Raise UpdateInvalid if `before_write` or a check across fields has to see the whole entity."""
    if schema.completion is not None and schema.completion.has_hook:
        fact = f"{field!r} cannot be updated alone because of before_write()"
        raise UpdateInvalid(schema.name, fact, USE_CHANGE)
    if not schema.cross_checks:
        return
    if stored is not None:
        check = schema.checked_by[stored.name]
    else:
        check = next((each for each in schema.cross_checks if each.depends is None), None)
    if check is not None:
        fact = f"{field!r} cannot be updated alone because of the {check}"
        raise UpdateInvalid(schema.name, fact, USE_CHANGE)


def check_no_overlap(owner: str, path: Path, changed: Iterable[Path]) -> None:
    """Raise UpdateInvalid if a path is changed already, or one inside or around it."""
    for other in changed:
        if all(mine == theirs for mine, theirs in zip(path.steps, other.steps, strict=False)):
            fact = f"{path} and {other} overlap, and an update can change a value only once"
            raise UpdateInvalid(owner, fact, "Leave one out.")


def check_no_dependents(schema: EntitySchema, field: FieldPath, change: str) -> None:
    """Raise UpdateInvalid if an index key or unique value depends on a field.

    Called for changes whose result is not known before they run.
    """
    stored = find_field(schema, field)
    if stored is None:
        return
    advice = "Use set() with the new value."
    needed = f"so its new value must be known in advance; got {change}"
    for part in find_dependent_parts(schema, stored):
        if part.template is not None:
            fact = f"the index key {part.attribute} is made from {stored.name}, {needed}"
            raise UpdateInvalid(schema.name, fact, advice)
    if stored.name in schema.unique:
        raise UpdateInvalid(schema.name, f"{stored.name} is unique, {needed}", advice)
    if schema.unique and stored.stored == schema.table.ttl:
        fact = f"guards of unique values expire with their entity, by {stored.name}, {needed}"
        raise UpdateInvalid(schema.name, fact, advice)


def find_dependent_parts(schema: EntitySchema, stored: StoredField) -> list[KeyPart]:
    """Return the parts of index keys that are made from a field."""
    return [
        part
        for parts in schema.index_keys.values()
        for part in parts
        if stored.name in part.fields and part.attribute not in schema.table.key.names
    ]
