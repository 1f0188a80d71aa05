"""Plans of transactions, and of writes to entities with unique fields and their guard items."""

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
from keyfold.expressions import Comparison, Condition, FunctionCall, Path, RequestPrinter, join_all
from keyfold.model._calls import STORE, ApiCall, Calls
from keyfold.model._formatting import show_item
from keyfold.model._keys import identify
from keyfold.model._reads import Get, ResultShape
from keyfold.model._schemas import EntitySchema
from keyfold.model._transactions import (
    MAX_ACTIONS,
    MAX_TOKEN_LENGTH,
    Transaction,
    as_member,
    to_member,
)
from keyfold.model._updates import Update
from keyfold.model._writes import Delete, Presence, Put, Write
from keyfold.store._guards import guard_item, guard_key
from keyfold.store._plans import Plan, RunContext, attempt, report_capacity
from keyfold.store._reads import plan_get
from keyfold.store._refusals import find_oversize
from keyfold.store._retries import BACKOFF
from keyfold.store._writing import decode_for, decode_written, explain_failure, written
from keyfold.values import AttributeValue, Item

# How often a write to an entity with unique fields is attempted while others change that entity.
_MAX_RACES = 5
# Two times, to find out whether a request depends on the time.
_NEVER = datetime.fromtimestamp(0, UTC)
_LATER = _NEVER + timedelta(days=1)

