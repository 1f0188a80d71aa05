"""Plans of transactions, and of writes to entities with unique fields and their guard items."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Hashable, Iterable, Mapping, Sequence
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
from keyfold.expressions import DeferredValue, SetTo, Source
from keyfold.model._calls import STORE, ApiCall, Calls
from keyfold.model._formatting import show_item
from keyfold.model._reads import Get, ResultShape
from keyfold.model._scalars import encode_expiry
from keyfold.model._transactions import (
    MAX_ACTIONS,
    MAX_TOKEN_LENGTH,
    Transaction,
    as_member,
    to_member,
)
from keyfold.model._unique import find_unique_sources
from keyfold.model._updates import Update
from keyfold.model._writes import Delete, Presence, Put, Write
from keyfold.store._guard_actions import (
    GuardAction,
    HeldValue,
    UniqueValues,
    find_guard_actions,
    has_expired,
    leave_foreign,
    unchanged_condition,
    unique_state,
    unique_values_in,
)
from keyfold.store._guards import expiry_in
from keyfold.store._outdated_items import (
    Renewal,
    has_former_name,
    may_be_outdated,
    plan_renewal,
)
from keyfold.store._plans import Plan, RunContext, attempt, report_capacity
from keyfold.store._reads import plan_get
from keyfold.store._refusals import find_unstorable
from keyfold.store._retries import BACKOFF
from keyfold.store._writing import (
    decode_for,
    decode_written,
    explain_failure,
    is_nothing_to_delete,
    written,
)
from keyfold.values import AttributeValue, Item

# How often a write to an entity with unique fields is attempted while others change that entity.
_MAX_RACES = 5
# Two times, to find out whether a request depends on the time.
_NEVER = datetime.fromtimestamp(0, UTC)
_LATER = _NEVER + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The item of an entity when its guard actions were derived; None if it did not exist."""

    item: Item | None


@dataclass(frozen=True, slots=True)
class TransactionAction:
    """One member of TransactWriteItems, and which request it belongs to.

    `owner` is the position of that request in the transaction. `guard` is what the action does, if
    it is on a guard item; `before` is the earlier state of an entity that has guards.
    """

    owner: int
    body: dict[str, Any]
    guard: GuardAction | None = None
    before: LookedUp | None = None


def plan_transaction(context: RunContext, request: Transaction, calls: Calls) -> Plan[list[Any]]:
    """Run several requests in one transaction; return a result for each."""
    (call,) = calls
    if request.is_read:
        return (yield from _plan_reads(context, request, call))
    # The writes were admitted; what the store adds to them for unique values is its own.
    yield from _carry_out(context, request, call.on_own_authority())
    resolved = request.resolve(context.now)
    return [written(context, each) if isinstance(each, Put) else None for each in resolved.requests]


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
        if is_nothing_to_delete(request, reason):
            return None
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


def _carry_out(
    context: RunContext, request: Transaction, call: ApiCall
) -> Plan[list[TransactionAction]]:
    """Run the writes of a transaction with their guard items; return the actions sent.

    `call` has the writes alone, one for each request. Raises TransactionFailed, TransactionInvalid.
    """
    token, may_vary = _token_of(request, context.store.principal)
    request = request.resolve(context.now)
    call.request["ClientRequestToken"] = token
    report_capacity(context, call)
    members: list[dict[str, Any]] = call.request["TransactItems"]
    # Guards of values that an item has, although another item owns the guard.
    foreign: set[Hashable] = set()
    # Whether items in an old form are brought up to date: not after all of them turned out to be.
    may_renew = True
    for race in range(1, _MAX_RACES + 1):
        may_renew = may_renew and race < _MAX_RACES
        actions: list[TransactionAction] = []
        for owner, (each, member) in enumerate(zip(request.requests, members, strict=True)):
            assert isinstance(each, Write)  # a transaction of reads is handled elsewhere
            actions += yield from _expand(context, each, TransactionAction(owner, member), foreign)
        actions = _merge_guards(request, actions, context.now)
        if len(actions) > MAX_ACTIONS:
            raise TransactionInvalid(
                f"it has {len(actions)} actions including guards of unique fields; DynamoDB takes "
                f"at most {MAX_ACTIONS}",
                "Split it.",
            )
        call.request["TransactItems"] = [action.body for action in actions]
        try:
            yield from attempt(context, request, call)
        except RequestRefused as error:
            # Some services do not say which member they refuse.
            outdated = [each for each in request.requests if may_be_outdated(each, error)]
            renewal = yield from _renew(context, outdated if may_renew else ())
            if renewal is not Renewal.NOT_POSSIBLE:
                may_renew = renewal is Renewal.DONE
                continue
            raise
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
            retries = [_is_race(context, request, *each, foreign) for each in failed]
            if race < _MAX_RACES and any(retries):
                # The entity was changed after it was read, or a guard that it releases is not its
                # own: it has other guards.
                yield BACKOFF.pause(race, context.store.jitter())
                continue
            reasons = _failure_reasons(context, request, failed)
            outdated = _find_outdated(request, failed, reasons)
            renewal = yield from _renew(context, outdated if may_renew else ())
            if renewal is not Renewal.NOT_POSSIBLE:
                may_renew = renewal is Renewal.DONE
                continue
            raise TransactionFailed(reasons) from None
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


