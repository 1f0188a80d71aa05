"""What a declaration says about how its table is used: call rates, item counts and sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from keyfold.errors import DeclarationInvalid

# A month of AWS's price lists and calculators: 730 hours.
MONTH_SECONDS: Final = 730 * 3600

_UNIT_SECONDS: dict[str, int] = {
    "s": 1,
    "second": 1,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "day": 86_400,
    "month": MONTH_SECONDS,
}
_MULTIPLES = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
# More would be infinite once it is multiplied by times and prices.
_MOST = 1e18
_match_count = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([kMG]?)").fullmatch


@dataclass(frozen=True, slots=True, order=True)
class CallRate:
    """How often something happens, on average.

    >>> CallRate.parse("2.5k/min").per_second
    41.666666666666664
    >>> CallRate.parse("1M/month")
    CallRate('1M/month')
    """

    per_second: float
    text: str = ""

    @classmethod
    def parse(cls, value: str | float) -> CallRate:
        """Return the rate that a text such as "40/s" or "2M/month" means; a number is per second.

        Raises ValueError.
        """
        if isinstance(value, str):
            number, _, unit = value.partition("/")
            seconds = _UNIT_SECONDS.get(unit.strip())
            if seconds is None:
                advice = "Write 40/s or 2M/month; units are s, min, h, day and month"
                raise ValueError(f"{value!r} is not a rate. {advice}")
            return cls(parse_count(number.strip()) / seconds, value)
        return cls(parse_count(value), f"{value:g}/s")

    @property
    def per_month(self) -> float:
        """The number in a month of 730 hours."""
        return self.per_second * MONTH_SECONDS

    def __repr__(self) -> str:
        return f"CallRate({self.text!r})"


@dataclass(frozen=True, slots=True)
class Volume:
    """How many items an entity has, and how large they are; None for what is not known.

    `growth` is the change in a month, and `per_partition` the number in one partition of the table.
    """

    items: float | None = None
    growth: float | None = None
    bytes: float | None = None
    per_partition: float | None = None


def parse_count(value: str | float) -> float:
    """Return a number that may be a text with a multiple: "200k", "1.5M"; raises ValueError."""
    if isinstance(value, str):
        found = _match_count(value)
        if found is None:
            raise ValueError(f"{value!r} is not a count. Write 1200, 200k or 1.5M")
        return _check_count(value, float(found[1]) * _MULTIPLES[found[2]])
    if isinstance(value, bool) or not value >= 0:
        raise ValueError(f"{value!r} is not a count. Write a number of 0 or more")
    return _check_count(value, float(min(value, 2 * _MOST)))


def _check_count(given: str | float, count: float) -> float:
    if count > _MOST:
        raise ValueError(f"{given!r:.80} is too large. Write a number up to 1e18")
    return count


def parse_volume(
    *,
    items: str | float | None = None,
    growth: str | float | None = None,
    bytes: str | float | None = None,  # noqa: A002 - the field's word
    per_partition: str | float | None = None,
) -> Volume:
    """Return the volume of an entity; `growth` may be a rate, as in "50k/month"; raises ValueError."""
    if isinstance(growth, str) and "/" in growth:
        growth = CallRate.parse(growth).per_month
    given = {"items": items, "growth": growth, "bytes": bytes, "per_partition": per_partition}
    return Volume(**{name: parse_count(each) for name, each in given.items() if each is not None})


def declare_rate(subject: str, name: str, value: str | float | None) -> CallRate | None:
    """Return the rate of a declaration; raises DeclarationInvalid."""
    if value is None:
        return None
    try:
        return CallRate.parse(value)
    except ValueError as error:
        raise DeclarationInvalid((f"{subject}: {name}: {error}.",)) from None
