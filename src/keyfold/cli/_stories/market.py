"""A market day: a seller, a customer, a passer-by, and those who work behind the stalls."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from keyfold.cli._stories.teller import Actor, Story, Teller
from keyfold.designs import market
from keyfold.designs.market import (
    Cart,
    CartId,
    CartLine,
    OrderId,
    Payment,
    PaymentId,
    Product,
    ProductChanges,
    ProductId,
    User,
)
from keyfold.errors import AccessDenied, TransactionFailed, UniqueTaken

_ADA = User(user="ada", id="ada@example.com", name="Ada")
_NUMBER = "2026-0001"
_FIRST_PRICE, _PRICE = Decimal("64.50"), Decimal(70)
_TOTAL, _REWARD = Decimal(140), Decimal(7)
_HOUR = timedelta(hours=1)


def _tell(story: Teller) -> None:
    ada = story.actor("Ada", "customer", "visitor", user="ada")
    eve = story.actor("Eve", "seller", user="eve")
    warehouse = story.actor("The warehouse", "fulfilment")
    lamp = _tell_opening(story, eve)
    cart = _tell_shopping(story, ada, lamp)
    _tell_order(story, ada, eve, warehouse, cart)
    _tell_payment(story, ada, warehouse)


def _tell_opening(story: Teller, eve: Actor) -> Product:
    sign_up = story.actor("The sign-up", "registration")
    story.step(sign_up, "registers Ada with her address.", market.create_user, _ADA)
    mallory = _ADA.model_copy(update={"user": "mallory", "name": "Mallory"})
    story.refused(
        sign_up,
        "is given the same address by Mallory.",
        UniqueTaken,
        market.create_user,
        mallory,
    )
    lamp = Product(
        user="eve", product=ProductId.at(story.now), name="Desk lamp", price=_FIRST_PRICE
    )
    story.step(eve, "puts a lamp on her stall.", market.add_product, lamp)
    passer_by = story.actor("A passer-by", "visitor")
    story.read(
        passer_by,
        "looks at the stall.",
        "the lamp is there for everybody",
        lambda seen: list(seen) == [lamp],
        market.products_of,
        "eve",
    )
    return lamp


def _tell_shopping(story: Teller, ada: Actor, lamp: Product) -> Cart:
    cart = story.step(ada, "takes a cart.", market.create_cart, "ada", CartId.at(story.now))
    two = CartLine(seller="eve", quantity=2)
    cart = story.step(
        ada, "puts two lamps into it.", market.put_in_cart, "ada", cart.cart, lamp.product, two
    )
    free = ProductChanges(price=Decimal(0))
    story.refused(
        ada,
        "would like them for nothing.",
        AccessDenied,
        market.change_product,
        "eve",
        lamp.product,
        free,
    )
    return cart


def _tell_order(story: Teller, ada: Actor, eve: Actor, warehouse: Actor, cart: Cart) -> None:
    (product,) = cart.lines
    story.later("An hour later, lamps are in demand.", _HOUR)
    dearer = ProductChanges(price=_PRICE)
    story.step(eve, "raises the price.", market.change_product, "eve", product, dearer)
    placed = OrderId.at(story.now)
    story.step(warehouse, "makes an order of the cart.", market.place_order, cart, placed, _NUMBER)
    story.read(
        ada,
        "looks up her order.",
        "she pays the price of the day",
        lambda found: found is not None and found.order.total == _TOTAL,
        market.order_by_id,
        _NUMBER,
    )
    mallory = story.actor("Mallory", "customer", user="mallory")
    story.read(
        mallory,
        "looks up the same number.",
        "it is not his, so he finds nothing",
        lambda nothing: nothing is None,
        market.order_by_id,
        _NUMBER,
    )


def _tell_payment(story: Teller, ada: Actor, warehouse: Actor) -> None:
    support = story.actor("Support", "support")
    story.follow("The change handlers bill the order.")
    [bill] = story.read(
        support,
        "tells Ada what she owes.",
        "she owes the total",
        lambda bills: [(each.amount, each.status) for each in bills] == [(_TOTAL, "open")],
        market.bills,
        "ada",
    )
    payment = Payment(
        user="ada",
        payment=PaymentId.at(story.now),
        bill=bill.bill,
        amount=bill.amount,
        card="…4242",
        holder="A. Lovelace",
    )
    story.step(warehouse, "records her payment.", market.pay_bill, payment)
    again = payment.model_copy(update={"payment": PaymentId.at(story.now + _HOUR)})
    story.refused(warehouse, "gets the message twice.", TransactionFailed, market.pay_bill, again)
    story.refused(
        warehouse,
        "is asked to cancel what is paid.",
        TransactionFailed,
        market.cancel_order,
        "ada",
        bill.order,
    )
    story.read(
        support,
        "sees that it is paid, but not how.",
        "there is one payment",
        lambda paid: [each.amount for each in paid] == [_TOTAL],
        market.payments,
        "ada",
    )
    story.follow("The change handlers reward the payment.")
    story.read(
        ada,
        "looks at her bonuses.",
        "she has five per cent",
        lambda rewards: [each.amount for each in rewards] == [_REWARD],
        market.bonuses,
        "ada",
    )


STORY = Story("A market day", market.table, _tell)
