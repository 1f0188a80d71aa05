"""Items as CSV or JSON lines: exports in pages, and imports in parts, with a dry run.

CSV has the items of one entity, in the form of `keyfold dump`: see `transfer._cells`. Lines are items in
DynamoDB's JSON, or plain JSON as `keyfold load` reads it. The browser splits a file into parts, and says in
which line each begins.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any, NamedTuple

from keyfold.errors import KeyfoldError
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.store._own_items import is_own_item
from keyfold.studio._actions import Action, StudioCall
from keyfold.studio._problems import StudioProblem, describe_problem
from keyfold.studio._shown_items import name_item
from keyfold.studio.rooms._drafts import DraftInvalid, DraftItem, check_raw
from keyfold.studio.rooms._edit_filters import choose_items, find_schema
from keyfold.studio.rooms._edit_plans import count_units, key_of, plan_edit, read_time
from keyfold.studio.rooms._edit_reads import read_item
from keyfold.studio.rooms._edit_writes import carry_out
from keyfold.transfer._cells import from_cells, list_columns, to_cells
from keyfold.transfer._entities import Reject
from keyfold.transfer._json_items import ItemReader, parse_exactly, unwrap
from keyfold.transfer._json_sources import to_line
from keyfold.transfer._renewals import renew_item
from keyfold.values import Item, restore_binaries

# In one request: each item is read, and written on its own.
_MOST_ROWS = 200
_SHOWN_TEXT = 200
# A cell may hold a whole item, as JSON.
_LONGEST_CELL = 4 << 20


def export_items(call: StudioCall) -> dict[str, Any]:
    """Return one page of items as text, in the `form` csv or lines; `header` is for the first page."""
    form = _read_form(call)
    wanted = call.body.mapping("filter").get("entity")
    schema = find_schema(call, wanted if isinstance(wanted, str) else None)
    if form == "csv" and schema is None:
        message = "CSV has the items of one entity: choose one, or export JSON lines."
        raise StudioProblem(422, "edit-invalid", message)
    chosen = choose_items(call)
    lines: list[str] = []
    skipped: list[dict[str, Any]] = []
    for item in chosen.items:
        try:
            lines.append(_write_item(schema if form == "csv" else None, item))
        except ItemMismatch as error:
            key = key_of(call.table, item)
            skipped.append({"key": key, "name": name_item(call.table, item), "message": str(error)})
    is_csv = form == "csv" and schema is not None
    return {
        "header": _write_row(list_columns(schema)) if is_csv and schema is not None else "",
        "text": "".join(lines),
        "count": len(lines),
        "skipped": skipped,
        "scanned": chosen.scanned,
        "after": chosen.after,
    }


def _read_form(call: StudioCall) -> str:
    form = call.body.text("form")
    if form not in ("csv", "lines"):
        message = f"form has to be csv or lines; got {form!r:.40}."
        raise StudioProblem(400, "request-malformed", message)
    return form


def _write_item(schema: EntitySchema | None, item: Item) -> str:
    """Return the row of an item, or without an entity its line; raises ItemMismatch."""
    if schema is None:
        return to_line(item).decode()
    return _write_row(list(to_cells(schema, item).values()))


def _write_row(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()


# Imports.


class FileRow(NamedTuple):
    """An item of a file, or what is wrong with it, and the line that it begins in."""

    line: int
    item: Item | None
    problem: str = ""
    text: str = ""


def import_items(call: StudioCall) -> dict[str, Any]:
    """Write the items of a part of a file; with `dry`, only say what would be written.

    `text` has up to 200 rows, and begins in `line` of the file; CSV has the `header` apart, and the name of
    its `entity`. `replaces` says whether items that exist already are replaced. Every item is validated by
    its entity, and written on the condition that it is as it was read just before.
    """
    rows = list(_read_rows(call))
    if len(rows) > _MOST_ROWS:
        message = f"text has {len(rows):,} rows; at most {_MOST_ROWS} go in one request."
        raise StudioProblem(400, "request-malformed", message)
    counts = {"new": 0, "changed": 0, "same": 0}
    invalid: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    units = 0.0
    for row in rows:
        try:
            if row.item is None:
                raise DraftInvalid([])
            kind, cost = _import_item(call, row.item)
        except DraftInvalid as error:
            faults = [": ".join(filter(None, (each.field, each.message))) for each in error.faults]
            message = row.problem or "; ".join(faults)
            invalid.append({"line": row.line, "message": message, "text": row.text[:_SHOWN_TEXT]})
        except (StudioProblem, KeyfoldError) as error:
            problem = describe_problem(error)
            failed.append({"line": row.line, "code": problem.code, "message": problem.message})
        else:
            counts[kind] += 1
            units += cost
    return {**counts, "rows": len(rows), "invalid": invalid, "failed": failed, "units": units}


def _import_item(call: StudioCall, item: Item) -> tuple[str, float]:
    """Write an item, unless the run is dry; return whether it is new, changed or the same, and units."""
    draft = check_raw(call.table, item)
    before = read_item(call, key_of(call.table, item))
    if before == item:
        return "same", 0.0
    edit = plan_edit(call, before, draft, read_time(call))
    is_new = before is None or edit.is_expired
    if not is_new and not call.body.flag("replaces"):
        raise StudioProblem(409, "already-exists", "An item with its key exists already.")
    if not is_new and _differs_in_managed_only(edit.before, draft):
        return "same", 0.0
    if not call.body.flag("dry"):
        carry_out(call, edit)
    return "new" if is_new else "changed", count_units(edit)["write"]


def _differs_in_managed_only(before: Item | None, draft: DraftItem) -> bool:
    """Return whether an item has all values of a row, apart from what the store sets."""
    if before is None or draft.schema is None:
        return False
    completion, version = draft.schema.completion, draft.schema.version_field
    managed = {None if version is None else version.stored}
    if completion is not None and completion.updated is not None:
        managed.add(completion.updated.stored)
    names = {*before, *draft.item} - managed
    return all(before.get(name) == draft.item.get(name) for name in names)


def _read_rows(call: StudioCall) -> Iterator[FileRow]:
    first = call.body.integer("line", least=1, most=10**9, default=1)
    text = call.body.text("text")
    schema = find_schema(call, call.body.optional_text("entity"))
    if _read_form(call) == "lines":
        yield from _read_lines(call, schema, text, first)
        return
    if schema is None:
        message = "CSV has the items of one entity: choose which."
        raise StudioProblem(422, "edit-invalid", message)
    columns = read_columns(schema, call.body.text("header"))
    yield from _read_csv(schema, columns, text, first)


def _read_lines(
    call: StudioCall, schema: EntitySchema | None, text: str, first: int
) -> Iterator[FileRow]:
    reader = ItemReader.for_table(call.table.to_dynamodb(), call.table)
    for line, each in enumerate(text.split("\n"), first):
        if not each.strip():
            continue
        found = reader(each.removeprefix("\ufeff").encode())
        if isinstance(found, Reject):
            yield FileRow(line, None, found.reason, each)
            continue
        if is_own_item(call.table, found):
            yield FileRow(line, None, "it is one of Keyfold's own items", each)
            continue
        try:
            item = found
            if _is_plain(each, call.table.key.partition[0]):
                _, item = renew_item(call.table, found)
            name = call.table.find_schema(restore_binaries(item)).name
        except (ItemMismatch, KeyfoldError) as error:
            yield FileRow(line, None, str(error), each)
            continue
        if schema is not None and name != schema.name:
            yield FileRow(line, None, f"it is a {name}, not a {schema.name}", each)
        else:
            yield FileRow(line, item, "", each)


def _is_plain(text: str, partition: str) -> bool:
    """Return whether a line is plain JSON, which has fewer types than DynamoDB's."""
    read: Any = parse_exactly(text)
    return not isinstance(unwrap(read, partition).get(partition), dict)


