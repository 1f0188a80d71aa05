"""Accesses: what a call would do to tables, in the terms of policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from keyfold.policy._rights import Right
from keyfold.values import AttributeValue


class Access(NamedTuple):
    """One action of a call; a batch or a transaction has one for each member.

    Policies are evaluated on accesses alone, so two calls with the same accesses get the same
    decision, whatever is stored in the tables.
    """

    # The IAM action without the service prefix. Members of a transaction have "GetItem",
    # "PutItem", "ConditionCheckItem" and so on, those of a batch "BatchGetItem", "BatchWriteItem".
    action: str
    # None for operations that are not about one table, such as ListTables.
    table: str | None
    index_name: str | None = None
    # The rights it needs; none for operations that roles name one by one.
    rights: Right = Right(0)
    # The values of the partition key, several for an index with several partition attributes;
    # None if it is not limited to one partition.
    partition: tuple[AttributeValue, ...] | None = None
    # The sort key of its item; None if it may be about several items.
    sort_key: AttributeValue | None = None
    # The text that the sort keys of all its items start with, as far as the call says.
    sort_prefix: str = ""
    # The top-level attributes that it names: keys, and those that it reads, writes, or uses in
    # conditions and filters. None if it reads whole items.
    attributes: frozenset[str] | None = frozenset()
    # What it sets or removes, by top-level attribute, including key attributes if it may create the
    # item. {} stands for a removal, None for a value that depends on the stored item.
    written: Mapping[str, AttributeValue | None] = {}
    # "ALL_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT", "ALL_PROJECTED_ATTRIBUTES"; None for writes.
    select: str | None = None
    # "NONE", "ALL_OLD" and so on; None for reads.
    return_values: str | None = None
    # Whether the item is returned if its condition fails.
    returns_on_failure: bool = False
    # The attributes that it names although it reads whole items: IAM sees these.
    named: frozenset[str] = frozenset()
    # The operation that contains it, for members of transactions and PartiQL statements.
    enclosing: str | None = None
    # The part of the table it is about, such as "stream/2026-01-31T00:00:00.000"; None for the
    # table itself, and for an index, which is in `index_name`.
    part: str | None = None
    # "INDEXES", "TOTAL" or "NONE"; None if the call does not say.
    capacity: str | None = None
    # Whether its partitions and attributes are unknown, as for PartiQL statements: no condition
    # on them can be evaluated.
    is_opaque: bool = False
