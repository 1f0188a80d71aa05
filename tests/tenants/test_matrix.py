"""Every role and every kind of call, on its own data and others', existing and absent.

Four enforcement points decide about a call: a principal's store with its guard, a server whose keys
have roles, a server whose keys have policies exported from those roles, and the evaluator of such
policies alone. All of them must agree. Where a policy cannot express its role, it must differ
exactly as the export reports.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from keyfold.engine import Engine
from keyfold.model import Request, Table
from keyfold.model._transactions import Transaction
from keyfold.model._writes import Presence, Put, Write
from keyfold.wire.server._gate import Gate
from tests.property.gaps import check_gaps
from tests.tenants.cases import Case, calls_on_tables
from tests.tenants.designs import make_clinic, make_market
from tests.tenants.enforcement_points import (
    EnforcedDatabase,
    InProcessConnection,
    Rules,
    ServerConnection,
    SocketConnection,
    TenantPrincipal,
    is_denied,
    open_databases,
)

DESIGNS = {"clinic": make_clinic(), "market": make_market()}
PRINCIPALS = [
    pytest.param(name, principal, id=f"{name}-{principal.name}")
    for name, design in DESIGNS.items()
    for principal in design.principals
]
# The value of fields that are hidden from some roles; data of another tenant contains "bob".
HIDDEN = b"hush"
READS = ("BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems")


@pytest.fixture(scope="module")
def databases(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, list[EnforcedDatabase]]]:
    """For each design, a database in which everything exists, and one in which nothing does."""
    with open_all(tmp_path_factory, InProcessConnection) as opened:
        yield opened


@pytest.fixture(scope="module")
def live_databases(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, list[EnforcedDatabase]]]:
    """The same behind running servers."""
    with open_all(tmp_path_factory, SocketConnection) as opened:
        yield opened


@contextmanager
def open_all(
    paths: pytest.TempPathFactory, make_connection: Callable[[Engine, Gate], ServerConnection]
) -> Generator[dict[str, list[EnforcedDatabase]]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(
                open_databases(
                    design.table,
                    design.principals,
                    paths.mktemp(name),
                    [design.items, []],
                    make_connection,
                )
            )
            for name, design in DESIGNS.items()
        }


def try_on_wire(
    databases: list[EnforcedDatabase], principal: TenantPrincipal, kind: str, case: Case
) -> bool:
    """Return whether a call is denied: equally in all databases, byte for byte, without effect."""
    responses = [database.call(f"{kind}.{principal.name}", case.call) for database in databases]
    for response in responses:
        # An allowed call must not show what the role may not see.
        assert not principal.is_tenant or b"bob" not in response.body
        assert not principal.has_hidden or HIDDEN not in response.body
    denied = [is_denied(response) for response in responses]
    for database, is_refused in zip(databases, denied, strict=True):
        if is_refused:
            assert database.dump() == database.items
        elif case.call[0] not in READS:
            database.restore()
    assert denied[0] is denied[1]
    assert not denied[0] or responses[0] == responses[1]
    return denied[0]


def try_in_process(
    databases: list[EnforcedDatabase], principal: TenantPrincipal, case: Case
) -> bool:
    """Return whether a request is denied in process: as above, and before any call."""
    answers = [database.run(principal, case) for database in databases]
    assert (answers[0] is None) is (answers[1] is None)
    if answers[0] is not None:
        assert answers[0] == answers[1]
        assert "bob" not in answers[0]
    for database in databases:
        if answers[0] is not None:
            assert database.dump() == database.items
        else:
            database.restore()
    return answers[0] is not None


def writes_of(request: Request[object]) -> list[Write[object]]:
    members = request.requests if isinstance(request, Transaction) else (request,)
    return [each for each in members if isinstance(each, Write)]


def takes_unique(request: Request[object]) -> set[str]:
    """Return the entities whose unique values a request takes or releases."""
    return {each.schema.name for each in writes_of(request) if each.changes_unique}


def may_meet_expired(request: Request[object]) -> bool:
    """Return whether a create may replace an expired item, which a call's condition cannot prove."""
    return any(
        isinstance(each, Put)
        and each.presence is Presence.MUST_NOT_EXIST
        and each.table.ttl is not None
        for each in writes_of(request)
    )


def check_cases(
    name: str, principal: TenantPrincipal, databases: list[EnforcedDatabase], cases: Iterable[Case]
) -> None:
    table = DESIGNS[name].table
    rules = Rules(table, principal)
    for case in cases:
        try:
            check_case(table, principal, rules, databases, case)
        except AssertionError as error:
            error.add_note(f"{principal.name}, {case.name}: {case.call}")
            raise


def check_case(
    table: Table,
    principal: TenantPrincipal,
    rules: Rules,
    databases: list[EnforcedDatabase],
    case: Case,
) -> None:
    accesses = databases[0].read(case)
    assert accesses == databases[1].read(case)
    guarded = rules.guard_denies(accesses)
    by_role = try_on_wire(databases, principal, "role", case)
    # A lookup is allowed on the wire, where it shows nothing that the guard denies.
    is_lookup = any(guarded) and rules.is_lookup(case.call, accesses)
    assert (any(guarded) and not is_lookup) is by_role
    by_policy = try_on_wire(databases, principal, "policy", case)
    assert rules.evaluator_denies(accesses) is by_policy
    check_gaps(rules.export, table.layout, accesses, guarded, is_denied=by_policy)
    if case.request is not None:
        known = databases[0].read_request(case.request)
        denied_in_store = any(rules.guard_denies(known, keeps_unique=True))
        # A plain call does not maintain unique values.
        needs_a_store = may_meet_expired(case.request) or bool(takes_unique(case.request))
        assert denied_in_store is by_role or is_lookup or (by_role and needs_a_store)
        in_process = try_in_process(databases, principal, case)
        may_take = principal.may_take(takes_unique(case.request))
        assert in_process is (denied_in_store or not may_take)


@pytest.mark.parametrize(("name", "principal"), PRINCIPALS)
def test_all_enforcement_points_agree_on_calls_on_items(
    name: str, principal: TenantPrincipal, databases: dict[str, list[EnforcedDatabase]]
) -> None:
    check_cases(name, principal, databases[name], DESIGNS[name].cases())


@pytest.mark.parametrize(("name", "principal"), PRINCIPALS)
def test_all_enforcement_points_agree_on_calls_on_tables(
    name: str, principal: TenantPrincipal, databases: dict[str, list[EnforcedDatabase]]
) -> None:
    before = [database.describe() for database in databases[name]]
    design = DESIGNS[name]
    cases = calls_on_tables(design.table.name, design.targets[0].key)
    check_cases(name, principal, databases[name], cases)
    assert [database.describe() for database in databases[name]] == before


@pytest.mark.parametrize(("name", "principal"), PRINCIPALS)
def test_a_running_server_agrees(
    name: str, principal: TenantPrincipal, live_databases: dict[str, list[EnforcedDatabase]]
) -> None:
    """One case of each operation, on own, foreign and shared data."""
    design = DESIGNS[name]
    chosen: dict[tuple[str, str], Case] = {}
    for case in design.cases():
        chosen.setdefault((case.call[0], case.name.split()[0]), case)
    for case in calls_on_tables(design.table.name, design.targets[0].key):
        chosen.setdefault((case.call[0], "table"), case)
    check_cases(name, principal, live_databases[name], chosen.values())
