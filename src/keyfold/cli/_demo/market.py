"""A market of some users: what they sell, ordered, were granted, and have paid."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

from keyfold.cli._demo.world import Draws, World
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

# The document's own user, beside others whose ids an identity provider made.
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


def make_world(draws: Draws) -> World:
    """Return the items, and what the patterns must return of them."""
    world = World(market.table, draws.now, lambda item: item.ttl)
    users = [_USER, *(str(draws.uuid()) for _ in range(_OTHERS))]
    account = Account(account=draws.ulid(AccountId, draws.ago(_DAY)), id="acc-1", name="Corner")
    products = [_make_product(draws, draws.random.choice(users)) for _ in range(100)]
    world.load([account, *products])
    number = 1000
    for user in users:
        world.load(_make_profile(draws, user, account.account, products))
        for _ in range(20 if user == _USER else draws.random.randint(3, 12)):
            number += 1
            world.load(_make_order(draws, user, f"2026-{number}", products))
        world.load(_make_rewards(draws, user))
    _expect_reads(world)
    _expect_writes(world, draws)
    return world


def _make_product(draws: Draws, seller: str) -> Product:
    name, price = draws.random.choice(_GOODS)
    made = draws.ulid(ProductId, draws.ago(400 * _DAY))
    return Product(user=seller, product=made, name=name, price=Decimal(price))


def _make_profile(
    draws: Draws, user: str, account: AccountId, products: list[Product]
) -> Iterator[Entity]:
    name = "Rabinovich" if user == _USER else draws.random.choice(_NAMES)
    phone = f"+1 555 0{draws.random.randint(100, 199)}"
    email = f"{user}@example.com"
    yield User(user=user, id=email, name=name, phones=[phone], account=account)
    for place in range(1, draws.random.randint(2, 3)):
        city, country = draws.random.choice(_CITIES)
        street = f"{draws.random.randint(1, 99)} Market Street"
        yield Address(user=user, number=place, street=street, city=city, country=country)
    lines = {each.product: _line_of(draws, each) for each in draws.random.sample(products, 3)}
    yield Cart(user=user, cart=draws.ulid(CartId, draws.ago(_DAY)), lines=lines)
    # One that was left behind, and has expired.
    old = draws.ulid(CartId, draws.ago(60 * _DAY) - 30 * _DAY)
    yield Cart(user=user, cart=old, lines=lines, ttl=draws.ago(30 * _DAY))


def _line_of(draws: Draws, product: Product) -> CartLine:
    quantity = draws.random.randint(1, 4)
    return CartLine(name=product.name, price=product.price, quantity=quantity)


def _make_order(draws: Draws, user: str, number: str, products: list[Product]) -> Iterator[Entity]:
    placed = draws.ago(360 * _DAY)
    order = draws.ulid(OrderId, placed)
    chosen = draws.random.sample(products, draws.random.randint(1, 6))
    lines = {each.product: _line_of(draws, each) for each in chosen}
    yield from _order_of(user, order, number, lines)
    total = _total_of(lines)
    bill = draws.ulid(BillId, placed + timedelta(hours=1))
    yield Bill(user=user, bill=bill, id=f"B-{number}", order=order, amount=total)
    if draws.happens(0.9):
        payment = draws.ulid(PaymentId, placed + _DAY)
        # The last digits of a card, so that there is something to hide from support.
        card = f"…{payment.time.microsecond % 10_000:04}"
        yield Payment(user=user, payment=payment, bill=bill, amount=total, card=card, holder=user)


def _order_of(
    user: str, order: OrderId, number: str, lines: dict[ProductId, CartLine]
) -> list[Entity]:
    """Return an order, its number and its lines."""
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


def _make_rewards(draws: Draws, user: str) -> Iterator[Reward]:
    for number in range(draws.random.randint(4, 9)):
        granted = draws.ago(300 * _DAY)
        expiry = draws.ago(20 * _DAY) if number % 3 == 0 else draws.ahead(90 * _DAY)
        amount = Decimal(draws.random.randint(1, 20))
        made = draws.ulid(RewardId, granted)
        yield Reward(user=user, reward=made, amount=amount, reason="Thank you", ttl=expiry)


def _expect_reads(world: World) -> None:
    user = next(each for each in world.find(User) if each.user == _USER)
    homes = [each for each in world.find(Address) if each.user == _USER]
    carts = [each for each in world.find(Cart) if each.user == _USER]
    orders = [each for each in world.find(Order) if each.user == _USER]
    rewards = [each for each in world.find(Reward) if each.user == _USER]
    profile = UserProfile(user=user, addresses=homes, carts=carts)
    world.expect(market.user_profile, profile, user=_USER)
    world.expect(market.user_profile, None, user="nobody")
    world.expect(market.last_orders, orders[:-11:-1], user=_USER, count=10)
    world.expect(market.bonuses, rewards[::-1], user=_USER)
    order = orders[3]
    lines = [each for each in world.find(OrderLine) if each.order == order.order]
    found = OrderWithLines(order=order, lines=lines)
    world.expect(market.order_by_id, found, id=order.id)
    world.expect(market.order_by_id, None, id="1999-1")
    world.expect(market.find_by_key, order, key=order.order)
    world.expect(market.find_by_key, lines[0], key=f"{order.order}#001")
    expired = next(each for each in world.find_expired(Cart) if each.user == _USER)
    world.expect(market.find_by_key, None, key=expired.cart)
    bill = next(each for each in world.find(Bill) if each.order == order.order)
    world.expect(market.find_by_id, bill, id=bill.id, tp="bill")
    paid = [
        PaymentSummary(payment=each.payment, bill=each.bill, amount=each.amount)
        for each in world.find(Payment)
        if each.user == _USER
    ]
    world.expect(market.payments, paid[::-1], user=_USER)
    since, until = world.now - 200 * _DAY, world.now - 60 * _DAY
    between = [each for each in orders if since <= each.order.time <= until]
    world.expect(market.orders_between, between, user=_USER, since=since, until=until)


def _expect_writes(world: World, draws: Draws) -> None:
    cart = next(each for each in world.find(Cart) if each.user == _USER)
    product = next(each for each in world.find(Product) if each.product not in cart.lines)
    line = CartLine(name=product.name, price=product.price, quantity=2)
    fuller = cart.model_copy(update={"lines": {**cart.lines, product.product: line}})
    its = {"user": _USER, "cart": cart.cart}
    world.expect(market.put_in_cart, fuller, **its, product=product.product, line=line)
    world.expect(
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
    world.expect(market.take_from_cart, fewer, **its, product=taken)
    _expect_orders(world, draws, fewer)
    _expect_rewards(world, draws)


def _expect_orders(world: World, draws: Draws, cart: Cart) -> None:
    placed = _order_of(_USER, draws.ulid(OrderId, world.now), "2026-9001", cart.lines)
    order = placed[0]
    assert isinstance(order, Order)
    given = {"cart": cart, "order": order.order, "id": order.id}
    world.expect(market.place_order, [*placed, None], **given)
    world.expect(market.place_order, TransactionFailed, **given)
    world.put(*placed, cart.model_copy(update={"lines": {}}))
    world.expect(market.last_orders, [order], user=_USER, count=1)
    first = next(each for each in world.find(Order) if each.user == _USER)
    assert first.id is not None
    number = OrderNumber(id=first.id, user=_USER, order=first.order)
    which = {"user": _USER, "order": first.order, "id": first.id}
    world.expect(market.release_order_number, [None, None], **which)
    world.put(first.model_copy(update={"id": None}))
    world.drop(number)
    world.expect(market.order_by_id, None, id=first.id)


def _expect_rewards(world: World, draws: Draws) -> None:
    granted: datetime = world.now
    reward = Reward(
        user=_USER, reward=draws.ulid(RewardId, granted), amount=Decimal(5), reason="Tenth order"
    )
    world.expect(market.grant_reward, reward, reward=reward)
    world.expect(market.grant_reward, AlreadyExists, reward=reward)
    world.put(reward)
    rewards = [each for each in world.find(Reward) if each.user == _USER]
    world.expect(market.bonuses, rewards[::-1], user=_USER)
