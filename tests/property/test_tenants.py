"""Whatever a principal asks for, it can tell nothing of what is another tenant's, nor change it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keyfold.model import Request
from tests.property.two_worlds import Visitor, World, a_world
from tests.property.ward_calls import Call, calls
from tests.property.ward_requests import find_note, ward_requests

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
SHORT = settings(max_examples=60, derandomize=True, suppress_health_check=QUIET)
LONG = settings(max_examples=2_000, suppress_health_check=QUIET)

Asked = Request[Any] | Call

# She asks for what is hers mostly, so that something comes of it.
HERS = st.sampled_from(["ada", "ada", "ada", "bob"])
HIS = st.sampled_from(["bob", "bob", "bob", "ada"])
HER_ASKING = st.one_of(
    ward_requests(HERS, st.sampled_from(["ada@x", "ada@y"])),
    calls(HERS, "token"),
    st.sampled_from("123").map(find_note),
)
HIS_ASKING = ward_requests(HIS, st.sampled_from(["bob@x", "bob@y"])) | calls(HIS, "token")
ROLES = st.sampled_from(["patient", "patient", "scribe"])

# What she asks for in both worlds, and what he has asked for before in each.
STEPS = st.lists(
    st.tuples(st.lists(HIS_ASKING, max_size=2), st.lists(HIS_ASKING, max_size=2), HER_ASKING),
    min_size=1,
    max_size=6,
)


def watch(world: World, visitor: Visitor, asked: Asked, owner: str) -> Any:
    """Do what is asked for; what is somebody else's is to stay as it is."""
    before = world.dump_of(owner)
    outcome = visitor.do(asked)
    assert world.dump_of(owner) == before, asked
    return outcome


def check_worlds(role: str, steps: list[tuple[list[Asked], list[Asked], Asked]]) -> None:
    with a_world() as one, a_world() as other:
        worlds = [
            (each, each.enter(role, "ada"), each.enter("patient", "bob")) for each in (one, other)
        ]
        for *his, hers in steps:
            outcomes: list[Any] = []
            for (world, ada, bob), asking in zip(worlds, his, strict=True):
                for asked in asking:
                    watch(world, bob, asked, "ada")
                outcomes.append(watch(world, ada, hers, "bob"))
            assert outcomes[0] == outcomes[1], hers
        assert one.dump_of("ada") == other.dump_of("ada")


@SHORT
@given(role=ROLES, steps=STEPS)
def test_worlds_that_differ_in_what_is_anothers_look_the_same(
    role: str, steps: list[tuple[list[Asked], list[Asked], Asked]]
) -> None:
    check_worlds(role, steps)


@pytest.mark.long
@LONG
@given(role=ROLES, steps=STEPS)
def test_many_worlds_that_differ_in_what_is_anothers_look_the_same(
    role: str, steps: list[tuple[list[Asked], list[Asked], Asked]]
) -> None:
    check_worlds(role, steps)
