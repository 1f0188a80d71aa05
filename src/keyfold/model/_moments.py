"""Times relative to the time at which a request runs, such as `now + timedelta(hours=1)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

from keyfold.expressions import Comparator, Comparison, Condition, DeferredValue
from keyfold.model._scalars import encode_datetime
from keyfold.values import AttributeValue


@dataclass(frozen=True, slots=True)
class Moment:
    """The time at which a request runs (`now`), or a time at an offset from it.

    >>> from datetime import UTC
    >>> (now + timedelta(hours=1)).resolve(datetime(2026, 1, 1, tzinfo=UTC)).hour
    1

    Compared with a datetime, it makes a condition that holds if the request runs before that time,
    or after it: `Link.check(Link.f.group.exists() & (now < expires), ...)`.
    """

    offset: timedelta = timedelta()

    def __add__(self, offset: timedelta) -> Moment:
        return Moment(self.offset + offset)

    def __sub__(self, offset: timedelta) -> Moment:
        return Moment(self.offset - offset)

    def __lt__(self, time: datetime) -> Condition:
        return self._compare("<", time)

    def __le__(self, time: datetime) -> Condition:
        return self._compare("<=", time)

    def __gt__(self, time: datetime) -> Condition:
        return self._compare(">", time)

    def __ge__(self, time: datetime) -> Condition:
        return self._compare(">=", time)

    def _compare(self, comparator: Comparator, time: datetime) -> Condition:
        """Return the condition that this time, when the request runs, compares so with another."""
        return Comparison(comparator, DeferredValue(self, _encode_at), encode_datetime(time))

    def resolve(self, now: datetime) -> datetime:
        """Return the time, for a request that runs at `now`."""
        return now + self.offset

    def __repr__(self) -> str:
        if not self.offset:
            return "now"
        sign, offset = ("-", -self.offset) if self.offset < timedelta() else ("+", self.offset)
        return f"now {sign} {offset}"


now = Moment()

# Stands for the time at which a request runs, where requests are checked or shown before that.
SAMPLE_TIME = datetime(2020, 1, 1, tzinfo=UTC)


# Types of most values, for which the tests below would take longer.
_PLAIN = frozenset({str, int, Decimal, bool, bytes, datetime})


def _encode_at(moment: Moment, now: datetime) -> AttributeValue:
    return encode_datetime(moment.resolve(now))


def has_moment(value: Any) -> bool:
    """Return whether a value is a Moment or contains one."""
    if value.__class__ in _PLAIN:
        return False
    if isinstance(value, Moment):
        return True
    if isinstance(value, Mapping):
        return any(map(has_moment, cast(Mapping[Any, Any], value).values()))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(has_moment, cast(list[Any], value)))
    return False


def resolve_moments(value: Any, at: datetime) -> Any:
    """Return a value with every Moment resolved, for a request that runs at `at`."""
    if isinstance(value, Moment):
        return value.resolve(at)
    if isinstance(value, Mapping):
        members = cast(Mapping[Any, Any], value)
        return {name: resolve_moments(each, at) for name, each in members.items()}
    if isinstance(value, list | tuple):
        return [resolve_moments(each, at) for each in cast(list[Any], value)]
    if isinstance(value, set | frozenset):
        return {resolve_moments(each, at) for each in cast(set[Any], value)}
    return value