def _read_csv(schema: EntitySchema, columns: list[str], text: str, first: int) -> Iterator[FileRow]:
    csv.field_size_limit(max(_LONGEST_CELL, csv.field_size_limit()))
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = first
    try:
        for cells in reader:
            shown = _write_row(cells).rstrip()
            if cells:
                yield _read_row(schema, columns, cells, line, shown)
            line = first + reader.line_num
    except csv.Error as error:
        yield FileRow(line, None, f"it is not valid CSV: {error}")


def _read_row(
    schema: EntitySchema, columns: list[str], cells: list[str], line: int, shown: str
) -> FileRow:
    if len(cells) != len(columns):
        problem = f"the row has {len(cells)} cells; there are {len(columns)} columns"
        return FileRow(line, None, problem, shown)
    try:
        item = from_cells(schema, dict(zip(columns, cells, strict=True)))
    except ItemMismatch as error:
        return FileRow(line, None, str(error), shown)
    return FileRow(line, item, "", shown)


def read_columns(schema: EntitySchema, header: str) -> list[str]:
    """Return the columns of a CSV file; raises StudioProblem for unknown, missing and repeated ones."""
    rows = list(csv.reader(io.StringIO(header.removeprefix("\ufeff"), newline="")))
    columns = rows[0] if rows else []
    known = list_columns(schema)
    unknown = [name for name in columns if name not in known]
    missing = [
        name for name, each in schema.fields.items() if each.is_needed and name not in columns
    ]
    twice = sorted({name for name in columns if columns.count(name) > 1})
    problems: list[str] = []
    if unknown:
        listed = ", ".join(repr(each) for each in unknown)
        problems.append(f"unknown column {listed}; {schema.name} has {', '.join(known)}")
    if missing:
        problems.append(f"missing column {', '.join(missing)}, which every {schema.name} needs")
    if twice:
        problems.append(f"column {', '.join(twice)} twice")
    if not columns or problems:
        fact = f"it has to name columns: {', '.join(known)}"
        fact = "; ".join(problems) if columns else fact
        raise StudioProblem(422, "edit-invalid", f"Line 1: {fact}.", line=1)
    return columns


ACTIONS: tuple[Action, ...] = (
    Action("edit/import", import_items, writes=True),
    Action("edit/export", export_items),
)
