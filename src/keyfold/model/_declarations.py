"""Entity declarations: the options of a class statement, validated and compiled to a schema."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from keyfold.errors import KeyfoldError
from keyfold.keys import KeyTemplate, read_fields
from keyfold.model._codecs import ModelCodec, StoredField
from keyfold.model._completion import find_timestamp_problems, read_completion
from keyfold.model._cross_checks import find_cross_checks, find_depends_problems
from keyfold.model._field_codecs import CodecRules, codec_for
from keyfold.model._field_codecs import read_fields as read_model_fields
from keyfold.model._fields import CountsWrites
from keyfold.model._former_names import find_former_problems
from keyfold.model._index_choices import (
    Alternative,
    find_choice_problems,
    join_alternatives,
    text_of,
)
from keyfold.model._key_parts import KeyPart
from keyfold.model._key_types import find_key_type, find_secret_problem
from keyfold.model._keys import Index, Shard, TableLike
from keyfold.model._schemas import EntitySchema
from keyfold.model._unions import find_ambiguities
from keyfold.model._unique import (
    UniqueNames,
    find_guard_name_problems,
    find_unique_problems,
    make_unique_fields,
)
from keyfold.model._upgrades import Upgrade
from keyfold.model._value_codecs import TypeRefused, ValueCodec


@dataclass(frozen=True, slots=True)
class Declaration:
    """The options of an entity's class statement."""

    key: tuple[str, ...]
    # For each index, one or several templates for each attribute of its key.
    index_templates: Mapping[Index, tuple[tuple[str, ...], ...]]
    # The values of the type attribute, the newest first; empty for the class name.
    kinds: tuple[str, ...]
    unique: UniqueNames
    lint_ignore: Mapping[str, str]
    shard: Shard | None = None
    is_fallback: bool = False
    checks_key: bool = False
    upgrade: Upgrade | None = None
    # Whether the entity has a before_write() of its own.
    has_before_write: bool = False


def build_schema(
    entity: type[BaseModel],
    declaration: Declaration,
    *,
    table: TableLike,
    type_attribute: str | None,
    name_of: Callable[[str], str],
    problems: list[str],
) -> EntitySchema | None:
    """Return the schema of an entity, or None after adding its problems to `problems`."""
    found = len(problems)
    name, key = entity.__name__, table.key
    codec = _read_codec(entity, name_of, problems)
    if len(declaration.key) != len(key.names):
        problems.append(
            f"{name}: its key has {len(declaration.key)} templates, but the table's key has "
            f"{len(key.names)} attributes ({', '.join(key.names)})."
        )
        return None
    computed_fields = entity.__pydantic_computed_fields__
    reader = _KeyReader(name, table, declaration, codec, computed_fields, problems)
    keys = reader.read_primary()
    alternatives = reader.read_indexes(keys)
    index_keys = {name: join_alternatives(each) for name, each in alternatives.items()}
    reader.check_same(index_keys)
    computed = _read_computed(entity, name_of, problems)
    computed_names = {attribute for attribute, _ in computed.values()}
    own = _find_rendered(keys, index_keys)
    reserved = own | computed_names | ({type_attribute} if type_attribute else set[str]())
    cross_checks = find_cross_checks(entity)
    problems += find_depends_problems(name, cross_checks, codec.fields)
    problems += _find_name_problems(name, codec, keys, own, computed_names, type_attribute)
    problems += _find_renaming_problems(declaration, name, codec, keys, reserved)
    problems += find_unique_problems(name, declaration.unique, codec, keys)
    problems += _find_secret_problems(name, codec, keys, index_keys)
    problems += _find_special_problems(entity, codec, keys, table)
    if len(problems) > found:
        return None
    kinds = declaration.kinds
    unique = make_unique_fields(declaration.unique, codec, kinds[-1])
    problems += find_guard_name_problems(name, unique.values())
    if len(problems) > found:
        return None
    partition, *rest = keys
    return EntitySchema(
        entity=entity,
        table=table,
        name=name,
        fields=codec.fields,
        codec=codec,
        partition=partition,
        sort=rest[0] if rest else None,
        index_keys=index_keys,
        index_alternatives=alternatives,
        computed=computed,
        kinds=kinds,
        type_attribute=None if type_attribute is None else (type_attribute, kinds[0]),
        ttl_field=_find_ttl_field(codec, table),
        version_field=next(iter(_find_versions(codec)), None),
        unique=unique,
        parts=tuple(each.name for each in codec.fields.values() if each.is_part),
        own_attributes=frozenset(reserved),
        shard=None if declaration.shard is None else declaration.shard.name,
        upgrade=declaration.upgrade,
        checks_key=declaration.checks_key,
        lint_ignore=declaration.lint_ignore,
        cross_checks=cross_checks,
        completion=read_completion(codec, has_hook=declaration.has_before_write),
    )


