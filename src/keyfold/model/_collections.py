"""Item collections: entities of several types from one partition, read by a single query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, Self, TypeVar, dataclass_transform, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

from keyfold.errors import DeclarationInvalid, FieldUnknown, QueryInvalid
from keyfold.model._calls import Calls
from keyfold.model._collection_checks import (
    check_continued,
    check_limit,
    check_ranges,
    member_keys,
)
from keyfold.model._collection_ranges import join_ranges
from keyfold.model._keys import Index, check_index
from keyfold.model._metaclass import ModelMetaclass
from keyfold.model._paged_reads import Query, at_least_one
from keyfold.model._queries import make_query
from keyfold.model._ranges import KeyState
from keyfold.model._reads import ResultShape
from keyfold.model._replacing import replace
from keyfold.model._requests import Chain, DerivedRequest, Request
from keyfold.model._results import RawItem
from keyfold.model._schemas import EntitySchema

C_co = TypeVar("C_co", covariant=True)
W = TypeVar("W")

# The name under which a collection keeps its cursor: in its `__dict__`, as it is not a field.
CURSOR = "_keyfold_cursor"
# The same for the items that do not fit.
INVALID = "_keyfold_invalid"


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a collection: its entity, and whether it is a list and required."""

    name: str
    schema: EntitySchema
    is_list: bool
    is_required: bool


@dataclass(frozen=True, slots=True)
class CollectionGet(DerivedRequest[C_co | None], Generic[C_co]):
    """A request that reads a collection; returns None if a required member does not exist.

    It is one query, which reads one range of sort keys in one direction. A limit or a range that
    would leave out a single member, or read entities that were not asked for, raises QueryInvalid
    when the request runs.
    """

    collection: type[C_co]
    members: tuple[Member, ...]
    parts: dict[str, Any]
    # For each member, a query for its entities alone.
    queries: tuple[Query[Any], ...]
    list_limit: int | None = None
    cursor: str | None = None
    _query: Query[Any] | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def query(self) -> Query[Any]:
        """The query for all members."""
        found = self._query
        if found is None:
            found = self._join(self.members)
            object.__setattr__(self, "_query", found)
        return found

    @property
    def source(self) -> Request[Any]:
        """The query that reads the items of all members."""
        return self.query

    def then(self, make: Callable[[C_co], Request[W]]) -> Chain[W | None]:
        """Return a chain that reads the collection, then runs the request that `make` returns for it.

        The chain returns None if the collection does not exist.
        """
        return Chain(self, make)

    def limit(self, count: int) -> Self:
        """Return at most `count` entities in the lists, all lists together.

        Single members do not count. They have to be read before the lists: in ascending order
        their sort keys must be less than those of the lists, in descending order greater. If there
        are more entities, the collection has a `cursor`.
        """
        return replace(self, list_limit=at_least_one("limit", count))

    def descending(self) -> Self:
        """Read in descending order of sort keys, so that lists begin with their last entities."""
        return self._with_queries(lambda query, _: query.descending())

    def starting_with(self, text: str | bytes) -> Self:
        """Return only list entities whose next sort key part begins with `text`."""
        return self._with_ranges(lambda query: query.starting_with(text))

    def since(self, value: Any) -> Self:
        """Return only list entities whose next sort key part is `value` or greater.

        If that part is a typed id, `value` may be a datetime.
        """
        return self._with_ranges(lambda query: query.since(value))

    def until(self, value: Any) -> Self:
        """Return only list entities whose next sort key part is `value` or less.

        If that part is a typed id, `value` may be a datetime.
        """
        return self._with_ranges(lambda query: query.until(value))

    def between(self, low: Any, high: Any) -> Self:
        """Return only list entities whose next sort key part is from `low` to `high`.

        Both are included. If that part is a typed id, they may be datetimes.
        """
        return self._with_ranges(lambda query: query.between(low, high))

    def after(self, cursor: str | None) -> Self:
        """Continue after the collection that has this cursor; None starts at the beginning.

        Only for collections of lists. Single members are on the first page alone: continue with a
        query, or a collection, of the lists.
        """
        return replace(self, cursor=cursor)

    def consistent(self) -> Self:
        """Use strongly consistent reads, which see every write acknowledged before them.

        They consume twice the read capacity.
        """
        return self._with_queries(lambda query, _: query.consistent())

    def include_expired(self) -> Self:
        """Include entities that have expired and are still stored."""
        return self._with_queries(lambda query, _: query.include_expired())

    def calls(self, now: datetime) -> Calls:
        """Return the first call of the query; raises QueryInvalid if one query cannot do it."""
        self._check()
        return self.query.calls(now)

    @property
    def rest(self) -> Query[Any]:
        """The query whose pages continue the lists: that of their entity, if there is one list."""
        lists = [query for query, each in self._pairs() if each.is_list]
        if len(lists) == 1:
            return lists[0]
        return self._join([each for each in self.members if each.is_list])

    def _check(self) -> None:
        """Raise QueryInvalid if one query cannot read what was asked for."""
        name, attribute = self.collection.__name__, self._sort_attribute
        members = [
            member_keys(each.name, each.schema.name, query.keys, attribute, is_list=each.is_list)
            for query, each in self._pairs()
        ]
        if self.cursor is not None:
            check_continued(name, members)
        check_ranges(name, members)
        if self.list_limit is not None:
            check_limit(name, members, is_reversed=self.query.is_reversed)

    @property
    def _sort_attribute(self) -> str:
        """The sort key; empty if there is none, or if it has several attributes."""
        first = self.queries[0]
        key = first.table.key if first.index is None else first.index.key
        return key.sort[0] if len(key.sort) == 1 else ""

    def _pairs(self) -> list[tuple[Query[Any], Member]]:
        return list(zip(self.queries, self.members, strict=True))

    def _with_queries(self, change: Callable[[Query[Any], Member], Query[Any]]) -> Self:
        return replace(self, queries=tuple(change(*each) for each in self._pairs()))

    def _with_ranges(self, limit: Callable[[Query[Any]], Query[Any]]) -> Self:
        if not any(each.is_list for each in self.members):
            fact = "it has no list, whose sort keys a range could limit"
            raise QueryInvalid(self.collection.__name__, fact, "Read it without a range.")
        return self._with_queries(lambda query, each: limit(query) if each.is_list else query)

    def _join(self, members: Sequence[Member]) -> Query[Any]:
        """Return one query for the entities of several members."""
        queries = [query for query, each in self._pairs() if each in members]
        first = queries[0]
        key = first.table.key if first.index is None else first.index.key
        partition = first.keys.equals[: len(key.partition)]
        limits, attribute = None, self._sort_attribute
        if attribute:
            is_exact = self.list_limit is not None or any(each.keys.is_limited for each in queries)
            states = [each.keys for each in queries]
            limits = join_ranges(attribute, states, is_exact=is_exact)
        limit = self.list_limit
        if limit is not None:
            limit += sum(not each.is_list for each in members)
        return replace(
            first,
            shape=ResultShape(None),
            keys=KeyState(partition, range=limits),
            page_limit=limit,
        )

    def __repr__(self) -> str:
        return f"<get {self.collection.__name__} by {self.query!r}>"


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
class CollectionMeta(ModelMetaclass):
    """Metaclass that tells type checkers that collections are frozen."""


