"""A market with some users: their products, carts, orders, rewards, bills and payments."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

from keyfold.cli._demo.data_set import DataGenerator, DataSet
from keyfold.designs import market
from keyfold.designs.market import (
    Account,
    AccountId,
    Address,
    Bill,
    BillId,
    Cart,
    CartId,
    CartLine,
    Order,
    OrderId,
    OrderLine,
    OrderNumber,
    OrderWithLines,
    Payment,
    PaymentId,
    PaymentSummary,
    Product,
    ProductId,
    Reward,
    RewardId,
    User,
    UserProfile,
)
from keyfold.errors import AlreadyExists, NotFound, TransactionFailed
from keyfold.model import Entity

# The user of the design document; the others have ids like an identity provider's.
_USER = "rabinovich"
_OTHERS = 24
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
        account=generator.ulid(AccountId, generator.ago(_DAY)), id="acc-1", name="Corner"
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
    _expect_reads(data)
    _expect_writes(data, generator)
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
    quantity = generator.random.randint(1, 4)
    return CartLine(name=product.name, price=product.price, quantity=quantity)


def _make_order(
    generator: DataGenerator, user: str, number: str, products: list[Product]
) -> Iterator[Entity]:
    placed = generator.ago(360 * _DAY)
    order = generator.ulid(OrderId, placed)
    chosen = generator.random.sample(products, generator.random.randint(1, 6))
    lines = {each.product: _line_of(generator, each) for each in chosen}
    yield from _order_of(user, order, number, lines)
    total = _total_of(lines)
    bill = generator.ulid(BillId, placed + timedelta(hours=1))
    yield Bill(user=user, bill=bill, id=f"B-{number}", order=order, amount=total)
    if generator.happens(0.9):
        payment = generator.ulid(PaymentId, placed + _DAY)
        # The last digits of a card: the support role must not see them.
        card = f"…{payment.time.microsecond % 10_000:04}"
        yield Payment(user=user, payment=payment, bill=bill, amount=total, card=card, holder=user)


def _order_of(
    user: str, order: OrderId, number: str, lines: dict[ProductId, CartLine]
) -> list[Entity]:
    """Return the items of an order: the order, its number and its lines."""
    return [
        Order(user=user, order=order, id=number, total=_total_of(lines)),
        OrderNumber(id=number, user=user, order=order),
        *(
            OrderLine(user=user, order=order, line=place, product=product, **dict(line))
            for place, (product, line) in enumerate(sorted(lines.items()), start=1)
        ),
    ]


def _total_of(lines: dict[ProductId, CartLine]) -> Decimal:
    return sum((line.price * line.quantity for line in lines.values()), Decimal())


def _make_rewards(generator: DataGenerator, user: str) -> Iterator[Reward]:
    for number in range(generator.random.randint(4, 9)):
        granted = generator.ago(300 * _DAY)
        expiry = generator.expired() if number % 3 == 0 else generator.ahead(90 * _DAY)
        amount = Decimal(generator.random.randint(1, 20))
        made = generator.ulid(RewardId, granted)
        yield Reward(user=user, reward=made, amount=amount, reason="Thank you", ttl=expiry)


def _expect_reads(data: DataSet) -> None:
    user = next(each for each in data.find(User) if each.user == _USER)
    homes = [each for each in data.find(Address) if each.user == _USER]
    carts = [each for each in data.find(Cart) if each.user == _USER]
    orders = [each for each in data.find(Order) if each.user == _USER]
    rewards = [each for each in data.find(Reward) if each.user == _USER]
    profile = UserProfile(user=user, addresses=homes, carts=carts)
    data.expect(market.user_profile, profile, user=_USER)
    data.expect(market.user_profile, None, user="nobody")
    data.expect(market.last_orders, orders[:-11:-1], user=_USER, count=10)
    data.expect(market.bonuses, rewards[::-1], user=_USER)
    order = orders[3]
    lines = [each for each in data.find(OrderLine) if each.order == order.order]
    found = OrderWithLines(order=order, lines=lines)
    data.expect(market.order_by_id, found, id=order.id)
    data.expect(market.order_by_id, None, id="1999-1")
    data.expect(market.find_by_key, order, key=order.order)
    data.expect(market.find_by_key, lines[0], key=f"{order.order}#001")
    expired = next(each for each in data.find_expired(Cart) if each.user == _USER)
    data.expect(market.find_by_key, None, key=expired.cart)
    bill = next(each for each in data.find(Bill) if each.order == order.order)
    data.expect(market.find_by_id, bill, id=bill.id, tp="bill")
    paid = [
        PaymentSummary(payment=each.payment, bill=each.bill, amount=each.amount)
        for each in data.find(Payment)
        if each.user == _USER
    ]
    data.expect(market.payments, paid[::-1], user=_USER)
    since, until = data.now - 200 * _DAY, data.now - 60 * _DAY
    between = [each for each in orders if since <= each.order.time <= until]
    data.expect(market.orders_between, between, user=_USER, since=since, until=until)


def _expect_writes(data: DataSet, generator: DataGenerator) -> None:
    cart = next(each for each in data.find(Cart) if each.user == _USER)
    product = next(each for each in data.find(Product) if each.product not in cart.lines)
    line = CartLine(name=product.name, price=product.price, quantity=2)
    fuller = cart.model_copy(update={"lines": {**cart.lines, product.product: line}})
    its = {"user": _USER, "cart": cart.cart}
    data.expect(market.put_in_cart, fuller, **its, product=product.product, line=line)
    data.expect(
        market.put_in_cart,
        NotFound,
        user="nobody",
        cart=cart.cart,
        product=product.product,
        line=line,
    )
    taken = min(cart.lines)
    rest = {each: fuller.lines[each] for each in fuller.lines if each != taken}
    fewer = fuller.model_copy(update={"lines": rest})
    data.expect(market.take_from_cart, fewer, **its, product=taken)
    _expect_orders(data, generator, fewer)
    _expect_rewards(data, generator)


def _expect_orders(data: DataSet, generator: DataGenerator, cart: Cart) -> None:
    placed = _order_of(_USER, generator.ulid(OrderId, data.now), "2026-9001", cart.lines)
    order = placed[0]
    assert isinstance(order, Order)
    given = {"cart": cart, "order": order.order, "id": order.id}
    data.expect(market.place_order, [*placed, None], **given)
    data.expect(market.place_order, TransactionFailed, **given)
    data.put(*placed, cart.model_copy(update={"lines": {}}))
    data.expect(market.last_orders, [order], user=_USER, count=1)
    first = next(each for each in data.find(Order) if each.user == _USER)
    assert first.id is not None
    number = OrderNumber(id=first.id, user=_USER, order=first.order)
    which = {"user": _USER, "order": first.order, "id": first.id}
    data.expect(market.release_order_number, [None, None], **which)
    data.put(first.model_copy(update={"id": None}))
    data.drop(number)
    data.expect(market.order_by_id, None, id=first.id)


def _expect_rewards(data: DataSet, generator: DataGenerator) -> None:
    granted: datetime = data.now
    reward = Reward(
        user=_USER,
        reward=generator.ulid(RewardId, granted),
        amount=Decimal(5),
        reason="Tenth order",
    )
    data.expect(market.grant_reward, reward, reward=reward)
    data.expect(market.grant_reward, AlreadyExists, reward=reward)
    data.put(reward)
    rewards = [each for each in data.find(Reward) if each.user == _USER]
    data.expect(market.bonuses, rewards[::-1], user=_USER)
