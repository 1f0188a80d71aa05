"""Entities: pydantic models that are stored as items of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack, cast, dataclass_transform

from pydantic import BaseModel, ConfigDict, Field, computed_field

from keyfold.errors import DeclarationInvalid
from keyfold.expressions import Condition
from keyfold.model._declarations import Declaration
from keyfold.model._deferred_writes import defer_put
from keyfold.model._edits import (
    DeleteMethod,
    UpdateMethod,
    ref_to,
    refresh_of,
)
from keyfold.model._entity_changes import change_of
from keyfold.model._fields import attr, part
from keyfold.model._keys import Index, Shard
from keyfold.model._keywords import check_keywords
from keyfold.model._metaclass import ModelMetaclass
from keyfold.model._operands import check_condition
from keyfold.model._paged_reads import Query, Scan, check_segments
from keyfold.model._patches import Patch, read_patch
from keyfold.model._paths import Fields
from keyfold.model._queries import make_query
from keyfold.model._reads import Get, Ref, ResultShape
from keyfold.model._schemas import EntitySchema
from keyfold.model._tables import Table
from keyfold.model._unique import read_unique
from keyfold.model._updates import Update
from keyfold.model._upgrades import Upgrade
from keyfold.model._value_validation import EntityRules, rules_of
from keyfold.model._writes import Check, Presence, Put, make_put

KeyDeclaration = str | Shard | Sequence[str | Shard]

# The type of computed fields in a class statement, for which pydantic has no public name.
_DECORATED = type(computed_field(property(repr)))


class EntityOptions(ConfigDict, total=False):
    """The options of an entity's class statement: those of `Entity`, and pydantic's."""

    table: Table
    key: KeyDeclaration
    indexes: Mapping[Index, str | Sequence[str] | Sequence[Sequence[str]]]
    kind: str | Sequence[str]
    unique: str | Sequence[str] | Mapping[str, str]
    fallback: bool
    checks_key: bool
    lint_ignore: Mapping[str, str]


_KEYWORDS = tuple(
    name for name in EntityOptions.__annotations__ if name not in ConfigDict.__annotations__
)


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(Field, attr, part)
)
class EntityMeta(ModelMetaclass):
    """Metaclass of entities: what their classes have, and their instances do not."""

    if TYPE_CHECKING:
        # Pyright checks the options of a class statement by `__new__`, if there is an `__init__` too.
        # At run time, pydantic's `__new__` passes them on to `Entity.__init_subclass__`.
        def __new__(
            mcs,
            name: str,
            bases: tuple[type, ...],
            namespace: dict[str, Any],
            **options: Unpack[EntityOptions],
        ) -> Any: ...
        def __init__(cls, *args: Any, **options: Any) -> None: ...

    @property
    def f(cls) -> Fields:
        """The entity's fields, for conditions and updates: `Song.f.title.eq("Sinnerman")`."""
        return Fields(cls.keyfold_schema())

    def keyfold_schema(cls) -> EntitySchema:
        """Return the entity's compiled schema; raises DeclarationInvalid if it has no table."""
        schema: EntitySchema | None = cls.__dict__.get("_keyfold_schema")
        if schema is None:
            table: Table | None = cls.__dict__.get("_keyfold_table")
            if table is None:
                advice = "Declare it with class …(Entity, table=…, key=…)."
                raise DeclarationInvalid((f"{cls.__name__}: it has no table. {advice}",))
            table.check()
            schema = table.entities[cls.__name__]
            type.__setattr__(cls, "_keyfold_schema", schema)
        return schema


def _read_declaration(name: str, options: EntityOptions, upgrade: Upgrade | None) -> Declaration:
    key = options.get("key")
    if key is None:
        raise DeclarationInvalid((f"{name}: it has a table but no key. Declare key=….",))
    return Declaration(
        key=_read_key(key),
        index_templates={
            index: _read_templates(each) for index, each in options.get("indexes", {}).items()
        },
        kinds=_as_tuple(options.get("kind", name)),
        unique=read_unique(options.get("unique", ())),
        shard=_read_shard(name, key),
        is_fallback=options.get("fallback", False),
        checks_key=options.get("checks_key", False),
        lint_ignore=options.get("lint_ignore", {}),
        upgrade=upgrade,
    )