def _is_race(
    context: RunContext,
    request: Transaction,
    action: TransactionAction,
    reason: Mapping[str, Any],
    foreign: set[Hashable],
) -> bool:
    """Return whether other actions may succeed: the state they were derived from has changed.

    Adds guards that turned out to have another owner to `foreign`, and removes others.
    """
    if reason.get("Code") != "ConditionalCheckFailed":
        return False
    guard = action.guard
    if guard is not None and guard.kind != "take":
        foreign ^= {guard.identity}
        return True
    if action.before is None:
        return False
    each = request.requests[action.owner]
    assert isinstance(each, Write)  # only writes have a state to compare
    before, now = action.before.item, _unless_expired(context, each, reason.get("Item"))
    return unique_state(each.schema, before) != unique_state(each.schema, now)


def _find_outdated(
    request: Transaction,
    failed: list[tuple[TransactionAction, dict[str, Any]]],
    reasons: Sequence[KeyfoldError | None],
) -> list[Update[Any]]:
    """Return the updates that may have failed because of the form of their stored items."""
    found: list[Update[Any]] = []
    for action, reason in failed:
        each, error = request.requests[action.owner], reasons[action.owner]
        if error is None or action.guard is not None or not isinstance(each, Update):
            continue
        if reason["Code"] == "ConditionalCheckFailed":
            is_outdated = has_former_name(each, reason.get("Item"))
        else:
            is_outdated = may_be_outdated(each, error)
        if is_outdated:
            found.append(each)
    return found


def _renew(context: RunContext, outdated: Iterable[Update[Any]]) -> Plan[Renewal]:
    """Bring the items of updates up to date; return the best outcome: DONE if one was changed."""
    renewals: set[Renewal] = set()
    for each in outdated:
        renewals.add((yield from plan_renewal(context, each)))
    ranked = (Renewal.DONE, Renewal.NOT_NEEDED)
    return next((each for each in ranked if each in renewals), Renewal.NOT_POSSIBLE)


def _unless_expired(context: RunContext, request: Write[Any], item: Item | None) -> Item | None:
    """Return an item that was read; None for one that has expired, and its guards with it."""
    if item is None or has_expired(request.table, item, context.now):
        return None
    return item


def _failure_reasons(
    context: RunContext,
    request: Transaction,
    failed: list[tuple[TransactionAction, dict[str, Any]]],
) -> tuple[KeyfoldError | None, ...]:
    reasons: list[KeyfoldError | None] = [None] * len(request.requests)
    for action, reason in failed:
        each = request.requests[action.owner]
        assert isinstance(each, Write)  # reads have no conditions
        if reasons[action.owner] is not None:
            # The failure of the entity itself comes first, and says more than that of its guards.
            continue
        if action.guard is not None and reason["Code"] == "ConditionalCheckFailed":
            reasons[action.owner] = _guard_error(each, action.guard)
        elif reason["Code"] == "ConditionalCheckFailed":
            reasons[action.owner] = explain_failure(context, each, reason.get("Item"))
        else:
            fact = reason.get("Message") or reason["Code"]
            reasons[action.owner] = find_unstorable(each, fact, context.now) or RequestRefused(
                repr(each), fact.rstrip(".")
            )
    return tuple(reasons)


def _guard_error(request: Write[Any], guard: GuardAction) -> KeyfoldError:
    if guard.kind != "take":
        fact = f"the guard of its {guard.field} was changed by others meanwhile, {_MAX_RACES} times"
        return RequestRefused(repr(request), fact)
    key = show_item(request.item_key)
    fact = f"another entity has the same {guard.field}"
    return UniqueTaken(request.schema.name, key, fact, field=guard.field)


