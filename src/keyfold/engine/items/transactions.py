"""Limits, idempotency tokens and cancellations of transactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import orjson

from keyfold.api.shapes import known_part
from keyfold.capacity import TRANSACTION_FACTOR, read_units
from keyfold.engine.context import EngineContext
from keyfold.engine.insights.throttling_errors import THROTTLED, cancellation_reason
from keyfold.engine.items.consumed_capacity import CapacityMeter
from keyfold.engine.items.key_faults import (
    KeyFault,
    KeyFaultKind,
    item_fault_error,
    key_fault_error,
)
from keyfold.engine.items.responses import Rendering
from keyfold.engine.items.single_reads import admit_read
from keyfold.engine.items.work import INLINE_BYTES, NeedsThread
from keyfold.engine.items.write_checks import find_refusals
from keyfold.engine.items.writes import (
    ConditionNotMet,
    ItemWrite,
    WriteOutcome,
    evaluate_ahead,
    evaluate_write,
    store,
)
from keyfold.engine.storage import BackgroundStorage, StorageWriter
from keyfold.engine.tables.table import EngineTable
from keyfold.errors import (
    IdempotentParameterMismatchException,
    TransactionCanceledException,
    ValidationException,
)
from keyfold.values import Item

_M = TypeVar("_M")
_T = TypeVar("_T")

MAX_BYTES = 4 * 1024 * 1024
TOKEN_SECONDS = 600

_TOKEN_RECORD = "token"  # noqa: S105 - not a password
_TOKEN_AGE_RECORD = "token-age"  # noqa: S105
# The number of expired tokens that each new token removes, so that they never pile up.
_CLEARED_AT_ONCE = 4


def check_distinct(places: Sequence[tuple[EngineTable, bytes]]) -> None:
    """Raise ValidationException if a transaction has two operations on one item."""
    if len({(table.name, row_key) for table, row_key in places}) != len(places):
        raise ValidationException(
            "Transaction request cannot include multiple operations on one item"
        )


class _PlainRejection(Exception):
    """A member's fault for which the service fails the request without a cancellation."""

    def __init__(self, error: ValidationException) -> None:
        super().__init__(error)
        self.error = error


def member_key_fault_error(fault: KeyFault) -> Exception:
    """Return the error for the `Key` of a member; an empty value is not a cancellation."""
    return _plain_rejection_if_empty(fault, key_fault_error(fault))


def member_item_fault_error(fault: KeyFault) -> Exception:
    """Return the error for the item of a member's put; an empty value is not a cancellation."""
    return _plain_rejection_if_empty(fault, item_fault_error(fault))


def _plain_rejection_if_empty(fault: KeyFault, error: ValidationException) -> Exception:
    return _PlainRejection(error) if fault.kind is KeyFaultKind.EMPTY else error


def prepare_members(
    tables: Sequence[EngineTable], members: Sequence[_M], prepare: Callable[[EngineTable, _M], _T]
) -> list[_T]:
    """Call `prepare` for each table and member; return the results.

    Raises TransactionCanceledException if it raises ValidationException for any of them.
    """
    prepared: list[_T] = []
    # Messages: errors would keep the frames that they passed through, this one among them, and so a key of
    # every member until the garbage collector finds them.
    faults: list[str | None] = []
    for table, member in zip(tables, members, strict=True):
        try:
            prepared.append(prepare(table, member))
            faults.append(None)
        except _PlainRejection as rejection:
            raise rejection.error from None
        except ValidationException as fault:
            faults.append(fault.message)
    if len(prepared) != len(faults):
        raise _reject(faults)
    return prepared


def _reject(faults: Sequence[str | None]) -> TransactionCanceledException:
    """Return the cancellation for members that are invalid for their tables.

    The service gives the reason for the first of them only.
    """
    reasons: list[dict[str, Any]] = [{"Code": "None"} for _ in faults]
    for place, fault in enumerate(faults):
        if fault is not None:
            reasons[place] = {"Code": "ValidationError", "Message": fault}
            break
    return cancelled(reasons)


def cancelled(reasons: list[dict[str, Any]]) -> TransactionCanceledException:
    """Return the error for a cancelled transaction, with a reason for each member."""
    codes = ", ".join(reason["Code"] for reason in reasons)
    return TransactionCanceledException(
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        {"CancellationReasons": reasons},
    )


def admit_all(reads: Sequence[tuple[EngineTable, Item]]) -> None:
    """Raise TransactionCanceledException if any of the reads is throttled."""
    reasons: list[dict[str, Any]] = []
    for table, key in reads:
        try:
            admit_read(table, key)
            reasons.append({"Code": "None"})
        except THROTTLED as throttled:
            reasons.append(cancellation_reason(throttled))
    if any(reason["Code"] != "None" for reason in reasons):
        raise cancelled(reasons)


