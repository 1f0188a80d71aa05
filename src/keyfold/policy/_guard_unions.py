"""Guards of principals: one for each table, for one role or for several."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from keyfold.errors import PrincipalInvalid
from keyfold.policy._access import Access
from keyfold.policy._guard import Denial, Guard, ItemTest, check_ids
from keyfold.policy._layouts import Layout
from keyfold.policy._rights import Role
from keyfold.values import AttributeValue

_NOTHING_WRITTEN: Mapping[str, AttributeValue | None] = {}


class GuardUnion:
    """Decides on the accesses of one principal that has several roles in a table.

    An access is allowed if one of the roles allows all of it. So what is hidden, fixed or unique
    for a role limits only what that role allows. It has the methods of `Guard`.
    """

    __slots__ = ("_guards", "key_names", "layout", "partition", "watches_only_keys")

    def __init__(self, guards: Sequence[Guard]) -> None:
        self._guards = tuple(guards)
        self.layout = guards[0].layout
        self.key_names, self.partition = guards[0].key_names, guards[0].partition
        # Whether no update can move an item into another tenant's partition of an index.
        self.watches_only_keys = all(guard.watches_only_keys for guard in guards)

    @property
    def guards(self) -> tuple[Guard, ...]:
        """The guards of the single roles."""
        return self._guards

    def admits(
        self,
        right: int,
        partition: AttributeValue,
        written: Mapping[str, AttributeValue | None] = _NOTHING_WRITTEN,
    ) -> bool:
        """Return whether one of the roles certainly allows an access, as `Guard.admits`."""
        # A loop: any() with a generator takes twice as long.
        for guard in self._guards:  # noqa: SIM110
            if guard.admits(right, partition, written):
                return True
        return False

    def find_lookup(self, access: Access) -> ItemTest | None:
        """Return the test of items that a query may show as a lookup; None if it is not a lookup.

        It shows what a role with that lookup may read, as `Guard.find_lookup`.
        """
        tests = [test for guard in self._guards if (test := guard.find_lookup(access)) is not None]
        if not tests:
            return None
        return lambda item: any(test(item) for test in tests)

    def check(
        self,
        access: Access,
        *,
        unique: frozenset[str] | None = None,
        has_checked_writes: bool = False,
    ) -> Denial | None:
        """Return why each of the roles denies an access; None if one allows it.

        `unique` and `has_checked_writes` are as in `Guard.check`.
        """
        facts: list[str] = []
        for guard in self._guards:
            denial = guard.check(access, unique=unique, has_checked_writes=has_checked_writes)
            if denial is None:
                return None
            facts.append(denial.fact)
        return Denial(access.action, access.table, "; ".join(dict.fromkeys(facts)))


PrincipalGuard = Guard | GuardUnion
"""The guard of a principal in one table."""


class RuledTable(Protocol):
    """A declared table with its layout and roles."""

    @property
    def layout(self) -> Layout:
        """The key, areas and indexes of the table, as policies see it."""
        ...

    @property
    def roles(self) -> Mapping[str, Role]:
        """The table's roles, by name."""
        ...


def make_guards(
    tables: Collection[RuledTable], roles: Collection[str], ids: Mapping[str, str]
) -> dict[str, PrincipalGuard]:
    """Return the guards of a principal, for each table that has at least one of its roles.

    `ids` has an id for each tenant of the roles; roles with the same tenant share it. Raises
    PrincipalInvalid for a role that no table has, and for ids that are missing or not usable.
    """
    found = [
        (table.layout, [table.roles[name] for name in roles if name in table.roles])
        for table in tables
    ]
    declared = [role for _, each in found for role in each]
    known = {role.name for role in declared}
    for name in roles:
        if name not in known:
            raise PrincipalInvalid(name, "no table has such a role", _known_roles(tables))
    check_ids(declared, ids)
    return {layout.table: _make_guard(layout, each, ids) for layout, each in found if each}


def _make_guard(layout: Layout, roles: Sequence[Role], ids: Mapping[str, str]) -> PrincipalGuard:
    guards = [
        Guard(layout, role, {name: ids[name] for name in ids if name == role.tenant})
        for role in roles
    ]
    return guards[0] if len(guards) == 1 else GuardUnion(guards)


def _known_roles(tables: Collection[RuledTable]) -> str:
    known = sorted({name for table in tables for name in table.roles})
    return f"Known roles: {', '.join(known)}." if known else "Declare one with add_role()."
