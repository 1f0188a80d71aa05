"""Requests that write one item (put, create, replace, delete), and condition checks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Generic, NoReturn, Self, TypeVar

from pydantic import BaseModel

from keyfold.errors import UpdateInvalid, WriteRefused
from keyfold.expressions import (
    Comparison,
    Condition,
    FunctionCall,
    Path,
    RequestPrinter,
    holds_for_absent_item,
    join_all,
)
from keyfold.model._any_values import decode_any, encode_any
from keyfold.model._calls import CALLER, ApiCall, Authority, Calls
from keyfold.model._expiry import as_if_deleted
from keyfold.model._formatting import show_item
from keyfold.model._keys import TableLike
from keyfold.model._moments import Moment, now
from keyfold.model._operands import check_condition, to_literal
from keyfold.model._placeholders import Placeholder, has_placeholder
from keyfold.model._requests import Chain, DerivedRequest, Request, SingleRequest, resolve_now
from keyfold.model._reserved import check_not_reserved
from keyfold.model._scalars import encode_expiry
from keyfold.model._schemas import EntitySchema
from keyfold.model._shared_keys import is_free_of_others, is_of_kind
from keyfold.model._upgrades import without_upgrade
from keyfold.values import Item

E_co = TypeVar("E_co", covariant=True)
W = TypeVar("W")


class Presence(Enum):
    """Whether an item with the same key must or must not exist for a put to succeed."""

    ANY = "put"
    MUST_NOT_EXIST = "create"
    MUST_EXIST = "replace"


# Attribute access on an enum class is slow, and most puts are of this kind.
_ANY = Presence.ANY


def chain_after(write: Write[Any], make: Callable[[Any], Request[Any]]) -> Chain[Any]:
    """Return a chain that starts with a write; raises UpdateInvalid if that returns nothing."""
    if write.returns_nothing and not isinstance(write, Put):
        fact = "then() needs the entity, but returning_nothing() leaves it out"
        raise UpdateInvalid(write.schema.name, fact, "Leave one of the two out.")
    return Chain(write, make)


def entity_exists(schema: EntitySchema) -> Condition:
    """Return the condition that the item exists, and is not of another entity with the same key."""
    exists: Condition = FunctionCall("attribute_exists", (Path((schema.partition.attribute,)),))
    own = is_of_kind(schema)
    return exists if own is None else exists & own


class Write(SingleRequest[E_co], Generic[E_co]):
    """A request that writes one item, by itself or in a transaction."""

    __slots__ = ()

    schema: EntitySchema
    # Whether DynamoDB is asked to return no stored values, even if a condition fails.
    returns_nothing: bool

    @property
    @abstractmethod
    def item_key(self) -> Item:
        """The primary key of the item."""

    @abstractmethod
    def condition(self) -> Condition | None:
        """Return the whole condition: the caller's, and those that the kind of write needs."""

    @property
    def is_repeatable(self) -> bool:
        """Whether the write is idempotent: running it twice has the effect of running it once."""
        return True

    @property
    def changes_unique(self) -> bool:
        """Whether the write changes unique fields, and so their guard items."""
        return bool(self.schema.unique)

    @property
    def guard_names(self) -> frozenset[str]:
        """The names of the guards that the write may change."""
        return frozenset(field.guard for field in self.schema.unique.values())

    @property
    def authority(self) -> Authority:
        """What the store does on its own authority when it runs the write."""
        if not self.schema.unique or not self.changes_unique:
            return CALLER
        return Authority(guards=self.guard_names)

    def calls(self, now: datetime) -> Calls:
        """Return the call that writes the item."""
        authority, payload = self.authority, self.to_dynamodb(now=now)
        if authority is CALLER:
            return (ApiCall(self.operation, payload),)
        return (ApiCall(self.operation, payload, authority=(authority,)),)


