"""A market with some users: their products, carts, orders, rewards, bills and payments."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

from keyfold.cli._demo.data_set import DataGenerator, DataSet
from keyfold.cli._demo.market_expectations import (
    expect_reads,
    expect_writes,
    order_items,
)
from keyfold.designs import market
from keyfold.designs.market import (
    Account,
    AccountId,
    AccountMember,
    Address,
    Bill,
    BillId,
    Cart,
    CartId,
    CartLine,
    Order,
    OrderId,
    Payment,
    PaymentId,
    Product,
    ProductId,
    Reward,
    RewardId,
    User,
)
from keyfold.model import Entity

# The user of the design document; the others have ids like an identity provider's.
_USER = "rabinovich"
_OTHERS = 9
_NAMES = ("Amal", "Bea", "Cem", "Dov", "Elif", "Finn", "Goran", "Hana", "Ivo", "Jana")
_GOODS = (
    ("Espresso cups", "24.90"), ("Wool scarf", "39"), ("Desk lamp", "64.50"),
    ("Notebook", "7.20"), ("Chess set", "48"), ("Olive oil", "12.80"), ("Lavender soap", "5.40"),
    ("Walking map", "9.95"), ("Pocket radio", "31.75"), ("Tea strainer", "6.10"),
)  # fmt: skip
_CITIES = (("Odesa", "UA"), ("Lisbon", "PT"), ("Graz", "AT"), ("Turku", "FI"))
_DAY = timedelta(days=1)


def make_data_set(generator: DataGenerator) -> DataSet:
    """Return the items, and the results that the patterns must return."""
    data = DataSet(market.table, generator.now, lambda item: item.ttl)
    users = [_USER, *(str(generator.uuid()) for _ in range(_OTHERS))]
    account = Account(
        account=generator.ulid(AccountId, generator.ago(_DAY)),
        id="acc-1",
        name="Corner",
        users=len(users),
    )
    products = [_make_product(generator, generator.random.choice(users)) for _ in range(100)]
    data.load([account, *products])
    number = 1000
    for user in users:
        data.load(_make_profile(generator, user, account.account, products))
        for _ in range(20 if user == _USER else generator.random.randint(3, 12)):
            number += 1
            data.load(_make_order(generator, user, f"2026-{number}", products))
        data.load(_make_rewards(generator, user))
    # As the document has its orders: a key without attributes.
    data.load([Order(user=_USER, order=OrderId.at(generator.now - 500 * _DAY))])
    expect_reads(data, _USER, account.account)
    expect_writes(data, generator, _USER)
    return data


def _make_product(generator: DataGenerator, seller: str) -> Product:
    name, price = generator.random.choice(_GOODS)
    made = generator.ulid(ProductId, generator.ago(400 * _DAY))
    return Product(user=seller, product=made, name=name, price=Decimal(price))


def _make_profile(
    generator: DataGenerator, user: str, account: AccountId, products: list[Product]
) -> Iterator[Entity]:
    name = "Rabinovich" if user == _USER else generator.random.choice(_NAMES)
    phone = f"+1 555 0{generator.random.randint(100, 199)}"
    email = f"{user}@example.com"
    yield User(user=user, id=email, name=name, phones=[phone], account=account)
    yield AccountMember(account=account, user=user)
    for place in range(1, generator.random.randint(2, 3)):
        city, country = generator.random.choice(_CITIES)
        street = f"{generator.random.randint(1, 99)} Market Street"
        yield Address(user=user, number=place, street=street, city=city, country=country)
    lines = {
        each.product: _line_of(generator, each) for each in generator.random.sample(products, 3)
    }
    yield Cart(user=user, cart=generator.ulid(CartId, generator.ago(_DAY)), lines=lines)
    # An abandoned cart that has expired.
    old = generator.ulid(CartId, generator.ago(60 * _DAY) - 30 * _DAY)
    yield Cart(user=user, cart=old, lines=lines, ttl=generator.expired())


def _line_of(generator: DataGenerator, product: Product) -> CartLine:
    return CartLine(seller=product.user, quantity=generator.random.randint(1, 4))


def _make_order(
    generator: DataGenerator, user: str, number: str, products: list[Product]
) -> Iterator[Entity]:
    placed = generator.ago(360 * _DAY)
    order = generator.ulid(OrderId, placed)
    chosen = generator.random.sample(products, generator.random.randint(1, 6))
    lines = {each.product: _line_of(generator, each) for each in chosen}
    sold = {each.product: each for each in chosen}
    items = order_items(user, order, number, lines, sold)
    yield from items
    total = items[0].total
    assert total is not None  # of an order with lines
    bill = market.id_for(BillId, order)
    is_paid = generator.happens(0.9)
    status = "paid" if is_paid else "open"
    yield Bill(user=user, bill=bill, id=f"B-{number}", order=order, amount=total, status=status)
    if is_paid:
        payment = generator.ulid(PaymentId, placed + _DAY)
        # The last digits of a card: the support role must not see them.
        card = f"…{payment.time.microsecond % 10_000:04}"
        yield Payment(user=user, payment=payment, bill=bill, amount=total, card=card, holder=user)


def _make_rewards(generator: DataGenerator, user: str) -> Iterator[Reward]:
    for number in range(generator.random.randint(4, 9)):
        granted = generator.ago(300 * _DAY)
        expiry = generator.expired() if number % 3 == 0 else generator.ahead(90 * _DAY)
        amount = Decimal(generator.random.randint(1, 20))
        made = generator.ulid(RewardId, granted)
        yield Reward(user=user, reward=made, amount=amount, reason="Thank you", ttl=expiry)