# The stored values of unique fields by field name; None for a field without a value.
UniqueValues = Mapping[str, AttributeValue | None]


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The state of an entity when its guard actions were derived; both None if it did not exist."""

    item: Item | None
    unique_values: UniqueValues | None


@dataclass(frozen=True, slots=True)
class Action:
    """One member of TransactWriteItems, and which request it belongs to.

    `owner` is the place of that request in the transaction. `unique` is the field, if the action
    is on a guard item; `before` is the earlier state of an entity that has guards.
    """

    owner: int
    body: dict[str, Any]
    unique: str | None = None
    before: LookedUp | None = None


def plan_transaction(context: RunContext, request: Transaction, calls: Calls) -> Plan[list[Any]]:
    """Run several requests in one transaction; return a result for each."""
    (call,) = calls
    if request.is_read:
        return (yield from _plan_reads(context, request, call))
    # The writes were admitted; what the store adds to them for unique values is its own.
    yield from _carry_out(context, request, call.on_own_authority())
    return [written(context, each) if isinstance(each, Put) else None for each in request.requests]


def plan_guarded(context: RunContext, request: Write[Any], calls: Calls) -> Plan[Any]:
    """Write one entity together with the guard items of its unique fields."""
    (own,) = calls
    members = [as_member(own.operation, dict(own.request))]
    # The write itself was admitted; the rest is what the store does for unique values.
    call = ApiCall("TransactWriteItems", {"TransactItems": members}, authority=STORE)
    try:
        actions = yield from _carry_out(context, Transaction((request,)), call)
    except TransactionFailed as failure:
        (reason,) = failure.reasons
        raise reason or failure from None
    if isinstance(request, Put):
        return written(context, request)
    if request.returns_nothing:
        return None
    if isinstance(request, Update):
        # A transaction does not return the updated item, so it is read.
        shape: ResultShape[Any] = ResultShape(request.schema)
        get: Get[Any] = Get(request.table, request.item_key, shape, is_consistent=True)
        (call,) = get.calls(context.now)
        return (yield from plan_get(context, get, (call.on_own_authority(),)))
    before = next(action.before for action in actions if action.before is not None)
    return None if before.item is None else decode_written(context, request, before.item)


def _carry_out(context: RunContext, request: Transaction, call: ApiCall) -> Plan[list[Action]]:
    """Run the writes of a transaction with their guard items; return the actions sent.

    `call` has the writes alone, one for each request. Raises TransactionFailed, TransactionInvalid.
    """
    token, may_vary = _token_of(request, context.store.principal)
    call.request["ClientRequestToken"] = token
    report_capacity(context, call)
    members: list[dict[str, Any]] = call.request["TransactItems"]
    for race in range(1, _MAX_RACES + 1):
        actions: list[Action] = []
        for owner, (each, member) in enumerate(zip(request.requests, members, strict=True)):
            assert isinstance(each, Write)  # a transaction of reads is handled elsewhere
            actions += yield from _expand(context, each, Action(owner, member))
        actions = _merge_guards(request, actions)
        if len(actions) > MAX_ACTIONS:
            raise TransactionInvalid(
                f"it has {len(actions)} actions including guards of unique fields; DynamoDB takes "
                f"at most {MAX_ACTIONS}",
                "Split it.",
            )
        call.request["TransactItems"] = [action.body for action in actions]
        try:
            yield from attempt(context, request, call)
        except IdempotentParameterMismatchException:
            if not may_vary:
                raise
            # The token is derived from this transaction, so the transaction was carried out
            # before, at another time or when unique fields had other values.
        except TransactionCanceledException as error:
            failed = [
                (action, reason)
                for action, reason in zip(actions, error.fields["CancellationReasons"], strict=True)
                if reason.get("Code", "None") != "None"
            ]
            if race < _MAX_RACES and any(_is_race(request, *each) for each in failed):
                # The entity was changed after it was read: it has other guards now.
                yield BACKOFF.pause(race, context.store.jitter())
                continue
            raise TransactionFailed(_failure_reasons(context, request, failed)) from None
        return actions
    raise AssertionError(request)


def _token_of(request: Transaction, principal: str) -> tuple[str, bool]:
    """Return the token to send, and whether the payload sent with it may differ on a repeat.

    If it may, the token is derived from the contents of the transaction. The service's refusal
    to accept it with another payload then means that the transaction was carried out. The tokens
    of principals are scoped to each: otherwise a principal could find out which tokens others have
    used, or use them up.
    """
    if request.token is None:
        return str(uuid.uuid4()), False
    contents = repr(request.to_dynamodb(now=_NEVER))
    may_vary = contents != repr(request.to_dynamodb(now=_LATER)) or any(
        isinstance(each, Write) and each.changes_unique for each in request.requests
    )
    if not may_vary and not principal:
        return request.token, False
    basis = contents if may_vary else request.token
    made = hashlib.sha256(f"{principal}\0{basis}".encode()).hexdigest()
    return made[:MAX_TOKEN_LENGTH], may_vary


def _is_race(request: Transaction, action: Action, reason: Mapping[str, Any]) -> bool:
    """Return whether an entity was changed after its guard actions were derived."""
    if action.before is None or reason.get("Code") != "ConditionalCheckFailed":
        return False
    each = request.requests[action.owner]
    assert isinstance(each, Write)  # only writes have a state to compare
    return _unique_values_in(each.schema, reason.get("Item")) != action.before.unique_values


def _unique_values_in(schema: EntitySchema, item: Item | None) -> UniqueValues | None:
    if item is None:
        return None
    return {name: item.get(schema.fields[name].stored) for name in schema.unique}


def _failure_reasons(
    context: RunContext, request: Transaction, failed: list[tuple[Action, dict[str, Any]]]
) -> tuple[KeyfoldError | None, ...]:
    reasons: list[KeyfoldError | None] = [None] * len(request.requests)
    for action, reason in failed:
        each = request.requests[action.owner]
        assert isinstance(each, Write)  # reads have no conditions
        if reasons[action.owner] is not None:
            # The failure of the entity itself comes first, and says more than that of its guards.
            continue
        if action.unique is not None:
            reasons[action.owner] = _unique_taken_error(each, action.unique)
        elif reason["Code"] == "ConditionalCheckFailed":
            reasons[action.owner] = explain_failure(context, each, reason.get("Item"))
        else:
            fact = reason.get("Message") or reason["Code"]
            reasons[action.owner] = find_oversize(each, fact, context.now) or RequestRefused(
                repr(each), fact.rstrip(".")
            )
    return tuple(reasons)


def _unique_taken_error(request: Write[Any], field: str) -> UniqueTaken:
    key = show_item(request.item_key)
    return UniqueTaken(request.schema.name, key, f"another entity has the same {field}")


def _expand(context: RunContext, request: Write[Any], own: Action) -> Plan[list[Action]]:
    """Return the actions of one request in a transaction, including those on guard items.

    `own` is the action of the request itself.
    """
    if not request.changes_unique:
        return [own]
    assert isinstance(request, Put | Update | Delete)  # checks have no guards
    schema = request.schema
    if isinstance(request, Put) and request.presence is Presence.MUST_NOT_EXIST:
        current: UniqueValues = dict.fromkeys(schema.unique)
    else:
        payload = {"TableName": schema.table.name, "Key": request.item_key, "ConsistentRead": True}
        lookup = ApiCall("GetItem", payload, authority=STORE)
        response = yield from attempt(context, request, lookup)
        before = LookedUp(response.get("Item"), _unique_values_in(schema, response.get("Item")))
        # The existing item is needed to tell a race from a failed condition; explain_failure
        # does not reveal it for requests with `returns_nothing`.
        unchanged = replace(
            request.where(_unchanged_condition(schema, before.unique_values)), returns_nothing=False
        )
        own = Action(own.owner, to_member(unchanged, context.now), before=before)
        if before.unique_values is None:
            return [own]
        current = before.unique_values
    wanted = _new_unique_values(request, current)
    actions = [own]
    for name in schema.unique:
        old, new = current[name], wanted[name]
        if old == new:
            continue
        if old is not None:
            body = {"TableName": schema.table.name, "Key": guard_key(schema, name, old)}
            actions.append(Action(own.owner, {"Delete": body}, unique=name))
        if new is not None:
            actions.append(Action(own.owner, {"Put": _put_guard(schema, name, new)}, unique=name))
    return actions


def _new_unique_values(
    request: Put[Any] | Update[Any] | Delete[Any], current: UniqueValues
) -> UniqueValues:
    """Return the values that unique fields will have after a write."""
    schema = request.schema
    match request:
        case Put():
            return {name: request.item.get(schema.fields[name].stored) for name in current}
        case Update():
            assigned = {
                name: None if value is None else schema.fields[name].codec.encode(value)
                for name, value in (request.assigned or {}).items()
                if name in current
            }
            return {**current, **assigned}
        case Delete():
            return dict.fromkeys(current)


def _unchanged_condition(schema: EntitySchema, current: UniqueValues | None) -> Condition:
    """Return the condition that unique fields still have these values.

    For None, the condition is that the entity still does not exist.
    """
    if current is None:
        return FunctionCall("attribute_not_exists", (Path((schema.partition.attribute,)),))
    conditions: list[Condition] = []
    for name, value in current.items():
        place = Path((schema.fields[name].stored,))
        if value is None:
            conditions.append(FunctionCall("attribute_not_exists", (place,)))
        else:
            conditions.append(Comparison("=", place, value))
    condition = join_all(*conditions)
    assert condition is not None  # there are unique fields
    return condition


def _put_guard(schema: EntitySchema, name: str, value: AttributeValue) -> dict[str, Any]:
    body: dict[str, Any] = {
        "TableName": schema.table.name,
        "Item": guard_item(schema, name, value),
    }
    printer = RequestPrinter()
    free = FunctionCall("attribute_not_exists", (Path((schema.table.key.partition[0],)),))
    body["ConditionExpression"] = printer.write_condition(free)
    printer.add_to(body)
    return body


def _merge_guards(request: Transaction, actions: list[Action]) -> list[Action]:
    """Return the actions with at most one per guard item, as a transaction requires.

    If one entity releases a value and another takes it, the guard is kept. If two entities take
    the same value, TransactionFailed is raised.
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
            reasons[action.owner] = _unique_taken_error(each, action.unique)
        elif puts:
            (put,) = puts
            kept = {name: put.body["Put"][name] for name in ("TableName", "Item")}
            merged[place] = replace(put, body={"Put": kept})
    if any(reasons):
        raise TransactionFailed(tuple(reasons))
    return merged


def _plan_reads(context: RunContext, request: Transaction, call: ApiCall) -> Plan[list[Any]]:
    call.request.pop("ClientRequestToken", None)
    report_capacity(context, call)
    response = yield from attempt(context, request, call)
    results: list[Any] = []
    for each, found in zip(request.requests, response["Responses"], strict=True):
        assert isinstance(each, Get)  # a transaction of writes is handled elsewhere
        item = found.get("Item")
        results.append(None if item is None else decode_for(context, each, item))
    return results
