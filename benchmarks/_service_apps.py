"""The applications of bench_service: three endpoints on the market, by Keyfold and by hand.

An application runs in its own process, on uvicorn: `python -m benchmarks._service_apps NAME DATABASE`
prints its port. Those written by hand have the paths and the results of ours. They are written as an
experienced developer would who wants them fast: one client, and no read more than is needed. They know
how many lines an order has, so one call reads the last orders. Ours learns it from the first page.
"""

# pyright: basic
# pyright: reportMissingImports=false
from __future__ import annotations

import asyncio
import socket
import sys
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

USER = "ada"
TABLE, BY_ID = "Market", "IdLookupIndex"
# Orders have this many lines, which are stored between them.
LINES = 4
LAST_ORDERS, ORDER_BY_ID, SAVE_ADDRESS = (
    "/order/last-orders",
    "/order/order-by-id",
    "/address/save-address",
)

_REGION = "us-east-1"


def make_keyfold_app(database: str) -> Any:
    """Return our service; the caller is a customer, who sees handles in place of system keys."""
    from keyfold.designs import market  # noqa: PLC0415
    from keyfold.service import Caller, FixedCaller, create_app  # noqa: PLC0415

    caller = FixedCaller(Caller(("customer",), {"user": USER}))
    # A file keeps a key for handles; a server does not.
    key = b"benchmark" * 4
    return create_app(market.table, database, authenticator=caller, cursor_key=key)


# What the other applications return. They have no roles: every caller may do everything.


class OrderLine(BaseModel):
    user: str
    order: str
    line: int
    product: str | None = None
    seller: str | None = None
    name: str | None = None
    price: Decimal | None = None
    quantity: int | None = None
    ttl: int | None = None


class Order(BaseModel):
    user: str
    order: str
    id: str | None = None
    tp: str | None = None
    total: Decimal | None = None
    status: str = "placed"
    ttl: int | None = None


class OrderWithLines(BaseModel):
    order: Order
    lines: list[OrderLine]


class OrderPage(BaseModel):
    items: list[Order]
    next: str | None = None


class Address(BaseModel):
    user: str
    number: int
    street: str
    city: str
    country: str
    ttl: int | None = None


class AddressBody(BaseModel):
    address: Address


def make_boto3_app(database: str) -> Any:
    """Return an application on FastAPI and boto3's client, which is faster than its resource."""
    import boto3  # noqa: PLC0415
    from fastapi import FastAPI, HTTPException  # noqa: PLC0415

    client: Any = boto3.client("dynamodb", endpoint_url=database, region_name=_REGION)
    app = FastAPI()

    def text(item: Any, name: str) -> Any:
        value = item.get(name)
        return next(iter(value.values())) if value else None

    def to_order(item: Any) -> Order:
        return Order(
            user=item["pk"]["S"][2:-2],
            order=item["sk"]["S"],
            id=text(item, "id"),
            tp=text(item, "tp"),
            total=text(item, "total"),
            status=item["status"]["S"],
            ttl=text(item, "ttl"),
        )

    def to_line(item: Any) -> OrderLine:
        order, _, line = item["sk"]["S"].rpartition("#")
        return OrderLine(
            user=item["pk"]["S"][2:-2],
            order=order,
            line=int(line),
            product=text(item, "product"),
            seller=text(item, "seller"),
            name=text(item, "name"),
            price=text(item, "price"),
            quantity=text(item, "quantity"),
            ttl=text(item, "ttl"),
        )

    @app.get(LAST_ORDERS)
    def last_orders(user: str, count: int) -> OrderPage:
        found: list[Order] = []
        more: dict[str, Any] = {}
        while len(found) < count:
            page = client.query(
                TableName=TABLE,
                KeyConditionExpression="pk = :pk AND begins_with(sk, :order)",
                FilterExpression="tp = :tp",
                ExpressionAttributeValues={
                    ":pk": {"S": f"U#{user}#O"},
                    ":order": {"S": "O#"},
                    ":tp": {"S": "order"},
                },
                ScanIndexForward=False,
                Limit=(count - len(found)) * (LINES + 1),
                **more,
            )
            found += map(to_order, page["Items"])
            if "LastEvaluatedKey" not in page:
                break
            more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        return OrderPage(items=found[:count])

    @app.get(ORDER_BY_ID)
    def order_by_id(id: str) -> OrderWithLines:  # noqa: A002 - the parameter of the endpoint
        found = client.query(
            TableName=TABLE,
            IndexName=BY_ID,
            KeyConditionExpression="id = :id AND tp = :tp",
            ExpressionAttributeValues={":id": {"S": id}, ":tp": {"S": "order"}},
            Limit=1,
        )["Items"]
        if not found:
            raise HTTPException(404)
        items = client.query(
            TableName=TABLE,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :order)",
            ExpressionAttributeValues={":pk": found[0]["pk"], ":order": found[0]["sk"]},
            ConsistentRead=True,
        )["Items"]
        return OrderWithLines(order=to_order(items[0]), lines=[*map(to_line, items[1:])])

    @app.post(SAVE_ADDRESS)
    def save_address(body: AddressBody) -> Address:
        address = body.address
        client.put_item(
            TableName=TABLE,
            Item={
                "pk": {"S": f"U#{address.user}"},
                "sk": {"S": f"U#{address.user}#{address.number:03}"},
                "street": {"S": address.street},
                "city": {"S": address.city},
                "country": {"S": address.country},
            },
        )
        return address

    return app


