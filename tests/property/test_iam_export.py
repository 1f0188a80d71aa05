"""A role and the policy that is made of it agree on every request, but where a gap says not."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from keyfold import Table
from keyfold.designs import market
from keyfold.errors import PrincipalInvalid
from keyfold.policy import Access, Guard, Layout, Role
from keyfold.policy.iam import Export, Gap, export_policy, find_denial, parse_policy
from keyfold.wire.server._accesses import read_accesses
from tests.property.policed_tables import (
    OWN,
    TENANT,
    Requests,
    key_names,
    layouts,
    roles,
)
from tests.unit.policy.ward import ward

REQUESTS = 25
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
SHORT = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=QUIET)
DECLARED_ROLES = settings(
    max_examples=10, deadline=None, derandomize=True, suppress_health_check=QUIET
)
LONG = settings(max_examples=3_000, deadline=None, suppress_health_check=QUIET)

# Gaps that are about the partitions of one area.
OF_AREAS = {
    "batch-writes",
    "create-or-replace",
    "fixed-in-conditions",
    "hidden-in-failures",
    "unique-in-conditions",
}


def find_area(layout: Layout, access: Access) -> str | None:
    """Name the area that an access leads to, by the templates alone."""
    if access.partition is None:
        return None
    text = access.partition[0].get("S", "")
    for area in layout.areas.values():
        if any(template.parse(text) is not None for template in area.templates):
            return area.name
    return None


def excuses(gap: Gap, layout: Layout, accesses: list[Access], index: int) -> bool:
    """Tell whether a gap is about one of the accesses of a call."""
    access = accesses[index]
    if access.action not in gap.actions:
        return False
    if gap.index_name is not None and gap.index_name != access.index_name:
        return False
    area = find_area(layout, access)
    match gap.kind:
        case "mixed-batches":
            return len({find_area(layout, each) for each in accesses}) > 1
        case "index-writes":
            return any(
                name in access.written
                for each in layout.indexes.values()
                for name in each.partition
            )
        case "key-parts" if gap.index_name is None:
            return area == gap.subject if gap.direction == "narrower" else area is None
        case "look-alikes":
            return area is None
        case _ if gap.kind in OF_AREAS:
            # Rights of everything are those of partitions in no area, and of others besides.
            return gap.subject in (area, "EVERYTHING", "Other")
        case _:
            return True


def check_agreement(data: st.DataObject, layout: Layout, role: Role) -> None:
    ids = {} if role.tenant is None else {TENANT: OWN}
    try:
        guard = Guard(layout, role, ids)
    except PrincipalInvalid:
        assume(False)
        raise
    export = export_policy(layout, role)
    policy = parse_policy(export.to_json())
    names = key_names(layout)
    requests = Requests(layout)
    for _ in range(REQUESTS):
        operation, request = requests.draw(data)
        accesses = read_accesses(
            operation, request, lambda table: names if table == layout.table else None
        )
        guarded = [guard.check(access) for access in accesses]
        denial = find_denial(policy, ids, accesses)
        if denial is not None and not any(guarded):
            explain(export, layout, accesses, "narrower", range(len(accesses)))
        if denial is None and any(guarded):
            denied = [place for place, each in enumerate(guarded) if each is not None]
            # Each that the role denies must be said to be allowed.
            for place in denied:
                explain(export, layout, accesses, "wider", [place])


def explain(
    export: Export,
    layout: Layout,
    accesses: list[Access],
    direction: str,
    places: range | list[int],
) -> None:
    gaps = [gap for gap in export.gaps if gap.direction == direction]
    assert any(excuses(gap, layout, accesses, place) for gap in gaps for place in places), (
        f"{direction}, and no gap says so: {accesses}\n{export.to_json()}\n"
        + "\n".join(map(str, export.gaps))
    )


@SHORT
@given(data=st.data())
def test_role_and_policy_agree(data: st.DataObject) -> None:
    layout = data.draw(layouts())
    check_agreement(data, layout, data.draw(roles(layout)))


DECLARED = [
    pytest.param(table, role, id=f"{table.name} {role}")
    for table in (market.table, ward)
    for role in table.roles
]


@pytest.mark.parametrize(("table", "role"), DECLARED)
@DECLARED_ROLES
@given(data=st.data())
def test_declared_roles_and_their_policies_agree(
    table: Table, role: str, data: st.DataObject
) -> None:
    check_agreement(data, table.layout, table.roles[role])


@pytest.mark.long
@LONG
@given(data=st.data())
def test_role_and_policy_agree_on_many_requests(data: st.DataObject) -> None:
    layout = data.draw(layouts())
    check_agreement(data, layout, data.draw(roles(layout)))