@dataclass(frozen=True, slots=True)
class Put(Write[E_co], Generic[E_co]):
    """A request that writes a whole entity; returns the entity as written.

    `Entity.put` is an upsert; `Entity.create` and `Entity.replace` are conditional writes. If the
    entity has a Version field, every put increments it and uses optimistic locking.
    """

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
        """Make this a conditional write: it fails unless a condition holds for the stored item.

        Conditions of several calls are joined with AND. A failed one raises ConditionFailed.
        """
        whole = join_all(self.where_condition, check_condition(condition, self.schema.name))
        return replace(self, where_condition=whole)

    def expiring_in(self, delay: timedelta) -> Self:
        """Make the entity expire `delay` after the request runs.

        Raises UpdateInvalid if the entity has no Expiry field. If validators, computed fields or
        index keys depend on the expiry, they follow when the request runs; the entity is then
        validated with it.
        """
        put = replace(self, expiry=expiry_in(self.schema, delay))
        if not self.schema.depends_on_expiry or has_placeholder(self.entity):
            return put
        # Encoded again when the request runs: changes of the entity until then do not count.
        entity: Any = self.entity
        return replace(put, entity=entity.model_copy(deep=True))

    def returning_nothing(self) -> Self:
        """Return no stored values: if a condition fails, the error does not have the stored entity.

        Use it for roles that may write an entity but not read all of its fields.
        """
        return replace(self, returns_nothing=True)

    def then(self, make: Callable[[E_co], Request[W]]) -> Chain[W]:
        """Return a chain that runs this put, then the request that `make` returns for the entity.

        It is not atomic: if the second request fails, the first stays. For writes that succeed or
        fail as a whole, use `transaction`.
        """
        return chain_after(self, make)

    def or_get(self) -> CreateOrGet[E_co]:
        """Return a request that creates the entity, or gets the one that already has its key.

        This makes a creation idempotent: running it again returns the entity created the first
        time. Raises UpdateInvalid after `put`, `replace` and `returning_nothing`.
        """
        if self.presence is not Presence.MUST_NOT_EXIST or self.returns_nothing:
            what = "returning_nothing" if self.returns_nothing else self.presence.value
            raise UpdateInvalid(
                self.schema.name,
                f"or_get() cannot follow {what}()",
                "Use create().or_get().",
            )
        return CreateOrGet(self)

    def condition(self) -> Condition | None:
        """Return the whole condition: the caller's, and those on presence, version and expiry."""
        if self.presence is _ANY and self.where_condition is None and not self.schema.version_field:
            return None
        key = Path((self.schema.partition.attribute,))
        presence: Condition | None = None
        if self.presence is Presence.MUST_NOT_EXIST:
            presence = FunctionCall("attribute_not_exists", (key,))
        elif self.presence is Presence.MUST_EXIST:
            presence = entity_exists(self.schema)
        version = self._version_condition(key)
        whole = join_all(presence, version, self.where_condition)
        return as_if_deleted(self.table, _cover(self.schema, whole))

    def _version_condition(self, key: Path) -> Condition | None:
        field = self.schema.version_field
        if field is None or self.presence is Presence.MUST_NOT_EXIST:
            return None
        # The entity already has the version to write, which is one more than the version read.
        read = getattr(self.entity, field.name) - 1
        if not read:
            return FunctionCall("attribute_not_exists", (key,))
        return Comparison("=", Path((field.stored,)), to_literal(read, encode_any))

    @property
    def authority(self) -> Authority:
        """What is the store's own: guard items, and replacing an expired item with a new one."""
        schema = self.schema
        if self.presence is _ANY and not schema.version_field and not schema.unique:
            return CALLER
        replaces_expired = self.table.ttl is not None and self._needs_absence
        if not replaces_expired and not schema.unique:
            return CALLER
        guards = self.guard_names if schema.unique else frozenset[str]()
        return Authority(replaces_expired=replaces_expired, guards=guards)

    @property
    def changes_unique(self) -> bool:
        """Whether the put may change guard items; a new entity without unique values does not."""
        return bool(self.schema.unique) and bool(self.guard_names)

    @property
    def guard_names(self) -> frozenset[str]:
        """The names of the guards that the put may change: a new entity takes only what it has."""
        unique = self.schema.unique.values()
        if self.presence is Presence.MUST_NOT_EXIST:
            return frozenset(each.guard for each in unique if each.value_in(self.item))
        return frozenset(each.guard for each in unique)

    @property
    def _needs_absence(self) -> bool:
        if self.presence is not _ANY:
            return self.presence is Presence.MUST_NOT_EXIST
        # A put of version 1 does not replace anything.
        version = self.schema.version_field
        return version is not None and getattr(self.entity, version.name) == 1

    def resolve_item(self, now: datetime) -> Item:
        """Return the item as a request that runs at `now` stores it."""
        if self.expiry is None:
            return self.item
        field = self.schema.ttl_field
        assert field is not None  # or `expiring_in` would have raised
        time = self.expiry.resolve(now)
        expires = encode_expiry(time)
        item = self.item
        if self.schema.depends_on_expiry and not has_placeholder((time, self.entity)):
            entity: Any = self.entity
            decode = field.codec.decode or decode_any
            item = self.schema.encode(entity.model_copy(update={field.name: decode(expires)}))
        return {**item, field.stored: expires}

    def calls(self, now: datetime) -> Calls:
        """Return the call that writes the item."""
        schema = self.schema
        if (
            schema.is_written_as_is
            and not schema.unique
            and self.presence is _ANY
            and self.where_condition is None
            and self.expiry is None
        ):
            # As in other writes, without five further calls for most puts.
            return (ApiCall("PutItem", {"TableName": self.table.name, "Item": self.item}),)
        return super(Put, self).calls(now)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the body of the PutItem call."""
        now = resolve_now(now)
        request: dict[str, Any] = {
            "TableName": self.table.name,
            "Item": self.resolve_item(now),
        }
        condition = self.condition()
        if condition is not None:
            printer = RequestPrinter(now)
            request["ConditionExpression"] = printer.write_condition(condition)
            if not self.returns_nothing:
                request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
            printer.add_to(request)
        return request

    def __repr__(self) -> str:
        return f"<{self.presence.value} {self.entity!r:.200}>"


@dataclass(frozen=True, slots=True)
class CreateOrGet(DerivedRequest[E_co], Generic[E_co]):
    """A request that creates an entity, or gets the one that already has its key."""

    put: Put[E_co]

    @property
    def source(self) -> Request[Any]:
        """The creation; if it fails, its error has the existing item."""
        return self.put

    def __repr__(self) -> str:
        return f"<{self.put!r} or get>"


@dataclass(frozen=True, slots=True)
class Delete(Write[E_co | None], Generic[E_co]):
    """A request that deletes an entity; returns the deleted entity, or None if there was none.

    If the key has an item of another entity, which the table's type attribute tells, it is left
    alone, as if there were none; a transaction fails with NotFound then.
    """

    table: TableLike
    schema: EntitySchema
    key: Item
    values: Mapping[str, Any]
    where_condition: Condition | None = None
    returns_nothing: bool = False
    # The version of the instance that is deleted, 0 if it has none yet; None for a delete by key.
    seen_version: int | None = None

    operation = "DeleteItem"

    @property
    def item_key(self) -> Item:
        """The primary key of the item."""
        return self.key

    def where(self, condition: Condition) -> Self:
        """Make this a conditional write: it fails unless a condition holds for the stored item.

        Conditions of several calls are joined with AND. A failed one raises ConditionFailed.
        """
        whole = join_all(self.where_condition, check_condition(condition, self.schema.name))
        return replace(self, where_condition=whole)

    def then(self, make: Callable[[E_co], Request[W]]) -> Chain[W | None]:
        """Return a chain that deletes, then runs the request that `make` returns for the entity.

        The chain returns None if there was nothing to delete. It is not atomic: if the second
        request fails, the first stays. For writes that succeed or fail as a whole, use
        `transaction`.
        """
        return chain_after(self, make)

    def returning_nothing(self) -> Delete[None]:
        """Return no stored values: neither the deleted entity, nor one that fails a condition.

        Use it for roles that may write an entity but not read all of its fields.
        """
        return replace(self, returns_nothing=True)  # type: ignore[return-value]

    def condition(self) -> Condition | None:
        """Return the whole condition: the caller's, and those on version, entity and expiry."""
        whole = join_all(self.other_entities(), self.own_condition())
        return as_if_deleted(self.table, _cover(self.schema, whole))

    def other_entities(self) -> Condition | None:
        """Return the condition that the item is not of another entity; None if it cannot be."""
        return is_free_of_others(self.schema)

    def own_condition(self) -> Condition | None:
        """Return the caller's condition and that on the version."""
        return join_all(self._version_condition(), self.where_condition)

    @property
    def needs_entity(self) -> bool:
        """Whether the condition fails if the entity does not exist."""
        condition = _cover(self.schema, self.own_condition())
        return condition is not None and not holds_for_absent_item(condition)

    def _version_condition(self) -> Condition | None:
        field = self.schema.version_field
        if field is None or self.seen_version is None:
            return None
        # An entity that no longer exists needs no deletion, and is not a conflict.
        gone = FunctionCall("attribute_not_exists", (Path((self.schema.partition.attribute,)),))
        path = Path((field.stored,))
        seen = self.seen_version
        if not isinstance(seen, Placeholder) and not seen:
            return gone | FunctionCall("attribute_not_exists", (path,))
        return gone | Comparison("=", path, to_literal(seen, encode_any))

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the body of the DeleteItem call."""
        request: dict[str, Any] = {"TableName": self.table.name, "Key": self.key}
        if not self.returns_nothing:
            request["ReturnValues"] = "ALL_OLD"
        condition = self.condition()
        if condition is not None:
            printer = RequestPrinter(resolve_now(now))
            request["ConditionExpression"] = printer.write_condition(condition)
            if not self.returns_nothing:
                request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
            printer.add_to(request)
        return request

    def __repr__(self) -> str:
        return f"<delete {self.schema.name} {show_item(self.key)}>"


@dataclass(frozen=True, slots=True)
class Check(Write[None]):
    """A condition check: a condition on an entity that its transaction does not change."""

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
        """Return no stored values: if the check fails, the error does not have the stored entity.

        Use it for roles that may write an entity but not read all of its fields.
        """
        return replace(self, returns_nothing=True)

    def condition(self) -> Condition | None:
        """Return the caller's condition, extended to treat an expired item as deleted."""
        return as_if_deleted(self.table, _cover(self.schema, self.where_condition))

    @property
    def changes_unique(self) -> bool:
        """Whether the write changes unique fields: a check changes nothing."""
        return False

    def calls(self, now: datetime) -> Calls:
        """Return the call of a transaction that has this check alone."""
        members = [{self.operation: self.to_dynamodb(now=now)}]
        return (ApiCall("TransactWriteItems", {"TransactItems": members}),)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the body of the ConditionCheck in a TransactWriteItems call."""
        printer = RequestPrinter(resolve_now(now))
        condition = self.condition()
        assert condition is not None  # a check always has one
        request: dict[str, Any] = {
            "TableName": self.table.name,
            "Key": self.key,
            "ConditionExpression": printer.write_condition(condition),
        }
        if not self.returns_nothing:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        printer.add_to(request)
        return request

    def __repr__(self) -> str:
        return f"<check {self.schema.name} {show_item(self.key)} {self.where_condition!r}>"


def _cover(schema: EntitySchema, condition: Condition | None) -> Condition | None:
    return None if condition is None else schema.with_former_names(condition)


def refuse_alone(check: Check) -> NoReturn:
    """Raise WriteRefused: a check is run in a transaction only."""
    fact = "a check on its own changes nothing"
    raise WriteRefused(repr(check), fact, "Put it into a transaction.")


def expiry_in(schema: EntitySchema, delay: timedelta) -> Moment:
    """Return the time `delay` after a request runs; raises UpdateInvalid."""
    if schema.ttl_field is None:
        fact = "it has no field that is stored under the table's ttl attribute"
        raise UpdateInvalid(schema.name, fact, "Declare one of type Expiry.")
    if not isinstance(delay, timedelta | Placeholder):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        raise UpdateInvalid(schema.name, f"{delay!r:.80} is not a timedelta", "Pass one.")
    return now + delay


def copy_unchecked(entity: Any, changes: Mapping[str, Any]) -> Any:
    """Return a copy of an entity with values that are known to be valid: a version, an expiry."""
    return BaseModel.model_copy(entity, update=changes)


def make_put(table: TableLike, schema: EntitySchema, entity: Any, presence: Presence) -> Put[Any]:
    """Return a request that writes an entity, with its item encoded now.

    Before `before_write` has run, the entity may lack what it needs; then only its key is encoded.
    """
    completion = schema.completion
    has_hook = completion is not None and completion.has_hook
    item = schema.render_key(entity.__dict__) if has_hook else schema.encode(entity)
    if schema.reserved:
        check_not_reserved(schema, item)
    if schema.upgrade is not None:
        entity = without_upgrade(entity)
    version = schema.version_field
    if version is not None:
        held = getattr(entity, version.name)
        if not isinstance(held, Placeholder):
            following = 1 if presence is Presence.MUST_NOT_EXIST else (held or 0) + 1
            item[version.stored] = {"N": str(following)}
            entity = copy_unchecked(entity, {version.name: following})
    return Put(table, schema, entity, item, presence)
