"""The accesses of the calls that requests are known to make."""

from __future__ import annotations

from itertools import chain, repeat
from typing import Any

from keyfold.model import Request
from keyfold.model._calls import CALLER, STORE
from keyfold.policy import Access, Right
from keyfold.policy.accesses import KeyLookup, read_accesses
from tests.unit.store.store_kinds import START


def read_known_calls(request: Request[Any], keys: KeyLookup) -> list[Access]:
    """Return what a principal's role is asked about before a request makes its first call."""
    accesses: list[Access] = []
    for call in request.calls(START):
        if call.authority == STORE:
            continue
        read = read_accesses(call.operation, call.request, keys)
        for access, authority in zip(read, chain(call.authority, repeat(CALLER)), strict=False):
            rights = access.rights & ~Right.UPDATE if authority.replaces_expired else access.rights
            accesses.append(access._replace(rights=rights))
    return accesses
