"""Which attributes of an item principals could get, and which principals to ask about it."""

from __future__ import annotations

from itertools import product

import pytest

from keyfold.designs import exchange_rates, letsgo, market, pantry
from keyfold.model import Table
from keyfold.policy import (
    EVERYTHING,
    READ,
    Guard,
    GuardUnion,
    PrincipalGuard,
    ReaderIndex,
    Right,
    Role,
    find_readable,
    make_guards,
)
from keyfold.values import Item
from tests.unit.policy.clinic import clinic

ONE, TWO = "9f6b2d1e-8c55-4a57-9b1b-000000000001", "9f6b2d1e-8c55-4a57-9b1b-000000000002"
IDS = ("ada", "bob", ONE, TWO)


def list_guards(table: Table) -> dict[str, PrincipalGuard]:
    """Return the guards of principals with each role, and with each pair of roles."""
    found: dict[str, PrincipalGuard] = {}
    roles = table.roles.values()
    for one, two, own in product(roles, roles, IDS):
        names = {role.tenant: own for role in (one, two) if role.tenant is not None}
        try:
            guards = make_guards([table], {one.name: None, two.name: None}, names)
        except ValueError:
            continue  # an id of another form
        found[f"{one.name} {two.name} {own}"] = guards[table.name]
    return found


def list_keys(table: Table) -> list[Item]:
    """Return keys of every area, of two tenants, and keys of no area."""
    texts = ["", "X", "U#", *IDS]
    for area in table.layout.areas.values():
        for template in area.templates:
            for values in product(IDS, repeat=len(template.parts)):
                parts = zip(template.parts, values, strict=True)
                texts.append("".join(part.before + value for part, value in parts) + template.tail)
    sorts = [ONE, "N#ada", f"{TWO}#1"]
    keys: list[Item] = []
    for text in dict.fromkeys(texts):
        partition: Item = {table.key.partition[0]: {"S": text}}
        keys += [{**partition, **{name: {"S": each} for name in table.key.sort}} for each in sorts]
    return [*keys, {**keys[0], table.key.partition[0]: {"N": "1"}}]


@pytest.mark.parametrize(
    "table",
    [market.table, pantry.table, letsgo.table, exchange_rates.table, clinic],
    ids=lambda table: table.name,
)
def test_nobody_who_may_get_an_item_is_left_out(table: Table) -> None:
    index, guards = ReaderIndex(), list_guards(table)
    assert guards
    for principal, guard in guards.items():
        index.add(principal, guard)
    allowed = asked = 0
    for key in list_keys(table):
        readers = index.find(key[table.key.partition[0]])
        asked += len(readers)
        for principal, guard in guards.items():
            if find_readable(guard, key, key) is not None:
                allowed += 1
                assert principal in readers
    assert 0 < allowed <= asked
    for principal, guard in guards.items():
        index.remove(principal, guard)
    assert not any(index.find(key[table.key.partition[0]]) for key in list_keys(table))


def test_only_the_owner_is_asked_about_a_tenants_item() -> None:
    index = ReaderIndex()
    for user in ("ada", "bob"):
        guard = make_guards([market.table], ["customer"], {"user": user})[market.table.name]
        index.add(user, guard)
    assert list(index.find({"S": "U#ada#O"})) == ["ada"]
    assert list(index.find({"S": "U#eve#O"})) == []


NOTE: Item = {"pk": {"S": "U#ada"}, "sk": {"S": "N#1"}}
NAMES = ("pk", "sk", "id", "text", "secret", "undeclared")


def guard_of(role: Role, **ids: str) -> Guard:
    return Guard(clinic.layout, role, ids)


def test_all_attributes_can_be_read_where_nothing_is_hidden() -> None:
    assert find_readable(guard_of(Role("r", can={"notes": READ})), NOTE, NAMES) == set(NAMES)


def test_hidden_and_undeclared_attributes_cannot_be_read() -> None:
    role = Role("r", can={"notes": READ}, hidden={"notes": ["secret"]})
    readable = find_readable(guard_of(role), NOTE, NAMES)
    assert readable == {"pk", "sk", "text"}


def test_an_item_that_cannot_be_got_has_no_attributes() -> None:
    for role in (
        Role("r", can={"catalog": READ}),
        Role("r", can={"notes": Right.QUERY}),
        Role("r", can={"catalog": READ, EVERYTHING: Right.QUERY}),
    ):
        assert find_readable(guard_of(role), NOTE, NAMES) is None
    tenant = Role("r", tenant="user", can={"notes": READ})
    assert find_readable(guard_of(tenant, user="bob"), NOTE, NAMES) is None


def test_several_roles_show_what_each_of_them_shows() -> None:
    one = Role("one", can={"notes": READ}, hidden={"notes": ["secret"]})
    two = Role("two", can={"notes": READ}, hidden={"notes": ["text"]})
    union = GuardUnion([guard_of(one), guard_of(two)])
    assert find_readable(union, NOTE, NAMES) == {"pk", "sk", "text", "secret"}
