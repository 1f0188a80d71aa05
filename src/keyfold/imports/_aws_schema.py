"""Tables of a `schema.json` of the AWS DynamoDB MCP server.

Objects under `keyfold` have what `keyfold export aws-schema` adds: widths of numbers, typed ids, and
fields that are stored in the key alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from keyfold.errors import KeyTemplateInvalid
from keyfold.imports._documents import DocumentNode, read_document
from keyfold.imports._inference import make_valid
from keyfold.imports._inferred import (
    InferredEntity,
    InferredField,
    InferredId,
    InferredIndex,
    InferredTable,
)
from keyfold.imports._naming import make_unique, quote, to_class, to_snake
from keyfold.keys import read_fields

_TYPES = {
    "string": "str",
    "integer": "int",
    "decimal": "Decimal",
    "boolean": "bool",
    "object": "dict[str, Any]",
    "uuid": "UUID",
}
_FORMATS = {"date": "date", "datetime": "datetime", "bytes": "bytes", "any": "Any"}
_PROJECTIONS = {"ALL": "all", "KEYS_ONLY": "keys"}
# Numbers in text keys need a width. The format has none, so this is assumed.
_WIDTHS = {"int": "010", "Decimal": "012.6"}
_KEYABLE = frozenset({"str", "int", "Decimal", "UUID", "date", "datetime"})
_SEPARATORS = "".join(each for each in map(chr, range(128)) if not each.isalnum())


def import_aws_schema(file: Path) -> tuple[InferredTable, ...]:
    """Return the tables of a `schema.json`; raises SourceUnreadable."""
    return read_aws_schema(read_document(file))


def read_aws_schema(document: DocumentNode) -> tuple[InferredTable, ...]:
    """Return the tables of a schema that was read; raises SourceUnreadable."""
    tables = tuple(_SchemaReader(each).read() for each in document.nodes("tables"))
    if not tables:
        raise document.error(
            "it has no tables", "Give a schema.json of the AWS DynamoDB MCP server."
        )
    return tuple(_with_transactions(each, document) for each in tables)


def _with_transactions(table: InferredTable, document: DocumentNode) -> InferredTable:
    """Return a table with those of the patterns of several entities that involve it."""
    found: list[str] = []
    for node in document.nodes("cross_table_access_patterns"):
        involved = node.nodes("entities_involved")
        if any(each.get("table", str) == table.name for each in involved):
            names = dict.fromkeys(each.get("entity", str) or "?" for each in involved)
            found.append(_describe_pattern(", ".join(names), node))
    return replace(table, documented=(*table.documented, *found))


class _SchemaReader:
    """Reads one table; typed ids are those of all its entities."""

    def __init__(self, node: DocumentNode) -> None:
        self._node = node
        self._more = node.node("keyfold")
        self._ids: dict[str, str] = {}
        self._gaps: list[str] = []

    def read(self) -> InferredTable:
        config = self._node.node("table_config")
        name = config.need("table_name", str)
        partition = config.need("partition_key", str)
        sort = config.get("sort_key", str)
        indexes = [_read_index(each) for each in self._node.nodes("gsi_list")]
        indexes += [_read_index(each, is_local=True) for each in self._more.nodes("local_indexes")]
        entities = self._node.node("entities")
        self._find_ids(entities)
        key = (partition,) if sort is None else (partition, sort)
        made = [
            self._read_entity(called, entities.node(called), key, indexes)
            for called in entities.content
        ]
        if not made:
            raise self._node.error("it has no entities")
        table = InferredTable(
            name,
            partition,
            sort,
            indexes=tuple(indexes),
            settings=_read_settings(self._more),
            ids=tuple(sorted(map(_make_id, self._ids.items()), key=lambda each: each.name)),
            entities=tuple(made),
            documented=tuple(
                _describe_pattern(called, each)
                for called in entities.content
                for each in entities.node(called).nodes("access_patterns")
            ),
        )
        table, doubts = make_valid(table)
        for called, found in doubts.items():
            self._gaps += [f"{called}: {doubt}." for doubt in found]
        return _with_gaps(table, self._gaps)

    def _find_ids(self, entities: DocumentNode) -> None:
        """Name a class for each prefix of typed ids, after the first field in whose key it is."""
        for called in entities.content:
            for field, form in (
                entities.node(called).node("keyfold").node("formats").content.items()
            ):
                kind, _, head = str(form).partition(" ")
                if kind == "ulid" and head and head not in self._ids:
                    name = f"{to_class(field)}Id"
                    self._ids[head] = make_unique(name, self._ids.values())

    def _read_entity(
        self,
        called: str,
        node: DocumentNode,
        key: tuple[str, ...],
        indexes: Sequence[InferredIndex],
    ) -> InferredEntity:
        more = node.node("keyfold")
        parts = more.texts("parts")
        given = [
            each for each in (node.need("pk_template", str), node.get("sk_template", str)) if each
        ]
        if len(given) != len(key):
            raise node.error(
                f"it has {len(given)} key templates, and the table has {', '.join(key)}"
            )
        templates = more.texts("key") or given
        fields: dict[str, InferredField] = {}
        for each in node.nodes("fields"):
            name = each.need("name", str)
            made = self._read_field(
                each, more, {f.name for f in fields.values()}, is_part=name in parts
            )
            fields[name] = made
        writer = _TemplateReader(called, fields, node, self._gaps)
        written = tuple(
            writer.write(template, attribute)
            for template, attribute in zip(templates, key, strict=True)
        )
        index_keys = self._read_index_keys(
            node, writer, dict(zip(key, written, strict=True)), indexes
        )
        kind = node.get("entity_type", str)
        has_types = self._more.get("type_attribute", str) is not None
        unique = more.texts("unique")
        return InferredEntity(
            to_class(called),
            written,
            tuple(_require_keys(fields.values(), written)),
            index_keys,
            kind=kind if has_types else None,
            unique={fields[name].name: None for name in unique if name in fields},
            description=str(node.content.get("description") or ""),
            is_fallback=bool(more.content.get("fallback")),
            has_extra=bool(more.content.get("extra")),
        )

    def _read_field(
        self,
        node: DocumentNode,
        more: DocumentNode,
        taken: set[str],
        *,
        is_part: bool,
    ) -> InferredField:
        name, kind = node.need("name", str), node.need("type", str)
        form = str(more.node("formats").content.get(name, ""))
        wanted = name if is_part and to_snake(name) == name else to_snake(name)
        annotation = self._annotate(node, kind, form, name)
        is_optional = node.content.get("required") is False
        default = None
        if form == "set" and is_optional:
            default, is_optional = "frozenset()", False
        return InferredField(
            make_unique(wanted, taken), annotation, None if is_part else name, is_optional, default
        )

    def _annotate(self, node: DocumentNode, kind: str, form: str, name: str) -> str:
        head = form.removeprefix("ulid").strip()
        if form.startswith("ulid"):
            return self._ids.get(head, "Ulid")
        if form == "unix time":
            return "Expiry" if name == self._more.get("ttl", str) else "UnixTime"
        if form in _FORMATS:
            return _FORMATS[form]
        if kind == "array":
            member = _TYPES.get(str(node.content.get("item_type", "")), "Any")
            return f"frozenset[{member}]" if form == "set" else f"list[{member}]"
        if kind not in _TYPES:
            known = ", ".join([*_TYPES, "array"])
            raise node.error(f"its type is {kind!r}", f"The format has {known}.")
        return _TYPES[kind]

    def _read_index_keys(
        self,
        node: DocumentNode,
        writer: _TemplateReader,
        own: Mapping[str, str],
        indexes: Sequence[InferredIndex],
    ) -> dict[str, tuple[tuple[str, ...], ...]]:
        more = node.node("keyfold").node("indexes").content
        mappings = {
            each.need("name", str): [
                [
                    *_as_list(each.content.get("pk_template")),
                    *_as_list(each.content.get("sk_template")),
                ]
            ]
            for each in node.nodes("gsi_mappings")
        }
        found: dict[str, tuple[tuple[str, ...], ...]] = {}
        for name, groups in (mappings | dict(more)).items():
            index = next((each for each in indexes if each.name == name), None)
            if index is None:
                raise node.error(f"it is in the index {name!r}, which gsi_list lacks")
            if any(len(group) != len(index.names) for group in groups):
                raise node.error(
                    f"its templates for {name!r} are not those of {', '.join(index.names)}"
                )
            written = tuple(
                tuple(writer.write(t, a) for t, a in zip(group, index.names, strict=True))
                for group in groups
            )
            plain = tuple(own.get(each) or writer.held(each) for each in index.names)
            if written != (plain,):
                found[name] = written
        return found


class _TemplateReader:
    """Writes templates with the names of fields, and with the widths that keys need."""

    def __init__(
        self, owner: str, fields: dict[str, InferredField], node: DocumentNode, gaps: list[str]
    ) -> None:
        self._owner, self._fields, self._node, self._gaps = owner, fields, node, gaps

    def held(self, attribute: str) -> str | None:
        """Return the template of an attribute that a field holds as it is; None if there is none."""
        field = self._fields.get(attribute)
        return None if field is None or field.attribute is None else f"{{{field.name}}}"

    def write(self, template: object, attribute: str) -> str:
        if not isinstance(template, str):
            raise self._node.error(f"the template of {attribute} must be text")
        if template == f"{{{attribute}}}" and self.held(attribute):
            return f"{{{self._fields[attribute].name}}}"
        try:
            named = read_fields(template, owner=self._owner)
        except KeyTemplateInvalid as error:
            raise self._node.error(f"the template of {attribute} {error.fact}") from None
        specs = {each.name: each.spec for each in named}
        for name, spec in specs.items():
            if name not in self._fields:
                raise self._node.error(
                    f"its template {template!r} names {name!r}, which is no field"
                )
            field = self._fields[name]
            if not spec and field.annotation in _WIDTHS:
                specs[name] = _WIDTHS[field.annotation]
                fact = f"{self._owner}.{field.name}: a number in a key needs a width"
                self._gaps.append(f"{fact}; {specs[name]} is assumed.")
            if field.annotation not in _KEYABLE and not field.annotation.endswith(("Id", "Ulid")):
                raise self._node.error(f"{name!r} is {field.annotation}, which cannot be in a key")
        for name, spec in specs.items():
            shown = f":{spec}" if spec else ""
            pattern = rf"(?<!\{{)\{{{re.escape(name)}(:[^}}]*)?\}}"
            template = re.sub(pattern, f"{{{self._fields[name].name}{shown}}}", template)
        return template


def _require_keys(fields: Iterable[InferredField], templates: Sequence[str]) -> list[InferredField]:
    """Return the fields; those of the primary key are required."""
    named = {each.name for text in templates for each in read_fields(text, owner="import")}
    return [
        replace(each, is_optional=False, default=None) if each.name in named else each
        for each in fields
    ]


def _describe_pattern(entity: str, node: DocumentNode) -> str:
    """Return a sentence about an access pattern: its name, what it takes and does."""
    facts = [node.get("operation", str) or "unknown operation", f"of {entity}"]
    if index := node.get("index_name", str):
        facts.append(f"by index {index}")
    taken = [each.get("name", str) or "?" for each in node.nodes("parameters")]
    if taken:
        facts.append(f"takes {', '.join(taken)}")
    described = node.get("description", str)
    return f"{node.need('name', str)} ({', '.join(facts)})" + (
        f": {described}" if described else ""
    )


def _with_gaps(table: InferredTable, gaps: Sequence[str]) -> InferredTable:
    return replace(table, gaps=tuple(dict.fromkeys((*table.gaps, *gaps))))


def _make_id(named: tuple[str, str]) -> InferredId:
    head, name = named
    prefix = head.rstrip(_SEPARATORS)
    return InferredId(name, prefix, head[len(prefix) :])


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType] - checked when it is written


def _names(node: DocumentNode, name: str) -> tuple[str, ...]:
    return tuple(map(str, _as_list(node.content.get(name))))


def _read_index(node: DocumentNode, *, is_local: bool = False) -> InferredIndex:
    partition = _names(node, "partition_key")
    if not partition:
        raise node.error("it has no partition_key")
    projection = node.get("projection", str) or "ALL"
    project = _PROJECTIONS.get(projection) or _names(node, "included_attributes")
    return InferredIndex(
        node.need("name", str), partition, _names(node, "sort_key"), project, is_local
    )


def _read_settings(more: DocumentNode) -> dict[str, str]:
    """Return the further arguments of the table, as Python source."""
    settings: dict[str, str] = {}
    for name in ("ttl", "type_attribute", "stream"):
        value = more.get(name, str)
        if value is not None:
            settings[name] = quote(value)
    billing: Any = more.content.get("billing")
    if isinstance(billing, str):
        settings["billing"] = quote(billing)
    elif billing is not None:
        settings["billing"] = write_capacity(billing)
    protection = more.content.get("deletion_protection")
    if protection is not None:
        settings["deletion_protection"] = repr(bool(protection))
    tags = more.node("tags").content
    if tags:
        settings["tags"] = (
            f"{{{', '.join(f'{quote(k)}: {quote(str(v))}' for k, v in tags.items())}}}"
        )
    return settings


def write_capacity(described: Mapping[str, Any]) -> str:
    """Return capacity as Python source, of a ProvisionedThroughput or an OnDemandThroughput."""
    names = {"read": "ReadCapacityUnits", "write": "WriteCapacityUnits"}
    kind = "Provisioned"
    if "ReadCapacityUnits" not in described:
        names = {"max_read": "MaxReadRequestUnits", "max_write": "MaxWriteRequestUnits"}
        kind = "OnDemand"
    arguments = [
        f"{argument}={int(described[name])}"
        for argument, name in names.items()
        if name in described
    ]
    own: Mapping[str, Any] = described.get("indexes") or {}
    indexes = ", ".join(f"{quote(name)}: {write_capacity(each)}" for name, each in own.items())
    if own:
        arguments.append(f"indexes={{{indexes}}}")
    return f"{kind}({', '.join(arguments)})"
