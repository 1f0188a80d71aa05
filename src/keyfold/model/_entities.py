"""Entities: pydantic models that live in a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, Unpack, dataclass_transform

from pydantic import BaseModel, ConfigDict, Field
from pydantic._internal._model_construction import ModelMetaclass, build_lenient_weakvaluedict
from pydantic._internal._typing_extra import parent_frame_namespace

from keyfold.errors import DeclarationInvalid
from keyfold.model._declarations import Declaration
from keyfold.model._expressions import Condition, check_condition
from keyfold.model._fields import attr, part
from keyfold.model._keys import Index, Shard
from keyfold.model._paths import Fields
from keyfold.model._queries import make_query
from keyfold.model._requests import Get, Query, ResultShape, Scan
from keyfold.model._schemas import EntitySchema
from keyfold.model._tables import Table
from keyfold.model._updates import Update
from keyfold.model._writes import Check, Delete, Presence, Put, make_put

KeyDeclaration = str | Shard | Sequence[str | Shard]


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(Field, attr, part)
)
class EntityMeta(ModelMetaclass):
    """Makes entities: reads what the class statement says, besides pydantic's own part."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        table: Table | None = None,
        key: KeyDeclaration | None = None,
        indexes: Mapping[Index, str | Sequence[str]] | None = None,
        kind: str | None = None,
        unique: str | Sequence[str] = (),
        fallback: bool = False,
        **options: Unpack[ConfigDict],
    ) -> Any:
        """Make the class, and declare it to its table."""
        if bases != (BaseModel,):
            computed = [each for each in namespace if hasattr(namespace[each], "decorator_info")]
            _check_names(name, [*namespace.get("__annotations__", ()), *computed])
        # Types that are local to a function are looked for where the class statement stands;
        # pydantic would look in this frame.
        namespace["__pydantic_parent_namespace__"] = build_lenient_weakvaluedict(
            parent_frame_namespace()
        )
        entity: Any = super().__new__(
            mcs, name, bases, namespace, __pydantic_reset_parent_namespace__=False, **options
        )
        # Fields may also come from a base that is no entity.
        _check_names(name, entity.__pydantic_fields__)
        if table is None:
            return entity
        if key is None:
            raise DeclarationInvalid((f"{name}: it has a table, and no key.",))
        declaration = Declaration(
            key=_read_key(key),
            index_templates={
                index: (templates,) if isinstance(templates, str) else tuple(templates)
                for index, templates in (indexes or {}).items()
            },
            kind=kind,
            unique=(unique,) if isinstance(unique, str) else tuple(unique),
            shard=_read_shard(name, key),
        )
        schema = table.declare(entity, declaration, is_fallback=fallback)
        type.__setattr__(entity, "_keyfold_table", table)
        type.__setattr__(entity, "_keyfold_schema", schema)
        return entity

    def __init__(
        cls,  # noqa: N805 - of a class
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        **options: Any,
    ) -> None:
        """Leave everything to `__new__`."""
        for ours in ("table", "key", "indexes", "kind", "unique", "fallback"):
            options.pop(ours, None)
        super().__init__(name, bases, namespace, **options)

    @property
    def f(cls) -> Fields:  # noqa: N805
        """The entity's fields, for conditions and updates."""
        return Fields(cls.keyfold_schema())

    def keyfold_schema(cls) -> EntitySchema:  # noqa: N805
        """Return what is known of the entity; raises DeclarationInvalid without a table."""
        schema: EntitySchema | None = cls.__dict__.get("_keyfold_schema")
        if schema is None:
            table: Table | None = cls.__dict__.get("_keyfold_table")
            if table is None:
                advice = "Declare it with class …(Entity, table=…, key=…)."
                raise DeclarationInvalid((f"{cls.__name__}: it belongs to no table. {advice}",))
            table.check()
            schema = table.entities[cls.__name__]
            type.__setattr__(cls, "_keyfold_schema", schema)
        return schema


def _read_key(key: KeyDeclaration) -> tuple[str, ...]:
    parts = (key,) if isinstance(key, str | Shard) else tuple(key)
    return tuple(each.template if isinstance(each, Shard) else each for each in parts)