def make_pynamodb_app(database: str) -> Any:
    """Return an application on FastAPI and PynamoDB's models."""
    from fastapi import FastAPI, HTTPException  # noqa: PLC0415
    from pynamodb.attributes import NumberAttribute, UnicodeAttribute  # noqa: PLC0415
    from pynamodb.indexes import AllProjection, GlobalSecondaryIndex  # noqa: PLC0415
    from pynamodb.models import Model  # noqa: PLC0415

    class ById(GlobalSecondaryIndex):
        class Meta:
            index_name = BY_ID
            projection = AllProjection()

        id = UnicodeAttribute(hash_key=True)
        tp = UnicodeAttribute(range_key=True)

    class OrderItem(Model):
        """An order, or one of its lines."""

        class Meta:
            table_name = TABLE
            region = _REGION
            host = database

        pk = UnicodeAttribute(hash_key=True)
        sk = UnicodeAttribute(range_key=True)
        by_id = ById()
        id = UnicodeAttribute(null=True)
        tp = UnicodeAttribute(null=True)
        total = NumberAttribute(null=True)
        status = UnicodeAttribute(null=True)
        product = UnicodeAttribute(null=True)
        seller = UnicodeAttribute(null=True)
        name = UnicodeAttribute(null=True)
        price = NumberAttribute(null=True)
        quantity = NumberAttribute(null=True)
        ttl = NumberAttribute(null=True)

    class AddressItem(Model):
        class Meta:
            table_name = TABLE
            region = _REGION
            host = database

        pk = UnicodeAttribute(hash_key=True)
        sk = UnicodeAttribute(range_key=True)
        street = UnicodeAttribute()
        city = UnicodeAttribute()
        country = UnicodeAttribute()

    app = FastAPI()

    def to_order(item: Any) -> Order:
        return Order(
            user=item.pk[2:-2],
            order=item.sk,
            id=item.id,
            tp=item.tp,
            total=item.total,
            status=item.status,
            ttl=item.ttl,
        )

    def to_line(item: Any) -> OrderLine:
        order, _, line = item.sk.rpartition("#")
        return OrderLine(
            user=item.pk[2:-2],
            order=order,
            line=int(line),
            product=item.product,
            seller=item.seller,
            name=item.name,
            price=item.price,
            quantity=item.quantity,
            ttl=item.ttl,
        )

    @app.get(LAST_ORDERS)
    def last_orders(user: str, count: int) -> OrderPage:
        found = OrderItem.query(
            f"U#{user}#O",
            OrderItem.sk.startswith("O#"),
            OrderItem.tp == "order",
            scan_index_forward=False,
            limit=count,
            page_size=count * (LINES + 1),
        )
        return OrderPage(items=[*map(to_order, found)])

    @app.get(ORDER_BY_ID)
    def order_by_id(id: str) -> OrderWithLines:  # noqa: A002 - the parameter of the endpoint
        found = next(OrderItem.by_id.query(id, OrderItem.tp == "order", limit=1), None)
        if found is None:
            raise HTTPException(404)
        order, *lines = OrderItem.query(
            found.pk, OrderItem.sk.startswith(found.sk), consistent_read=True
        )
        return OrderWithLines(order=to_order(order), lines=[*map(to_line, lines)])

    @app.post(SAVE_ADDRESS)
    def save_address(body: AddressBody) -> Address:
        address = body.address
        AddressItem(
            f"U#{address.user}",
            f"U#{address.user}#{address.number:03}",
            street=address.street,
            city=address.city,
            country=address.country,
        ).save()
        return address

    return app


APPLICATIONS = {
    "keyfold": make_keyfold_app,
    "keyfold, embedded": make_keyfold_app,
    "FastAPI, PynamoDB": make_pynamodb_app,
    "FastAPI, boto3": make_boto3_app,
}


def main() -> None:
    """Serve an application on a free port, which is printed once it listens."""
    import uvicorn  # noqa: PLC0415

    from keyfold.wire.server._server import new_event_loop  # noqa: PLC0415

    name, database = sys.argv[1:]
    config = uvicorn.Config(APPLICATIONS[name](database), access_log=False, log_level="warning")
    # By its protocol, event loops know that they may turn off Nagle's algorithm, which would delay the
    # second part of each response by 40 ms. `socket.create_server` does not give it.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        print(listener.getsockname()[1], flush=True)
        # On uvloop if it is installed, as `uvicorn` and `keyfold api` run applications.
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(uvicorn.Server(config).serve([listener]))


if __name__ == "__main__":
    main()
