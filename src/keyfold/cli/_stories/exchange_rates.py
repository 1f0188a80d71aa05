"""A day of rates, with an outage of their source."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from keyfold.cli._stories.teller import Actor, Story, Teller
from keyfold.designs import exchange_rates
from keyfold.designs.exchange_rates import Rate
from keyfold.errors import AccessDenied, NotFound

_HOUR = timedelta(hours=1)


def _tell(story: Teller) -> None:
    publisher = story.actor("The feed", "publisher")
    shop = story.actor("A shop", "reader")
    _tell_morning(story, publisher, shop)
    _tell_outage(story, publisher, shop)
    _tell_recovery(story, publisher, shop)


def _quote(story: Teller, base: str, target: str, rate: str) -> Rate:
    return Rate(base=base, target=target, rate=Decimal(rate), at=story.now)


def _tell_morning(story: Teller, publisher: Actor, shop: Actor) -> None:
    euro = _quote(story, "USD", "EUR", "0.85")
    saved = story.step(
        publisher, "saves the price of a dollar, for an hour.", exchange_rates.save, euro, _HOUR
    )
    story.check(saved.expires == story.now + _HOUR, "it expires in an hour")
    for text, target, rate in (("pounds", "GBP", "0.75"), ("yen", "JPY", "150")):
        quote = _quote(story, "USD", target, rate)
        story.step(publisher, f"saves it in {text}, too.", exchange_rates.save, quote, _HOUR)
    story.read(
        shop,
        "looks up dollars in euros.",
        "the shop finds what was saved",
        lambda found: found == saved,
        exchange_rates.get,
        "USD",
        "EUR",
    )
    story.read(
        shop,
        "lists all prices of a dollar.",
        "all three are listed",
        lambda listed: {each.target for each in listed} == {"EUR", "GBP", "JPY"},
        exchange_rates.get_by_base,
        "USD",
    )
    own = _quote(story, "USD", "EUR", "0.5")
    story.refused(
        shop, "tries to set a price of its own.", AccessDenied, exchange_rates.save, own, _HOUR
    )


def _tell_outage(story: Teller, publisher: Actor, shop: Actor) -> None:
    story.later("Fifty minutes later, the source of the rates slows down.", timedelta(minutes=50))
    better = _quote(story, "USD", "EUR", "0.86")
    story.step(
        publisher,
        "gets one more price, and replaces the first.",
        exchange_rates.save,
        better,
        _HOUR,
    )
    flagged = story.step(
        publisher, "marks the price in pounds as stale.", exchange_rates.mark_stale, "USD", "GBP"
    )
    story.check(flagged.stale, "it is marked")
    story.read(
        shop,
        "looks up dollars in pounds.",
        "the shop sees that the price is stale",
        lambda pounds: pounds is not None and pounds.stale,
        exchange_rates.get,
        "USD",
        "GBP",
    )
    story.later("The source is out for two hours.", 2 * _HOUR)
    story.read(
        shop,
        "looks up dollars in euros.",
        "the price has expired",
        lambda gone: gone is None,
        exchange_rates.get,
        "USD",
        "EUR",
    )
    story.read(
        shop,
        "lists all prices of a dollar.",
        "all of them have expired",
        lambda listed: len(listed) == 0,
        exchange_rates.get_by_base,
        "USD",
    )
    story.read(
        shop,
        "asks for the last known price instead.",
        "the last price is still stored, and returned as stale",
        lambda stale: stale is not None and stale.stale and stale.rate == better.rate,
        exchange_rates.get_stale,
        "USD",
        "EUR",
    )
    story.refused(
        publisher,
        "tries to mark it as stale, although it has expired.",
        NotFound,
        exchange_rates.mark_stale,
        "USD",
        "EUR",
    )


def _tell_recovery(story: Teller, publisher: Actor, shop: Actor) -> None:
    story.later("The source is back.", timedelta(minutes=10))
    new = _quote(story, "USD", "EUR", "0.87")
    saved = story.step(publisher, "saves a new price.", exchange_rates.save, new, _HOUR)
    story.read(
        shop,
        "looks up dollars in euros.",
        "the new price is found",
        lambda found: found == saved and not saved.stale,
        exchange_rates.get,
        "USD",
        "EUR",
    )
    story.step(publisher, "withdraws the yen.", exchange_rates.delete, "USD", "JPY")
    story.read(
        shop,
        "asks for the last price in yen.",
        "a deleted rate is not returned, not even as stale",
        lambda none: none is None,
        exchange_rates.get_stale,
        "USD",
        "JPY",
    )


STORY = Story("A day of rates with an outage", exchange_rates.table, _tell)
