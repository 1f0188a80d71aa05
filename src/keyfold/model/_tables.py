"""Table declarations: a table's key, indexes, entities, access patterns, roles and handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, ParamSpec, TypeVar, overload

from pydantic import BaseModel
from pydantic.errors import PydanticUndefinedAnnotation

import keyfold
from keyfold.errors import DeclarationInvalid, MissingKeyPart, QueryInvalid
from keyfold.keys import Wildcard, can_fit
from keyfold.model._billing import Billing, OnDemand, Provisioned
from keyfold.model._changes import VIEW_TYPES, Change, Handler, HandlerRegistry, Images, Reaction
from keyfold.model._declarations import Declaration, build_schema
from keyfold.model._declared_at import SourcePlace, find_caller
from keyfold.model._entity_conflicts import find_entity_conflicts, find_type_conflicts
from keyfold.model._examples import ExampleRegistry, M
from keyfold.model._expected_use import Volume, parse_volume
from keyfold.model._field_codecs import as_written
from keyfold.model._formatting import show_item
from keyfold.model._keys import Index, Key, Shard, check_index, key_schema
from keyfold.model._late_methods import LateMethod
from keyfold.model._layouts import find_policy_problems, layout_of
from keyfold.model._paged_reads import Query, Scan, check_segments
from keyfold.model._patterns import Pattern, PatternRegistry
from keyfold.model._pickling import Reduced, reduce_table
from keyfold.model._placeholders import Placeholder
from keyfold.model._queries import make_query
from keyfold.model._reads import Get, ResultShape
from keyfold.model._requests import Request
from keyfold.model._reserved import make_write_key
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._seen_values import read_key_fields
from keyfold.model._shared_keys import find_sharing
from keyfold.model._table_problems import find_problems
from keyfold.model._unique import find_shared_guards
from keyfold.model._updates import Update
from keyfold.policy import OWN_START, Layout, Role
from keyfold.values import AttributeValue

E = TypeVar("E")
E2 = TypeVar("E2")
P = ParamSpec("P")
R = TypeVar("R", bound=Request[Any])

Naming = Literal["as_written", "camel", "pascal"]

_NAMING: dict[Naming, Callable[[str], str]] = {
    "as_written": as_written,
    "camel": lambda name: _join(name, first_upper=False),
    "pascal": lambda name: _join(name, first_upper=True),
}


def _join(name: str, *, first_upper: bool) -> str:
    first, *rest = name.split("_")
    words = [word[:1].upper() + word[1:] for word in rest]
    return (first[:1].upper() + first[1:] if first_upper else first) + "".join(words)


@dataclass(eq=False)
class Table:
    """A DynamoDB table: its key, its indexes, and the entities stored in it.

    `ttl` names the attribute with the time at which an item expires. `type_attribute` names one
    that stores the entity of each item, for tables whose keys do not tell entities apart.
    `naming` is the rule that makes attribute names from field names. `stream` is what stream
    records contain of a changed item: its keys, its new image, its old image, or both images.
    `reserved` has prefixes of partition keys that only declared entities write, not the fallback.
    `billing`, `deletion_protection` and `tags` are settings to deploy; None leaves the setting of
    an existing table unchanged. `lint_ignore` has the codes of lint rules that do not apply to the
    table, with the reasons.
    """

    name: str
    key: Key
    indexes: tuple[Index, ...] = ()
    ttl: str | None = None
    type_attribute: str | None = None
    naming: Naming = "as_written"
    stream: Images | None = None
    reserved: tuple[str, ...] = ()
    billing: Billing | None = None
    deletion_protection: bool | None = None
    tags: Mapping[str, str] | None = None
    lint_ignore: Mapping[str, str] = field(default_factory=dict[str, str])
    entities: dict[str, EntitySchema] = field(default_factory=dict[str, EntitySchema], init=False)
    patterns: PatternRegistry = field(init=False)
    handlers: HandlerRegistry = field(init=False)
    # Where it is declared.
    declared_at: SourcePlace = field(init=False)

    def __init__(
        self,
        name: str,
        *,
        key: Key,
        indexes: Sequence[Index] = (),
        ttl: str | None = None,
        type_attribute: str | None = None,
        naming: Naming = "as_written",
        stream: Images | None = None,
        reserved: str | Sequence[str] = (),
        billing: Billing | None = None,
        deletion_protection: bool | None = None,
        tags: Mapping[str, str] | None = None,
        lint_ignore: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.key = key
        self.indexes = tuple(indexes)
        self.ttl = ttl
        self.type_attribute = type_attribute
        self.naming = naming
        self.stream: Images | None = stream
        self.reserved = (reserved,) if isinstance(reserved, str) else tuple(reserved)
        self.billing = billing
        self.deletion_protection = deletion_protection
        self.tags = tags
        self.lint_ignore = dict(lint_ignore or {})
        self.declared_at = find_caller()
        self.entities = {}
        self.shards: dict[str, Shard] = {}
        self.roles: dict[str, Role] = {}
        self._layout: Layout | None = None
        self.patterns = PatternRegistry(self.name)
        self.handlers = HandlerRegistry(self.name)
        self.example_registry = ExampleRegistry(self.name)
        # How many items entities are expected to have, by the entity's name.
        self.volumes: dict[str, Volume] = {}
        # Entities with annotations that name types which are not defined yet.
        self._pending: list[tuple[type[BaseModel], Declaration]] = []
        # The entity of items that match no other entity, if one is declared as the fallback.
        self.fallback: EntitySchema | None = None
        self._is_checked = False
        # For each entity, the others that can have its keys, once that was asked for.
        self._sharing: dict[str, tuple[EntitySchema, ...]] = {}
        # By entity, another one that was found among its items: the next page often has the same.
        self.neighbours: dict[str, EntitySchema] = {}
        # Whether the table has guard items, which keep the values of unique fields unique.
        self.has_guards = False
        # Whether reads have to tell Keyfold's own items from those of entities, by their keys.
        self.may_read_own_items = False
        problems = find_problems(
            name,
            key,
            self.indexes,
            attributes=[("ttl", ttl), ("type_attribute", type_attribute)],
            naming=naming,
            namings=_NAMING,
            stream=stream,
            reserved=self.reserved,
        )
        if problems:
            raise DeclarationInvalid(tuple(problems))
        for index in self.indexes:
            index.belong_to(self)

    # The model knows no databases: these are `keyfold.open` and `keyfold.open_async` with this table
    # as their first argument. The package imports them when they are used.
    open = LateMethod(lambda: keyfold.open)
    open_async = LateMethod(lambda: keyfold.open_async)

    def __repr__(self) -> str:
        return f"Table({self.name!r})"

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> Reduced:
        """Pickle by reference; raises NotPicklable for a table without importable entities."""
        return reduce_table(self)

    # Declarations.

    def shard(self, template: str, *, name: str | None = None) -> Shard:
        """Declare a group of partitions whose keys match a template, such as `"USER#{user}"`.

        Raises DeclarationInvalid if the name is taken by a shard with another template.
        """
        shard = Shard(template, name or template)
        other = self.shards.setdefault(shard.name, shard)
        if other != shard:
            problem = (
                f"{self.name}: shard {shard.name!r} is already declared as {other.template!r}."
            )
            raise DeclarationInvalid((problem,))
        self._is_checked = False
        return shard

    def add_role(self, role: Role) -> Role:
        """Declare a role: what principals that have it may do in the table.

        Raises DeclarationInvalid if another role has its name. Whether the role matches the
        table's shards and entities is checked when all of them are declared.
        """
        if not isinstance(role, Role):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise DeclarationInvalid((f"{self.name}: {role!r:.80} is not a Role.",))
        if self.roles.get(role.name, role) != role:
            problem = f"{self.name}: role {role.name!r} is declared twice, with different rights."
            raise DeclarationInvalid((problem,))
        self._is_checked = False
        return self.roles.setdefault(role.name, role)

    @property
    def layout(self) -> Layout:
        """The areas of the table that policies grant rights to; raises DeclarationInvalid."""
        self.check()
        if self._layout is None:
            self._layout = layout_of(self)
        return self._layout

    def pattern(
        self,
        name: str,
        *,
        example: Mapping[str, Any] | None = None,
        rate: str | float | None = None,
        peak: str | float | None = None,
        lint_ignore: Mapping[str, str] | None = None,
        path: str | None = None,
    ) -> Callable[[Callable[P, R]], Pattern[P, R]]:
        """Return a decorator that registers a function as an access pattern of the table.

        The function takes the pattern's arguments and returns a request. `example` has values for
        arguments that `explain` cannot replace by placeholders. `rate` and `peak` are how often it
        is expected to be called, on average and at most, as in "40/s" and "2M/month".
        `lint_ignore` has the codes of lint rules that do not apply to it, with the reasons. `path` is
        where a service has it, such as "/users/{user}/orders"; by default, entity and function name
        it.
        """
        return self.patterns.register(
            name, example, rate=rate, peak=peak, lint_ignore=lint_ignore, path=path
        )

    def expect(
        self,
        entity: type[BaseModel],
        *,
        items: str | float | None = None,
        growth: str | float | None = None,
        bytes: str | float | None = None,  # noqa: A002 - the field's word
        per_partition: str | float | None = None,
    ) -> None:
        """Declare how many items an entity is expected to have, and how large they are.

        Counts are numbers, or texts such as "200k" and "1.5M". `growth` is the change in a month,
        `bytes` the mean size of an item, and `per_partition` the mean number of items in those
        partitions of the table that have any. Raises DeclarationInvalid.
        """
        name = entity.__name__
        if entity.__dict__.get("_keyfold_table") is not self:
            problem = f"{self.name}: expect: {name} is not an entity of this table."
            raise DeclarationInvalid((problem,))
        try:
            self.volumes[name] = parse_volume(
                items=items, growth=growth, bytes=bytes, per_partition=per_partition
            )
        except ValueError as error:
            raise DeclarationInvalid((f"{self.name}: expect: {name}: {error}.",)) from None

    def examples(self, make: M) -> M:
        """Register a function that returns example entities of the table; a decorator.

        Tools show them, measure them and load them: `keyfold doc`, `cost`, `lint` and others.
        """
        return self.example_registry.register(make)

    def example_entities(self) -> tuple[Any, ...]:
        """Return the table's example entities; raises DeclarationInvalid for one of another table."""
        return self.example_registry.make(self)

    # For two entities, mypy would infer their common base class where pyright infers a union.
    @overload
    def on_change(
        self, one: type[E], other: type[E2], /, *, name: str | None = None, images: Images = ...
    ) -> Callable[
        [Callable[[Change[E | E2]], Reaction | Awaitable[Reaction]]], Handler[E | E2]
    ]: ...

    @overload
    def on_change(
        self, entity: type[E], /, *more: type[E], name: str | None = None, images: Images = ...
    ) -> Callable[[Callable[[Change[E]], Reaction | Awaitable[Reaction]]], Handler[E]]: ...

    @overload
    def on_change(
        self, *, name: str | None = None, images: Images = ...
    ) -> Callable[[Callable[[Change[Any]], Reaction | Awaitable[Reaction]]], Handler[Any]]: ...

    def on_change(
        self, *entities: type[Any], name: str | None = None, images: Images = "new and old"
    ) -> Callable[[Callable[[Change[Any]], Any]], Handler[Any]]:
        """Return a decorator that registers a handler for changes of one or several entities.

        Without an entity, the handler gets every change in the table. It returns requests for the
        store to run, or None. Its progress is stored under `name`, by default the function's name.
        `images` is what the handler needs of a changed item. Handlers run in `store.follow`.
        """
        foreign = [
            each
            for each in entities
            if getattr(each, "__dict__", {}).get("_keyfold_table") is not self
        ]
        if foreign:
            named = getattr(foreign[0], "__name__", repr(foreign[0]))
            problem = f"{self.name}: on_change: {named} is not an entity of this table."
            raise DeclarationInvalid((problem,))
        self._is_checked = False
        return self.handlers.register(entities, name, images)

    def declare(self, entity: type[BaseModel], declaration: Declaration) -> EntitySchema | None:
        """Add an entity to the table and return its schema; raises DeclarationInvalid.

        Returns None if an annotation names a type that is not defined yet: the entity is added
        when the table is checked.
        """
        self._is_checked = False
        if not entity.__pydantic_complete__:
            self._pending.append((entity, declaration))
            return None
        problems: list[str] = []
        schema = self._build(entity, declaration, problems)
        if problems:
            raise DeclarationInvalid(tuple(problems))
        return schema

    def _build(
        self, entity: type[BaseModel], declaration: Declaration, problems: list[str]
    ) -> EntitySchema | None:
        shard = declaration.shard
        if shard is not None and self.shards.get(shard.name) != shard:
            name = entity.__name__
            problems.append(f"{name}: {self.name} has no shard {shard.name!r} with this template.")
            return None
        schema = build_schema(
            entity,
            declaration,
            table=self,
            type_attribute=self.type_attribute,
            name_of=_NAMING[self.naming],
            problems=problems,
        )
        if schema is None:
            return None
        other = self.entities.get(schema.name)
        # The same class statement may run again, as in a notebook, or in another module.
        if other is not None and not _is_same(other, schema):
            problems.append(f"{schema.name}: {self.name} already has an entity of that name.")
            return None
        if declaration.is_fallback:
            if self.fallback is not None and self.fallback.name != schema.name:
                problems.append(
                    f"{schema.name}: {self.fallback.name} is already the table's fallback."
                )
                return None
            self.fallback = schema
            schema.reserve(self.reserved)
        self.entities[schema.name] = schema
        self._sharing.clear()
        self.neighbours.clear()
        self.has_guards = self.has_guards or bool(schema.unique)
        self.may_read_own_items = (
            self.may_read_own_items or self.has_guards or _may_fit_own_items(schema)
        )
        return schema

    def check(self) -> None:
        """Raise DeclarationInvalid with every problem of the table as a whole."""
        if self._is_checked:
            return
        problems: list[str] = []
        self._pending = [each for each in self._pending if not self._complete(*each, problems)]
        problems += find_entity_conflicts(self)
        problems += find_shared_guards(self.entities.values())
        for index in self.indexes:
            if self.entities and not any(
                index.name in schema.index_keys for schema in self.entities.values()
            ):
                names = ", ".join(index.key.names)
                problems.append(
                    f"{self.name}: no entity fills the key of index {index.name!r} ({names})."
                )
        if self.ttl is not None and self.entities and not self._has_ttl():
            problems.append(f"{self.name}: no entity has a field stored as {self.ttl!r}, the ttl.")
        problems += find_type_conflicts(self)
        for handler in self.handlers.values():
            problems += handler.find_problems(self.name, self.stream)
        problems += find_policy_problems(self, self.roles.values())
        if problems:
            raise DeclarationInvalid(tuple(problems))
        self._layout = None
        self._is_checked = True

    def _complete(
        self, entity: type[BaseModel], declaration: Declaration, problems: list[str]
    ) -> bool:
        """Add an entity whose annotations were unresolved; return whether that was possible."""
        try:
            entity.model_rebuild()
        except PydanticUndefinedAnnotation as error:
            problems.append(f"{entity.__name__}: its type {error.name!r} is not defined.")
            return False
        schema = self._build(entity, declaration, problems)
        return schema is not None

    def _has_ttl(self) -> bool:
        return any(
            schema.ttl_field is not None or schema.codec.has_extra
            for schema in self.entities.values()
        )

    # Reads.

    def get(self, **key: Any) -> Get[Any]:
        """Return a request that reads the item with a primary key, as the entity that it is.

        `key` has a value for each attribute of the table's key, by attribute name. Raises
        MissingKeyPart, FieldUnknown and QueryInvalid.
        """
        whole = dict(self.query(**key).keys.equals)
        for name in self.key.names:
            if name not in whole:
                raise MissingKeyPart(self.name, " and ".join(self.key.names), name, tuple(key))
        return Get(self, whole, ResultShape(None))

    def query(self, index: Index | None = None, /, **fields: Any) -> Query[Any]:
        """Return a query for the items of one partition, whatever their entities.

        `fields` has values of key attributes of the table or the index, by attribute name. Raises
        MissingKeyPart, FieldUnknown and QueryInvalid.
        """
        if index is not None:
            self.check_index(index)
        query = make_query(self, None, index, fields)
        kinds = self.key_types()
        for name, value in query.keys.equals:
            if kinds[name] not in value and not isinstance(fields[name], Placeholder):
                fact = f"{name!r} is a key of type {kinds[name]}; got {fields[name]!r:.80}"
                raise QueryInvalid(self.name, fact, "Pass a value of that type.")
        return query

    def scan(self, index: Index | None = None, /, *, segments: int = 1) -> Scan[Any]:
        """Return a request that reads every item of the table or of an index.

        With `segments`, that many parts are read at the same time (a parallel scan), in no order.
        """
        if index is not None:
            self.check_index(index)
        return Scan(self, index, ResultShape(None), segment_count=check_segments(segments))

    # Writes.

    def update(self, **key: Any) -> Update[Any]:
        """Return an update of the item with a primary key, as the entity that has such a key.

        `key` has a value for each attribute of the table's key, by attribute name. Raises
        QueryInvalid if no entity has such a key, or if the key alone does not tell the entity.
        """
        whole = self.get(**key).key
        advice = "Use update() of an entity."
        if self.type_attribute is not None:
            fact = f"its {self.type_attribute!r} tells the entity of an item, not its key"
            raise QueryInvalid(self.name, fact, advice)
        try:
            schema = self.find_schema(whole)
        except ItemMismatch:
            fact = f"no entity has the key {show_item(whole)}"
            raise QueryInvalid(self.name, fact, advice) from None
        return Update(self, schema, *make_write_key(schema, read_key_fields(schema, whole)))

    def find_schema(self, item: Mapping[str, AttributeValue]) -> EntitySchema:
        """Return the schema of an item's entity; raises ItemMismatch if it matches none."""
        for schema in self.entities.values():
            if schema is not self.fallback and schema.fits(item):
                return schema
        if self.fallback is not None:
            return self.fallback
        raise ItemMismatch("its key matches no entity of the table")

    def is_of(self, schema: EntitySchema, item: Mapping[str, AttributeValue]) -> bool:
        """Return whether an item whose key fits an entity belongs to that entity.

        An item belongs to the fallback only if it fits no other entity.
        """
        if schema is not self.fallback:
            return True
        return not any(other.fits(item) for other in self.entities.values() if other is not schema)

    def find_sharing(self, schema: EntitySchema) -> tuple[EntitySchema, ...]:
        """Return the other entities that can have the keys of this one."""
        found = self._sharing.get(schema.name)
        if found is None:
            found = self._sharing[schema.name] = tuple(find_sharing(schema, self.entities.values()))
        return found

    def check_index(self, index: Index) -> Index:
        """Return an index if it belongs to the table; raises QueryInvalid if it does not."""
        return check_index(self, index)

    # Creation.

    def key_types(self) -> dict[str, str]:
        """Return the type (S, N or B) of each key attribute of the table and its indexes."""
        kinds: dict[str, str] = {}
        for key in (self.key, *(index.key for index in self.indexes)):
            for name in key.names:
                kinds[name] = key.types.get(name, kinds.get(name, "S"))
        for schema in self.entities.values():
            for parts in (schema.keys, *schema.index_keys.values()):
                for part in parts:
                    if part.held_by is not None and part.held_by.codec.kinds:
                        kinds[part.attribute] = part.kind
        return kinds

    def to_dynamodb(self) -> dict[str, Any]:
        """Return the body of the CreateTable call."""
        request: dict[str, Any] = {
            "TableName": self.name,
            "KeySchema": key_schema(self.key),
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind}
                for name, kind in self.key_types().items()
            ],
            "BillingMode": "PAY_PER_REQUEST",
        }
        for name, wanted in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True)):
            listed = [index.to_dynamodb() for index in self.indexes if index.local is wanted]
            if listed:
                request[name] = listed
        if self.stream is not None:
            request["StreamSpecification"] = self.stream_to_dynamodb()
        if isinstance(self.billing, Provisioned):
            request["BillingMode"] = "PROVISIONED"
            request["ProvisionedThroughput"] = self.billing.to_dynamodb()
            for index in request.get("GlobalSecondaryIndexes", ()):
                index["ProvisionedThroughput"] = self.billing.of(index["IndexName"]).to_dynamodb()
        if isinstance(self.billing, OnDemand):
            for name, described in (
                (None, request),
                *((each["IndexName"], each) for each in request.get("GlobalSecondaryIndexes", ())),
            ):
                own = self.billing if name is None else self.billing.of(name)
                if maximums := own.to_dynamodb():
                    described["OnDemandThroughput"] = maximums
        if self.deletion_protection is not None:
            request["DeletionProtectionEnabled"] = self.deletion_protection
        if self.tags:
            request["Tags"] = [{"Key": key, "Value": value} for key, value in self.tags.items()]
        return request

    def stream_to_dynamodb(self) -> dict[str, Any]:
        """Return the StreamSpecification for CreateTable and UpdateTable."""
        if self.stream is None:
            return {"StreamEnabled": False}
        return {"StreamEnabled": True, "StreamViewType": VIEW_TYPES[self.stream]}


def _may_fit_own_items(schema: EntitySchema) -> bool:
    """Return whether the key of one of Keyfold's own items can look like one of an entity."""
    template = schema.partition.template
    if template is None:
        return schema.partition.kind == "S"
    return can_fit(template, (OWN_START, Wildcard.ANY))


def _is_same(one: EntitySchema, other: EntitySchema) -> bool:
    origins = [(each.entity.__module__, each.entity.__qualname__) for each in (one, other)]
    keys = [[part.template and part.template.text for part in each.keys] for each in (one, other)]
    return origins[0] == origins[1] or (
        keys[0] == keys[1] and list(one.fields) == list(other.fields)
    )
