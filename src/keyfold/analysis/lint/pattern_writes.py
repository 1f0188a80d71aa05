"""Rules about what access patterns write, and read after it: P07, P08, P10 to P12 and P14."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from keyfold.analysis.lint._explained import (
    AnyPattern,
    Steps,
    counts,
    explain_all,
    field_of,
    find_gets,
    find_updates,
    find_writes,
    is_plain_put,
)
from keyfold.analysis.lint._findings import Severity
from keyfold.analysis.lint._rules import Design, DesignProblem, rule
from keyfold.analysis.sizes import StoredSize
from keyfold.model._formatting import show_item
from keyfold.model._pattern_arguments import sample_for
from keyfold.model._reads import Get
from keyfold.model._schemas import EntitySchema
from keyfold.model._transactions import MAX_ACTIONS, Transaction
from keyfold.model._updates import Update
from keyfold.model._writes import Put, Write
from keyfold.values import Item

_MAX_TRANSACTION_BYTES = 4 * 1024 * 1024
# Half of what one partition can write in a second.
_HOT_WRITES = 500
# The list whose member is in the text of a placeholder.
_LISTED = re.compile(r"\{([^{}]*?)\[i\]")
_CREATING = re.compile(
    r"(create|add|register|insert|sign_?up|new|open|start|place)(_|\b)", re.IGNORECASE
)


@rule(
    "P07",
    "One-item transaction",
    severity=Severity.WARNING,
    fix="Run the request by itself: it is as atomic, and its condition works the same.",
    source="F4",
)
def one_item_transaction(design: Design) -> Iterator[DesignProblem]:
    """A transaction of one item costs twice the units of the same request alone."""
    for pattern, steps in explain_all(design):
        for step in steps:
            match step.request:
                # A token makes a repeated call harmless, which only a transaction has.
                case Transaction(requests=(Get() | Put() | Update() as member,), token=None):
                    if not _changes_unique(member):
                        kind = "reads" if isinstance(member, Get) else "writes"
                        yield DesignProblem(pattern, f"Its transaction {kind} one item.")
                case _:
                    pass


def _changes_unique(member: Get[Any] | Write[Any]) -> bool:
    """Return whether the store adds the guards of unique values to a write."""
    return isinstance(member, Write) and member.changes_unique


@rule(
    "P08",
    "May pass 100 items or 4 MB",
    severity=Severity.WARNING,
    fix="Check the number before, split the work, or use a batch if its parts may fail alone.",
    source="ME14",
)
def large_transaction(design: Design) -> Iterator[DesignProblem]:
    """A transaction of more than 100 items or 4 MB is refused as a whole."""
    for pattern, steps in explain_all(design):
        for step in steps:
            if not isinstance(step.request, Transaction):
                continue
            lists = _find_lists(step.request)
            if lists:
                fixed = len(step.request.requests) - sum(lists.values())
                parts = [f"{count} for each of {name}" for name, count in lists.items()]
                fact = f"Its transaction has {' and '.join([f'{fixed} requests', *parts])}"
                yield DesignProblem(pattern, f"{fact}; it takes {MAX_ACTIONS} requests.")
                continue
            size_bytes = sum(_mean_bytes(design, one.schema) for one in find_writes(step))
            if size_bytes > _MAX_TRANSACTION_BYTES:
                fact = f"The items of its transaction have {size_bytes / 1024**2:.1f} MB"
                yield DesignProblem(pattern, f"{fact}, by their mean sizes.")


def _find_lists(transaction: Transaction) -> dict[str, int]:
    """Return how many requests of a transaction there are for each member of a list, by its name."""
    found: dict[str, int] = {}
    for each in transaction.requests:
        key = each.key if isinstance(each, Get) else each.item_key
        named = _LISTED.search(show_item(key))
        if named is not None:
            found[named[1]] = found.get(named[1], 0) + 1
    return found


def _mean_bytes(design: Design, schema: EntitySchema) -> float:
    size = design.profile.sizes.expected[None].get(schema.name, StoredSize(0, 0))
    return size.bytes / size.items if size.items else 0.0


@rule(
    "P10",
    "Create without not_exists",
    severity=Severity.WARNING,
    fix="Use create(), which fails if the key is taken; if replacing is meant, name the pattern so.",
    source="PA2",
)
def unconditional_create(design: Design) -> Iterator[DesignProblem]:
    """A put replaces whatever has its key, so a second creation loses the first one's data."""
    for pattern, steps in explain_all(design):
        names = (pattern.name, pattern.__name__)
        if not any(_CREATING.match(name) for name in names) or "upsert" in pattern.description:
            continue
        for step in steps:
            if step.operation == "BatchWriteItem":
                continue  # it takes no conditions
            for write in find_writes(step):
                if is_plain_put(write) and _can_lose(write.schema):
                    message = f"It puts {write.schema.name} without a condition."
                    yield DesignProblem(pattern, message)


