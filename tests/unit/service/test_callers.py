"""Callers: who they are to cursors and limits, and which authenticator is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from keyfold.errors import Unauthenticated
from keyfold.service._callers import (
    Authenticator,
    Authenticators,
    Caller,
    FixedCaller,
    Nobody,
)

ADA = Caller(("customer",), {"user": "ada"})


def authenticate(authenticator: Authenticator, **headers: str) -> Caller:
    return asyncio.run(authenticator.authenticate(headers))


@dataclass(frozen=True)
class ByHeader:
    """Recognizes one header; its value is the role."""

    header: str

    def recognizes(self, headers: Mapping[str, str]) -> bool:
        return self.header in headers

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:
        return Caller((headers[self.header],), {"by": self.header})


def test_a_principal_is_the_same_whatever_the_order_and_the_name() -> None:
    one = Caller(("customer", "seller"), {"user": "ada", "shop": "7"}, name="phone", expires=5.0)
    other = Caller(("seller", "customer", "seller"), {"shop": "7", "user": "ada"})
    assert one.principal == other.principal


@pytest.mark.parametrize(
    "other",
    [
        Caller(("seller",), {"user": "ada"}),
        Caller(("customer",), {"user": "bob"}),
        Caller(("customer",), {"shop": "ada"}),
        Caller(("customer", "seller"), {"user": "ada"}),
        Caller(("customer",), {"user": "ada'), ('shop', '7"}),
    ],
)
def test_other_roles_or_ids_are_another_principal(other: Caller) -> None:
    assert other.principal != ADA.principal


def test_a_fixed_caller_sends_every_request() -> None:
    assert authenticate(FixedCaller(ADA)) is ADA
    assert authenticate(FixedCaller(ADA), authorization="Bearer x") is ADA


def test_nobody_sends_no_request() -> None:
    with pytest.raises(Unauthenticated, match="has no way to tell who calls"):
        authenticate(Nobody(), authorization="Bearer x")


def test_the_authenticator_that_recognizes_the_headers_is_asked() -> None:
    both = Authenticators((ByHeader("a"), ByHeader("b")))
    assert authenticate(both, a="admin").ids == {"by": "a"}
    assert authenticate(both, b="customer").ids == {"by": "b"}
    with pytest.raises(Unauthenticated, match="both a token and an API key"):
        authenticate(both, a="admin", b="customer")
    with pytest.raises(Unauthenticated, match="of no kind accepted here"):
        authenticate(both, authorization="Basic YTpi")
    with pytest.raises(Unauthenticated, match="no token and no API key") as caught:
        authenticate(both)
    assert caught.value.challenge == "Bearer"