def _as_tuple(texts: str | Sequence[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _read_templates(
    texts: str | Sequence[str] | Sequence[Sequence[str]],
) -> tuple[tuple[str, ...], ...]:
    """Return the templates of an index key: one for each attribute, or several such groups."""
    if isinstance(texts, str) or all(isinstance(each, str) for each in texts):
        return (_as_tuple(cast("str | Sequence[str]", texts)),)
    return tuple(map(_as_tuple, texts))


def _read_key(key: KeyDeclaration) -> tuple[str, ...]:
    parts = (key,) if isinstance(key, str | Shard) else tuple(key)
    return tuple(each.template if isinstance(each, Shard) else each for each in parts)


def _read_shard(name: str, key: KeyDeclaration) -> Shard | None:
    partition, *rest = (key,) if isinstance(key, str | Shard) else tuple(key)
    if any(isinstance(each, Shard) for each in rest):
        raise DeclarationInvalid(
            (f"{name}: a shard names partitions, so it must be the first part of the key.",)
        )
    return partition if isinstance(partition, Shard) else None


def _check_names(name: str, fields: Iterable[str]) -> None:
    reserved = [each for each in fields if each in _RESERVED_NAMES]
    if reserved:
        problems = tuple(
            f"{name}.{each}: Entity has a method of that name. Rename the field, and store it as "
            f'{each!r} with attr("{each}").'
            for each in reserved
        )
        raise DeclarationInvalid(problems)


_RESERVED_NAMES = frozenset(
    {"before_write", "change", "check", "create", "delete", "f", "get", "put", "query", "ref"}
    | {"refresh", "replace", "scan", "update", "upgrade", "keyfold_schema"}
)


class Entity(BaseModel, metaclass=EntityMeta):
    """Base class of entities: frozen pydantic models that are stored as items of a table.

    `table` is the table, and `key` has a template for each of its key attributes. `indexes` has
    the templates of index keys; an entity is in an index only while all fields of its index key
    have values (a sparse index). There can be several groups of templates for one index, as in
    `[("OPEN#{owner}", "{due}"), ("FREE", "{due}")]`: the first group whose fields all have values
    is the key. `unique` names fields whose values no other entity may have, or maps them to the
    names of their guards.

    `kind` is the value of the table's type attribute, by default the class name. A renamed class
    lists its former kinds after the current one: `kind=("Member", "User")` writes Member and reads
    both. `fallback` makes this the entity of items that match no other. With `checks_key`, an item
    whose fields contradict its key is invalid: reads compare them.

    The methods return requests for `store.run`; none of them accesses a database.
    """

    model_config = ConfigDict(frozen=True)

    _keyfold_declaration: ClassVar[Declaration | None]
    _keyfold_rules: ClassVar[EntityRules | None]
    _keyfold_schema: ClassVar[EntitySchema | None]
    _keyfold_shape: ClassVar[ResultShape[Any] | None]
    _keyfold_table: ClassVar[Table | None]

    def __init_subclass__(cls, **options: Unpack[EntityOptions]) -> None:
        """Read the options of a class statement; raises DeclarationInvalid."""
        super().__init_subclass__()
        # Pydantic has taken the keywords of its configuration.
        check_keywords(cls.__name__, options, _KEYWORDS, ConfigDict.__annotations__)
        # Checked before pydantic reads the fields, because it would warn about these names first.
        decorated = [each for each, value in vars(cls).items() if isinstance(value, _DECORATED)]
        _check_names(cls.__name__, [*get_annotations(cls), *decorated])
        table = options.get("table")
        if table is not None:
            cls._keyfold_table = table
            has_upgrade = cls.upgrade.__func__ is not Entity.upgrade.__func__
            declaration = _read_declaration(
                cls.__name__, options, cls.upgrade if has_upgrade else None
            )
            has_hook = cls.before_write is not Entity.before_write
            cls._keyfold_declaration = replace(declaration, has_before_write=has_hook)

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Declare the entity, whose fields are known now, to its table; raises DeclarationInvalid."""
        super().__pydantic_init_subclass__(**options)
        # Fields may also come from a base class that is not an entity.
        _check_names(cls.__name__, [*cls.__pydantic_fields__, *cls.__pydantic_computed_fields__])
        declaration: Declaration | None = cls.__dict__.get("_keyfold_declaration")
        if declaration is not None:
            assert cls._keyfold_table is not None  # set with the declaration
            cls._keyfold_schema = cls._keyfold_table.declare(cls, declaration)

    @classmethod
    def upgrade(cls, stored: dict[str, Any]) -> Mapping[str, Any]:
        """Return the attributes of a stored item in today's form; override it to change a type.

        `stored` has plain values (text, numbers, bytes, booleans, lists, dicts, sets) by current
        attribute name, key included, and may be changed in place. It is called for every item of
        the entity that is read and by `keyfold backfill`, so it must leave an item that is up to
        date as it is. Conditions, filters and `update` work on what is stored. If it changes the
        primary key, a backfill moves the item; reads keep the key that is stored.
        """
        return stored

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy, with the values of `update` validated and converted like new ones.

        The entity's validators run. Raises pydantic's ValidationError, and FieldUnknown for a name
        that is not a field. `model_construct` makes an entity without validation.
        """
        copied = super().model_copy(deep=deep)
        return copied if not update else rules_of(type(self)).change_copy(copied, update)

    # Reads.

    @classmethod
    def get(cls, **parts: Any) -> Get[Self]:
        """Return a request that reads one entity, by the fields of its key.

        For a typed id, number, date, UUID or enum, its text is accepted too, here and wherever
        key parts are passed. Raises FieldUnknown, MissingKeyPart and KeyPartInvalid.
        """
        shape = _shape(cls)
        schema = shape.schema
        assert schema is not None  # the shape of an entity has its schema
        key, coerced = schema.make_key(parts)
        return Get(schema.table, key, shape, schema.known_from(coerced))

    @classmethod
    def query(cls, index: Index | None = None, /, **parts: Any) -> Query[Self]:
        """Return a query for the entities in one partition of the table or of an index.

        `parts` has all fields of the partition key and, optionally, leading fields of the sort
        key. Raises FieldUnknown, MissingKeyPart, KeyPartInvalid and QueryInvalid.
        """
        table = _table(cls)
        if index is not None:
            table.check_index(index)
        return make_query(table, cls.keyfold_schema(), index, parts)

    @classmethod
    def scan(cls, index: Index | None = None, /, *, segments: int = 1) -> Scan[Self]:
        """Return a request that reads the whole table or index and returns this entity's items.

        With `segments`, that many parts are read at the same time (a parallel scan), in no order.
        """
        table = _table(cls)
        if index is not None:
            table.check_index(index)
        shape: ResultShape[Any] = ResultShape(cls.keyfold_schema())
        return Scan(table, index, shape, segment_count=check_segments(segments))

    # Writes.

    def put(self) -> Put[Self]:
        """Return a request that writes the entity, replacing any item with its key (an upsert).

        If the entity has a Version field, the put uses optimistic locking: it fails with
        VersionConflict if the stored entity was written since this one was read.
        """
        return _make_put(self, Presence.ANY)

    def create(self) -> Put[Self]:
        """Return a request that writes a new entity; fails with AlreadyExists if its key is taken."""
        return _make_put(self, Presence.MUST_NOT_EXIST)

    def replace(self) -> Put[Self]:
        """Return a request that overwrites an existing entity; fails with NotFound if none exists."""
        return _make_put(self, Presence.MUST_EXIST)

    def before_write(self, now: datetime) -> Self:  # noqa: ARG002 - for those that override it
        """Return the entity as it is to be written at the time `now`; override it to derive fields.

        The store calls it for `put`, `create`, `replace` and `change`, after setting timestamps. It
        must be pure, as it may be called several times, and must not change the key. Updates of
        single fields would bypass it, so they are refused: use `change`, or `update().unchecked()`.
        """
        return self

    update: ClassVar[UpdateMethod] = UpdateMethod()
    delete: ClassVar[DeleteMethod] = DeleteMethod()

    def change(self, patch: Patch | None = None, /, **fields: Any) -> Update[Self]:
        """Return an update that gives fields of this entity new values: `order.change(status="x")`.

        The whole entity is validated with its new values, which can also come from a `patch`: a
        mapping, or a model of which only the fields that are set count. The update writes what
        differs: fields, index keys, and stored computed fields. Its condition is that what it is
        based on is still stored: the version, if there is a Version field, otherwise the changed
        fields; and what index keys, computed fields and validators depend on. If it is not, the
        update fails with VersionConflict.

        If nothing differs, nothing is written, and running the update returns the stored entity.
        A list, dict, set or model that the entity itself holds is refused, because a change inside
        it could not be seen: pass a new one, such as `[*order.lines, line]`. Raises
        FieldUnknown, KeyFieldChanged, UpdateInvalid, and pydantic's ValidationError.
        """
        return change_of(self, fields if patch is None else {**read_patch(patch), **fields})

    # References.

    def refresh(self) -> Get[Self]:
        """Return a consistent read of this entity, as it is stored now; None if it is gone."""
        return refresh_of(self)

    def ref(self) -> Ref[Self]:
        """Return a reference to this entity: its key without its other fields."""
        return ref_to(self)

    @classmethod
    def check(cls, condition: Condition, /, **parts: Any) -> Check:
        """Return a condition check: a transaction with it fails unless the condition holds.

        The entity, which is named by the fields of its key, is not changed.
        """
        schema = cls.keyfold_schema()
        key, _ = schema.make_key(parts)
        return Check(_table(cls), schema, key, check_condition(condition, schema.name))


def _make_put(entity: Entity, presence: Presence) -> Put[Any]:
    schema = type(entity).keyfold_schema()
    if schema.is_written_as_is:
        # As below, without another call for most puts.
        return Put(schema.table, schema, entity, schema.encode(entity), presence)
    put = make_put(schema.table, schema, entity, presence)
    return put if schema.completion is None else defer_put(put)


def _table(entity: EntityMeta) -> Table:
    entity.keyfold_schema()
    table: Table = entity.__dict__["_keyfold_table"]
    return table


def _shape(entity: EntityMeta) -> ResultShape[Any]:
    """Return the result shape of an entity's reads; cached, as every get needs it."""
    shape: ResultShape[Any] | None = entity.__dict__.get("_keyfold_shape")
    if shape is None:
        shape = ResultShape(entity.keyfold_schema())
        type.__setattr__(entity, "_keyfold_shape", shape)
    return shape
