"""A role and its exported policy agree on every request, except where a gap says otherwise."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from keyfold import Table
from keyfold.designs import market
from keyfold.errors import PrincipalInvalid
from keyfold.policy import Guard, Layout, Role
from keyfold.policy.accesses import read_accesses
from keyfold.policy.iam import export_policy, find_denial, parse_policy
from tests.examples import examples
from tests.property.gaps import check_gaps
from tests.property.policed_tables import (
    OWN,
    TENANT,
    Requests,
    layouts,
    roles,
)
from tests.unit.policy.clinic import clinic

REQUESTS = 25
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def check_agreement(data: st.DataObject, layout: Layout, role: Role) -> None:
    ids = {} if role.tenant is None else {TENANT: OWN}
    try:
        guard = Guard(layout, role, ids)
    except PrincipalInvalid:
        assume(False)
        raise
    export = export_policy(layout, role)
    policy = parse_policy(export.to_json())
    names = layout.key_names
    requests = Requests(layout)
    for _ in range(REQUESTS):
        operation, request = requests.draw(data)
        accesses = read_accesses(
            operation, request, lambda table: names if table == layout.table else None
        )
        guarded = [guard.check(access) for access in accesses]
        denial = find_denial(policy, ids, accesses)
        is_guarded = [each is not None for each in guarded]
        check_gaps(export, layout, accesses, is_guarded, is_denied=denial is not None)


@examples(40, 3_000, suppress_health_check=QUIET)
@given(data=st.data())
def test_role_and_policy_agree(data: st.DataObject) -> None:
    layout = data.draw(layouts())
    check_agreement(data, layout, data.draw(roles(layout)))


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
