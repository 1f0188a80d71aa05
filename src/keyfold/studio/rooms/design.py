"""The room Design: the table as a picture, what its keys look like, its findings and its source."""

from __future__ import annotations

import inspect
import shlex
from typing import Any

from keyfold.analysis.cost import read_prices, report_cost
from keyfold.export.documents import DesignDocument, describe_design, write_markdown
from keyfold.export.documents._attribute_facts import AttributeFacts, list_attributes_of
from keyfold.export.documents._shown_values import name_types, show_value
from keyfold.model import Index, Pattern, Table
from keyfold.model._index_choices import text_of
from keyfold.model._schemas import EntitySchema
from keyfold.model._type_names import name_type
from keyfold.studio._actions import Action, StudioCall
from keyfold.studio._problems import StudioProblem
from keyfold.studio._shown_keys import show_template
from keyfold.studio.rooms._design_document import show_document
from keyfold.studio.rooms._findings import profile_once, review_once, show_review
from keyfold.studio.rooms._key_stories import (
    find_examples,
    show_index_keys,
    show_table_keys,
    tell_order,
)
from keyfold.studio.rooms._membership import find_membership, list_memberships
from keyfold.studio.rooms._pattern_lines import (
    ExplainedPattern,
    explain_pattern,
    explain_patterns,
    list_lines,
    show_step,
)
from keyfold.studio.rooms._remembering import remember_for
from keyfold.studio.rooms._source_text import (
    INFERRED,
    SourceText,
    find_definition,
    find_line,
    find_named,
    find_statement,
)

_MOST_CHARACTERS = 60


def show_diagram(call: StudioCall) -> dict[str, Any]:
    """Return the nodes and lines of the diagram."""
    return remember_for(call.workspace, call.subject, "diagram", lambda: _make_diagram(call))


def _make_diagram(call: StudioCall) -> dict[str, Any]:
    table = call.table
    explained = explain_patterns(table)
    lines = [line for each in explained for line in list_lines(table, each)]
    return {
        "groups": _list_groups(call),
        "indexes": [_show_index(each) for each in table.indexes],
        "patterns": [_show_pattern(each) for each in explained],
        "memberships": [each.to_json() for each in list_memberships(table)],
        "lines": [
            {
                "pattern": each.pattern,
                "deed": each.deed,
                "entity": each.entity,
                "index": each.index,
            }
            for each in lines
        ],
    }


def _list_groups(call: StudioCall) -> list[dict[str, Any]]:
    """Return the entities by shard; in a table without shards, by the template of the partition key."""
    table = call.table
    groups: dict[str, dict[str, Any]] = {}
    for shard in table.shards.values():
        groups[shard.name] = {"name": shard.name, "kind": "shard", "entities": []}
    for schema in table.entities.values():
        kind, name = _find_group(table, schema)
        # A partition may have the name of a shard: kinds keep them apart.
        group = groups.setdefault(
            name if kind == "shard" else f"{kind} {name}",
            {"name": name, "kind": kind, "entities": []},
        )
        group["entities"].append(schema.name)
        if kind != "outside":
            group.setdefault("template", show_template(schema.partition))
    return [each for each in groups.values() if each["entities"]]


def _find_group(table: Table, schema: EntitySchema) -> tuple[str, str]:
    """Return the kind and the name of the group that an entity is shown in."""
    if schema.shard is not None:
        return "shard", schema.shard
    if table.shards:
        return "outside", "outside shards"
    if not table.key.sort:
        return "outside", "one item a partition"
    return "partition", text_of(schema.partition)


def _show_index(index: Index) -> dict[str, Any]:
    project = index.project
    names = {"all": "all attributes", "keys": "keys only"}
    return {
        "name": index.name,
        "key": {"partition": index.key.partition, "sort": index.key.sort},
        "local": index.local,
        "projection": names[project] if isinstance(project, str) else f"keys, {', '.join(project)}",
    }


def _show_pattern(explained: ExplainedPattern) -> dict[str, Any]:
    return {
        "name": explained.name,
        "title": explained.pattern.name,
        "writes": explained.writes,
        "problem": explained.problem,
    }


