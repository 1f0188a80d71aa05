"""Requests that change one item, or check it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Generic, Self, TypeVar

from keyfold.errors import UpdateInvalid, WriteRefused
from keyfold.model._any_values import encode_any
from keyfold.model._expiry import as_if_deleted
from keyfold.model._expressions import (
    Called,
    Compared,
    Condition,
    ExpressionWriter,
    Place,
    check_condition,
    give,
    join,
)
from keyfold.model._keys import TableLike
from keyfold.model._moments import Moment, now
from keyfold.model._placeholders import Placeholder
from keyfold.model._requests import Request, SingleRequest, moment_of
from keyfold.model._scalars import encode_expiry
from keyfold.model._schemas import EntitySchema
from keyfold.model._showing import show_item
from keyfold.values import Item

E_co = TypeVar("E_co", covariant=True)


class Presence(Enum):
    """What must be there for a put."""

    ANY = "put"
    MUST_NOT_EXIST = "create"
    MUST_EXIST = "replace"


class Write(SingleRequest[E_co], Generic[E_co]):
    """A request that changes one item, alone or in a transaction."""

    __slots__ = ()

    schema: EntitySchema
    # Whether it asks for nothing of what is stored.
    returns_nothing: bool

    @property
    @abstractmethod
    def item_key(self) -> Item:
        """The primary key of the item that it concerns."""

    @abstractmethod
    def condition(self) -> Condition | None:
        """Return the whole condition: the caller's, and what the kind of write demands."""

    @property
    def is_repeatable(self) -> bool:
        """Whether doing it twice leaves what doing it once does."""
        return True


@dataclass(frozen=True, slots=True)
class Put(Write[E_co], Generic[E_co]):
    """Write a whole entity."""

    table: TableLike
    schema: EntitySchema
    entity: E_co
    item: Item
    presence: Presence = Presence.ANY
    where_condition: Condition | None = None
    expiry: Moment | None = None
    returns_nothing: bool = False

    operation = "PutItem"

    @property
    def item_key(self) -> Item:
        """The primary key of the item."""
        return {part.attribute: self.item[part.attribute] for part in self.schema.keys}

    def where(self, condition: Condition) -> Self:
        """Only if a condition holds for what is stored now."""
        whole = join("AND", self.where_condition, check_condition(condition, self.schema.name))
        return replace(self, where_condition=whole)

    def expiring_in(self, delay: timedelta) -> Self:
        """Let it expire so long after the request has run."""
        return replace(self, expiry=expiry_in(self.schema, delay))

    def returning_nothing(self) -> Self:
        """Ask for nothing of what is stored: not what is there where it is refused.

        So it is for roles that may write an entity, and not see all of it.
        """
        return replace(self, returns_nothing=True)

    def or_get(self) -> CreateOrGet[E_co]:
        """Return the request that gets what is there already, in place of failing.

        It makes a creation that may be run twice: what is there the second time counts as made.
        """
        if self.presence is not Presence.MUST_NOT_EXIST or self.returns_nothing:
            what = "what is blind" if self.returns_nothing else f"a {self.presence.value}"
            raise UpdateInvalid(
                self.schema.name, f"{what} finds nothing in its way", "Use create().or_get()."
            )
        return CreateOrGet(self)

    def condition(self) -> Condition | None:
        """Return the whole condition."""
        key = Place((self.schema.partition.attribute,))
        presence: Condition | None = None
        if self.presence is Presence.MUST_NOT_EXIST:
            presence = Called("attribute_not_exists", key)
        elif self.presence is Presence.MUST_EXIST:
            presence = Called("attribute_exists", key)
        version = self._version_condition(key)
        return as_if_deleted(self.table, join("AND", presence, version, self.where_condition))

    def _version_condition(self, key: Place) -> Condition | None:
        field = self.schema.version_field
        if field is None or self.presence is Presence.MUST_NOT_EXIST:
            return None
        # What the entity will have is one more than what it was read with.
        read = getattr(self.entity, field.name) - 1
        if not read:
            return Called("attribute_not_exists", key)
        return Compared(Place((field.stored,)), "=", give(read, encode_any))

    def resolve_item(self, moment: datetime) -> Item:
        """Return the item as it is stored when the request runs at `moment`."""
        if self.expiry is None:
            return self.item
        assert self.schema.ttl_field is not None  # or `expiring_in` would have refused
        expires = encode_expiry(self.expiry.resolve(moment))
        return {**self.item, self.schema.ttl_field.stored: expires}

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the PutItem request."""
        moment = moment_of(now)
        request: dict[str, Any] = {
            "TableName": self.table.name,
            "Item": self.resolve_item(moment),
        }
        condition = self.condition()
        if condition is not None:
            writer = ExpressionWriter(moment)
            request["ConditionExpression"] = writer.write_condition(condition)
            if not self.returns_nothing:
                request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
            writer.add_to(request)
        return request

    def __repr__(self) -> str:
        return f"<{self.presence.value} {self.entity!r:.200}>"


@dataclass(frozen=True, slots=True)
class CreateOrGet(Request[E_co], Generic[E_co]):
    """Create an entity, or get the one that has its key."""

    put: Put[E_co]

    @property
    def tables(self) -> tuple[TableLike, ...]:
        """The entity's table."""
        return (self.put.table,)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the PutItem request; what is there comes with its failure."""
        return self.put.to_dynamodb(now=now)

    def __repr__(self) -> str:
        return f"<{self.put!r} or get>"


@dataclass(frozen=True, slots=True)
class Delete(Write[E_co | None], Generic[E_co]):
    """Remove an entity; returns what it was, or None."""

    table: TableLike
    schema: EntitySchema
    key: Item
    values: Mapping[str, Any]
    where_condition: Condition | None = None
    returns_nothing: bool = False

    operation = "DeleteItem"

    @property
    def item_key(self) -> Item:
        """The primary key of the item."""
        return self.key

    def where(self, condition: Condition) -> Self:
        """Only if a condition holds for what is stored now."""
        whole = join("AND", self.where_condition, check_condition(condition, self.schema.name))
        return replace(self, where_condition=whole)

    def returning_nothing(self) -> Delete[None]:
        """Ask for nothing of what is stored: neither what it was, nor why it is refused.

        So it is for roles that may write an entity, and not see all of it.
        """
        return replace(self, returns_nothing=True)  # type: ignore[return-value]

    def condition(self) -> Condition | None:
        """Return the whole condition."""
        return as_if_deleted(self.table, self.where_condition)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the DeleteItem request."""
        request: dict[str, Any] = {"TableName": self.table.name, "Key": self.key}
        if not self.returns_nothing:
            request["ReturnValues"] = "ALL_OLD"
        condition = self.condition()
        if condition is not None:
            writer = ExpressionWriter(moment_of(now))
            request["ConditionExpression"] = writer.write_condition(condition)
            if not self.returns_nothing:
                request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
            writer.add_to(request)
        return request

    def __repr__(self) -> str:
        return f"<delete {self.schema.name} {show_item(self.key)}>"


