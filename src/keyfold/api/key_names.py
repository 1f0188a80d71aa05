"""The names of a table's key attributes, for code that reads requests without its definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class TableKeyNames(NamedTuple):
    """The names of a table's key attributes, and of the partition keys of its indexes."""

    partition: str
    sort: str | None
    # By index name; several names for an index with several partition key attributes.
    indexes: Mapping[str, tuple[str, ...]]