def _read_codec(
    entity: type[BaseModel], name_of: Callable[[str], str], problems: list[str]
) -> ModelCodec:
    """Return the codec of an entity's fields, after adding their problems to `problems`."""
    name, rules = entity.__name__, CodecRules(name_of)
    codec = ModelCodec(entity, {}, {}, entity.model_config.get("extra") == "allow")
    for each in read_model_fields(entity, name_of, problems):
        other = codec.by_stored.get(each.stored)
        if other is not None and not each.is_part:
            problems.append(
                f"{name}.{each.name}: it is stored as {each.stored!r}, as is {other.name}."
            )
        codec.add(each)
        problems += (
            f"{name}.{each.name}: {problem}"
            for problem in find_ambiguities(each.annotation, each.metadata, rules)
        )
    return codec


def _find_rendered(
    keys: tuple[KeyPart, ...], index_keys: Mapping[str, tuple[KeyPart, ...]]
) -> set[str]:
    """Return the key attributes that are rendered by templates."""
    parts = (*keys, *(part for parts in index_keys.values() for part in parts))
    return {part.attribute for part in parts if part.template is not None}


def _find_ttl_field(codec: ModelCodec, table: TableLike) -> StoredField | None:
    return None if table.ttl is None else codec.by_stored.get(table.ttl)


def _find_versions(codec: ModelCodec) -> list[StoredField]:
    return [each for each in codec.fields.values() if each.has_mark(CountsWrites)]


def _find_special_problems(
    entity: type[BaseModel], codec: ModelCodec, keys: tuple[KeyPart, ...], table: TableLike
) -> Iterator[str]:
    """Yield the problems of the model's configuration, of expiry, timestamps and the version."""
    name = entity.__name__
    if entity.model_config.get("frozen") is not True:
        yield f"{name}: entities must be frozen. Remove frozen from its model_config."
    ttl_field = _find_ttl_field(codec, table)
    if ttl_field is not None and ttl_field.codec.kinds != frozenset({"N"}):
        yield (
            f"{name}.{ttl_field.name}: it is stored as {table.ttl!r}, the table's ttl, which must "
            "be a number of seconds. Declare it as Expiry."
        )
    yield from find_timestamp_problems(name, codec, {each for part in keys for each in part.fields})
    if len(_find_versions(codec)) > 1:
        yield f"{name}: it has several Version fields; keep one."


def _find_name_problems(
    name: str,
    codec: ModelCodec,
    keys: tuple[KeyPart, ...],
    own: set[str],
    computed: set[str],
    type_attribute: str | None,
) -> Iterator[str]:
    for stored in codec.fields.values():
        if stored.is_part:
            if not any(stored.name in part.fields for part in keys):
                yield (
                    f"{name}.{stored.name}: it is a part(), but no template of the item's key uses "
                    "it."
                )
            continue
        subject = f"{name}.{stored.name}: it is stored as {stored.stored!r}, the attribute of"
        if stored.stored in own:
            yield (
                f"{subject} a key of the item. Give it another name with attr(), or make it a "
                "part()."
            )
        elif stored.stored == type_attribute:
            yield f"{subject} the item's type. Give it another name with attr()."
        elif stored.stored in computed:
            yield f"{subject} a computed field. Give it another name with attr()."


def _find_renaming_problems(
    declaration: Declaration,
    name: str,
    codec: ModelCodec,
    keys: tuple[KeyPart, ...],
    reserved: set[str],
) -> Iterator[str]:
    kinds = declaration.kinds
    if not kinds:
        yield f"{name}: kind=() lists no value. Leave it out for {name!r}, the name of the class."
    if len(set(kinds)) != len(kinds) or not all(kinds):
        yield f"{name}: kind={kinds!r} lists the same value twice, or an empty one. List each once."
    held = {part.held_by.name for part in keys if part.held_by is not None}
    for field in codec.renamed:
        if field.name in held:
            yield (
                f"{name}.{field.name}: it is stored in the item's key, whose attributes cannot be "
                "renamed. Remove was."
            )
    yield from find_former_problems(name, codec, reserved)


def _find_secret_problems(
    name: str,
    codec: ModelCodec,
    keys: tuple[KeyPart, ...],
    index_keys: Mapping[str, tuple[KeyPart, ...]],
) -> Iterator[str]:
    parts = (*keys, *(part for parts in index_keys.values() for part in parts))
    used = {name for part in parts for name in part.fields}
    for field in codec.fields.values():
        if field.codec.is_secret and field.name in used:
            yield find_secret_problem(name, field, "part of a key")


