"""Roles: rights by shard or entity, and hidden and fixed attributes."""

from __future__ import annotations

from typing import assert_type

from keyfold import ALL, EVERYTHING, READ, WRITE, AsyncStore, Right, Role, Store, Ulid
from keyfold.store import Handles
from tests.typing.cases.tables import Order, market

orders = market.shard("U#{user}#O")


def declare() -> None:
    customer = Role("customer", tenant="user", can={orders: READ, "rewards": READ | WRITE})
    assert_type(market.add_role(customer), Role)
    assert_type(customer.can["rewards"], Right)
    Role("clerk", can={Order: Right.GET | Right.CREATE, EVERYTHING: ALL}, unique=[Order])
    Role("support", can={EVERYTHING: READ}, hidden={orders: ["total"]}, fixed={"rewards": "sum"})
    Role("nobody")  # error: reportCallIssue
    Role("nobody", {orders: READ})  # error: reportCallIssue
    Role("nobody", can={orders: "read"})  # error: reportArgumentType
    Role("nobody", can={orders: READ}, hidden=["total"])  # error: reportArgumentType
    market.add_role("customer")  # error: reportArgumentType


class BillId(Ulid, prefix="B", is_system_key=True):
    """An id that end users see as a handle."""


def show_handles(store: Store, other: AsyncStore) -> None:
    Role("customer", can={orders: READ}, is_end_user=True)
    handles = store.as_principal("customer", "seller", user="ada").handles
    assert_type(handles, Handles | None)
    assert_type(other.as_principal("customer", user="ada").handles, Handles | None)
    handles.show(BillId.new())  # error: reportOptionalMemberAccess
    if handles is not None:
        assert_type(handles.show(BillId.new()), str)
        assert_type(handles.read("B_h"), str)
