"""Make a mismatch smaller: fewer writes before it, fewer parameters in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.oracle.compare import Known
from tests.oracle.local import DynamoDBLocal
from tests.oracle.random_requests import Call
from tests.oracle.world import Mismatch, World

_MOST_ATTEMPTS = 300

_accounts = count()


def shrunk(local: DynamoDBLocal, known: Known, mismatch: Mismatch) -> Mismatch:
    """The smallest mismatch found that begins with the same line."""
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
    """What makes two mismatches the same: the messages, or the first field that differs."""
    first = mismatch.lines[0]
    if first.startswith("engine:"):
        told = (re.sub(r"[#:]\w+|\[.*?\]", "", line) for line in mismatch.lines)
        return (mismatch.call.operation, *told)
    return mismatch.call.operation, first.split(" ")[0]


def _smaller(history: list[Call]) -> Iterator[list[Call]]:
    """Histories with one thing less, the largest steps first."""
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


def _replay(local: DynamoDBLocal, known: Known, history: list[Call]) -> Mismatch | None:
    world = World(local, f"shrink{next(_accounts)}", known)
    try:
        for call in history:
            mismatch = world.put(call)
            if mismatch:
                return mismatch
        return None
    finally:
        world.close()
