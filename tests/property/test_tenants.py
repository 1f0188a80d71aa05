"""Whatever a principal asks for, it can tell nothing of what is another tenant's, nor change it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keyfold.errors import KeyfoldError
from keyfold.model import Request, transaction
from tests.property.clinic_calls import Call, calls, transact_put
from tests.property.clinic_requests import find_note, puts, ward_requests
from tests.property.two_worlds import Visitor, World, a_world, part_of
from tests.unit.policy.clinic import Note

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
SHORT = settings(max_examples=100, derandomize=True, suppress_health_check=QUIET)
LONG = settings(max_examples=2_000, suppress_health_check=QUIET)


class Given(NamedTuple):
    """What somebody is given, by whoever may do everything."""

    request: Request[Any]


Asked = Request[Any] | Call | Given
Steps = list[tuple[list[Asked], list[Asked], Asked]]

# She asks for what is hers mostly, so that something comes of it, and he for what is his.
HERS = st.sampled_from(["ada", "ada", "ada", "bob"])
HIS = st.sampled_from(["bob", "bob", "bob", "ada"])
TOKENS = st.sampled_from(["one", "two"])


def tokened(user: str) -> st.SearchStrategy[Asked]:
    """Transactions with tokens that anybody could have used, in process and on the wire."""
    numbers = st.sampled_from("123")
    raw = st.tuples(numbers, TOKENS).map(lambda drawn: transact_put(user, *drawn))
    made = st.tuples(numbers, TOKENS).map(
        lambda drawn: transaction(Note(user=user, id=drawn[0], text="x").put(), token=drawn[1])
    )
    return st.one_of(raw, made)


HER_ASKING = st.one_of(
    ward_requests(HERS, st.sampled_from(["ada@x", "ada@y"])),
    calls(HERS, "one"),
    calls(HERS, "one"),
    st.sampled_from("123").map(find_note),
    tokened("ada"),
)
# What is everybody's is the same in both worlds.
GIVEN_TO_HIM = (
    puts(st.just("bob"), st.just("bob@x"))
    .filter(lambda put: put.item["pk"]["S"].startswith("U#bob"))
    .map(Given)
)
HIS_ASKING = st.one_of(
    ward_requests(HIS, st.sampled_from(["bob@x", "bob@y"])),
    calls(HIS, "one"),
    GIVEN_TO_HIM,
    GIVEN_TO_HIM,
    tokened("bob"),
)
ROLES = st.sampled_from(["patient", "patient", "scribe"])

# What he has asked for before in each world, and what she asks for in both.
STEPS = st.lists(
    st.tuples(
        st.lists(HIS_ASKING, min_size=1, max_size=2),
        st.lists(HIS_ASKING, min_size=1, max_size=2),
        HER_ASKING,
    ),
    min_size=8,
    max_size=10,
)


class Life:
    """A world, and what two people do in it."""

    def __init__(self, world: World, role: str) -> None:
        self.world = world
        self.ada, self.bob = world.enter(role, "ada"), world.enter("patient", "bob")
        self.items = world.dump()

    def do(self, visitor: Visitor, asked: Asked, other: str) -> Any:
        """Do what is asked for; what is somebody else's is to stay as it is."""
        if isinstance(asked, Given):
            with suppress(KeyfoldError):
                self.world.store.run(asked.request)
            self.items = self.world.dump()
            return None
        outcome = visitor.do(asked)
        before, self.items = self.items, self.world.dump()
        assert part_of(self.items, other) == part_of(before, other), asked
        return outcome


def check_worlds(role: str, steps: Steps) -> None:
    with a_world() as one, a_world() as other:
        lives = [Life(one, role), Life(other, role)]
        for *his, hers in steps:
            outcomes: list[Any] = []
            for life, asking in zip(lives, his, strict=True):
                for asked in asking:
                    life.do(life.bob, asked, "ada")
                outcomes.append(life.do(life.ada, hers, "bob"))
            assert outcomes[0] == outcomes[1], hers
        assert part_of(lives[0].items, "ada") == part_of(lives[1].items, "ada")


@SHORT
@given(role=ROLES, steps=STEPS)
def test_worlds_that_differ_in_what_is_anothers_look_the_same(role: str, steps: Steps) -> None:
    check_worlds(role, steps)


@pytest.mark.long
@LONG
@given(role=ROLES, steps=STEPS)
def test_many_worlds_that_differ_in_what_is_anothers_look_the_same(role: str, steps: Steps) -> None:
    check_worlds(role, steps)
