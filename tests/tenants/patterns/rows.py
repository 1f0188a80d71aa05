"""The tables of `test_patterns_by_role`: which principals may run which pattern of a design.

To add a pattern, add a `Row` to the design's module; to add a role, add a column, and its name to the
rows that it may run. `test_every_pattern_and_every_role_is_in_the_table` says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from keyfold import Request, Table
from tests.transports import START


@dataclass(frozen=True)
class Column:
    """A principal: the roles that it has, and its ids."""

    roles: tuple[str, ...]
    ids: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Row:
    """A request of a pattern, and the columns that may run it, as names in one text.

    `may` lists the columns whose principals are not denied the request. `finds` is for lookups,
    which deny nothing: the columns that get a result, while all others get None. `on_wire` is `may`
    with access keys, if that differs; the row says why in `because`. A principal with several roles
    may do what one of them may, so its column is only listed if no single role may run the row.
    """

    pattern: str
    case: str
    make: Callable[[], Request[Any]]
    may: str | None = None
    finds: str | None = None
    on_wire: str | None = None
    because: str = ""

    def __post_init__(self) -> None:
        assert (self.may is None) is (self.finds is not None), "give `may`, or `finds`"
        assert (self.on_wire is None) is (not self.because), "say why the wire differs"

    @property
    def name(self) -> str:
        return f"{self.pattern}: {self.case}"

    def expected(self, columns: Mapping[str, Column], *, on_wire: bool) -> set[str]:
        """Return the columns that may run the request, or find something by it."""
        listed = self.finds if self.may is None else self.may
        if on_wire and self.on_wire is not None:
            listed = self.on_wire
        named = set((listed or "").split())
        assert named <= columns.keys(), f"{self.name}: {sorted(named - columns.keys())} unknown"
        roles = {columns[name].roles[0] for name in named if len(columns[name].roles) == 1}
        return named | {name for name, each in columns.items() if not roles.isdisjoint(each.roles)}


@dataclass(frozen=True)
class PatternTable:
    """Who may run the patterns of one design: its columns and rows, and what is stored before.

    `foreign` has, for texts of the tenants' own, those of others, by which calls on one's own items
    become calls on theirs.
    """

    table: Table
    columns: Mapping[str, Column]
    stored: Callable[[], Iterable[Request[Any]]]
    rows: Sequence[Row]
    now: datetime = START
    foreign: Mapping[str, str] = field(default_factory=dict[str, str])
