"""Typed ids: ULIDs with the prefix of their type, in the order in which they were made."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self
from weakref import WeakSet

from keyfold.keys._errors import IdInvalid, show

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

# Crockford's base 32: no I, L, O or U.
LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 26
SEPARATOR = "#"

_TIME_LENGTH = 10
_TAIL_BITS = 80
_TAIL_BYTES = 10
_MAX_TAIL = (1 << _TAIL_BITS) - 1
_MAX_MILLISECONDS = (1 << 48) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

# Two characters at a time halve the cost of writing an id.
_PAIRS = [first + second for first in LETTERS for second in LETTERS]
_TO_PYTHON_DIGITS = str.maketrans(LETTERS, "0123456789abcdefghijklmnopqrstuv")
# Both cases by name: with re.IGNORECASE, "ſ" would be an S and the Kelvin sign a K.
_BODY = f"[0-7][{LETTERS}{LETTERS[10:].lower()}]{{{LENGTH - 1}}}"
_match_body = re.compile(_BODY).fullmatch
_match_prefix = re.compile(r"[A-Za-z0-9_.-]{1,40}").fullmatch


class UlidSource:
    """Makes the numbers of new ids, each greater than the one before.

    It is safe to use from several threads. Where the clock stands still or steps back, the
    next number is the last plus one; after a fork, parent and child go on apart.

    `clock` returns seconds since 1970, `randomness` so many random bytes.

    >>> source = UlidSource(clock=lambda: 1_750_000_000.0, randomness=bytes)
    >>> Ulid.new(source=source), Ulid.new(source=source)
    (Ulid('01JXT21Q000000000000000000'), Ulid('01JXT21Q000000000000000001'))
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        randomness: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._clock = clock
        self._randomness = randomness
        self._milliseconds = -1
        self._tail = _MAX_TAIL
        self._lock = Lock()
        _SOURCES.add(self)

    def next_number(self) -> int:
        """Return the 128 bits of the next id.

        Raises IdInvalid where the clock shows a time that no id can hold.
        """
        with self._lock:
            seconds = self._clock()
            # By way of microseconds: a float of 1.001 seconds is a little less than that.
            now = round(seconds * 1_000_000) // 1000
            if not 0 <= now <= _MAX_MILLISECONDS:
                raise IdInvalid(
                    "Ulid",
                    "the clock is outside the years that an id can hold",
                    f"{seconds!r} seconds",
                    "Set it to a time from 1970 to 10889.",
                )
            if now <= self._milliseconds and self._tail < _MAX_TAIL:
                self._tail += 1
            else:
                self._milliseconds = max(now, self._milliseconds + 1)
                self._tail = int.from_bytes(self._randomness(_TAIL_BYTES))
            return self._milliseconds << _TAIL_BITS | self._tail

    def part_from_parent(self) -> None:
        """Go on apart from the process that this one was forked from."""
        # Another thread may have held the lock at the fork; that thread is not here.
        self._lock = Lock()
        # With no room left in its millisecond, the next number takes another and a new tail.
        self._tail = _MAX_TAIL


_SOURCES: WeakSet[UlidSource] = WeakSet()


def _part_from_parent() -> None:
    for source in _SOURCES:
        source.part_from_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_part_from_parent)

_SOURCE = UlidSource()