def _read_shard(name: str, key: KeyDeclaration) -> Shard | None:
    partition, *rest = (key,) if isinstance(key, str | Shard) else tuple(key)
    if any(isinstance(each, Shard) for each in rest):
        raise DeclarationInvalid(
            (f"{name}: a shard is of partitions, so it comes first in a key.",)
        )
    return partition if isinstance(partition, Shard) else None


def _check_names(name: str, fields: Iterable[str]) -> None:
    taken = [each for each in fields if each in _TAKEN]
    if taken:
        problems = tuple(
            f"{name}.{each}: Entity has a method of that name. Call the field something else, and "
            f'store it as {each!r} with attr("{each}").'
            for each in taken
        )
        raise DeclarationInvalid(problems)


_TAKEN = frozenset(
    {"check", "create", "delete", "f", "get", "put", "query", "replace"}
    | {"scan", "update", "keyfold_schema"}
)


class Entity(BaseModel, metaclass=EntityMeta):
    """A kind of item in a table: a frozen pydantic model with a key.

    Its class methods return requests; none of them touches a database.
    """

    model_config = ConfigDict(frozen=True)

    _keyfold_schema: ClassVar[EntitySchema | None]
    _keyfold_shape: ClassVar[ResultShape[Any] | None]
    _keyfold_table: ClassVar[Table | None]

    # Reading.

    @classmethod
    def get(cls, **parts: Any) -> Get[Self]:
        """Return the request for one entity, by the fields of its key.

        Here, and wherever else parts of a key are given, the text of a typed id, a number, a
        date, a UUID or an enum will do for one.
        """
        shape = _shape(cls)
        schema = shape.schema
        assert schema is not None  # that of the entity
        key, fitted = schema.make_key(parts)
        return Get(schema.table, key, shape, schema.known_from(fitted))

    @classmethod
    def query(cls, index: Index | None = None, /, **parts: Any) -> Query[Self]:
        """Return the request for entities of one partition, of the table or of an index.

        All fields of the partition key are needed, and as many leading ones of the sort key as
        are known.
        """
        table = _table(cls)
        if index is not None:
            table.index_named(index)
        return make_query(table, cls.keyfold_schema(), index, parts)

    @classmethod
    def scan(cls, index: Index | None = None, /) -> Scan[Self]:
        """Return the request that reads the whole table, or an index, for entities of this kind."""
        table = _table(cls)
        if index is not None:
            table.index_named(index)
        return Scan(table, index, ResultShape(cls.keyfold_schema()))

    # Writing.

    def put(self) -> Put[Self]:
        """Return the request that writes it, in place of whatever has its key."""
        return _make_put(self, Presence.ANY)

    def create(self) -> Put[Self]:
        """Return the request that writes it where nothing has its key."""
        return _make_put(self, Presence.MUST_NOT_EXIST)

    def replace(self) -> Put[Self]:
        """Return the request that writes it in place of what has its key."""
        return _make_put(self, Presence.MUST_EXIST)

    @classmethod
    def update(cls, **parts: Any) -> Update[Self]:
        """Return the request that changes fields of one entity, to be told which."""
        schema = cls.keyfold_schema()
        return Update(_table(cls), schema, *schema.make_key(parts))

    @classmethod
    def delete(cls, **parts: Any) -> Delete[Self]:
        """Return the request that removes one entity, by the fields of its key."""
        schema = cls.keyfold_schema()
        return Delete(_table(cls), schema, *schema.make_key(parts))

    @classmethod
    def check(cls, condition: Condition, /, **parts: Any) -> Check:
        """Return a condition on one entity, for a transaction that does not change it."""
        schema = cls.keyfold_schema()
        key, _ = schema.make_key(parts)
        return Check(_table(cls), schema, key, check_condition(condition, schema.name))


def _make_put(entity: Entity, presence: Presence) -> Put[Any]:
    schema = type(entity).keyfold_schema()
    return make_put(schema.table, schema, entity, presence)


def _table(entity: EntityMeta) -> Table:
    entity.keyfold_schema()
    table: Table = entity.__dict__["_keyfold_table"]
    return table


def _shape(entity: EntityMeta) -> ResultShape[Any]:
    """Return what an entity's reads make of items; made once, as every get needs it."""
    shape: ResultShape[Any] | None = entity.__dict__.get("_keyfold_shape")
    if shape is None:
        shape = ResultShape(entity.keyfold_schema())
        type.__setattr__(entity, "_keyfold_shape", shape)
    return shape
