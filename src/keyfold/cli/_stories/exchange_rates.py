"""A day of rates, with an outage of their source."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from keyfold.cli._stories.teller import Story, Teller
from keyfold.designs import exchange_rates
from keyfold.designs.exchange_rates import Rate


def _tell(story: Teller) -> None:
    publisher, reader = story.actor("The publisher"), story.actor("A shop")
    dollar = Rate(base="USD", target="EUR", rate=Decimal("0.85"), at=story.now)
    saved = story.step(
        publisher,
        "saves a rate that is good for an hour.",
        exchange_rates.save,
        dollar,
        timedelta(hours=1),
    )
    story.check(saved.expires == story.now + timedelta(hours=1), "it expires in an hour")
    found = story.step(reader, "looks it up.", exchange_rates.get, "USD", "EUR")
    story.check(found == saved, "the rate is found")
    story.later("The source is out for two hours.", timedelta(hours=2))
    gone = story.step(reader, "looks it up again.", exchange_rates.get, "USD", "EUR")
    story.check(gone is None, "the rate has expired")
    stale = story.step(reader, "asks for a stale rate.", exchange_rates.get_stale, "USD", "EUR")
    story.check(stale is not None and stale.stale, "the old rate is returned, as stale")


STORY = Story("A day of rates with an outage", exchange_rates.table, _tell)
