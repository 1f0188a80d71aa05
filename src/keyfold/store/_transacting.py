"""Plans of transactions, and of the guards that keep unique fields unique."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from keyfold.errors import (
    IdempotentParameterMismatchException,
    KeyfoldError,
    RequestRefused,
    TransactionCanceledException,
    TransactionFailed,
    TransactionInvalid,
    UniqueTaken,
)
from keyfold.model._expressions import (
    Called,
    Compared,
    Condition,
    ExpressionWriter,
    Given,
    Place,
    join,
)
from keyfold.model._keys import identify
from keyfold.model._requests import Get, ResultShape
from keyfold.model._schemas import EntitySchema
from keyfold.model._showing import show_item
from keyfold.model._transactions import LONGEST_TOKEN, MOST_ACTIONS, Transaction, to_member
from keyfold.model._updates import Update, touches_unique
from keyfold.model._writes import Delete, Presence, Put, Write
from keyfold.store._guards import guard_item, guard_key
from keyfold.store._plans import Plan, RunContext, attempt, pause
from keyfold.store._reads import plan_get
from keyfold.store._refusals import find_oversize
from keyfold.store._writing import decode_for, decode_written, explain_failure, written
from keyfold.values import AttributeValue, Item

# How often an entity with unique fields is looked up again, when somebody changes it meanwhile.
_MOST_RACES = 5
# Two moments, to tell whether a request depends on the moment.
_NEVER = datetime.fromtimestamp(0, UTC)
_LATER = _NEVER + timedelta(days=1)

# What unique fields hold, by their names; None for nothing.
Held = Mapping[str, AttributeValue | None]


@dataclass(frozen=True, slots=True)
class LookedUp:
    """An entity as it was when its guards were worked out; the item is None if there was none."""

    item: Item | None
    held: Held | None


@dataclass(frozen=True, slots=True)
class Action:
    """One member of TransactWriteItems: whose it is, and what its failure means.

    `unique` is the field whose guard it is; `before` is what an entity with guards was like.
    """

    owner: int
    body: dict[str, Any]
    unique: str | None = None
    before: LookedUp | None = None


def plan_transaction(run: RunContext, request: Transaction) -> Plan[list[Any]]:
    """Carry out several requests together."""
    if request.is_read:
        return (yield from _plan_reads(run, request))
    yield from _carry_out(run, request)
    return [written(run, each) if isinstance(each, Put) else None for each in request.requests]


def plan_guarded(run: RunContext, request: Write[Any]) -> Plan[Any]:
    """Write one entity together with the guards of its unique fields."""
    try:
        actions = yield from _carry_out(run, Transaction((request,)))
    except TransactionFailed as failure:
        (reason,) = failure.reasons
        raise reason or failure from None
    if isinstance(request, Put):
        return written(run, request)
    if request.returns_nothing:
        return None
    if isinstance(request, Update):
        # A transaction does not say what it has made of an item.
        shape: ResultShape[Any] = ResultShape(request.schema)
        get: Get[Any] = Get(request.table, request.item_key, shape, is_consistent=True)
        return (yield from plan_get(run, get))
    before = next(action.before for action in actions if action.before is not None)
    return None if before.item is None else decode_written(run, request, before.item)


def _carry_out(run: RunContext, request: Transaction) -> Plan[list[Action]]:
    """Write what a transaction says, with the guards of unique fields; return what was sent."""
    token, depends = _token_of(request, run.store.principal)
    for race in range(1, _MOST_RACES + 1):
        actions: list[Action] = []
        for owner, each in enumerate(request.requests):
            assert isinstance(each, Write)  # or it would be a read
            actions += yield from _expand(run, each, owner)
        actions = _merge_guards(request, actions)
        if len(actions) > MOST_ACTIONS:
            raise TransactionInvalid(
                f"with the guards of unique fields it has {len(actions)} actions, and DynamoDB "
                f"takes {MOST_ACTIONS}",
                "Split it.",
            )
        asked: dict[str, Any] = {
            "TransactItems": [action.body for action in actions],
            "ClientRequestToken": token,
        }
        if run.store.reports_capacity:
            asked["ReturnConsumedCapacity"] = "TOTAL"
        try:
            yield from attempt(run, request, "TransactWriteItems", asked)
        except IdempotentParameterMismatchException:
            if not depends:
                raise
            # The token stands for this transaction alone: it was carried out before, at another
            # moment or when unique fields held something else.
        except TransactionCanceledException as error:
            failed = [
                (action, reason)
                for action, reason in zip(actions, error.fields["CancellationReasons"], strict=True)
                if reason.get("Code", "None") != "None"
            ]
            if race < _MOST_RACES and any(_is_race(request, *each) for each in failed):
                # Somebody changed the entity after it was looked up: its guards are others now.
                yield pause(run, race)
                continue
            raise TransactionFailed(_word(run, request, failed)) from None
        return actions
    raise AssertionError(request)


def _token_of(request: Transaction, principal: str) -> tuple[str, bool]:
    """Return the token to send, and whether what is sent with it may differ the next time.

    If it may, the token is made from what the transaction says, so that the service's refusal to
    take it with something else means that it was carried out. That of a principal is its own: by
    another's refusal it could tell that somebody has used a token, or use one up.
    """
    if request.token is None:
        return str(uuid.uuid4()), False
    said = repr(request.to_dynamodb(now=_NEVER))
    depends = said != repr(request.to_dynamodb(now=_LATER)) or any(
        isinstance(each, Write) and touches_unique(each) for each in request.requests
    )
    if not depends and not principal:
        return request.token, False
    basis = said if depends else request.token
    made = hashlib.sha256(f"{principal}\0{basis}".encode()).hexdigest()
    return made[:LONGEST_TOKEN], depends


def _is_race(request: Transaction, action: Action, reason: Mapping[str, Any]) -> bool:
    """Tell whether an entity is no longer what it was when its guards were worked out."""
    if action.before is None or reason.get("Code") != "ConditionalCheckFailed":
        return False
    each = request.requests[action.owner]
    assert isinstance(each, Write)  # reads are not looked up
    return _held_in(each.schema, reason.get("Item")) != action.before.held


def _held_in(schema: EntitySchema, item: Item | None) -> Held | None:
    if item is None:
        return None
    return {name: item.get(schema.fields[name].stored) for name in schema.unique}


def _word(
    run: RunContext, request: Transaction, failed: list[tuple[Action, dict[str, Any]]]
) -> tuple[KeyfoldError | None, ...]:
    reasons: list[KeyfoldError | None] = [None] * len(request.requests)
    for action, reason in failed:
        each = request.requests[action.owner]
        assert isinstance(each, Write)  # reads have no conditions
        if reasons[action.owner] is not None:
            # What is wrong with the entity itself comes first, and says more than its guards do.
            continue
        if action.unique is not None:
            reasons[action.owner] = _taken(each, action.unique)
        elif reason["Code"] == "ConditionalCheckFailed":
            reasons[action.owner] = explain_failure(run, each, reason.get("Item"))
        else:
            fact = reason.get("Message") or reason["Code"]
            reasons[action.owner] = find_oversize(each, fact, run.now) or RequestRefused(
                repr(each), fact.rstrip(".")
            )
    return tuple(reasons)


def _taken(request: Write[Any], field: str) -> UniqueTaken:
    key = show_item(request.item_key)
    return UniqueTaken(request.schema.name, key, f"another has the same {field}")


def _expand(run: RunContext, request: Write[Any], owner: int) -> Plan[list[Action]]:
    """Return the actions of one request in a transaction, with those on its guards."""
    if not touches_unique(request):
        return [Action(owner, to_member(request, run.now))]
    assert isinstance(request, Put | Update | Delete)  # the others have no guards
    schema = request.schema
    if isinstance(request, Put) and request.presence is Presence.MUST_NOT_EXIST:
        own = Action(owner, to_member(request, run.now))
        held: Held = dict.fromkeys(schema.unique)
    else:
        asked = {"TableName": schema.table.name, "Key": request.item_key, "ConsistentRead": True}
        response = yield from attempt(run, request, "GetItem", asked)
        before = LookedUp(response.get("Item"), _held_in(schema, response.get("Item")))
        # What is there tells a race from a refusal, and is told nobody who is blind.
        unchanged = replace(request.where(_unchanged(schema, before.held)), returns_nothing=False)
        own = Action(owner, to_member(unchanged, run.now), before=before)
        if before.held is None:
            return [own]
        held = before.held
    wanted = _wanted_by(request, held)
    actions = [own]
    for name in schema.unique:
        old, new = held[name], wanted[name]
        if old == new:
            continue
        if old is not None:
            body = {"TableName": schema.table.name, "Key": guard_key(schema, name, old)}
            actions.append(Action(owner, {"Delete": body}, unique=name))
        if new is not None:
            actions.append(Action(owner, {"Put": _put_guard(schema, name, new)}, unique=name))
    return actions


def _wanted_by(request: Put[Any] | Update[Any] | Delete[Any], held: Held) -> Held:
    """Return what unique fields are to hold."""
    schema = request.schema
    match request:
        case Put():
            return {name: request.item.get(schema.fields[name].stored) for name in held}
        case Update():
            assigned = {
                name: None if value is None else schema.fields[name].codec.encode(value)
                for name, value in (request.assigned or {}).items()
                if name in held
            }
            return {**held, **assigned}
        case Delete():
            return dict.fromkeys(held)


def _unchanged(schema: EntitySchema, held: Held | None) -> Condition:
    """Return the condition that unique fields still hold what they did; None for no entity."""
    if held is None:
        return Called("attribute_not_exists", Place((schema.partition.attribute,)))
    conditions: list[Condition] = []
    for name, value in held.items():
        place = Place((schema.fields[name].stored,))
        if value is None:
            conditions.append(Called("attribute_not_exists", place))
        else:
            conditions.append(Compared(place, "=", Given(value)))
    condition = join("AND", *conditions)
    assert condition is not None  # there are unique fields
    return condition


def _put_guard(schema: EntitySchema, name: str, value: AttributeValue) -> dict[str, Any]:
    body: dict[str, Any] = {
        "TableName": schema.table.name,
        "Item": guard_item(schema, name, value),
    }
    writer = ExpressionWriter(_NEVER)
    free = Called("attribute_not_exists", Place((schema.table.key.partition[0],)))
    body["ConditionExpression"] = writer.write_condition(free)
    writer.add_to(body)
    return body


def _merge_guards(request: Transaction, actions: list[Action]) -> list[Action]:
    """Return the actions with one at most for each guard, which is all that a transaction takes.

    A value that one entity gives up and another takes keeps its guard; one that two entities take
    is refused.
    """
    merged: list[Action] = []
    by_guard: dict[Hashable, int] = {}
    reasons: list[KeyfoldError | None] = [None] * len(request.requests)
    for action in actions:
        if action.unique is None:
            merged.append(action)
            continue
        ((kind, body),) = action.body.items()
        names = request.requests[action.owner].table.key.names
        key = {name: body["Item" if kind == "Put" else "Key"][name] for name in names}
        place = by_guard.setdefault(identify(body["TableName"], key), len(merged))
        if place == len(merged):
            merged.append(action)
            continue
        pair = [merged[place], action]
        puts = [each for each in pair if "Put" in each.body]
        if len(puts) > 1:
            each = request.requests[action.owner]
            assert isinstance(each, Write)  # reads have no guards
            reasons[action.owner] = _taken(each, action.unique)
        elif puts:
            (put,) = puts
            kept = {name: put.body["Put"][name] for name in ("TableName", "Item")}
            merged[place] = replace(put, body={"Put": kept})
    if any(reasons):
        raise TransactionFailed(tuple(reasons))
    return merged


def _plan_reads(run: RunContext, request: Transaction) -> Plan[list[Any]]:
    asked = request.to_dynamodb(now=run.now)
    asked.pop("ClientRequestToken", None)
    if run.store.reports_capacity:
        asked["ReturnConsumedCapacity"] = "TOTAL"
    response = yield from attempt(run, request, "TransactGetItems", asked)
    results: list[Any] = []
    for each, found in zip(request.requests, response["Responses"], strict=True):
        assert isinstance(each, Get)  # or it would be a write
        item = found.get("Item")
        results.append(None if item is None else decode_for(run, each, item))
    return results
