"""What every room needs to know of a table: its entities, indexes, shards, patterns and roles."""

from __future__ import annotations

from typing import Any

from keyfold.api import find_operation
from keyfold.errors import KeyfoldError
from keyfold.model import Index, Pattern, Table
from keyfold.model._schemas import EntitySchema
from keyfold.studio._actions import Action, StudioCall
from keyfold.studio._shown_keys import show_template
from keyfold.studio._shown_types import show_field_type
from keyfold.studio._workspace import StudioTable


def show_table(call: StudioCall) -> dict[str, Any]:
    """Return the table as every room needs it."""
    subject, table = call.subject, call.table
    return {
        "name": table.name,
        "origin": subject.origin,
        "source": subject.source,
        "problems": subject.problems,
        "key": {**_show_key_names(table.key.partition, table.key.sort), "types": key_types(table)},
        "ttl": table.ttl,
        "stream": table.stream,
        "indexes": [_show_index(each) for each in table.indexes],
        "entities": [_show_entity(subject, each) for each in table.entities.values()],
        "fallback": None if table.fallback is None else table.fallback.name,
        "shards": [
            {"name": shard.name, "template": shard.template} for shard in table.shards.values()
        ],
        "patterns": [_show_pattern(each) for each in table.patterns.values()],
        "roles": [
            {"name": role.name, "tenant": role.tenant, "end_user": role.is_end_user}
            for role in table.roles.values()
        ],
    }


def key_types(table: Table) -> dict[str, str]:
    """Return the types of all key attributes, of indexes too: S, N or B by name."""
    defined = table.to_dynamodb()["AttributeDefinitions"]
    return {each["AttributeName"]: each["AttributeType"] for each in defined}


def _show_key_names(partition: tuple[str, ...], sort: tuple[str, ...]) -> dict[str, Any]:
    return {"partition": partition, "sort": sort}


def _show_index(index: Index) -> dict[str, Any]:
    project = index.project
    return {
        "name": index.name,
        "key": _show_key_names(index.key.partition, index.key.sort),
        "local": index.local,
        "project": project if isinstance(project, str) else list(project),
    }


def _show_entity(subject: StudioTable, schema: EntitySchema) -> dict[str, Any]:
    mark = subject.marks[schema.name]
    return {
        "name": schema.name,
        "letters": mark.letters,
        "hue": mark.hue,
        "hollow": mark.is_hollow,
        "shard": schema.shard,
        "keys": [show_template(part) for part in schema.keys],
        "indexes": {
            name: [show_template(part) for part in parts]
            for name, parts in schema.index_keys.items()
        },
        "fields": [
            {
                "name": field.name,
                "attribute": None if field.is_part else field.stored,
                "type": show_field_type(field),
                "required": field.is_required,
            }
            for field in schema.fields.values()
        ],
    }


def _show_pattern(pattern: Pattern[..., Any]) -> dict[str, Any]:
    return {
        "name": pattern.__name__,
        "title": pattern.name,
        "description": pattern.description,
        "writes": find_writing(pattern),
    }


def find_writing(pattern: Pattern[..., Any]) -> bool:
    """Return whether a pattern writes; one that cannot explain itself may."""
    try:
        steps = pattern.explain().steps
    except KeyfoldError:
        return True
    return any(not find_operation(each.operation).is_read for each in steps)


ACTIONS = (Action("table", show_table),)
