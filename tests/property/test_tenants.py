"""No request of a principal reveals or changes data of another tenant."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from keyfold.errors import KeyfoldError
from keyfold.model import Request, transaction
from tests.examples import examples
from tests.property.clinic_calls import Call, calls, transact_put
from tests.property.clinic_database import ClinicDatabase, ClinicUser, items_of, open_clinic
from tests.property.clinic_requests import clinic_requests, find_note, puts
from tests.unit.policy.clinic import Note

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


class AdminRequest(NamedTuple):
    """A request that the administrator runs on behalf of a user."""

    request: Request[Any]


Asked = Request[Any] | Call | AdminRequest
Steps = list[tuple[list[Asked], list[Asked], Asked]]

# Both mostly ask for their own data, so that something is found.
ADA_MOSTLY = st.sampled_from(["ada", "ada", "ada", "bob"])
BOB_MOSTLY = st.sampled_from(["bob", "bob", "bob", "ada"])
TOKENS = st.sampled_from(["one", "two"])


def tokened(user: str) -> st.SearchStrategy[Asked]:
    """Transactions with tokens that both users use, in process and on the wire."""
    numbers = st.sampled_from("123")
    raw = st.tuples(numbers, TOKENS).map(lambda drawn: transact_put(user, *drawn))
    made = st.tuples(numbers, TOKENS).map(
        lambda drawn: transaction(Note(user=user, id=drawn[0], text="x").put(), token=drawn[1])
    )
    return st.one_of(raw, made)


ADA_REQUESTS = st.one_of(
    clinic_requests(ADA_MOSTLY, st.sampled_from(["ada@x", "ada@y"])),
    calls(ADA_MOSTLY, "one"),
    calls(ADA_MOSTLY, "one"),
    st.sampled_from("123").map(find_note),
    tokened("ada"),
)
# Shared data must be the same in both databases.
ADMIN_GIVES_BOB = (
    puts(st.just("bob"), st.just("bob@x"))
    .filter(lambda put: put.item["pk"]["S"].startswith("U#bob"))
    .map(AdminRequest)
)
BOB_REQUESTS = st.one_of(
    clinic_requests(BOB_MOSTLY, st.sampled_from(["bob@x", "bob@y"])),
    calls(BOB_MOSTLY, "one"),
    ADMIN_GIVES_BOB,
    ADMIN_GIVES_BOB,
    tokened("bob"),
)
ROLES = st.sampled_from([("patient",), ("patient",), ("scribe",), ("scribe", "patient")])

# Bob's requests in the first database, bob's in the second, and ada's next request in both.
STEPS = st.lists(
    st.tuples(
        st.lists(BOB_REQUESTS, min_size=1, max_size=2),
        st.lists(BOB_REQUESTS, min_size=1, max_size=2),
        ADA_REQUESTS,
    ),
    min_size=8,
    max_size=10,
)


class Scenario:
    """A database and its two users."""

    def __init__(self, database: ClinicDatabase, roles: tuple[str, ...]) -> None:
        self.database = database
        self.ada, self.bob = database.log_in("ada", *roles), database.log_in("bob", "patient")
        self.items = database.dump()

    def do(self, clinic_user: ClinicUser, asked: Asked, other: str) -> Any:
        """Run a request; check that it does not change data of the `other` user."""
        if isinstance(asked, AdminRequest):
            with suppress(KeyfoldError):
                self.database.store.run(asked.request)
            self.items = self.database.dump()
            return None
        outcome = clinic_user.do(asked)
        before, self.items = self.items, self.database.dump()
        assert items_of(self.items, other) == items_of(before, other), asked
        return outcome


def check_indistinguishable(roles: tuple[str, ...], steps: Steps) -> None:
    with open_clinic() as one, open_clinic() as other:
        scenarios = [Scenario(one, roles), Scenario(other, roles)]
        for *bobs, adas in steps:
            outcomes: list[Any] = []
            for scenario, asking in zip(scenarios, bobs, strict=True):
                for asked in asking:
                    scenario.do(scenario.bob, asked, "ada")
                outcomes.append(scenario.do(scenario.ada, adas, "bob"))
            assert outcomes[0] == outcomes[1], adas
        assert items_of(scenarios[0].items, "ada") == items_of(scenarios[1].items, "ada")


@examples(50, 2_000, suppress_health_check=QUIET)
@given(roles=ROLES, steps=STEPS)
def test_databases_that_differ_in_data_of_another_tenant_look_the_same(
    roles: tuple[str, ...], steps: Steps
) -> None:
    check_indistinguishable(roles, steps)