class Ulid(str):
    """An id that sorts by the time at which it was made, as text of a fixed width.

    A subclass is the type of one kind of id; its prefix is part of the id. An id is a str,
    equal to its text, and ordered, hashed and stored as that.

    >>> class OrderId(Ulid, prefix="O"): ...
    >>> order = OrderId("O#01jz10h7x367vb2nf4yq973dhx")
    >>> order, order.time.isoformat()
    (OrderId('O#01JZ10H7X367VB2NF4YQ973DHX'), '2025-06-30T18:10:34.531000+00:00')
    >>> OrderId.new() < OrderId.new()
    True

    Small letters are taken for capital ones. Raises IdInvalid for a text that is no id of
    this type.
    """

    __slots__ = ()

    prefix: ClassVar[str] = ""
    # What every id of this type begins with: the prefix and its separator, or nothing.
    head: ClassVar[str] = ""

    def __init_subclass__(cls, *, prefix: str | None = None) -> None:
        super().__init_subclass__()
        if prefix is None:
            return
        if _match_prefix(prefix) is None:
            raise IdInvalid(
                cls.__name__,
                "the prefix of an id is 1 to 40 ASCII letters, digits, '_', '-' and '.'",
                show(prefix),
                f"Leave the {SEPARATOR!r} out; it is added.",
            )
        cls.prefix = prefix
        cls.head = prefix + SEPARATOR

    def __new__(cls, text: str) -> Self:
        if type(text) is cls:
            return text
        head = cls.head
        if isinstance(text, str) and text.startswith(head):  # pyright: ignore[reportUnnecessaryIsInstance] # what callers pass is theirs
            body = text[len(head) :]
            if _match_body(body) is not None:
                return str.__new__(cls, head + body.upper())
        raise _say_what_is_wrong(cls, text)

    @classmethod
    def new(cls, *, source: UlidSource | None = None) -> Self:
        """Make an id that is greater than every other made in this process.

        A `source` of its own, with a clock and randomness, is for tests.
        """
        return cls._from_number((source or _SOURCE).next_number())

    @classmethod
    def at(cls, moment: datetime) -> Self:
        """Return the least id of the millisecond in which `moment` lies.

        >>> Ulid.at(datetime(2025, 6, 1, tzinfo=UTC))
        Ulid('01JWMCKG000000000000000000')

        Raises IdInvalid for a moment without a time zone, and for one before 1970.
        """
        return cls._from_number(_milliseconds_at(cls, moment) << _TAIL_BITS)

    @classmethod
    def range(
        cls, *, since: datetime | None = None, until: datetime | None = None
    ) -> tuple[Self, Self]:
        """Return the least and the greatest id of a stretch of time, both ends included.

        An end that is not given is open. `until` includes the whole of its millisecond.

        >>> june = datetime(2025, 6, 1, tzinfo=UTC)
        >>> Ulid.range(since=june)
        (Ulid('01JWMCKG000000000000000000'), Ulid('7ZZZZZZZZZZZZZZZZZZZZZZZZZ'))

        Raises IdInvalid as `at` does, and where `since` is after `until`.
        """
        first = 0 if since is None else _milliseconds_at(cls, since)
        last = _MAX_MILLISECONDS if until is None else _milliseconds_at(cls, until)
        if first > last:
            raise IdInvalid(
                cls.__name__,
                "a range begins before it ends",
                f"since {since} until {until}",
                "Swap the two.",
            )
        low = cls._from_number(first << _TAIL_BITS)
        return low, cls._from_number(last << _TAIL_BITS | _MAX_TAIL)

    @property
    def milliseconds(self) -> int:
        """The time of the id, in milliseconds since 1970."""
        start = len(self.head)
        digits = self[start : start + _TIME_LENGTH].translate(_TO_PYTHON_DIGITS)
        return int(digits, 32)

    @property
    def time(self) -> datetime:
        """The time of the id, in UTC.

        Raises IdInvalid for a time past the year 9999, which only a made-up id has.
        """
        try:
            return _EPOCH + self.milliseconds * _MILLISECOND
        except OverflowError:
            raise IdInvalid(
                type(self).__name__,
                "the time of the id is past the year 9999",
                show(self),
                "Use its milliseconds.",
            ) from None

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}: an id cannot be changed")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str.__str__(self)!r})"

    @classmethod
    def _from_number(cls, number: int) -> Self:
        pairs = [_PAIRS[number >> shift & 1023] for shift in range(5 * LENGTH - 10, -1, -10)]
        return str.__new__(cls, cls.head + "".join(pairs))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        # Whoever calls this has loaded it already; a program without models need not.
        from pydantic_core import core_schema  # noqa: PLC0415

        pattern = f"^{re.escape(cls.head)}[0-7][{LETTERS}]{{{LENGTH - 1}}}$"
        return core_schema.no_info_plain_validator_function(
            cls,
            json_schema_input_schema=core_schema.str_schema(pattern=pattern),
            serialization=core_schema.to_string_ser_schema(),
        )


def _milliseconds_at(kind: type[Ulid], moment: datetime) -> int:
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise IdInvalid(
            kind.__name__,
            "the time of an id has a time zone",
            repr(moment),
            "Give one, such as tzinfo=UTC.",
        )
    milliseconds = (moment - _EPOCH) // _MILLISECOND
    if milliseconds < 0:
        raise IdInvalid(
            kind.__name__,
            "the time of an id is 1970 or later",
            moment.isoformat(),
            "Leave the beginning of a range open instead.",
        )
    return milliseconds


def _say_what_is_wrong(kind: type[Ulid], text: object) -> IdInvalid:
    name, head = kind.__name__, kind.head
    fact, advice = "an id is text", f"Make a new one with {name}.new()."
    if isinstance(text, str):
        body = text[len(head) :]
        odd = [each for each in body if not each.isascii() or each.upper() not in LETTERS]
        if not text.startswith(head):
            fact = f"an id begins with {head!r}"
            advice = "Give the whole id, its prefix included, or use the type that has this prefix."
        elif len(body) != LENGTH:
            after = f" after {head!r}" if head else ""
            fact = f"an id has {LENGTH} characters{after}, not {len(body)}"
            advice = "Give the whole id."
        elif odd:
            fact = f"{odd[0]!r} is no character of an id"
            advice = "It has the digits, and the letters without I, L, O and U."
        else:
            fact = f"an id has a number of 0 to 7 in front, not {body[0]!r}"
            advice = "A greater one does not fit the 128 bits of a ULID."
    return IdInvalid(name, fact, show(text), advice)