def _can_lose(schema: EntitySchema) -> bool:
    """Return whether an entity has more than its key, and no key of its own making."""
    fields = schema.entity.__pydantic_fields__
    if any(fields[name].default_factory is not None for name in schema.key_fields):
        return False
    return bool(schema.fields.keys() - schema.key_fields)


@rule(
    "P11",
    "Update without exists",
    severity=Severity.WARNING,
    fix="Put a condition on existence into the program that writes them, and delete these items.",
    source="PA2",
    needs=frozenset({"data"}),
)
def update_without_exists(design: Design) -> Iterator[DesignProblem]:
    """An update without a condition makes an item of what it sets if there is none.

    Updates of Keyfold have the condition. Those of other programs leave items behind that lack
    what every item of their entity has.
    """
    assert design.data is not None  # the rule needs it
    for name, items in design.data.by_entity().items():
        schema = design.table.entities[name]
        needed = [each for each in schema.fields.values() if each.is_needed and not each.is_part]
        lacking = [item for item in items if any(each.find(item) is None for each in needed)]
        if lacking:
            key = show_item({part.attribute: lacking[0][part.attribute] for part in schema.keys})
            missing = next(each.stored for each in needed if each.find(lacking[0]) is None)
            fact = f"{len(lacking)} of {len(items)} items lack required attributes"
            yield DesignProblem(schema, f"{fact}, as {missing} of {key}.")


@rule(
    "P12",
    "Single hot counter",
    severity=Severity.WARNING,
    fix="Spread the counter over several items and add them up on reading.",
    source="DM13",
)
def hot_counter(design: Design) -> Iterator[DesignProblem]:
    """One item takes at most 1,000 writes a second, however much capacity the table has."""
    for pattern, update in find_updates(design):
        counter = next((field_of(update, each) for each in update.actions if counts(each)), None)
        if counter is None or not _is_constant(pattern, update):
            continue
        use = design.workload.patterns[pattern.name]
        rate = use.peak or use.rate
        subject = f"Every call counts up {update.schema.name}.{counter} of one item"
        if rate is None:
            yield DesignProblem(pattern, f"{subject}; how often is not known.")
        elif rate.per_second > _HOT_WRITES:
            yield DesignProblem(pattern, f"{subject}, at {rate.text}.")


def _is_constant(pattern: AnyPattern, update: Update[Any]) -> bool:
    """Return whether an update is of the same item in each call."""
    shown = show_item(update.item_key)
    # Where a pattern takes no placeholders, it is explained with samples.
    samples = [sample_for(each.name, each.annotation) for each in pattern.parameters]
    given = {*map(str, pattern.example.values())}
    for each in samples:
        given |= {*map(str, vars(each).values())} if isinstance(each, BaseModel) else {str(each)}
    return "{" not in shown and not any(each in shown for each in given)


@rule(
    "P14",
    "Read after write",
    severity=Severity.WARNING,
    fix="Use what the write returns: a put, an update and a delete return the entity.",
    source="ME15",
)
def read_after_write(design: Design) -> Iterator[DesignProblem]:
    """A write returns the item for nothing; reading it afterwards costs a request and its units."""
    for pattern, steps in explain_all(design):
        for key in _find_read_back(steps):
            yield DesignProblem(pattern, f"It reads {key} after it has written it.")


def _find_read_back(steps: Steps) -> Iterator[str]:
    written: list[Item] = []
    for step in steps:
        for get in find_gets(step):
            if get.key in written:
                yield show_item(get.key)
        # A transaction returns nothing of what it updates.
        if step.operation in {"PutItem", "UpdateItem"}:
            written += [write.item_key for write in find_writes(step)]