def write_all(
    context: EngineContext,
    request: dict[str, Any],
    writes: Sequence[ItemWrite],
    wants_items: Sequence[bool],
    rendering: Rendering,
    response: dict[str, Any],
    failure_error: Callable[[int], dict[str, Any] | None] = lambda _: None,
) -> list[WriteOutcome] | None:
    """Carry out all writes in one commit, and add the consumed capacity to `response`.

    `wants_items` says for each write whether the cancellation reason includes the item that
    failed its condition; `failure_error` may return another reason for the write at a position.
    Returns None, and writes nothing, if a transaction with the same token was carried out before.

    Raises TransactionCanceledException, with the reasons, if any write cannot be carried out.
    """
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    token = request.get("ClientRequestToken")
    storage = context.storage
    if isinstance(storage, BackgroundStorage):
        writes = [evaluate_ahead(storage, write) for write in writes]

    def work(writer: StorageWriter) -> list[WriteOutcome] | _Repeated:
        repeated = None if token is None else _find_repeated(writer, context, token, request)
        if repeated is not None:
            return repeated
        outcomes = _evaluate_all(writer, writes, wants_items, rendering, failure_error)
        for outcome in outcomes:
            store(writer, outcome)
        if token is not None:
            _record_token(writer, context, token, request, outcomes)
        return outcomes

    done = storage.write(work)
    if isinstance(done, _Repeated):
        if meter.is_on:
            for write, size in zip(writes, done.sizes, strict=True):
                # The service charges a repeated transaction for reads of what it wrote or replaced.
                units = read_units(size, is_consistent=True)
                meter.use_of(write.table).units += TRANSACTION_FACTOR * units
        meter.report_all(response, "Read")
        return None
    if meter.is_on:
        for outcome in done:
            outcome.charge(meter.use_of(outcome.write.table), factor=TRANSACTION_FACTOR)
    meter.report_all(response, "Write")
    return done


def _evaluate_all(
    writer: StorageWriter,
    writes: Sequence[ItemWrite],
    wants_items: Sequence[bool],
    rendering: Rendering,
    failure_error: Callable[[int], dict[str, Any] | None],
) -> list[WriteOutcome]:
    outcomes: list[WriteOutcome] = []
    reasons: list[dict[str, Any]] = []
    old_bytes = 0
    for place, write in enumerate(writes):
        if rendering.is_inline and old_bytes > INLINE_BYTES:
            raise NeedsThread
        try:
            outcome = evaluate_write(
                writer, write, factor=TRANSACTION_FACTOR, is_inline=rendering.is_inline
            )
            outcomes.append(outcome)
            old_bytes += outcome.old_size
            reasons.append({"Code": "None"})
        except ConditionNotMet as failure:
            reason = failure_error(place)
            if reason is None:
                reason = {
                    "Code": "ConditionalCheckFailed",
                    "Message": "The conditional request failed",
                }
                if wants_items[place] and failure.item is not None:
                    reason["Item"] = rendering.item(failure.item)
            reasons.append(reason)
        except ValidationException as fault:
            reasons.append({"Code": "ValidationError", "Message": fault.message})
        except THROTTLED as throttled:
            reasons.append(cancellation_reason(throttled))
    if len(outcomes) != len(writes):
        raise cancelled(reasons)
    refusals = find_refusals(writer, outcomes)
    if any(refusals):
        raise cancelled([_refusal_reason(each) for each in refusals])
    return outcomes


def _refusal_reason(refusal: ValidationException | None) -> dict[str, Any]:
    if refusal is None:
        return {"Code": "None"}
    return {"Code": "ValidationError", "Message": refusal.message}


class _Repeated(NamedTuple):
    """A transaction that was carried out before: for each write, the larger size of old and new."""

    sizes: list[int]


def _find_repeated(
    writer: StorageWriter, context: EngineContext, token: str, request: dict[str, Any]
) -> _Repeated | None:
    """Return this transaction if it was carried out with its token in the last ten minutes.

    Raises IdempotentParameterMismatchException if the token was used for another transaction.
    """
    record = writer.get_record(_TOKEN_RECORD, token)
    if record is None:
        return None
    known = orjson.loads(record)
    if context.clock() - known["at"] >= TOKEN_SECONDS:
        return None
    if known["digest"] != _digest(request):
        raise IdempotentParameterMismatchException
    return _Repeated(known["sizes"])


def _record_token(
    writer: StorageWriter,
    context: EngineContext,
    token: str,
    request: dict[str, Any],
    outcomes: list[WriteOutcome],
) -> None:
    """Write the token, the request's digest and the sizes, in the transaction's own commit."""
    now = context.clock()
    before = writer.get_record(_TOKEN_RECORD, token)
    if before is not None:
        # Remove its age record too: if it stayed, its expiry would remove the new token.
        age = f"{_age_prefix(orjson.loads(before)['at'])}/{token}"
        writer.set_record(_TOKEN_AGE_RECORD, age, None)
    for name, old_token in writer.list_records(
        _TOKEN_AGE_RECORD, below=_age_prefix(now - TOKEN_SECONDS), limit=_CLEARED_AT_ONCE
    ):
        writer.set_record(_TOKEN_RECORD, old_token.decode(), None)
        writer.set_record(_TOKEN_AGE_RECORD, name, None)
    sizes = [max(each.old_size, each.new_size) for each in outcomes]
    body = {"at": now, "digest": _digest(request), "sizes": sizes}
    writer.set_record(_TOKEN_RECORD, token, orjson.dumps(body))
    writer.set_record(_TOKEN_AGE_RECORD, f"{_age_prefix(now)}/{token}", token.encode())


def _age_prefix(at: float) -> str:
    return f"{at:020.6f}"


def _digest(request: dict[str, Any]) -> str:
    is_items = "TransactItems" in request
    operation = "TransactWriteItems" if is_items else "ExecuteTransaction"
    items = known_part(operation, request)["TransactItems" if is_items else "TransactStatements"]
    return sha256(orjson.dumps(items, option=orjson.OPT_SORT_KEYS)).hexdigest()