def _expand(
    context: RunContext, request: Write[Any], own: TransactionAction, foreign: set[Hashable]
) -> Plan[list[TransactionAction]]:
    """Return the actions of one request in a transaction, including those on guard items.

    `own` is the action of the request itself.
    """
    if not request.changes_unique:
        return [own]
    assert isinstance(request, Put | Update | Delete)  # checks have no guards
    schema = request.schema
    current: UniqueValues = dict.fromkeys(schema.unique)
    item: Item | None = None
    if not isinstance(request, Put) or request.presence is not Presence.MUST_NOT_EXIST:
        payload = {"TableName": schema.table.name, "Key": request.item_key, "ConsistentRead": True}
        lookup = ApiCall("GetItem", payload, authority=STORE)
        report_capacity(context, lookup)
        found = (yield from attempt(context, request, lookup)).get("Item")
        item = _unless_expired(context, request, found)
        # The existing item is needed to tell a race from a failed condition; explain_failure
        # does not reveal it for requests with `returns_nothing`.
        unchanged = replace(
            request.where(unchanged_condition(schema, unique_state(schema, item))),
            returns_nothing=False,
        )
        own = TransactionAction(own.owner, to_member(unchanged, context.now), before=LookedUp(item))
        if item is not None:
            current = unique_values_in(schema, item, context.now)
        elif not isinstance(request, Put) or request.presence is Presence.MUST_EXIST:
            # It deletes nothing, or fails.
            return [own]
    actions = [own]
    wanted = _new_unique_values(request, current, item or {}, context.now)
    guards = find_guard_actions(schema, request.item_key, current, wanted)
    actions += (
        TransactionAction(own.owner, guard.to_member(schema.table.name, context.now), guard=guard)
        for guard in leave_foreign(guards, foreign)
    )
    return actions


def _new_unique_values(
    request: Put[Any] | Update[Any] | Delete[Any], current: UniqueValues, item: Item, now: datetime
) -> UniqueValues:
    """Return the values that unique fields of an item will have after a write."""
    schema = request.schema
    match request:
        case Put():
            return unique_values_in(schema, request.resolve_item(now), now)
        case Update():
            return _updated_values(request, current, item, now)
        case Delete():
            return dict.fromkeys(current)


def _updated_values(
    request: Update[Any], current: UniqueValues, item: Item, now: datetime
) -> UniqueValues:
    """Return the values of unique fields after an update of an item, with its new expiry."""
    sources = find_unique_sources(request.schema.unique, request.actions)
    values = {name: held and held.value for name, held in current.items()}
    values |= {name: _resolve(each, now) for name, each in sources.items()}
    expiry = expiry_in(request.table, item)
    if request.expiry is not None:
        expiry = encode_expiry(request.expiry.resolve(now))
    for action in request.actions:
        if action.path.steps[0] == request.table.ttl:
            expiry = _resolve(action.source if isinstance(action, SetTo) else None, now)
    return {
        name: None if value is None else HeldValue(value, expiry) for name, value in values.items()
    }


def _resolve(source: Source | None, now: datetime) -> AttributeValue | None:
    # An update of a unique field is refused unless its new value is known.
    assert source is None or isinstance(source, dict | DeferredValue)
    return source.resolve(now) if isinstance(source, DeferredValue) else source


def _merge_guards(
    request: Transaction, actions: list[TransactionAction], now: datetime
) -> list[TransactionAction]:
    """Return the actions with at most one per guard item, as a transaction requires.

    If one entity releases a value and another takes it, the guard changes hands. If two entities
    take the same value, TransactionFailed is raised.
    """
    merged: list[TransactionAction] = []
    by_guard: dict[Hashable, int] = {}
    reasons: list[KeyfoldError | None] = [None] * len(request.requests)
    for action in actions:
        guard = action.guard
        position = (
            len(merged) if guard is None else by_guard.setdefault(guard.identity, len(merged))
        )
        if guard is None or position == len(merged):
            merged.append(action)
            continue
        known = merged[position].guard
        assert known is not None  # it is the position of a guard
        each = request.requests[action.owner]
        assert isinstance(each, Write)  # reads have no guards
        takers = [
            one for one in (merged[position], action) if one.guard and one.guard.kind == "take"
        ]
        if len(takers) > 1 and known.owner != guard.owner:
            reasons[action.owner] = _guard_error(each, guard)
        elif takers:
            merged[position] = _hand_over(
                takers[0], guard if takers[0] is merged[position] else known, now
            )
    if any(reasons):
        raise TransactionFailed(tuple(reasons))
    return merged


def _hand_over(taker: TransactionAction, other: GuardAction, now: datetime) -> TransactionAction:
    """Return an action that takes a guard which its owner may give up in the same transaction."""
    guard = taker.guard
    assert guard is not None  # it takes one
    if other.kind == "release":
        guard = replace(guard, former_owners=(*guard.former_owners, other.owner))
    return replace(taker, body=guard.to_member(guard.table.name, now), guard=guard)


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
