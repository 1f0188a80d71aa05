"""Every pattern as every role over HTTP, and what a hostile client learns: nothing.

Two worlds have the same items, except that one lacks those that are foreign to a principal, and in the
other they are larger. Whatever the principal sends, both worlds have to answer alike, byte for byte;
only the texts that are sealed anew each time, cursors, may differ, and not in length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.tenants.patterns.rows import PatternTable, Row
from tests.tenants.services import (
    HttpAnswer,
    Ownership,
    PatternCall,
    ServiceWorld,
    endpoints_of,
    open_world,
    read_call,
)
from tests.tenants.test_patterns_by_role import CASES, DESIGNS

DENIALS = ("access-denied", "handle-invalid")
CURSORS = re.compile(rb"(?<=cursor=)[\w%-]+|(?<=\"cursor\":\")[\w-]+")
# Capacity is counted in steps of up to 4 KB.
PADDING = {"padding": {"S": "x" * 9_000}}
LIMITED = [
    pytest.param(name, column, id=f"{name}: {column}")
    for name, design in DESIGNS.items()
    for column, each in design.columns.items()
    if any(design.table.roles[role].tenant is not None for role in each.roles)
    or column in ("visitor", "registration")
]


class Worlds(NamedTuple):
    """The same database with and without the items that are foreign to a principal."""

    column: str
    full: ServiceWorld
    bare: ServiceWorld

    def try_call(self, name: str, call: PatternCall, **headers: str) -> HttpAnswer:
        """Return the answer of both worlds to a call; foreign items stay as they were."""
        answer = self.try_both(name, lambda world: world.call(self.column, call, **headers))
        if call.endpoint.writes:
            self.check_foreign(name)
            for world in (self.full, self.bare):
                world.restore()
        return answer

    def try_both(self, name: str, use: Callable[[ServiceWorld], HttpAnswer]) -> HttpAnswer:
        """Return the answer of both worlds."""
        full, bare = use(self.full), use(self.bare)
        assert normalise(full) == normalise(bare), name
        return full

    def check_foreign(self, name: str) -> None:
        """Check that foreign items are as they were at first."""
        after = self.full.dump()
        foreign = self.full.before.keys() - self.bare.before.keys()
        assert all(after[key] == self.full.before[key] for key in foreign), name


def normalise(answer: HttpAnswer) -> HttpAnswer:
    """Return an answer with all characters of cursors alike."""

    def hide(found: re.Match[bytes]) -> bytes:
        return b"*" * len(found[0])

    headers = {
        name: CURSORS.sub(hide, text.encode()).decode() for name, text in answer.headers.items()
    }
    return HttpAnswer(answer.status, headers, CURSORS.sub(hide, answer.body))


@contextmanager
def open_worlds(
    design: PatternTable, column: str, folder: Path, *, files: Sequence[str] = (":memory:",) * 2
) -> Generator[Worlds]:
    owns = Ownership(design.table, design.columns[column])

    def enlarge(item: dict[str, Any]) -> dict[str, Any]:
        is_large = owns.is_foreign(item) and "keyfold_owner" not in item
        return {**item, **PADDING} if is_large else item

    def drop(item: dict[str, Any]) -> dict[str, Any] | None:
        return None if owns.is_foreign(item) else item

    with ExitStack() as stack:
        full, bare = (
            stack.enter_context(open_world(design, folder, change, file=file))
            for change, file in zip((enlarge, drop), files, strict=True)
        )
        assert len(bare.before) < len(full.before)
        worlds = Worlds(column, full, bare)
        yield worlds
        worlds.check_foreign("at the end")


@pytest.fixture(scope="module")
def over_http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ServiceWorld]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(open_world(design, tmp_path_factory.mktemp(name)))
            for name, design in DESIGNS.items()
        }


@pytest.mark.parametrize(("name", "row"), CASES)
def test_a_service_allows_the_patterns_of_a_callers_roles(
    name: str, row: Row, over_http: dict[str, ServiceWorld]
) -> None:
    design, world = DESIGNS[name], over_http[name]
    call, outcomes = read_call(design.table, row), dict[str, str]()
    for column in design.columns:
        answer = world.call(column, call)
        outcomes[column] = answer.code or "found"
        if answer.code in DENIALS:
            assert world.dump() == world.before, "a denied request changed something"
        world.restore()
    expected = row.expected(design.columns, on_wire=False)
    if row.may is None:
        assert {each for each, code in outcomes.items() if code == "found"} == expected
        assert {*outcomes.values()} <= {"found", "not-found"}
    else:
        allowed = {each for each, code in outcomes.items() if code not in DENIALS}
        assert allowed == expected, outcomes
        assert {*outcomes.values()} <= {"found", "not-found", *DENIALS}


@cache
def calls_of(name: str) -> tuple[tuple[str, PatternCall], ...]:
    """Return the calls of a design, labelled: those of all rows, and the same with other tenants' texts."""
    return tuple(list_calls(DESIGNS[name]))


def list_calls(design: PatternTable) -> Iterator[tuple[str, PatternCall]]:
    seen: set[str] = set()
    swaps = [{}, *({own: other} for own, other in design.foreign.items()), dict(design.foreign)]
    for row in design.rows:
        call = read_call(design.table, row)
        text = json.dumps(call.arguments)
        for swap in swaps:
            swapped = text
            for own, other in swap.items():
                swapped = swapped.replace(own, other)
            if f"{call.endpoint.name} {swapped}" not in seen:
                seen.add(f"{call.endpoint.name} {swapped}")
                yield f"{row.name} {swapped}", call._replace(arguments=json.loads(swapped))


@pytest.mark.parametrize(("name", "column"), LIMITED)
def test_no_endpoint_tells_of_foreign_items(name: str, column: str, tmp_path: Path) -> None:
    design = DESIGNS[name]
    with open_worlds(design, column, tmp_path) as worlds:
        for label, call in calls_of(name):
            worlds.try_call(label, call)
        assert {call.endpoint.name for _, call in calls_of(name)} == {*endpoints_of(design.table)}
        # Counts of all callers, and what is left for this one: the same requests, the same units.
        full, bare = worlds.full, worlds.bare
        assert full.send("GET", "/metrics") == bare.send("GET", "/metrics")
        assert full.limits._buckets == bare.limits._buckets
