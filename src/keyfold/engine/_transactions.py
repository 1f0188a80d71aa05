"""What the two transactional operations share: limits, tokens, cancellations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, TypeVar

import orjson

from keyfold.engine._capacity import CapacityMeter
from keyfold.engine._context import EngineContext
from keyfold.engine._key_faults import KeyFault, KeyFaultKind, item_fault_error, key_fault_error
from keyfold.engine._responses import Rendering
from keyfold.engine._single_reads import admit_read
from keyfold.engine._tables import EngineTable
from keyfold.engine._writes import ConditionNotMet, ItemWrite, WriteOutcome, settle, store
from keyfold.engine.shapes import known_part
from keyfold.engine.storage import StorageWriter
from keyfold.errors import (
    IdempotentParameterMismatchException,
    ThrottlingException,
    TransactionCanceledException,
    ValidationException,
)
from keyfold.values import Item

_M = TypeVar("_M")
_T = TypeVar("_T")

MAX_BYTES = 4 * 1024 * 1024
TOKEN_SECONDS = 600

_TOKEN_RECORD = "token"  # noqa: S105 - no password
_TOKEN_AGE_RECORD = "token-age"  # noqa: S105
# Each new token clears away a few that are past their time, so they never pile up.
_CLEARED_AT_ONCE = 4


def check_distinct(places: Sequence[tuple[EngineTable, bytes]]) -> None:
    """Raise when a transaction names one item twice."""
    if len({(table.name, row_key) for table, row_key in places}) != len(places):
        raise ValidationException(
            "Transaction request cannot include multiple operations on one item"
        )


class _NoCancellation(Exception):
    """A fault of one member that the service answers with by itself."""

    def __init__(self, error: ValidationException) -> None:
        super().__init__(error)
        self.error = error


def member_key_fault_error(fault: KeyFault) -> Exception:
    """Return the error for the `Key` of a member; an empty value is no cancellation."""
    return _set_apart_if_empty(fault, key_fault_error(fault))


def member_item_fault_error(fault: KeyFault) -> Exception:
    """Return the error for the item that a member puts; an empty value is no cancellation."""
    return _set_apart_if_empty(fault, item_fault_error(fault))


def _set_apart_if_empty(fault: KeyFault, error: ValidationException) -> Exception:
    return _NoCancellation(error) if fault.kind is KeyFaultKind.EMPTY else error


def fit_members(
    tables: Sequence[EngineTable], members: Sequence[_M], fit: Callable[[EngineTable, _M], _T]
) -> list[_T]:
    """Return `fit` of each member and its table; raises when any of them does not fit."""
    fitted: list[_T] = []
    faults: list[ValidationException | None] = []
    for table, member in zip(tables, members, strict=True):
        try:
            fitted.append(fit(table, member))
            faults.append(None)
        except _NoCancellation as alone:
            raise alone.error from None
        except ValidationException as fault:
            faults.append(fault)
    if any(faults):
        raise _reject(faults)
    return fitted


def _reject(faults: Sequence[ValidationException | None]) -> TransactionCanceledException:
    """Return the cancellation for requests that do not fit their tables.

    The service names the first of them only.
    """
    reasons: list[dict[str, Any]] = [{"Code": "None"} for _ in faults]
    for place, fault in enumerate(faults):
        if fault is not None:
            reasons[place] = {"Code": "ValidationError", "Message": fault.message}
            break
    return cancelled(reasons)


def cancelled(reasons: list[dict[str, Any]]) -> TransactionCanceledException:
    """Return the error for a transaction that was not carried out."""
    codes = ", ".join(reason["Code"] for reason in reasons)
    return TransactionCanceledException(
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        {"CancellationReasons": reasons},
    )


def admit_all(reads: Sequence[tuple[EngineTable, Item]]) -> None:
    """Raise with the reason for each read of an item that is throttled, if any is."""
    reasons: list[dict[str, Any]] = []
    for table, key in reads:
        try:
            admit_read(table, key)
            reasons.append({"Code": "None"})
        except ThrottlingException as throttled:
            reasons.append({"Code": "ThrottlingError", "Message": throttled.message})
    if any(reason["Code"] != "None" for reason in reasons):
        raise cancelled(reasons)


def write_all(
    services: EngineContext,
    request: dict[str, Any],
    writes: Sequence[ItemWrite],
    wants_items: Sequence[bool],
    rendering: Rendering,
    response: dict[str, Any],
    failure_error: Callable[[int], dict[str, Any] | None] = lambda _: None,
) -> list[WriteOutcome] | None:
    """Carry out every write by one commit, and report in `response` what they cost.

    `wants_items` says which of them want to be told the item that failed their condition, and
    `word_failure` may give another reason for it. Returns None, and writes nothing, where a
    transaction with the same token was carried out before.

    Raises TransactionCanceledException with the reason for each that cannot be carried out.
    """
    meter = CapacityMeter(request.get("ReturnConsumedCapacity"))
    token = request.get("ClientRequestToken")

    def work(writer: StorageWriter) -> list[WriteOutcome] | None:
        if token is not None and _was_done(writer, services, token, request):
            return None
        outcomes = _settle_all(writer, writes, wants_items, rendering, failure_error)
        for outcome in outcomes:
            store(writer, outcome)
        if token is not None:
            _remember(writer, services, token, request)
        return outcomes

    outcomes = services.storage.write(work)
    if meter.is_on:
        for write in writes if outcomes is None else ():
            # The service charges for looking, not for writing again.
            meter.use_of(write.table).units += 2.0
        for outcome in outcomes or ():
            outcome.charge(meter.use_of(outcome.write.table), factor=2)
    meter.report_all(response, "Read" if outcomes is None else "Write")
    return outcomes


def _settle_all(
    writer: StorageWriter,
    writes: Sequence[ItemWrite],
    wants_items: Sequence[bool],
    rendering: Rendering,
    failure_error: Callable[[int], dict[str, Any] | None],
) -> list[WriteOutcome]:
    outcomes: list[WriteOutcome] = []
    reasons: list[dict[str, Any]] = []
    for place, write in enumerate(writes):
        try:
            outcomes.append(settle(writer, write, factor=2))
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
        except ThrottlingException as throttled:
            reasons.append({"Code": "ThrottlingError", "Message": throttled.message})
    if len(outcomes) != len(writes):
        raise cancelled(reasons)
    return outcomes


def _was_done(
    writer: StorageWriter, services: EngineContext, token: str, request: dict[str, Any]
) -> bool:
    """Tell whether a transaction with this token was carried out in the last ten minutes.

    Raises IdempotentParameterMismatchException when it was another one.
    """
    record = writer.get_record(_TOKEN_RECORD, token)
    if record is None:
        return False
    known = orjson.loads(record)
    if services.clock() - known["at"] >= TOKEN_SECONDS:
        return False
    if known["digest"] != _digest(request):
        raise IdempotentParameterMismatchException
    return True


def _remember(
    writer: StorageWriter, services: EngineContext, token: str, request: dict[str, Any]
) -> None:
    """Keep a token with what was done for it, in the same commit."""
    now = services.clock()
    before = writer.get_record(_TOKEN_RECORD, token)
    if before is not None:
        # Its age goes with it: left behind, it would take the new record away in its turn.
        age = f"{_age(orjson.loads(before)['at'])}/{token}"
        writer.set_record(_TOKEN_AGE_RECORD, age, None)
    for name, old_token in writer.list_records(
        _TOKEN_AGE_RECORD, below=_age(now - TOKEN_SECONDS), limit=_CLEARED_AT_ONCE
    ):
        writer.set_record(_TOKEN_RECORD, old_token.decode(), None)
        writer.set_record(_TOKEN_AGE_RECORD, name, None)
    body = {"at": now, "digest": _digest(request)}
    writer.set_record(_TOKEN_RECORD, token, orjson.dumps(body))
    writer.set_record(_TOKEN_AGE_RECORD, f"{_age(now)}/{token}", token.encode())


def _age(moment: float) -> str:
    return f"{moment:020.6f}"


def _digest(request: dict[str, Any]) -> str:
    is_items = "TransactItems" in request
    operation = "TransactWriteItems" if is_items else "ExecuteTransaction"
    items = known_part(operation, request)["TransactItems" if is_items else "TransactStatements"]
    return sha256(orjson.dumps(items, option=orjson.OPT_SORT_KEYS)).hexdigest()
