"""Finds, among many principals, those that may be able to get an item.

Asking every guard about every item takes too long for a thousand principals. Nearly all items are one
tenant's, and the rules of a role tell which one's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from keyfold.policy._guard_unions import PrincipalGuard
from keyfold.policy._rights import Right
from keyfold.policy._rules import RoleRules
from keyfold.values import AttributeValue

_GET = Right.GET.value


@dataclass(frozen=True, slots=True)
class _RoleReaders:
    """The principals that have a role: all of them, and by tenant."""

    rules: RoleRules
    everybody: dict[str, None] = field(default_factory=dict[str, None])
    by_tenant: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])


class ReaderIndex:
    """The principals that may be able to get an item, by its partition; their guards decide.

    It never leaves out a principal whose guard allows a GetItem in the partition.
    """

    def __init__(self) -> None:
        self._by_role: dict[str, _RoleReaders] = {}
        # By the texts of partitions that guards know to be their principal's own.
        self._by_text: dict[str, dict[str, None]] = {}

    def add(self, principal: str, guard: PrincipalGuard) -> None:
        """Add a principal."""
        for each in guard.guards:
            readers = self._by_role.setdefault(each.role.name, _RoleReaders(each.rules))
            readers.everybody[principal] = None
            if each.tenant is not None:
                readers.by_tenant.setdefault(each.tenant, {})[principal] = None
            for text in each.own_partitions:
                self._by_text.setdefault(text, {})[principal] = None

    def remove(self, principal: str, guard: PrincipalGuard) -> None:
        """Remove a principal that was added."""
        for each in guard.guards:
            readers = self._by_role[each.role.name]
            readers.everybody.pop(principal, None)
            if each.tenant is not None:
                _discard(readers.by_tenant, each.tenant, principal)
            for text in each.own_partitions:
                _discard(self._by_text, text, principal)

    def find(self, partition: AttributeValue) -> dict[str, None]:
        """Return the principals that may be able to get an item of a partition."""
        text = partition.get("S")
        found: dict[str, None] = {}
        if text is not None:
            found.update(self._by_text.get(text, {}))
        for readers in self._by_role.values():
            found.update(_find_readers(readers, text))
        return found


def _find_readers(readers: _RoleReaders, text: str | None) -> dict[str, None]:
    """Return the principals of a role to which its rules may grant a partition, as `Guard` does."""
    match = None if text is None else readers.rules.find(text)
    grant = readers.rules.otherwise if match is None else match.grant
    if grant is None or not grant.rights & _GET:
        return {}
    if match is None or match.tenant is None:
        return readers.everybody
    return readers.by_tenant.get(match.tenant, {})


def _discard(index: dict[str, dict[str, None]], name: str, principal: str) -> None:
    listed = index.get(name, {})
    listed.pop(principal, None)
    if not listed:
        index.pop(name, None)
