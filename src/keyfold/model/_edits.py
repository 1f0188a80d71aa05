"""Edits of an entity that was read, without its key: `update`, `delete`, `refresh` and `ref`.

An instance knows its key and what it has seen of the stored item. What a request uses of that
becomes a condition, so that an edit of something outdated fails instead of damaging the item.
"""

from __future__ import annotations

from types import MethodType
from typing import Any, Protocol, TypeVar, overload

from pydantic import BaseModel

from keyfold.model._reads import Get, Ref, ResultShape
from keyfold.model._reserved import check_not_reserved, make_write_key
from keyfold.model._schemas import EntitySchema
from keyfold.model._seen_values import (
    find_seen,
    find_unstored,
    find_version,
    known_version,
    make_key_of,
    schema_of,
)
from keyfold.model._updates import Update
from keyfold.model._writes import Delete

E = TypeVar("E", bound=BaseModel)
R_co = TypeVar("R_co", covariant=True)


class ByKey(Protocol[R_co]):
    """A method of an entity's class, which takes the fields of the key."""

    def __call__(self, **parts: Any) -> R_co: ...


class OfInstance(Protocol[R_co]):
    """A method of an entity, which knows its key."""

    def __call__(self) -> R_co: ...


class UpdateMethod:
    """`Entity.update`: of a class by the fields of a key, or of an instance."""

    @overload
    def __get__(self, instance: None, owner: type[E]) -> ByKey[Update[E]]: ...
    @overload
    def __get__(self, instance: E, owner: type[E]) -> OfInstance[Update[E]]: ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return MethodType(_update_by_key, owner)
        return MethodType(update_of, instance)


class DeleteMethod:
    """`Entity.delete`: of a class by the fields of a key, or of an instance."""

    @overload
    def __get__(self, instance: None, owner: type[E]) -> ByKey[Delete[E]]: ...
    @overload
    def __get__(self, instance: E, owner: type[E]) -> OfInstance[Delete[E]]: ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return MethodType(_delete_by_key, owner)
        return MethodType(_delete_of, instance)


def _update_by_key(cls: Any, **parts: Any) -> Update[Any]:
    """Return a request that updates fields of one existing entity.

    Name the changes with its methods: `Song.update(title=…).set(Song.f.artist, "…")`.

    The class takes the fields of the key; an instance knows them: `song.update()`. It also knows
    the fields that index keys are made from. Those that an index key needs become conditions, and
    so does the version, if there is a Version field: the update fails with VersionConflict if the
    entity was written since it was read.
    """
    schema: EntitySchema = cls.keyfold_schema()
    return Update(schema.table, schema, *make_write_key(schema, parts))


def _delete_by_key(cls: Any, **parts: Any) -> Delete[Any]:
    """Return a request that deletes one entity.

    The class takes the fields of the key; an instance knows them: `song.delete()`. If the instance
    has a Version field, the deletion fails with VersionConflict if the entity was written since it
    was read. Deleting an entity that no longer exists is not an error. An item of another entity
    with the same key, which the table's type attribute tells, is left alone.
    """
    schema: EntitySchema = cls.keyfold_schema()
    return Delete(schema.table, schema, *make_write_key(schema, parts))


def update_of(entity: Any) -> Update[Any]:
    """Return an update of an entity that was read, on the condition of what the update uses of it."""
    schema = schema_of(entity)
    key, parts = make_key_of(schema, entity)
    if schema.reserved:
        check_not_reserved(schema, key)
    seen = find_seen(schema, entity)
    return Update(
        schema.table,
        schema,
        key,
        parts,
        known=known_version(schema, entity),
        seen=seen,
        unstored=find_unstored(schema, entity, seen),
    )


def _delete_of(entity: Any) -> Delete[Any]:
    schema = schema_of(entity)
    key, parts = make_key_of(schema, entity)
    if schema.reserved:
        check_not_reserved(schema, key)
    seen = None if schema.version_field is None else find_version(entity, schema) or 0
    return Delete(schema.table, schema, key, parts, seen_version=seen)


def refresh_of(entity: Any) -> Get[Any]:
    """Return a consistent read of an entity, by its key."""
    schema = schema_of(entity)
    key, parts = make_key_of(schema, entity)
    shape: ResultShape[Any] = ResultShape(schema)
    return Get(schema.table, key, shape, schema.known_from(parts), is_consistent=True)


def ref_to(entity: Any) -> Ref[Any]:
    """Return a reference to an entity."""
    schema = schema_of(entity)
    return Ref(schema.entity, *make_key_of(schema, entity))
