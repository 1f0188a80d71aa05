"""A hostile client of a service: what it sends besides arguments, and what it could take from others.

As in `test_services`, it may not tell a world with the items of others from one without them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from keyfold.service import RateLimit, RateLimits
from tests.tenants.services import ServiceWorld, api_key_of, open_world, to_access_key
from tests.tenants.test_patterns_by_role import DESIGNS
from tests.tenants.test_services import LIMITED, calls_of, open_worlds
from tests.unit.service.serving import serving
from tests.unit.service.tokens import encode, make_claims, open_files, shop, sign

TENANTS = [
    each for each in LIMITED if DESIGNS[str(each.values[0])].columns[str(each.values[1])].ids
]


def tags_of(world: ServiceWorld, name: str) -> str:
    """Return a list of the entity tags of all items that somebody can read."""
    found: set[str] = set()
    for (_, call), column in product(calls_of(name), world.columns):
        if not call.endpoint.writes:
            found.add(world.call(column, call).headers.get("etag", '"none"'))
    return ", ".join(sorted(found))


@pytest.mark.parametrize("header", ["if_match", "if_none_match"])
@pytest.mark.parametrize(("name", "column"), LIMITED)
def test_preconditions_tell_nothing_of_foreign_items(
    name: str, column: str, header: str, tmp_path: Path
) -> None:
    with open_worlds(DESIGNS[name], column, tmp_path) as worlds:
        for (label, call), tag in product(calls_of(name), ("*", tags_of(worlds.full, name))):
            worlds.try_call(f"{label}, {header}: {tag}", call, **{header: tag})


@pytest.mark.parametrize(("name", "column"), LIMITED)
def test_batches_tell_nothing_of_foreign_items(name: str, column: str, tmp_path: Path) -> None:
    with open_worlds(DESIGNS[name], column, tmp_path) as worlds:
        reads: list[dict[str, Any]] = [
            {"pattern": call.endpoint.name, "arguments": call.arguments}
            for _, call in calls_of(name)
        ]
        reads = worlds.full.show(column, reads)
        for start in range(0, len(reads), 25):
            body = {"requests": reads[start : start + 25]}
            answer = worlds.try_both(
                f"batch from {start}",
                lambda world, body=body: world.send("POST", "/batch", column, body),
            )
            assert answer.status == 200
        assert worlds.full.limits._buckets == worlds.bare.limits._buckets


@pytest.mark.parametrize(("name", "column"), TENANTS)
def test_idempotency_keys_of_others_tell_nothing(name: str, column: str, tmp_path: Path) -> None:
    """Others use a key for the same request; for the hostile client, it is as unused."""
    with open_worlds(DESIGNS[name], column, tmp_path) as worlds:
        full = worlds.full
        for label, call in calls_of(name):
            if not call.endpoint.writes:
                continue
            for other in full.columns.keys() - {column}:
                full.call(other, call, idempotency_key="guessed")
            kept = [item for key, item in full.dump().items() if "keyfold#idempotency#" in key]
            full.restore()
            for item in kept:
                full.engine.execute("PutItem", {"TableName": full.design.table.name, "Item": item})
            answer = worlds.try_call(label, call, idempotency_key="guessed")
            assert "idempotency-replayed" not in answer.headers


def find_cursors(world: ServiceWorld, name: str, columns: Iterable[str]) -> set[str]:
    """Return cursors of all lists that some principals can read."""
    found: set[str] = set()
    for column, (_, call) in product(columns, calls_of(name)):
        if call.endpoint.writes or not call.endpoint.is_page:
            continue
        answer = world.call(column, call, prefer="maxpagesize=1")
        link: str | None = answer.json.get("next") if answer.status == 200 else None
        if link is not None:
            found |= {*parse_qs(urlsplit(link).query).get(call.endpoint.cursor or "", ())}
    return found


@pytest.mark.parametrize(("name", "column"), TENANTS)
def test_cursors_of_others_and_forged_ones_are_refused(
    name: str, column: str, tmp_path: Path
) -> None:
    with open_worlds(DESIGNS[name], column, tmp_path) as worlds:
        own = find_cursors(worlds.full, name, [column])
        cursors = find_cursors(worlds.full, name, worlds.full.columns.keys() - {column})
        assert cursors or name == "exchange_rates"
        forged = {each[:-5] + ("A" if each[-5] != "A" else "B") + each[-4:] for each in own}
        pages = [each for each in calls_of(name) if each[1].endpoint.cursor is not None]
        for (label, call), cursor in product(pages, [*cursors, *forged, "x", "A" * 100]):
            given = {**call.arguments, str(call.endpoint.cursor): cursor}
            answer = worlds.try_call(label, call._replace(arguments=given))
            assert answer.status in (400, 403, 422), label


@pytest.mark.parametrize("column", ["customer", "seller", "visitor", "customer.seller"])
def test_ids_and_handles_of_others_are_refused(column: str, tmp_path: Path) -> None:
    with open_worlds(DESIGNS["market"], column, tmp_path) as worlds:
        others = [
            each
            for each in worlds.full.columns
            if each != column and worlds.full.handles_of(each) is not None
        ]
        assert others
        for label, call in calls_of("market"):
            own = worlds.full.show(column, call.arguments)
            shown = [call.arguments, *(worlds.full.show(each, call.arguments) for each in others)]
            for arguments in shown:
                if arguments == own:
                    # There is no id in them.
                    continue
                answer = worlds.try_both(
                    label,
                    lambda world, call=call, given=arguments: world.call_with(column, call, given),
                )
                assert answer.code == "handle-invalid", label


def test_credentials_are_not_exchangeable(tmp_path: Path) -> None:
    with open_world(DESIGNS["market"], tmp_path) as world:
        path = "/user/user-profile?user=ada"
        columns = [*world.columns]
        secret = {each: api_key_of(each).partition(".")[2] for each in columns}
        refused: set[bytes] = set()
        for one, other in product(columns, ["nobody", *columns]):
            if one == other:
                continue
            name = to_access_key(one)
            for key in (f"{to_access_key(other)}.{secret[one]}", name, f".{secret[one]}"):
                answers = [
                    world.send("GET", path, **{"x-api-key": key}),
                    world.send("GET", path, authorization=f"Bearer {key}"),
                ]
                assert {each.status for each in answers} == {401}
                refused |= {each.body for each in answers}
        # No answer tells which keys exist.
        assert len(refused) == 1
        # Of several, none is chosen.
        both = {"x-api-key": f"{api_key_of('customer')}, {api_key_of('support')}"}
        assert world.send("GET", path, **both).status == 401


def test_one_caller_cannot_use_up_the_capacity_of_another(tmp_path: Path) -> None:
    with open_world(DESIGNS["market"], tmp_path) as world:
        world.app._limits = RateLimits(RateLimit(1, 1), monotonic=lambda: 0.0)
        answers = [world.send("GET", "/user/user-profile?user=ada", "customer") for _ in range(3)]
        assert (answers[-1].status, answers[-1].code) == (429, "rate-limited")
        assert world.send("GET", "/user/user-profile?user=bob", "customer-other").status == 200
        # Without credentials, nothing is charged to anybody.
        for _ in range(3):
            assert world.send("GET", "/user/user-profile?user=bob").status == 401
        assert world.send("GET", "/user/user-profile?user=bob", "customer-other").status == 200


@pytest.mark.parametrize(("name", "column"), LIMITED)
def test_what_is_public_tells_nothing_of_items(name: str, column: str, tmp_path: Path) -> None:
    with open_worlds(DESIGNS[name], column, tmp_path) as worlds:
        for path in ("/", "/openapi.json", "/healthz", "/readyz", "/metrics"):
            answer = worlds.try_both(path, lambda world, path=path: world.send("GET", path))
            assert answer.status == 200


def test_tokens_are_not_exchangeable(tmp_path: Path) -> None:
    """Tokens of two users in pieces: only as they were signed, they stand for somebody."""
    tokens = {user: sign(make_claims(sub=user)) for user in ("ada", "bob")}
    pieces = [token.split(".") for token in tokens.values()]
    unsigned = [encode({"alg": "none"}), encode({"alg": "RS256", "kid": "two"})]
    heads = [pieces[0][0], *unsigned, ""]
    bodies = [pieces[0][1], pieces[1][1], encode(make_claims(sub="bob", role="support")), ""]
    signatures = [pieces[0][2], pieces[1][2], "", encode("x")]
    answers: dict[str, tuple[int, Any]] = {}

    async def main() -> None:
        authenticator = open_files(tmp_path).authenticator
        async with serving(shop, authenticator=authenticator) as client:
            for parts in product(heads, bodies, signatures):
                token = ".".join(parts)
                for user in tokens:
                    response = await client.get(
                        f"/buyer/buyer?user={user}", headers={"authorization": f"Bearer {token}"}
                    )
                    answers[f"{user} {token}"] = (response.status_code, response.json()["code"])

    asyncio.run(main())
    for user, other in (("ada", "bob"), ("bob", "ada")):
        assert answers.pop(f"{user} {tokens[user]}") == (404, "not-found")
        assert answers.pop(f"{other} {tokens[user]}") == (403, "access-denied")
    assert {*answers.values()} == {(401, "unauthenticated")}
    assert len(answers) == 2 * 4 * 4 * 4 - 4
