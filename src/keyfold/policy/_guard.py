"""The guard: decides from a principal's role whether a call is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from keyfold.errors import PrincipalInvalid
from keyfold.policy._access import Access
from keyfold.policy._layouts import OWN_START, UNIQUE_START, Layout, join_names
from keyfold.policy._rights import READ, WRITE, Right, Role
from keyfold.policy._rules import Grant, IndexRules, RoleRules, may_do_anything, rules_of
from keyfold.values import AttributeValue, Item

# Characters with a special meaning in patterns and variables of IAM policies.
_FORBIDDEN_IN_IDS = "*?$"
_WHOLE = ("ALL_OLD", "ALL_NEW")
_PARTIAL = ("SPECIFIC_ATTRIBUTES", "COUNT")
_PUTS = Right.CREATE | Right.UPDATE
_GET, _READ = Right.GET.value, READ.value
# The number of partitions whose rights are cached, and the length of their keys. A longer key is not
# valid, but a guard decides before anybody checks that: a tenant must not fill the memory.
_MAX_CACHED = 1_000
_MAX_CACHED_LENGTH = 2_048
_NO_VALUE: AttributeValue = {}
# Tells whether a lookup shows an item, by its key.
ItemTest = Callable[[Item], bool]
_NOTHING_WRITTEN: Mapping[str, AttributeValue | None] = {}


class Denial(NamedTuple):
    """An access that is denied: the action, the table, and why.

    It is derived from the request alone, so it reveals nothing about what is stored.
    """

    action: str
    table: str | None
    fact: str


class Guard:
    """Decides on the accesses of one principal to one table.

    `ids` holds the principal's id under the name of the role's tenant, as it appears in keys; it
    is empty for a role without a tenant. Raises PrincipalInvalid.
    """

    __slots__ = (
        "_exact",
        "_indexes",
        "_own_by_attribute",
        "_rights_by_partition",
        "_rules",
        "_tenant",
        "_unique",
        "key_names",
        "layout",
        "partition",
        "role",
    )

    def __init__(self, layout: Layout, role: Role, ids: Mapping[str, str]) -> None:
        self.layout, self.role = layout, role
        self._rules = rules = rules_of(layout, role)
        # The names of the guards that the role may take and release.
        self._unique = layout.find_guard_names(role.unique)
        self._tenant = tenant = self._read_ids(ids)
        # A cache of texts of watched attributes that are not another tenant's; None for no text.
        self._own_by_attribute = [(each.attribute, {None}) for each in rules.watched]
        self.key_names = rules.key_names
        # The name of the table's partition key.
        self.partition = rules.key_names.partition
        self._exact = rules.exact
        self._indexes: dict[tuple[str, str], Grant] = {}
        if tenant is not None:
            self._exact = {**rules.exact, **{each.render(tenant): each.grant for each in rules.own}}
            for index in rules.indexes.values():
                for each in index.own:
                    self._indexes[index.name, each.render(tenant)] = each.grant
        # A cache of rights by partition, for partitions where nothing is hidden or fixed.
        self._rights_by_partition: dict[str | None, int] = {}

    def _read_ids(self, ids: Mapping[str, str]) -> str | None:
        """Validate the ids, and return the principal's own; None for a role without a tenant."""
        tenant, name = self.role.tenant, self.role.name
        check_ids([self.role], ids)
        if tenant is None:
            return None
        own = ids.get(tenant)
        if not isinstance(own, str) or not own:
            advice = f"Give the text that keys have for it, as in {tenant}=…."
            raise PrincipalInvalid(name, f"it needs an id for {tenant!r}; got {own!r:.80}", advice)
        refused = [each for each in _FORBIDDEN_IN_IDS if each in own]
        if refused:
            fact = f"the id {own!r:.80} contains {refused[0]!r}"
            advice = "Use another id: this one would match other ids in an IAM policy."
            raise PrincipalInvalid(name, fact, advice)
        for template in self._rules.tenant_templates:
            part = next(each for each in template.parts if each.name == tenant)
            if part.format.parse(own) is None:
                fact = f"the id {own!r:.80} does not fit the key template {template.text!r}"
                advice = "Give it in the form that keys have, without delimiters."
                raise PrincipalInvalid(name, fact, advice)
        if any(each.render(own).startswith(OWN_START) for each in self._rules.own):
            fact = (
                f"the id {own!r:.80} leads to a partition that is reserved for Keyfold's own items"
            )
            raise PrincipalInvalid(name, fact, "")
        return own

    @property
    def guards(self) -> tuple[Guard, ...]:
        """The guards of single roles that it consists of: itself."""
        return (self,)

    @property
    def rules(self) -> RoleRules:
        """The rules of the role, which all of its principals share."""
        return self._rules

    @property
    def tenant(self) -> str | None:
        """The principal's own id; None for a role without a tenant."""
        return self._tenant

    @property
    def own_partitions(self) -> list[str]:
        """The partition keys that are made of the principal's id alone."""
        return [text for text in self._exact if text not in self._rules.exact]

    @property
    def watches_only_keys(self) -> bool:
        """Whether no update can move an item into another tenant's partition of an index."""
        return self._rules.watches_only_keys

    def admits(
        self,
        right: int,
        partition: AttributeValue,
        written: Mapping[str, AttributeValue | None] = _NOTHING_WRITTEN,
    ) -> bool:
        """Return whether an access is certainly allowed: the fast path; `check` decides the rest.

        It is for accesses to items of the table, not of an index. `right` is the integer value of
        the rights needed.
        """
        text = partition.get("S")
        granted = self._rights_by_partition.get(text)
        if granted is None:
            found = self._find(partition)
            if isinstance(found, str) or not found.has_only_rights:
                return False
            granted = found.rights if found.writable is None else found.rights & _READ
            if text is None or len(text) <= _MAX_CACHED_LENGTH:
                if len(self._rights_by_partition) >= _MAX_CACHED:
                    self._rights_by_partition.clear()
                self._rights_by_partition[text] = granted
        if granted & right != right:
            return False
        if not written:
            return True
        for attribute, own in self._own_by_attribute:
            value = written.get(attribute, _NO_VALUE)
            if value is None or value.get("S") not in own:
                return self._admits_index_keys(written)
        return True

    def _admits_index_keys(self, written: Mapping[str, AttributeValue | None]) -> bool:
        """Return whether no attribute puts an item into another tenant's index partition."""
        if self._foreign_index_key(written) is not None:
            return False
        for attribute, own in self._own_by_attribute:
            text = (written.get(attribute) or _NO_VALUE).get("S")
            if text is not None and len(text) <= _MAX_CACHED_LENGTH:
                if len(own) >= _MAX_CACHED:
                    own.clear()
                    own.add(None)
                own.add(text)
        return True

    def find_lookup(self, access: Access) -> ItemTest | None:
        """Return the test of items that a query may show as a lookup; None if it is not a lookup.

        It takes an item with its key, and is for whole items.
        """
        is_lookup = (
            access.action == "Query"
            and access.enclosing is None
            and access.table == self.layout.table
            and access.index_name in self.role.lookups
            and access.partition is not None
        )
        return self._shows if is_lookup else None

    def _shows(self, item: Item) -> bool:
        """Return whether the role may get all of an item."""
        partition, sort = item[self.partition], self.key_names.sort
        get = Access(
            "GetItem",
            self.layout.table,
            rights=Right.GET,
            partition=(partition,),
            sort_key=None if sort is None else item[sort],
            attributes=None,
            select="ALL_ATTRIBUTES",
        )
        return self.admits(_GET, partition) or self.check(get) is None

    def check(
        self,
        access: Access,
        *,
        unique: frozenset[str] | None = None,
        has_checked_writes: bool = False,
    ) -> Denial | None:
        """Return why an access is denied; None if it is allowed.

        `unique` is for stores, which write the guard items of unique values themselves: the names
        of those that the access takes or releases. None is for a caller that writes no guard items.
        `has_checked_writes` says that the engine refuses guard items that contradict the items.
        Then a role without a tenant may write the guard items of its unique values.
        """
        if has_checked_writes and self._unique and self._tenant is None:
            return None if self._is_own_guard(access) else self._check(access)
        denial = self._check(access)
        if denial is not None:
            return denial
        if unique is not None:
            return self._check_unique(access, unique)
        return self._check_raw_write(access) if access.written else None

    def _check(self, access: Access) -> Denial | None:
        if not access.rights:
            return self._check_operation(access)
        if access.table != self.layout.table:
            return _deny(access, f"{self.role.name} is a role of table {self.layout.table}")
        index = access.index_name
        if access.partition is None:
            return self._check_scan(access)
        if index is not None and index not in self._rules.local:
            return self._check_index(access, index, access.partition)
        found = self._find(access.partition[0])
        if isinstance(found, str):
            return _deny(access, found)
        return self._check_grant(access, found)

    def _check_unique(self, access: Access, names: frozenset[str]) -> Denial | None:
        """Return why a write may not take or release unique values; None if it may."""
        if names <= self._unique or may_do_anything(self.role):
            return None
        lacking = join_names(sorted(names - self._unique))
        return _deny(access, f"{self.role.name} may not take or release unique values of {lacking}")

    def _is_own_guard(self, access: Access) -> bool:
        """Return whether an access only writes a guard item that the role may take and release.

        Nothing of the guard item is returned: it has the key of its owner.
        """
        text = access.partition[0].get("S", "") if access.partition else ""
        return (
            text.startswith(UNIQUE_START)
            and text.removeprefix(UNIQUE_START).partition("#")[0] in self._unique
            and access.table == self.layout.table
            and access.index_name is None
            and bool(access.rights)
            and not access.rights & ~WRITE
            and access.return_values in (None, "NONE")
            and not access.returns_on_failure
        )

    def _check_raw_write(self, access: Access) -> Denial | None:
        """Return why a write that does not maintain guard items is denied; None if it is allowed.

        A principal could otherwise store a value that another has.
        """
        found = self._find(access.partition[0]) if access.partition else self._rules.everything
        if isinstance(found, Grant):
            taken = sorted(found.unique & access.written.keys())
            if taken:
                where = join_names([name for name, _ in found.parts])
                return _deny(
                    access, f"{where}: {join_names(taken)} is unique, so only a store may set it"
                )
        return None

    def _check_operation(self, access: Access) -> Denial | None:
        # PartiQL statements are allowed by the operation that contains them.
        named = access.enclosing or access.action
        if named in self.role.operations and access.table in (None, self.layout.table):
            return None
        return _deny(access, f"{self.role.name} may not call {access.action}")

    def _check_scan(self, access: Access) -> Denial | None:
        everything = self._rules.everything
        if everything is None:
            return _deny(access, f"{self.role.name} lacks query of EVERYTHING, which a scan needs")
        return self._check_grant(access, everything)

    def _check_index(
        self, access: Access, name: str, partition: tuple[AttributeValue, ...]
    ) -> Denial | None:
        index = self._rules.indexes.get(name)
        if index is None:
            return _deny(access, f"{self.layout.table} declares no index {name}")
        if self._tenant is None:
            return self._check_grant(access, index.grant)
        found = self._find_in_index(index, partition)
        if found is None:
            fact = (
                f"index {name}: {self.role.name} may only query partitions of its own "
                f"{self.role.tenant}"
            )
            return _deny(access, fact)
        return self._check_grant(access, found)

    def _find_in_index(
        self, index: IndexRules, partition: tuple[AttributeValue, ...]
    ) -> Grant | None:
        texts = [value.get("S") for value in partition]
        if len(texts) == 1 and texts[0] is not None:
            found = self._indexes.get((index.name, texts[0]))
            if found is not None:
                return found
        for own in index.own_by_match:
            if len(texts) == len(own.matches) and own.find_tenant(texts) == self._tenant:
                return own.grant
        return None

    def _find(self, partition: AttributeValue) -> Grant | str:
        """Return the grant for a partition, or why there is none."""
        rules, text, name = self._rules, partition.get("S"), self.role.name
        if text is not None:
            grant = self._exact.get(text)
            if grant is not None:
                return grant
            if text.startswith(OWN_START):
                if rules.everything is None:
                    return f"{name} lacks EVERYTHING, which Keyfold's own items need"
                return rules.everything
            found = rules.find(text)
            if found is not None:
                if found.tenant is not None and found.tenant != self._tenant:
                    area = found.grant.parts[0][0]
                    return f"{area}: {name} may only use partitions of its own {self.role.tenant}"
                return found.grant
        if rules.otherwise is None:
            return f"{name} has no rights in partitions of that form"
        return rules.otherwise

    def _check_grant(self, access: Access, grant: Grant) -> Denial | None:
        missing = access.rights.value & ~grant.rights
        if missing:
            return _deny(access, _missing_right_message(self.role.name, access.rights, grant))
        own, tenant = grant.own_items, self._tenant
        if own is not None and (tenant is None or not own.has(access, tenant)):
            where = join_names([name for name, _ in grant.parts])
            fact = f"{where}: {self.role.name} may only use items of its own {self.role.tenant}"
            return _deny(access, fact)
        if access.rights & WRITE and not grant.may_write((access.sort_key or {}).get("S", "")):
            where = join_names([name for name, _ in grant.parts])
            return _deny(access, f"{where}: {self.role.name} may only write items of {where}")
        if grant.hidden or grant.fixed:
            fact = self._find_field_problem(access, grant)
            if fact is not None:
                return _deny(access, fact)
        if access.written:
            fact = self._foreign_index_key(access.written)
            if fact is not None:
                return _deny(access, fact)
        return None

    def _find_field_problem(self, access: Access, grant: Grant) -> str | None:
        """Return how an access would reveal hidden attributes or change fixed ones; None if not."""
        where = join_names([name for name, _ in grant.parts])
        name, attributes = self.role.name, access.attributes
        if grant.hidden:
            hidden = join_names(sorted(grant.hidden))
            may_not_see = f"{where}: {name} may not see {hidden}"
            index = access.index_name
            if index is not None and (index in grant.closed or index not in self.layout.indexes):
                return f"{may_not_see}, which the keys of index {index} would show"
            if attributes is None or (access.select is not None and access.select not in _PARTIAL):
                return f"{may_not_see}, so reads must name the attributes they return"
            if access.return_values in _WHOLE or access.returns_on_failure:
                return f"{may_not_see}, so writes must not return the item"
            named = sorted(attributes & grant.hidden)
            if named:
                return f"{where}: {name} may not see {join_names(named)}"
            unknown = sorted(attributes - grant.declared)
            if unknown:
                return f"{may_not_see}, so it may only name declared attributes, and {unknown[0]} is not"
        if grant.fixed and access.rights & _PUTS:
            if access.action in ("PutItem", "BatchWriteItem"):
                fixed = join_names(sorted(grant.fixed))
                return f"{where}: {name} may not change {fixed}, so it may not put whole items"
            changed = sorted(grant.fixed & access.written.keys())
            if changed:
                return f"{where}: {name} may not change {join_names(changed)}"
        return None

    def _foreign_index_key(self, written: Mapping[str, AttributeValue | None]) -> str | None:
        """Return which attribute could put an item into another tenant's index partition."""
        for attribute, index, match in self._rules.watched:
            if attribute not in written:
                continue
            value = written[attribute]
            if value is None:
                fact = "decides which tenant an item belongs to, so the write must give its value"
            else:
                text = value.get("S")
                found = None if text is None else match(text)
                # Every template in the pattern has the tenant as its only group.
                if found is None or found[found.lastindex or 0] == self._tenant:
                    continue
                fact = f"is of another {self.role.tenant}; {self.role.name} may only write its own"
            return f"index {index}: {attribute} {fact}"
        return None


def check_ids(roles: Sequence[Role], ids: Mapping[str, str]) -> None:
    """Raise PrincipalInvalid if there is an id that none of the roles takes."""
    tenants = {role.tenant for role in roles}
    unknown = [each for each in ids if each not in tenants]
    if not unknown:
        return
    names = dict.fromkeys(role.name for role in roles)
    subject = "the role takes" if len(names) == 1 else "the roles take"
    known = sorted(repr(each) for each in tenants if each is not None)
    takes = f"{subject} {join_names(known) if known else 'no id'}"
    raise PrincipalInvalid(join_names(names), f"got an id for {unknown[0]!r}; {takes}", "")


def _missing_right_message(role: str, rights: Right, grant: Grant) -> str:
    """Return which rights are missing in the first area that lacks any."""
    for area, granted in grant.parts:
        lacking = [
            each.name.lower()
            for each in Right
            if each in rights and not granted & each.value and each.name
        ]
        if lacking:
            return f"{area}: {role} lacks {join_names(lacking)}"
    return f"{role} lacks a right"


def _deny(access: Access, fact: str) -> Denial:
    return Denial(access.action, access.table, fact)
