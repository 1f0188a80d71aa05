"""Rules about how a table is run: protection, backups, streams, replicas and maximums. O01 to O06, and O10."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from keyfold.analysis.lint._explained import counts, explain_all, field_of, find_writes
from keyfold.analysis.lint._findings import SetArgument, Severity
from keyfold.analysis.lint._rules import Design, DesignProblem, rule
from keyfold.analysis.samples import name_entity
from keyfold.expressions import SetTo
from keyfold.model import OnDemand, Provisioned
from keyfold.model._updates import Update
from keyfold.model._writes import Put, Write

# DynamoDB lets two consumers read a shard of a stream at a time.
_MOST_CONSUMERS = 2
_HANDLED_SHARE = 0.1
# A value that is computed from the field which it is written to.
_COMPUTED = re.compile(r"\{(?:\w+\.)+(\w+) [+-] ")


@rule(
    "O01",
    "No deletion protection",
    severity=Severity.NOTE,
    fix="Declare deletion_protection=True for tables that hold what cannot be made again.",
    source="†",
)
def unprotected(design: Design) -> Iterator[DesignProblem]:
    """One call deletes a table with everything in it."""
    if not design.table.deletion_protection:
        message = "It does not declare deletion_protection=True."
        edit = SetArgument("deletion_protection", "True")
        yield DesignProblem(design.table, message, edit=edit)


@rule(
    "O02",
    "No point-in-time recovery",
    severity=Severity.NOTE,
    fix="Turn it on where the table is deployed; say so in workload.toml, under [settings].",
    source="†",
)
def no_recovery(design: Design) -> Iterator[DesignProblem]:
    """Without it, what a faulty program overwrites is lost."""
    if not design.workload.settings.point_in_time_recovery:
        message = "Its workload does not have point_in_time_recovery = true."
        yield DesignProblem(design.table, message)


@rule(
    "O03",
    "Entities that need different streams",
    severity=Severity.NOTE,
    fix="Keep the entities that handlers follow in a table of their own.",
    source="DM3, DM5",
    needs=frozenset({"rates"}),
)
def mixed_streams(design: Design) -> Iterator[DesignProblem]:
    """A stream has the changes of all entities: its consumers read and drop those of the others."""
    table = design.table
    followed = [{each.__name__ for each in one.entities} for one in table.handlers.values()]
    if not followed or not all(followed):
        return  # no handler, or one that takes everything
    written: dict[str, float] = {}
    for name, profile in design.profile.patterns.items():
        rate = design.workload.patterns[name].rate
        for run in profile.runs if rate is not None else ():
            for call in run.calls:
                for before, after in call.changes:
                    entity = name_entity(table, after or before or {})
                    if entity is not None and before != after and rate is not None:
                        share = rate.per_second / len(profile.runs)
                        written[entity] = written.get(entity, 0.0) + share
    total = sum(written.values())
    handled = sum(written.get(name, 0.0) for name in set[str]().union(*followed))
    if total and handled < _HANDLED_SHARE * total:
        most = max(written, key=lambda name: written[name])
        fact = f"Its handlers take {handled / total:.0%} of the changes in its stream"
        yield DesignProblem(table, f"{fact}; most are of {most}.")


@rule(
    "O04",
    "More than two stream consumers",
    severity=Severity.WARNING,
    fix="Let one consumer pass changes on to the others, or use Kinesis Data Streams.",
    source="DM4",
)
def many_consumers(design: Design) -> Iterator[DesignProblem]:
    """DynamoDB throttles a stream of which more than two consumers read a shard."""
    consumers = design.workload.settings.stream_consumers
    if design.table.stream is not None and consumers > _MOST_CONSUMERS:
        yield DesignProblem(design.table, f"Its stream has {consumers:g} consumers.")


@rule(
    "O05",
    "Stream without both images",
    severity=Severity.NOTE,
    fix='Declare stream="new and old"; it costs the same.',
    source="IN3",
)
def partial_images(design: Design) -> Iterator[DesignProblem]:
    """A consumer that needs the other image later can be added only by a new stream."""
    stream = design.table.stream
    if stream is not None and stream != "new and old":
        what = "the keys alone" if stream == "keys" else f"the {stream} image alone"
        yield DesignProblem(design.table, f"Its stream has {what}.")


@rule(
    "O06",
    "Last-writer-wins counter",
    severity=Severity.WARNING,
    fix="Count with increment(); with replicas, keep a counter for each region and add them up.",
    source="DM13",
)
def lossy_counter(design: Design) -> Iterator[DesignProblem]:
    """Of two counts that start from the same value, the later one overwrites the earlier."""
    is_replicated = design.workload.settings.replicas > 0
    for pattern, steps in explain_all(design):
        for step in steps:
            for write in find_writes(step):
                entity = write.schema.name
                for name in _find_recomputed(write):
                    fact = f"It computes {entity}.{name} from what was read before"
                    yield DesignProblem(pattern, f"{fact}, without a condition on it.")
                if is_replicated and (name := _find_counted(write)) is not None:
                    fact = f"It counts {entity}.{name}, and the table has replicas"
                    yield DesignProblem(pattern, f"{fact}, of which the last to write wins.")


def _find_recomputed(write: Write[Any]) -> Iterator[str]:
    """Yield the fields that a write sets to a sum with their former values, read before."""
    match write:
        case Put(item=item) if write.condition() is None:
            values = {name: item.get(each.stored) for name, each in write.schema.fields.items()}
        case Update(actions=actions):
            values = {
                field_of(write, each): each.source
                for each in actions
                if isinstance(each, SetTo) and isinstance(each.source, dict)
            }
        case _:
            return
    for name, value in values.items():
        computed = _COMPUTED.search(str(value.get("N", ""))) if isinstance(value, dict) else None
        if name is None or computed is None or computed[1] != name:
            continue
        if not (isinstance(write, Update) and _is_locked(write, name)):
            yield name


def _is_locked(update: Update[Any], name: str) -> bool:
    """Return whether an update fails if a field has another value than the one that was read."""
    version, expected = update.schema.version_field, update.expected()
    if name in expected or (version is not None and version.name in expected):
        return True
    return update.schema.fields[name].stored in repr(update.where_condition)


def _find_counted(write: Write[Any]) -> str | None:
    """Return the field that a write adds to; None if it adds to none."""
    if not isinstance(write, Update):
        return None
    return next((field_of(write, each) for each in write.actions if counts(each)), None)


@rule(
    "O10",
    "On demand without a maximum",
    severity=Severity.NOTE,
    fix="Declare billing=OnDemand(max_read=…, max_write=…), well above the peak.",
    source="†",
)
def no_maximum(design: Design) -> Iterator[DesignProblem]:
    """A loop that runs wild is billed for all that it reads and writes."""
    table = design.table
    if isinstance(table.billing, Provisioned):
        return
    billing = table.billing if isinstance(table.billing, OnDemand) else OnDemand()
    if lacking := _list_unlimited(billing):
        message = f"It is on demand, without a maximum of {lacking}."
        yield DesignProblem(table, message)
        return
    for index in table.indexes:
        if not index.local and (lacking := _list_unlimited(billing.of(index.name))):
            yield DesignProblem(index, f"It is on demand, without a maximum of {lacking}.")


def _list_unlimited(billing: OnDemand) -> str:
    maximums = {"reads": billing.max_read, "writes": billing.max_write}
    return " and ".join(name for name, most in maximums.items() if most is None)