class Collection(BaseModel, metaclass=CollectionMeta):
    """Base class of item collections: entities of one partition, such as an order and its lines.

    The type of each field is an entity, an entity or None, or a list of entities.
    """

    model_config = ConfigDict(frozen=True)

    @property
    def cursor(self) -> str | None:
        """Where the lists continue, if a limit ended them; None if there is no more.

        Pass it to `after` of a query for the entities of the list, with the same key parts, range
        and order. If there are several lists, pass it to `after` of a collection of these alone.
        """
        return self.__dict__.get(CURSOR)

    @property
    def invalid(self) -> tuple[RawItem, ...]:
        """The items read for the collection that do not fit its entities, or match none."""
        return self.__dict__.get(INVALID, ())

    @classmethod
    def get(cls, index: Index | None = None, /, **parts: Any) -> CollectionGet[Self]:
        """Return a request that reads the collection, by the key parts that its members share.

        With an index, the members are those in one partition of the index. Raises FieldUnknown,
        MissingKeyPart, and DeclarationInvalid if one query cannot read all members.
        """
        members = read_members(cls)  # pyright: ignore[reportArgumentType] - classes can be hashed
        if index is not None:
            check_index(members[0].schema.table, index)
        fields = {each.name: _fields_of(each.schema, index) for each in members}
        known = dict.fromkeys(name for each in members for name in sorted(fields[each.name]))
        for name in parts:
            if name not in known:
                raise FieldUnknown(f"{cls.__name__}'s keys", name, tuple(known))
        queries: list[Query[Any]] = []
        for member in members:
            own = {name: parts[name] for name in parts if name in fields[member.name]}
            own = member.schema.coerce(own)
            parts = {**parts, **own}
            queries.append(make_query(member.schema.table, member.schema, index, own))
        _check_partitions(cls.__name__, members, queries)
        return CollectionGet(cls, members, parts, tuple(queries))


def _fields_of(schema: EntitySchema, index: Index | None) -> frozenset[str]:
    """Return the fields of an entity's key in the table or in an index."""
    if index is None:
        return schema.key_fields
    alternatives = schema.index_alternatives.get(index.name, ())
    return frozenset(name for each in alternatives for part in each for name in part.fields)


def _check_partitions(
    owner: str, members: tuple[Member, ...], queries: Sequence[Query[Any]]
) -> None:
    first = queries[0]
    count = len((first.table.key if first.index is None else first.index.key).partition)
    for member, query in zip(members, queries, strict=True):
        if query.keys.equals[:count] != first.keys.equals[:count]:
            problem = (
                f"{owner}: {members[0].schema.name} and {member.schema.name} are in "
                "different partitions, so one query cannot read both."
            )
            raise DeclarationInvalid((problem,))


@lru_cache(maxsize=256)
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
