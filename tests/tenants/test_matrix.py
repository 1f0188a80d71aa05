"""Every role, every kind of call, on what is its own and what is not, there and not there.

A call is decided on in four places: by a principal's store and the guard behind it, by a server
that knows keys by their roles, by one that knows them by the policies that are exported from those
roles, and by the evaluator of such policies alone. All of them agree; where a policy cannot say
what its role says, it differs as the export says it does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from keyfold.engine import Engine
from keyfold.model import Request, Table
from keyfold.model._transactions import Transaction
from keyfold.model._updates import touches_unique
from keyfold.model._writes import Presence, Put, Write
from keyfold.policy import EVERYTHING
from keyfold.store._accesses import read_accesses
from keyfold.wire.server._gate import Gate
from tests.property.gaps import check_gaps
from tests.tenants.cases import Case, calls_on_tables
from tests.tenants.designs import make_market, make_ward
from tests.tenants.enforcement_points import (
    FarLine,
    Line,
    NearLine,
    Rules,
    Somebody,
    World,
    is_denied,
    open_worlds,
)
from tests.unit.store.store_kinds import START

DESIGNS = {"ward": make_ward(), "market": make_market()}
PEOPLE = [
    pytest.param(name, who, id=f"{name}-{who.name}")
    for name, design in DESIGNS.items()
    for who in design.people
]
# What stands in fields that are hidden from some; whatever is another's has bob's name in it.
HIDDEN = b"hush"
READS = ("BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems")


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[World]]]:
    """Of each design, a world in which everything exists, and one in which nothing does."""
    with open_all(tmp_path_factory, NearLine) as opened:
        yield opened


@pytest.fixture(scope="module")
def live_worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[World]]]:
    """The same, behind servers that run."""
    with open_all(tmp_path_factory, FarLine) as opened:
        yield opened


@contextmanager
def open_all(
    paths: pytest.TempPathFactory, make_line: Callable[[Engine, Gate], Line]
) -> Generator[dict[str, list[World]]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(
                open_worlds(
                    design.table,
                    design.people,
                    paths.mktemp(name),
                    [design.items, []],
                    make_line,
                )
            )
            for name, design in DESIGNS.items()
        }


def try_on_wire(worlds: list[World], who: Somebody, kind: str, case: Case) -> bool:
    """Tell whether a call is denied: in all worlds alike, to the byte, and without a trace."""
    responses = [world.call(f"{kind}.{who.name}", case.call) for world in worlds]
    for response in responses:
        # What is allowed shows nothing that the role may not see.
        assert who.role.tenant is None or b"bob" not in response.body
        assert not who.role.hidden or HIDDEN not in response.body
    denied = [is_denied(response) for response in responses]
    for world, is_refused in zip(worlds, denied, strict=True):
        if is_refused:
            assert world.dump() == world.items
        elif case.call[0] not in READS:
            world.restore()
    assert denied[0] is denied[1]
    assert not denied[0] or responses[0] == responses[1]
    return denied[0]


def try_in_process(worlds: list[World], who: Somebody, case: Case) -> bool:
    """Tell whether a request is denied to a principal: as above, before any call is made."""
    answers = [world.run(who, case) for world in worlds]
    assert (answers[0] is None) is (answers[1] is None)
    if answers[0] is not None:
        assert answers[0] == answers[1]
        assert "bob" not in answers[0]
    for world in worlds:
        if answers[0] is not None:
            assert world.dump() == world.items
        else:
            world.restore()
    return answers[0] is not None


def writes_of(request: Request[object]) -> list[Write[object]]:
    members = request.requests if isinstance(request, Transaction) else (request,)
    return [each for each in members if isinstance(each, Write)]


def takes_unique(request: Request[object]) -> set[str]:
    """Return the entities whose unique values a request takes or gives up."""
    return {each.schema.name for each in writes_of(request) if touches_unique(each)}


def lacks_unique(who: Somebody, request: Request[object]) -> bool:
    """Tell whether a request takes or gives up unique values, and its role may not."""
    return not takes_unique(request) <= who.role.unique and EVERYTHING not in who.role.can


def may_meet_expired(request: Request[object]) -> bool:
    """Tell whether a creation may replace what has expired, which calls cannot be trusted to say."""
    return any(
        isinstance(each, Put)
        and each.presence is Presence.MUST_NOT_EXIST
        and each.table.ttl is not None
        for each in writes_of(request)
    )


def check_cases(name: str, who: Somebody, worlds: list[World], cases: Iterable[Case]) -> None:
    table = DESIGNS[name].table
    rules = Rules(table, who)
    for case in cases:
        try:
            check_case(table, who, rules, worlds, case)
        except AssertionError as error:
            error.add_note(f"{who.name}, {case.name}: {case.call}")
            raise


def check_case(table: Table, who: Somebody, rules: Rules, worlds: list[World], case: Case) -> None:
    accesses = worlds[0].read(case)
    assert accesses == worlds[1].read(case)
    guarded = rules.guard_denies(accesses)
    by_role = try_on_wire(worlds, who, "role", case)
    assert any(guarded) is by_role
    by_policy = try_on_wire(worlds, who, "policy", case)
    assert rules.evaluator_denies(accesses) is by_policy
    check_gaps(rules.export, table.layout, accesses, guarded, is_denied=by_policy)
    if case.request is not None:
        told = any(rules.guard_denies(read_accesses(case.request, START), keeps_unique=True))
        # Calls alone keep nothing unique.
        is_stores_alone = may_meet_expired(case.request) or bool(takes_unique(case.request))
        assert told is by_role or (by_role and is_stores_alone)
        in_process = try_in_process(worlds, who, case)
        assert in_process is (told or lacks_unique(who, case.request))


@pytest.mark.parametrize(("name", "who"), PEOPLE)
def test_all_agree_on_what_a_role_may_do(
    name: str, who: Somebody, worlds: dict[str, list[World]]
) -> None:
    check_cases(name, who, worlds[name], DESIGNS[name].cases())


@pytest.mark.parametrize(("name", "who"), PEOPLE)
def test_all_agree_on_what_a_role_may_do_with_tables(
    name: str, who: Somebody, worlds: dict[str, list[World]]
) -> None:
    before = [world.describe() for world in worlds[name]]
    design = DESIGNS[name]
    cases = calls_on_tables(design.table.name, design.places[0].key)
    check_cases(name, who, worlds[name], cases)
    assert [world.describe() for world in worlds[name]] == before


@pytest.mark.parametrize(("name", "who"), PEOPLE)
def test_a_server_that_runs_agrees(
    name: str, who: Somebody, live_worlds: dict[str, list[World]]
) -> None:
    """One case of each operation, on what is one's own, another's, and everybody's."""
    design = DESIGNS[name]
    chosen: dict[tuple[str, str], Case] = {}
    for case in design.cases():
        chosen.setdefault((case.call[0], case.name.split()[0]), case)
    for case in calls_on_tables(design.table.name, design.places[0].key):
        chosen.setdefault((case.call[0], "table"), case)
    check_cases(name, who, live_worlds[name], chosen.values())