@dataclass(frozen=True, slots=True)
class Check(Write[None]):
    """A condition on an entity that a transaction does not change."""

    table: TableLike
    schema: EntitySchema
    key: Item
    where_condition: Condition
    returns_nothing: bool = False

    operation = "ConditionCheck"

    @property
    def item_key(self) -> Item:
        """The primary key of the item."""
        return self.key

    def returning_nothing(self) -> Self:
        """Ask for nothing of what is stored: not what is there where it fails.

        So it is for roles that may write an entity, and not see all of it.
        """
        return replace(self, returns_nothing=True)

    def condition(self) -> Condition | None:
        """Return the whole condition."""
        return as_if_deleted(self.table, self.where_condition)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the ConditionCheck, as a transaction takes it."""
        writer = ExpressionWriter(moment_of(now))
        condition = self.condition()
        assert condition is not None  # it was given one
        request: dict[str, Any] = {
            "TableName": self.table.name,
            "Key": self.key,
            "ConditionExpression": writer.write_condition(condition),
        }
        if not self.returns_nothing:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        writer.add_to(request)
        return request

    def __repr__(self) -> str:
        return f"<check {self.schema.name} {show_item(self.key)} {self.where_condition!r}>"


def expiry_in(schema: EntitySchema, delay: timedelta) -> Moment:
    """Return when something expires, so long after a request has run; raises UpdateInvalid."""
    if schema.ttl_field is None:
        fact = "it has no field that is stored under the table's ttl attribute"
        raise UpdateInvalid(schema.name, fact, "Declare one of type Expiry.")
    if not isinstance(delay, timedelta | Placeholder):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        raise UpdateInvalid(schema.name, f"{delay!r:.80} is no timedelta", "Give one.")
    return now + delay


def make_put(table: TableLike, schema: EntitySchema, entity: Any, presence: Presence) -> Put[Any]:
    """Return the request that writes an entity; its item is rendered now."""
    if schema.unique and presence is Presence.ANY:
        raise WriteRefused(
            schema.name,
            "it has unique fields, whose guards a plain put would leave behind",
            "Use create(), update() and delete().",
        )
    item = schema.encode(entity)
    version = schema.version_field
    if version is not None:
        held = getattr(entity, version.name)
        if not isinstance(held, Placeholder):
            following = 1 if presence is Presence.MUST_NOT_EXIST else (held or 0) + 1
            item[version.stored] = {"N": str(following)}
            entity = entity.model_copy(update={version.name: following})
    return Put(table, schema, entity, item, presence)