def show_entity(call: StudioCall) -> dict[str, Any]:
    """Return what there is to know about one entity of the declaration."""
    table, schema = call.table, _find_entity(call)
    sample = find_examples(call.workspace, call.subject)
    examples = sample.by_entity()
    size = sample.mean_bytes().get(schema.name)
    return {
        "name": schema.name,
        "description": _describe(schema),
        "shard": schema.shard,
        "fallback": schema is table.fallback,
        "keys": show_table_keys(table, schema, examples),
        "order": [*tell_order(table, schema)],
        "indexes": [
            {
                **find_membership(table, schema, index).to_json(),
                "keys": show_index_keys(schema, index, examples),
                "projection": _show_index(index)["projection"],
            }
            for index in table.indexes
        ],
        "fields": [
            _show_field(each)
            for each in list_attributes_of(table, schema, examples.get(schema.name, ()))
        ],
        "bytes": None if size is None else round(size),
        "sample": sample.source,
        "source": _show_source(_find_entity_source(call, schema)),
    }


def _describe(schema: EntitySchema) -> str:
    return inspect.cleandoc(vars(schema.entity).get("__doc__") or "")


def _show_field(facts: AttributeFacts) -> dict[str, Any]:
    notes = [
        "".join(each if isinstance(each, str) else f"`{each.text}`" for each in note)
        for note in facts.notes
    ]
    example = facts.example
    return {
        "attribute": facts.name,
        "field": facts.field,
        "type": facts.python or name_types(facts.kinds),
        "template": facts.template,
        "notes": notes,
        "example": None if example is None else show_value(example, most=_MOST_CHARACTERS),
    }


def show_pattern(call: StudioCall) -> dict[str, Any]:
    """Return what there is to know about one pattern: its calls, and what they read and write."""
    pattern = _find_pattern(call)
    explained = explain_pattern(pattern)
    found = explained.explanation
    return {
        **_show_pattern(explained),
        "description": pattern.description,
        "parameters": [
            {"name": each.name, "type": name_type(each.annotation), "required": each.is_required}
            for each in pattern.parameters
        ],
        "steps": [] if found is None else [show_step(call.table, each) for each in found.steps],
        "remarks": [] if found is None else [*_list_remarks(explained)],
        "rate": None if pattern.rate is None else pattern.rate.text,
        "peak": None if pattern.peak is None else pattern.peak.text,
        "source": _show_source(_find_pattern_source(call, pattern)),
    }


def _list_remarks(explained: ExplainedPattern) -> list[str]:
    found = explained.explanation
    assert found is not None  # the caller has looked
    remarks = {
        "It scans, so its cost grows with all items.": found.scans,
        "It filters what it has read, and pays for what it leaves out.": found.filters,
        "Its writes are not atomic: it makes several calls.": not found.is_atomic,
        "It writes by what an index had, which may be out of date.": found.writes_after_lag,
    }
    listed = [text for text, holds in remarks.items() if holds]
    if found.lagging_indexes and not found.writes_after_lag:
        names = " and ".join(found.lagging_indexes)
        listed.append(f"{names} may lag behind the last writes.")
    return listed


def show_index(call: StudioCall) -> dict[str, Any]:
    """Return what there is to know about one index: its key, its members, and who reads it."""
    table, index = call.table, _find_index(call)
    examples = find_examples(call.workspace, call.subject).by_entity()
    kinds = table.key_types()
    members = [
        {
            **find_membership(table, schema, index).to_json(),
            "keys": show_index_keys(schema, index, examples),
        }
        for schema in table.entities.values()
    ]
    return {
        **_show_index(index),
        "types": {name: kinds[name] for name in index.key.names},
        "members": members,
        "source": _show_source(_find_place(call, index)),
    }


