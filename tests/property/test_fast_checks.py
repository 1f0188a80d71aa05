"""A call that the fast check admits is allowed when its accesses are read."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

from keyfold.model import Request, Table
from keyfold.policy import Right, Role
from keyfold.store import StoreSettings
from keyfold.store._fast_checks import admits
from keyfold.store._principals import PrincipalSettings
from tests.examples import examples
from tests.property.clinic_requests import Shelf, clinic_requests, shelf_requests, shelves
from tests.unit.policy.clinic import clinic
from tests.unit.store.store_kinds import START

USERS = st.sampled_from(["ada", "ada", "bob"])
EMAILS = st.sampled_from(["ada@x", "new@x"])

# One role for each set of rights.
for rights in range(1, 32):
    shelves.add_role(Role(f"with{rights}", can={Shelf: Right(rights)}))


def roles_of(table: Table) -> st.SearchStrategy[list[Role]]:
    return st.lists(st.sampled_from(list(table.roles.values())), min_size=1, max_size=2)


CASES = st.one_of(
    st.tuples(clinic_requests(USERS, EMAILS), roles_of(clinic)),
    st.tuples(shelf_requests(), roles_of(shelves)),
)


@examples(200, suppress_health_check=[HealthCheck.too_slow])
@given(case=CASES)
def test_a_call_that_is_admitted_at_once_is_allowed(case: tuple[Request[Any], list[Role]]) -> None:
    request, roles = case
    base = StoreSettings([clinic, shelves], cursor_key=bytes(32), clock=START.timestamp)
    ids = {role.tenant: "ada" for role in roles if role.tenant is not None}
    settings = PrincipalSettings(base, [role.name for role in roles], ids)
    for call in request.calls(START):
        is_admitted = admits(settings._guards, call)
        event(f"{call.operation}: {is_admitted}")
        if is_admitted:
            settings._check_accesses(call)
