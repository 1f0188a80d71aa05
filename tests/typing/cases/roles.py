"""Roles: rights by shard or entity, and hidden and fixed attributes."""

from __future__ import annotations

from typing import assert_type

from keyfold import ALL, EVERYTHING, READ, WRITE, Right, Role
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
