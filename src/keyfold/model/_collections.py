"""Item collections: entities of several types from one partition, read by a single query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar, dataclass_transform, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

from keyfold.errors import DeclarationInvalid, FieldUnknown
from keyfold.model._paged_reads import Query
from keyfold.model._queries import make_query
from keyfold.model._ranges import KeyState, SortRange
from keyfold.model._reads import ResultShape
from keyfold.model._requests import DerivedRequest, Request
from keyfold.model._schemas import EntitySchema

C_co = TypeVar("C_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a collection: its entity, and whether it is a list and required."""

    name: str
    schema: EntitySchema
    is_list: bool
    is_required: bool


@dataclass(frozen=True, slots=True)
class CollectionGet(DerivedRequest[C_co | None], Generic[C_co]):
    """A request that reads a collection; returns None if a required member does not exist."""

    collection: type[C_co]
    members: tuple[Member, ...]
    parts: dict[str, Any]
    query: Query[Any]

    @property
    def source(self) -> Request[Any]:
        """The query that reads the items of all members."""
        return self.query

    def consistent(self) -> Self:
        """Use strongly consistent reads, which see every write acknowledged before them.

        They consume twice the read capacity.
        """
        return replace(self, query=self.query.consistent())

    def include_expired(self) -> Self:
        """Include entities that have expired and are still stored."""
        return replace(self, query=self.query.include_expired())

    def __repr__(self) -> str:
        return f"<get {self.collection.__name__} by {self.query!r}>"


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
class CollectionMeta(type(BaseModel)):
    """Metaclass that tells type checkers that collections are frozen."""


class Collection(BaseModel, metaclass=CollectionMeta):
    """Base class of item collections: entities of one partition, such as an order and its lines.

    The type of each field is an entity, an entity or None, or a list of entities.
    """

    model_config = ConfigDict(frozen=True)

    @classmethod
    def get(cls, **parts: Any) -> CollectionGet[Self]:
        """Return a request that reads the collection, by the key parts that its members share.

        Raises FieldUnknown, MissingKeyPart, and DeclarationInvalid if one query cannot read all
        members.
        """
        members = read_members(cls)
        known = dict.fromkeys(name for each in members for name in sorted(each.schema.key_fields))
        for name in parts:
            if name not in known:
                raise FieldUnknown(f"{cls.__name__}'s keys", name, tuple(known))
        for member in members:
            parts = {**parts, **member.schema.coerce(_parts_of(member.schema, parts))}
        queries = [_query_of(member.schema, parts) for member in members]
        table = members[0].schema.table
        first, *others = queries
        partition = first.keys.equals[:1]
        for member, query in zip(members[1:], others, strict=True):
            if query.keys.equals[:1] != partition:
                problem = (
                    f"{cls.__name__}: {members[0].schema.name} and {member.schema.name} are in "
                    "different partitions, so one query cannot read both."
                )
                raise DeclarationInvalid((problem,))
        texts = [_sort_text(query) for query in queries]
        shared = _common_prefix(texts)
        limits = None
        if shared and len(table.key.names) > 1:
            limits = SortRange(table.key.sort[0], prefix={"S": shared})
        keys = KeyState(partition, range=limits)
        return CollectionGet(cls, members, parts, Query(table, None, ResultShape(None), keys=keys))


def _query_of(schema: EntitySchema, parts: dict[str, Any]) -> Query[Any]:
    return make_query(schema.table, schema, None, _parts_of(schema, parts))


def _parts_of(schema: EntitySchema, parts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parts.items() if name in schema.key_fields}


def _common_prefix(texts: list[str]) -> str:
    least, greatest = min(texts), max(texts)
    length = next(
        (
            place
            for place, pair in enumerate(zip(least, greatest, strict=False))
            if len(set(pair)) > 1
        ),
        min(len(least), len(greatest)),
    )
    return least[:length]


def _sort_text(query: Query[Any]) -> str:
    if len(query.keys.equals) > 1:
        return str(query.keys.equals[1][1].get("S", ""))
    limits = query.keys.range
    if not isinstance(limits, SortRange) or limits.prefix is None:
        return ""
    return str(limits.prefix.get("S", ""))


def read_members(collection: type[BaseModel]) -> tuple[Member, ...]:
    """Return the members of a collection; raises DeclarationInvalid."""
    members: list[Member] = []
    problems: list[str] = []
    for name, info in collection.__pydantic_fields__.items():
        annotation: Any = info.annotation
        is_list = get_origin(annotation) in (list, tuple)
        options = (
            get_args(annotation) if is_list or type(None) in get_args(annotation) else (annotation,)
        )
        entity: Any = next((each for each in options if hasattr(each, "keyfold_schema")), None)
        if entity is None:
            problems.append(f"{collection.__name__}.{name}: {annotation} is not a table's entity.")
            continue
        is_required = not is_list and type(None) not in get_args(annotation)
        members.append(Member(name, entity.keyfold_schema(), is_list, is_required))
    if not members and not problems:
        problems.append(f"{collection.__name__}: it has no members.")
    for position, member in enumerate(members):
        problems += [
            f"{collection.__name__}: {other.name} and {member.name} are the same entity."
            for other in members[:position]
            if other.schema is member.schema
        ]
        if member.schema.table is not members[0].schema.table:
            problems.append(
                f"{collection.__name__}: {members[0].name} and {member.name} are in different "
                "tables, so one query cannot read both."
            )
    if problems:
        raise DeclarationInvalid(tuple(problems))
    return tuple(members)
