"""A role and its exported policy agree on every request, except where a gap says otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from keyfold import Table
from keyfold.designs import market
from keyfold.errors import PrincipalInvalid
from keyfold.policy import Layout, PrincipalGuard, Role, make_guards
from keyfold.policy.accesses import read_accesses
from keyfold.policy.iam import export_policy, find_denial, parse_policy
from tests.examples import examples
from tests.property.gaps import check_gaps
from tests.property.policed_tables import (
    OWN,
    Requests,
    layouts,
    roles,
)
from tests.unit.policy.clinic import clinic

REQUESTS = 25
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


class DeclaredRoles(NamedTuple):
    """A table as guards see it."""

    layout: Layout
    roles: dict[str, Role]


def make_guard(layout: Layout, roles: Sequence[Role]) -> PrincipalGuard:
    """Return the guard of ada with some roles; ids that no key can have are not tried."""
    ids = {role.tenant: OWN for role in roles if role.tenant is not None}
    table = DeclaredRoles(layout, {role.name: role for role in roles})
    try:
        return make_guards([table], [*table.roles], ids)[layout.table]
    except PrincipalInvalid:
        assume(False)
        raise


def check_agreement(data: st.DataObject, layout: Layout, *roles: Role) -> None:
    ids = {role.tenant: OWN for role in roles if role.tenant is not None}
    guard = make_guard(layout, roles)
    singles = [make_guard(layout, [role]) for role in roles]
    export = export_policy(layout, *roles)
    policy = parse_policy(export.to_json())
    names = layout.key_names
    requests = Requests(layout)
    for _ in range(REQUESTS):
        operation, request = requests.draw(data)
        accesses = read_accesses(
            operation, request, lambda table: names if table == layout.table else None
        )
        guarded = [guard.check(access) for access in accesses]
        for access, denied in zip(accesses, guarded, strict=True):
            # Several roles allow exactly what one of them allows.
            assert (denied is None) is any(each.check(access) is None for each in singles)
        denial = find_denial(policy, ids, accesses)
        is_guarded = [each is not None for each in guarded]
        check_gaps(export, layout, accesses, is_guarded, is_denied=denial is not None)


@examples(40, 3_000, suppress_health_check=QUIET)
@given(data=st.data())
def test_role_and_policy_agree(data: st.DataObject) -> None:
    layout = data.draw(layouts())
    check_agreement(data, layout, data.draw(roles(layout)))


@examples(40, 3_000, suppress_health_check=QUIET)
@given(data=st.data())
def test_several_roles_and_their_policy_agree(data: st.DataObject) -> None:
    layout = data.draw(layouts())
    listed = data.draw(st.lists(roles(layout), min_size=2, max_size=3))
    named = [copy_role(role, f"role{place}") for place, role in enumerate(listed)]
    check_agreement(data, layout, *named)


def copy_role(role: Role, name: str) -> Role:
    return Role(
        name,
        tenant=role.tenant,
        can=role.can,
        hidden=role.hidden,
        fixed=role.fixed,
        unique=role.unique,
        operations=role.operations,
    )


DECLARED = [
    pytest.param(table, role, id=f"{table.name} {role}")
    for table in (market.table, clinic)
    for role in table.roles
]


@pytest.mark.parametrize(("table", "role"), DECLARED)
@examples(6, 200, suppress_health_check=QUIET)
@given(data=st.data())
def test_declared_roles_and_their_policies_agree(
    table: Table, role: str, data: st.DataObject
) -> None:
    check_agreement(data, table.layout, table.roles[role])


@pytest.mark.parametrize("table", [market.table, clinic], ids=lambda table: table.name)
@examples(15, 400, suppress_health_check=QUIET)
@given(data=st.data())
def test_several_declared_roles_and_their_policy_agree(table: Table, data: st.DataObject) -> None:
    names = st.lists(st.sampled_from(sorted(table.roles)), min_size=2, max_size=3, unique=True)
    check_agreement(data, table.layout, *(table.roles[name] for name in data.draw(names)))