def show_keys(call: StudioCall) -> dict[str, Any]:
    """Return the keys of all entities, in the table and in every index."""
    table = call.table
    examples = find_examples(call.workspace, call.subject).by_entity()
    return {
        "entities": [
            {
                "name": schema.name,
                "shard": schema.shard,
                "keys": show_table_keys(table, schema, examples),
                "indexes": [
                    {
                        **find_membership(table, schema, index).to_json(),
                        "keys": show_index_keys(schema, index, examples),
                    }
                    for index in table.indexes
                ],
            }
            for schema in table.entities.values()
        ]
    }


def show_findings(call: StudioCall) -> dict[str, Any]:
    """Return the findings of lint, which take a second or two when a table is first reviewed."""
    return show_review(call.table, review_once(call.workspace, call.subject))


def show_design_document(call: StudioCall) -> dict[str, Any]:
    """Return the design document as blocks, or as `markdown` if the body asks for it."""
    document = remember_for(call.workspace, call.subject, "document", lambda: _make_document(call))
    if call.body.flag("markdown"):
        return {"markdown": write_markdown(document)}
    return show_document(document)


def _make_document(call: StudioCall) -> DesignDocument:
    profile = profile_once(call.workspace, call.subject)
    found = review_once(call.workspace, call.subject)
    return describe_design(profile, found, report_cost(profile, read_prices()))


def show_module(call: StudioCall) -> dict[str, Any]:
    """Return the text of an inferred declaration, and the command that writes it to a file."""
    subject, text = call.subject, call.subject.module
    if text is None:
        message = f"The declaration of {subject.name} was not inferred: it is in {subject.source}."
        raise StudioProblem(404, "studio-not-inferred", message)
    url = call.workspace.url
    file = "".join(each if each.isalnum() else "_" for each in subject.name.lower()) + ".py"
    command = ["keyfold", "import", "dynamodb", url, "--name", subject.name, "--output", file]
    source = SourceText(INFERRED, 1, tuple(text.splitlines()))
    return {
        "inferred_from": subject.source,
        "text": text,
        "file": file,
        "command": shlex.join(command) if url else None,
        "source": source.to_json(),
    }


def _find_entity(call: StudioCall) -> EntitySchema:
    name = call.body.text("name")
    found = call.table.entities.get(name)
    if found is None:
        raise _refuse(call, "entity", name, list(call.table.entities))
    return found


def _find_pattern(call: StudioCall) -> Pattern[..., Any]:
    name = call.body.text("name")
    patterns = {each.__name__: each for each in call.table.patterns.values()}
    if name not in patterns:
        raise _refuse(call, "pattern", name, list(patterns))
    return patterns[name]


def _find_index(call: StudioCall) -> Index:
    name = call.body.text("name")
    for index in call.table.indexes:
        if index.name == name:
            return index
    raise _refuse(call, "index", name, [each.name for each in call.table.indexes])


def _refuse(call: StudioCall, kind: str, name: str, known: list[str]) -> StudioProblem:
    listed = ", ".join(known) or "none"
    message = f"{call.table.name} has no {kind} {name!r:.80}; it has {listed}."
    return StudioProblem(404, "design-unknown", message)


def _find_entity_source(call: StudioCall, schema: EntitySchema) -> SourceText | None:
    if call.subject.module is not None:
        return find_named(call.subject.module, schema.entity.__name__)
    return find_definition(schema.entity)


def _find_pattern_source(call: StudioCall, pattern: Pattern[..., Any]) -> SourceText | None:
    if call.subject.module is not None:
        return find_named(call.subject.module, pattern.__name__)
    return find_definition(inspect.unwrap(pattern.make))


def _find_place(call: StudioCall, index: Index) -> SourceText | None:
    if call.subject.module is not None:
        return find_line(call.subject.module, index.declared_at.line)
    return find_statement(index.declared_at)


def _show_source(found: SourceText | None) -> dict[str, Any] | None:
    return None if found is None else found.to_json()


ACTIONS: tuple[Action, ...] = (
    Action("design/diagram", show_diagram),
    Action("design/entity", show_entity),
    Action("design/pattern", show_pattern),
    Action("design/index", show_index),
    Action("design/keys", show_keys),
    Action("design/findings", show_findings),
    Action("design/document", show_design_document),
    Action("design/module", show_module),
)
