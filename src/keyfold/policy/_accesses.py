"""Accesses: what one call would do to tables, in the words that rules are written in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from keyfold.policy._rights import Right
from keyfold.values import AttributeValue


class Access(NamedTuple):
    """One thing that a call does; a batch or a transaction does one for each member.

    A rule looks at nothing else, so two calls with the same accesses get the same decision,
    whatever the tables hold.
    """

    # As IAM calls it, without the service: the members of a transaction are "GetItem",
    # "PutItem", "ConditionCheckItem" and so on, those of a batch "BatchGetItem", "BatchWriteItem".
    action: str
    # None for what concerns no table, such as ListTables.
    table: str | None
    index_name: str | None = None
    # What it takes; none for operations that roles name one by one.
    rights: Right = Right(0)
    # The values of the partition key, several for an index with several partition attributes;
    # None where it is not held to one partition.
    partition: tuple[AttributeValue, ...] | None = None
    # The top-level attributes that it names: keys, those it reads, writes, or looks at in
    # conditions and filters. None where it reads whole items.
    attributes: frozenset[str] | None = frozenset()
    # What it sets or removes, by top-level attribute; where it may make an item, the attributes of
    # its key, too. {} for what is removed, None for a value that is known only when it is done.
    written: Mapping[str, AttributeValue | None] = {}
    # "ALL_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT", "ALL_PROJECTED_ATTRIBUTES"; None for writes.
    select: str | None = None
    # "NONE", "ALL_OLD" and so on; None for reads.
    return_values: str | None = None
    # Whether a condition that fails would be answered with the item.
    returns_on_failure: bool = False
    # The attributes that it names, where it reads whole items besides: what IAM goes by.
    named: frozenset[str] = frozenset()
    # The operation that carries it, of the members of transactions and of statements of PartiQL.
    enclosing: str | None = None
    # What of the table it is about, such as "stream/2026-01-31T00:00:00.000"; None for the table
    # itself, and for an index, which has its own field.
    part: str | None = None
    # "INDEXES", "TOTAL" or "NONE"; None where it is not asked for.
    capacity: str | None = None
    # Whether its partitions and attributes are not told here, as with statements of PartiQL: no
    # condition on them can be relied on.
    is_opaque: bool = False
