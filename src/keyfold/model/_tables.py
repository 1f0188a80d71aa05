"""Tables: where entities, indexes and patterns are declared together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, ParamSpec, TypeVar, overload

from pydantic import BaseModel
from pydantic.errors import PydanticUndefinedAnnotation

from keyfold.errors import DeclarationInvalid, QueryInvalid
from keyfold.keys import MissingKeyPart, find_collision
from keyfold.model._billing import Billing, Provisioned
from keyfold.model._changes import VIEW_TYPES, Change, Handler, HandlerRegistry, Images, Reaction
from keyfold.model._codecs import as_written
from keyfold.model._declarations import Declaration, build_schema
from keyfold.model._keys import Index, Key, Shard, key_schema
from keyfold.model._layouts import find_policy_problems, layout_of
from keyfold.model._patterns import Pattern, PatternRegistry
from keyfold.model._placeholders import Placeholder
from keyfold.model._queries import make_query
from keyfold.model._requests import Get, Query, Request, ResultShape, Scan
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._table_problems import find_problems
from keyfold.policy import Layout, Role
from keyfold.values import AttributeValue

E = TypeVar("E")
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
    """One DynamoDB table: its key, its indexes, and the entities that live in it.

    `ttl` names the attribute by which items expire; `type_attribute` one that holds each
    item's entity, where keys alone do not tell. `naming` is the rule for stored names. `stream`
    is what the records of its changes show of an item: its keys, its new image, its old one, or
    both.
    `billing`, `deletion_protection` and `tags` are how it is to be deployed; what is None is
    left as it is wherever the table exists already.
    """

    name: str
    key: Key
    indexes: tuple[Index, ...] = ()
    ttl: str | None = None
    type_attribute: str | None = None
    naming: Naming = "as_written"
    stream: Images | None = None
    billing: Billing | None = None
    deletion_protection: bool | None = None
    tags: Mapping[str, str] | None = None
    entities: dict[str, EntitySchema] = field(default_factory=dict[str, EntitySchema], init=False)
    patterns: PatternRegistry = field(init=False)
    handlers: HandlerRegistry = field(init=False)

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
        billing: Billing | None = None,
        deletion_protection: bool | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.key = key
        self.indexes = tuple(indexes)
        self.ttl = ttl
        self.type_attribute = type_attribute
        self.naming = naming
        self.stream: Images | None = stream
        self.billing = billing
        self.deletion_protection = deletion_protection
        self.tags = tags
        self.entities = {}
        self.shards: dict[str, Shard] = {}
        self.roles: dict[str, Role] = {}
        self._layout: Layout | None = None
        self.patterns = PatternRegistry(self.name)
        self.handlers = HandlerRegistry(self.name)
        self._waiting: list[tuple[type[BaseModel], Declaration, bool]] = []
        self._fallback: EntitySchema | None = None
        self._is_checked = False
        # Whether some of its items are guards of unique fields.
        self.has_guards = False
        problems = find_problems(
            name,
            key,
            self.indexes,
            attributes=[("ttl", ttl), ("type_attribute", type_attribute)],
            naming=naming,
            namings=_NAMING,
            stream=stream,
        )
        if problems:
            raise DeclarationInvalid(tuple(problems))

    def __repr__(self) -> str:
        return f"Table({self.name!r})"

    def __hash__(self) -> int:
        return id(self)

    @property
    def fallback(self) -> EntitySchema | None:
        """The entity of items that are no other's, where there is one."""
        return self._fallback

    # Declaring.

    def shard(self, template: str, *, name: str | None = None) -> Shard:
        """Declare partitions that belong together, by the template of their key."""
        shard = Shard(template, name or template)
        other = self.shards.setdefault(shard.name, shard)
        if other != shard:
            problem = f"{self.name}: shard {shard.name!r} is {other.template!r} already."
            raise DeclarationInvalid((problem,))
        self._is_checked = False
        return shard

    def add_role(self, role: Role) -> Role:
        """Declare what a kind of principal may do in the table; raises DeclarationInvalid.

        Whether it fits the table's shards and entities is known when all are declared.
        """
        if not isinstance(role, Role):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise DeclarationInvalid((f"{self.name}: {role!r:.80} is no Role.",))
        if self.roles.get(role.name, role) != role:
            problem = f"{self.name}: role {role.name!r} is declared twice, with different rights."
            raise DeclarationInvalid((problem,))
        self._is_checked = False
        return self.roles.setdefault(role.name, role)

    @property
    def layout(self) -> Layout:
        """How its partitions are shared out, for policies; raises DeclarationInvalid."""
        self.check()
        if self._layout is None:
            self._layout = layout_of(self)
        return self._layout

    def pattern(
        self, name: str, *, example: Mapping[str, Any] | None = None
    ) -> Callable[[Callable[P, R]], Pattern[P, R]]:
        """Register a function that returns a request as an access pattern of the table.

        `example` has arguments for those that cannot be placeholders.
        """
        return self.patterns.register(name, example)

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
        """Register a function that is told of the changes of one entity, or of several.

        Without an entity, it is told of every change in the table. What it returns are requests
        for the store to run, or None. `name` is what its progress is kept under, by default the
        function's own; `images` is what it needs to see. Nothing runs before `store.follow`.
        """
        foreign = [
            each
            for each in entities
            if getattr(each, "__dict__", {}).get("_keyfold_table") is not self
        ]
        if foreign:
            named = getattr(foreign[0], "__name__", repr(foreign[0]))
            raise DeclarationInvalid((f"{self.name}: on_change: {named} is no entity of it.",))
        self._is_checked = False
        return self.handlers.register(entities, name, images)

    def declare(
        self, entity: type[BaseModel], declaration: Declaration, *, is_fallback: bool
    ) -> EntitySchema | None:
        """Take in an entity; raises DeclarationInvalid. None if its types are not known yet."""
        self._is_checked = False
        if not entity.__pydantic_complete__:
            self._waiting.append((entity, declaration, is_fallback))
            return None
        problems: list[str] = []
        schema = self._build(entity, declaration, problems, is_fallback=is_fallback)
        if problems:
            raise DeclarationInvalid(tuple(problems))
        return schema

    def _build(
        self,
        entity: type[BaseModel],
        declaration: Declaration,
        problems: list[str],
        *,
        is_fallback: bool,
    ) -> EntitySchema | None:
        shard = declaration.shard
        if shard is not None and self.shards.get(shard.name) != shard:
            name = entity.__name__
            problems.append(f"{name}: {self.name} has no shard {shard.name!r} like that.")
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
            problems.append(f"{schema.name}: {self.name} has another entity of that name.")
            return None
        if is_fallback:
            if self._fallback is not None and self._fallback.name != schema.name:
                problems.append(
                    f"{schema.name}: {self._fallback.name} is the table's fallback already."
                )
                return None
            self._fallback = schema
        self.entities[schema.name] = schema
        self.has_guards = self.has_guards or bool(schema.unique)
        return schema

    def check(self) -> None:
        """Raise DeclarationInvalid with everything that is wrong with the table as a whole."""
        if self._is_checked:
            return
        problems: list[str] = []
        self._waiting = [each for each in self._waiting if not self._complete(*each, problems)]
        problems += self._find_collisions()
        problems += self._find_kind_conflicts()
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
        problems += self._find_type_conflicts()
        for handler in self.handlers.values():
            problems += handler.find_problems(self.name, self.stream)
        problems += find_policy_problems(self, self.roles.values())
        if problems:
            raise DeclarationInvalid(tuple(problems))
        self._layout = None
        self._is_checked = True

    def _complete(
        self,
        entity: type[BaseModel],
        declaration: Declaration,
        is_fallback: bool,  # noqa: FBT001 - as it was kept
        problems: list[str],
    ) -> bool:
        """Take in an entity that waited for the types of its fields; tell whether it could be."""
        try:
            entity.model_rebuild()
        except PydanticUndefinedAnnotation as error:
            problems.append(f"{entity.__name__}: its type {error.name!r} is nowhere defined.")
            return False
        schema = self._build(entity, declaration, problems, is_fallback=is_fallback)
        return schema is not None

    def _has_ttl(self) -> bool:
        return any(
            schema.ttl_field is not None or schema.codec.has_extra
            for schema in self.entities.values()
        )

    def _find_collisions(self) -> list[str]:
        if self.type_attribute is not None:
            return []
        problems: list[str] = []
        own = [schema for schema in self.entities.values() if schema is not self._fallback]
        for one, other in combinations(own, 2):
            templates = [
                [part.template for part in schema.keys if part.template is not None]
                for schema in (one, other)
            ]
            if any(len(each) != len(self.key.names) for each in templates):
                problems.append(
                    f"{one.name} and {other.name}: an entity whose key is free-form must be alone "
                    "in its table, or its fallback."
                )
                continue
            example = find_collision(templates[0], templates[1])
            if example is not None:
                problems.append(
                    f"{one.name} and {other.name} can both have the key {example}. "
                    "Change a template, so that an item's entity can be told from its key."
                )
        return problems

    def _find_kind_conflicts(self) -> list[str]:
        kinds: dict[tuple[str, str], str] = {}
        problems: list[str] = []
        for schema in self.entities.values():
            if schema.type_attribute is not None:
                other = kinds.setdefault(schema.type_attribute, schema.name)
                if other != schema.name:
                    problems.append(
                        f"{other} and {schema.name} are both of kind {schema.type_attribute[1]!r}."
                    )
        return problems

    def _find_type_conflicts(self) -> list[str]:
        kinds: dict[str, dict[str, str]] = {}
        all_keys = (self.key, *(index.key for index in self.indexes))
        for key in all_keys:
            for name, kind in key.types.items():
                kinds.setdefault(name, {})[kind] = "the declaration"
        names = {name for key in all_keys for name in key.names}
        for schema in self.entities.values():
            for parts in (schema.keys, *schema.index_keys.values()):
                for part in parts:
                    if part.held_by is None or part.held_by.codec.kinds:
                        kinds.setdefault(part.attribute, {})[part.kind] = schema.name
            # A field may be stored under one name of a key without filling all of it.
            for name in names & schema.codec.by_stored.keys():
                for kind in schema.codec.by_stored[name].codec.kinds:
                    kinds.setdefault(name, {})[kind] = schema.name
        unkeyable = [
            f"{found[kind]}: {name!r} is a key attribute, which holds text, a number or bytes, and "
            f"is stored as {kind} here."
            for name, found in kinds.items()
            for kind in found
            if kind not in ("S", "N", "B")
        ]
        return unkeyable + [
            f"{self.name}: key attribute {name!r} holds different types: "
            + ", ".join(f"{kind} for {entity}" for kind, entity in found.items())
            + "."
            for name, found in kinds.items()
            if len(found) > 1
        ]

    # Reading.

    def get(self, **key: Any) -> Get[Any]:
        """Read the item that has a key, as an entity of whichever type it is.

        `key` has every attribute of the table's key, by its stored name.
        """
        whole = dict(self.query(**key).keys.equals)
        for name in self.key.names:
            if name not in whole:
                raise MissingKeyPart(self.name, " and ".join(self.key.names), name, tuple(key))
        return Get(self, whole, ResultShape(None))

    def query(self, index: Index | None = None, /, **fields: Any) -> Query[Any]:
        """Query by attributes, for entities of every type that lie there.

        `fields` are key attributes of the table or of the index, by their stored names.
        """
        if index is not None:
            self.index_named(index)
        query = make_query(self, None, index, fields)
        kinds = self.key_types()
        for name, value in query.keys.equals:
            if kinds[name] not in value and not isinstance(fields[name], Placeholder):
                fact = f"{name!r} is a key of type {kinds[name]}, and got {fields[name]!r:.80}"
                raise QueryInvalid(self.name, fact, "Give a value of that type.")
        return query

    def scan(self, index: Index | None = None, /) -> Scan[Any]:
        """Read every item of the table, or of an index."""
        if index is not None:
            self.index_named(index)
        return Scan(self, index, ResultShape(None))

    def find_schema(self, item: Mapping[str, AttributeValue]) -> EntitySchema:
        """Return the entity that an item is of; raises Unfit."""
        for schema in self.entities.values():
            if schema is not self._fallback and schema.fits(item):
                return schema
        if self._fallback is not None:
            return self._fallback
        raise ItemMismatch("no entity of the table has such a key")

    def is_of(self, schema: EntitySchema, item: Mapping[str, AttributeValue]) -> bool:
        """Tell whether an item that an entity could be is that: a fallback is what no other is."""
        if schema is not self._fallback:
            return True
        return not any(other.fits(item) for other in self.entities.values() if other is not schema)

    def index_named(self, index: Index) -> Index:
        """Return one of the table's indexes; raises QueryInvalid for another's."""
        if not any(each is index for each in self.indexes):
            known = ", ".join(each.name for each in self.indexes) or "none"
            fact = f"it has no index {getattr(index, 'name', index)!r}"
            raise QueryInvalid(self.name, fact, f"It has {known}.")
        return index

    # Creating.

    def key_types(self) -> dict[str, str]:
        """Return the type of each key attribute, of the table and of its indexes."""
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
        """Return the CreateTable request."""
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
        if self.deletion_protection is not None:
            request["DeletionProtectionEnabled"] = self.deletion_protection
        if self.tags:
            request["Tags"] = [{"Key": key, "Value": value} for key, value in self.tags.items()]
        return request

    def stream_to_dynamodb(self) -> dict[str, Any]:
        """Return the stream as CreateTable and UpdateTable take it."""
        if self.stream is None:
            return {"StreamEnabled": False}
        return {"StreamEnabled": True, "StreamViewType": VIEW_TYPES[self.stream]}


def _is_same(one: EntitySchema, other: EntitySchema) -> bool:
    origins = [(each.entity.__module__, each.entity.__qualname__) for each in (one, other)]
    keys = [[part.template and part.template.text for part in each.keys] for each in (one, other)]
    return origins[0] == origins[1] or (
        keys[0] == keys[1] and list(one.fields) == list(other.fields)
    )