@dataclass(slots=True)
class _KeyReader:
    """Compiles the keys of one entity, and collects their problems."""

    owner: str
    table: TableLike
    declaration: Declaration
    codec: ModelCodec
    computed: Container[str]
    problems: list[str]

    def read_primary(self) -> tuple[KeyPart, ...]:
        """Return the parts of the primary key."""
        pairs = zip(self.table.key.names, self.declaration.key, strict=True)
        return tuple(self._read_part(attribute, text) for attribute, text in pairs)

    def read_indexes(self, keys: tuple[KeyPart, ...]) -> dict[str, tuple[Alternative, ...]]:
        """Return the keys that the entity can have in each index, by index name."""
        templates = self.declaration.index_templates
        for index in templates:
            if not any(each is index for each in self.table.indexes):
                self.problems.append(
                    f"{self.owner}: {index.name} is not an index of {self.table.name}."
                )
        primary = dict(zip(self.table.key.names, keys, strict=True))
        found: dict[str, tuple[Alternative, ...]] = {}
        for index in self.table.indexes:
            if index in templates:
                read = [self._read_templates(index, each, primary) for each in templates[index]]
            else:
                read = [self._read_attributes(index, primary)]
            alternatives = tuple(each for each in read if each is not None)
            if alternatives and len(alternatives) == len(read):
                if len(read) > 1:
                    owner, fields = f"{self.owner} by {index.name}", self.codec.fields
                    self.problems += find_choice_problems(owner, index.key, alternatives, fields)
                found[index.name] = alternatives
        return found

    def _read_templates(
        self, index: Index, texts: tuple[str, ...], primary: Mapping[str, KeyPart]
    ) -> tuple[KeyPart, ...] | None:
        names = index.key.names
        if len(texts) != len(names):
            self.problems.append(
                f"{self.owner}: {index.name} has {len(names)} key attributes "
                f"({', '.join(names)}), but {len(texts)} templates are declared."
            )
            return None
        parts: list[KeyPart] = []
        for attribute, text in zip(names, texts, strict=True):
            part = self._read_part(attribute, text)
            if attribute in primary:
                if part != primary[attribute] and text_of(part) != text_of(primary[attribute]):
                    self.problems.append(
                        f"{self.owner}: {attribute!r} in {index.name} is part of the item's key, "
                        f"so its template must be {text_of(primary[attribute])!r}, not {text!r}."
                    )
                part = primary[attribute]
            parts.append(part)
        return tuple(parts)

    def _read_attributes(
        self, index: Index, primary: Mapping[str, KeyPart]
    ) -> tuple[KeyPart, ...] | None:
        """Return the index key from fields stored under its attributes; None if one has no field."""
        parts: list[KeyPart] = []
        for attribute in index.key.names:
            if attribute in primary:
                parts.append(primary[attribute])
            elif attribute in self.codec.by_stored:
                parts.append(KeyPart(attribute, held_by=self.codec.by_stored[attribute]))
            else:
                return None
        return tuple(parts)

    def _read_part(self, attribute: str, text: str) -> KeyPart:
        held_by = self.codec.by_stored.get(attribute)
        if held_by is not None and text == "{" + held_by.name + "}":
            return KeyPart(attribute, held_by=held_by)
        return KeyPart(attribute, template=self._read_template(attribute, text))

    def _read_template(self, where: str, text: str) -> KeyTemplate | None:
        fields = self.codec.fields
        try:
            for name, _ in read_fields(text, owner=self.owner):
                if name not in fields:
                    fact = f"not a field; its fields are {', '.join(fields) or 'none'}."
                    if name in self.computed:
                        fact = "computed; keys are made from other fields."
                        if where not in self.table.key.names:
                            fact += " Declare an ordinary one, and set it in before_write."
                    self.problems.append(
                        f"{self.owner}.{where}: template {text!r} names {name!r}, which is {fact}"
                    )
                    return None
            types = {name: find_key_type(each) for name, each in fields.items()}
            return KeyTemplate.from_types(text, types, owner=self.owner)
        except KeyfoldError as error:
            self.problems.append(str(error).removesuffix(f" [{error.code}]"))
            return None

    def check_same(self, index_keys: Mapping[str, tuple[KeyPart, ...]]) -> None:
        """Report key attributes that have different templates for different indexes."""
        seen: dict[str, tuple[str, str]] = {}
        for index, parts in index_keys.items():
            for part in parts:
                other, text = seen.setdefault(part.attribute, (index, text_of(part)))
                if text != text_of(part):
                    self.problems.append(
                        f"{self.owner}: {part.attribute!r} is {text!r} for {other} but "
                        f"{text_of(part)!r} for {index}; an item has one value of it."
                    )


def _read_computed(
    entity: type[BaseModel], name_of: Callable[[str], str], problems: list[str]
) -> dict[str, tuple[str, ValueCodec]]:
    found: dict[str, tuple[str, ValueCodec]] = {}
    for name, info in entity.__pydantic_computed_fields__.items():
        try:
            codec = codec_for(info.return_type, rules=CodecRules(name_of))
        except TypeRefused as error:
            problems.append(f"{entity.__name__}.{name}: {error}.")
        else:
            found[name] = (name_of(name), codec)
    return found
