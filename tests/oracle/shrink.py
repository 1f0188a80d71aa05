"""Shrink a mismatch to fewer preceding writes and fewer parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.oracle.compare import KnownDifferences
from tests.oracle.local import DynamoDBLocal
from tests.oracle.pair import EnginePair, Mismatch
from tests.oracle.random_requests import Call

_MOST_ATTEMPTS = 300

_accounts = count()


def shrink(local: DynamoDBLocal, known: KnownDifferences, mismatch: Mismatch) -> Mismatch:
    """Return the smallest mismatch of the same kind that was found."""
    best, left = mismatch, _MOST_ATTEMPTS
    improved = True
    while improved and left > 0:
        improved = False
        for history in _smaller(best.history):
            left -= 1
            again = _replay(local, known, history)
            if again is not None and _kind(again) == _kind(best):
                best, improved = again, True
                break
            if left <= 0:
                break
    return best


def _kind(mismatch: Mismatch) -> tuple[str, ...]:
    """Return what identifies a mismatch: the messages, or the first field that differs."""
    first = mismatch.lines[0]
    if first.startswith("engine:"):
        messages = (re.sub(r"[#:]\w+|\[.*?\]", "", line) for line in mismatch.lines)
        return (mismatch.call.operation, *messages)
    return mismatch.call.operation, first.split(" ")[0]


def _smaller(history: list[Call]) -> Iterator[list[Call]]:
    """Yield smaller histories, those with the most removed first."""
    *before, last = history
    if len(before) > 3:
        half = 1 + (len(before) - 1) // 2
        yield [before[0], *before[half:], last]
        yield [*before[:half], last]
    for at in range(len(before) - 1, 0, -1):
        yield [*before[:at], *before[at + 1 :], last]
    for request in _simpler(last.request):
        yield [*before, Call(last.operation, request, last.walks)]


def _simpler(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in request:
        if name not in {"TableName", "Key", "Item", "RequestItems", "TransactItems"}:
            yield {key: one for key, one in request.items() if key != name}
    item: dict[str, Any] = request.get("Item", {})
    for name in item.keys() - {"pk", "sk"}:
        yield {**request, "Item": {key: one for key, one in item.items() if key != name}}
    actions: list[Any] = request.get("TransactItems", [])
    for at in range(len(actions) if len(actions) > 1 else 0):
        yield {**request, "TransactItems": actions[:at] + actions[at + 1 :]}


def _replay(local: DynamoDBLocal, known: KnownDifferences, history: list[Call]) -> Mismatch | None:
    pair = EnginePair(local, f"shrink{next(_accounts)}", known)
    try:
        for call in history:
            mismatch = pair.send_to_both(call)
            if mismatch:
                return mismatch
        return None
    finally:
        pair.close()
