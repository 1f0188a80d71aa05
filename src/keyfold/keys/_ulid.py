"""Typed ids: ULIDs with a prefix per type, which sort by the time they were created."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self
from weakref import WeakSet

from keyfold.clocks import Clock
from keyfold.errors import IdInvalid
from keyfold.keys._shown_values import show

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

# Crockford's base 32: no I, L, O or U.
LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 26

_TIME_LENGTH = 10
_TAIL_BITS = 80
_TAIL_BYTES = 10
_MAX_TAIL = (1 << _TAIL_BITS) - 1
_MAX_MILLISECONDS = (1 << 48) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

# Two characters per lookup halve the cost of rendering an id.
_PAIRS = [first + second for first in LETTERS for second in LETTERS]
_DIGITS = "0123456789abcdefghijklmnopqrstuv"
# Of bytes, which are translated in half the time of text; of either case.
_TO_PYTHON_DIGITS = bytes.maketrans(
    (LETTERS + LETTERS.lower()).encode(), (_DIGITS + _DIGITS).encode()
)
# The 26 characters of an id after its head. Both cases are listed: with re.IGNORECASE, "ſ" would
# match S, and the Kelvin sign would match K.
BODY_PATTERN = f"[0-7][{LETTERS}{LETTERS[10:].lower()}]{{{LENGTH - 1}}}"
_match_body = re.compile(BODY_PATTERN).fullmatch
_match_prefix = re.compile(r"[A-Za-z0-9_.-]{1,40}").fullmatch
_MAX_SEPARATOR = 10


class UlidSource:
    """Generates the numbers of new ids, each greater than the previous one.

    A source is thread-safe. If the clock stands still or goes back, the next number is the
    previous one plus one. After a fork, the child process draws new randomness, so that parent
    and child do not generate the same numbers.

    `clock` returns seconds since 1970; `randomness(count)` returns `count` random bytes.

    >>> source = UlidSource(clock=lambda: 1_750_000_000.0, randomness=bytes)
    >>> Ulid.new(source=source), Ulid.new(source=source)
    (Ulid('01JXT21Q000000000000000000'), Ulid('01JXT21Q000000000000000001'))
    """

    def __init__(
        self,
        *,
        clock: Clock = time.time,
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

        Raises IdInvalid if an id cannot represent the time of the clock.
        """
        with self._lock:
            seconds = self._clock()
            # Round to microseconds first: the float 1.001 is slightly less than 1.001 seconds.
            now = round(seconds * 1_000_000) // 1000
            if not 0 <= now <= _MAX_MILLISECONDS:
                raise IdInvalid(
                    "Ulid",
                    "the clock is outside the years that an id can represent",
                    f"{seconds!r} seconds",
                    "Set it to a time from 1970 to 10889.",
                )
            if now <= self._milliseconds and self._tail < _MAX_TAIL:
                self._tail += 1
            else:
                self._milliseconds = max(now, self._milliseconds + 1)
                self._tail = int.from_bytes(self._randomness(_TAIL_BYTES))
            return self._milliseconds << _TAIL_BITS | self._tail

    def reset_after_fork(self) -> None:
        """Make the next number differ from those of the parent process; call it in the child."""
        # Another thread may have held the lock at the fork; it does not exist in the child.
        self._lock = Lock()
        # A full tail makes the next number use a new millisecond and a new random tail.
        self._tail = _MAX_TAIL


_SOURCES: WeakSet[UlidSource] = WeakSet()


def _reset_after_fork() -> None:
    for source in _SOURCES:
        source.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)

_SOURCE = UlidSource()


def read_number(body: str) -> int:
    """Return the bits of an id, of which `body` is what follows its head, or begins that."""
    return int(body.encode().translate(_TO_PYTHON_DIGITS), 32)


class Ulid(str):
    """A fixed-width text id that sorts by the time at which it was created.

    Each kind of id is a subclass; its prefix is part of the id. An id is a str: it compares,
    sorts, hashes and is stored as its text.

    >>> class OrderId(Ulid, prefix="O"): ...
    >>> order = OrderId("O#01jz10h7x367vb2nf4yq973dhx")
    >>> order, order.time.isoformat()
    (OrderId('O#01JZ10H7X367VB2NF4YQ973DHX'), '2025-06-30T18:10:34.531000+00:00')
    >>> OrderId.new() < OrderId.new()
    True

    The separator is # unless the class, or a base class, has another one:

    >>> class InvoiceId(Ulid, prefix="inv", separator="_"): ...
    >>> InvoiceId.at(datetime(2025, 6, 1, tzinfo=UTC))
    InvoiceId('inv_01JWMCKG000000000000000000')

    Lower-case letters are converted to upper case, except those of the prefix. Raises IdInvalid
    for text that is not an id of this type.

    With `is_system_key`, end users are shown handles instead of the ids, as their roles say; it
    holds for subclasses as well:

    >>> class SystemKey(Ulid, is_system_key=True): ...
    >>> class BillId(SystemKey, prefix="B"): ...
    >>> BillId.is_system_key
    True
    """

    __slots__ = ()

    prefix: ClassVar[str] = ""
    separator: ClassVar[str] = "#"
    # What every id of this type begins with: the prefix and the separator, or an empty string.
    head: ClassVar[str] = ""
    # Whether end users are shown handles instead of ids of this type.
    is_system_key: ClassVar[bool] = False

    def __init_subclass__(
        cls,
        *,
        prefix: str | None = None,
        separator: str | None = None,
        is_system_key: bool | None = None,
    ) -> None:
        super().__init_subclass__()
        if separator is not None:
            if len(separator) > _MAX_SEPARATOR or not separator.isprintable() or " " in separator:
                raise IdInvalid(
                    cls.__name__,
                    f"the separator of an id must be up to {_MAX_SEPARATOR} printable characters",
                    show(separator),
                    "Use one such as '_', '-' or '#', without spaces.",
                )
            cls.separator = separator
        if prefix is not None:
            if _match_prefix(prefix) is None:
                raise IdInvalid(
                    cls.__name__,
                    "the prefix of an id must be 1 to 40 ASCII letters, digits, '_', '-' or '.'",
                    show(prefix),
                    f"Leave out the {cls.separator!r}; it is added automatically.",
                )
            cls.prefix = prefix
        if is_system_key is not None:
            cls.is_system_key = is_system_key
        cls.head = cls.prefix + cls.separator if cls.prefix else ""

    def __new__(cls, text: str) -> Self:
        if type(text) is cls:
            return text
        head = cls.head
        if isinstance(text, str) and text.startswith(head):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may pass anything
            body = text[len(head) :]
            if _match_body(body) is not None:
                return str.__new__(cls, head + body.upper())
        raise _id_error(cls, text)

    @classmethod
    def new(cls, *, source: UlidSource | None = None) -> Self:
        """Return a new id, greater than all others created in this process.

        Tests may pass a `source` with a clock and randomness they control.
        """
        return cls.from_number((source or _SOURCE).next_number())

    @classmethod
    def at(cls, moment: datetime) -> Self:
        """Return the least id of the millisecond that contains `moment`.

        >>> Ulid.at(datetime(2025, 6, 1, tzinfo=UTC))
        Ulid('01JWMCKG000000000000000000')

        Raises IdInvalid for a time without a time zone, and for one before 1970.
        """
        return cls.from_number(_milliseconds_at(cls, moment) << _TAIL_BITS)

    @classmethod
    def range(
        cls, *, since: datetime | None = None, until: datetime | None = None
    ) -> tuple[Self, Self]:
        """Return the least and the greatest id of a period, both ends included.

        An end that is not given is open. The whole millisecond of `until` is included.

        >>> june = datetime(2025, 6, 1, tzinfo=UTC)
        >>> Ulid.range(since=june)
        (Ulid('01JWMCKG000000000000000000'), Ulid('7ZZZZZZZZZZZZZZZZZZZZZZZZZ'))

        Raises IdInvalid like `at`, and if `since` is after `until`.
        """
        first = 0 if since is None else _milliseconds_at(cls, since)
        last = _MAX_MILLISECONDS if until is None else _milliseconds_at(cls, until)
        if first > last:
            raise IdInvalid(
                cls.__name__,
                "a range must begin before it ends",
                f"since {since} until {until}",
                "Swap the two.",
            )
        low = cls.from_number(first << _TAIL_BITS)
        return low, cls.from_number(last << _TAIL_BITS | _MAX_TAIL)

    @classmethod
    def from_number(cls, number: int) -> Self:
        """Return the id with these 128 bits: the inverse of `number`."""
        pairs = [_PAIRS[number >> shift & 1023] for shift in range(5 * LENGTH - 10, -1, -10)]
        return str.__new__(cls, cls.head + "".join(pairs))

    @property
    def number(self) -> int:
        """The 128 bits of the id: its time and its random tail.

        >>> Ulid.from_number(Ulid("01JZ10H7X367VB2NF4YQ973DHX").number)
        Ulid('01JZ10H7X367VB2NF4YQ973DHX')
        """
        return read_number(self[len(self.head) :])

    @property
    def milliseconds(self) -> int:
        """The time of the id, in milliseconds since 1970."""
        start = len(self.head)
        return read_number(self[start : start + _TIME_LENGTH])

    @property
    def time(self) -> datetime:
        """The time of the id, in UTC.

        Raises IdInvalid for a time after the year 9999, which a datetime cannot represent.
        """
        try:
            return _EPOCH + self.milliseconds * _MILLISECOND
        except OverflowError:
            raise IdInvalid(
                type(self).__name__,
                "the time of the id is after the year 9999",
                show(self),
                "Use its `milliseconds`.",
            ) from None

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}: an id cannot be changed")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str.__str__(self)!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        # Pydantic calls this and has loaded pydantic_core already; programs without it need not.
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
            "the time of an id must have a time zone",
            repr(moment),
            "Give one, such as tzinfo=UTC.",
        )
    milliseconds = (moment - _EPOCH) // _MILLISECOND
    if milliseconds < 0:
        raise IdInvalid(
            kind.__name__,
            "the time of an id must be 1970 or later",
            moment.isoformat(),
            "Leave the start of a range open instead.",
        )
    return milliseconds


def _id_error(kind: type[Ulid], text: object) -> IdInvalid:
    name, head = kind.__name__, kind.head
    fact, advice = "an id must be a str", f"Create a new one with {name}.new()."
    if isinstance(text, str):
        body = text[len(head) :]
        after = f" after {head!r}" if head else ""
        invalid = [each for each in body if not each.isascii() or each.upper() not in LETTERS]
        if not text.startswith(head):
            fact = f"an id must begin with {head!r}"
            advice = "Give the whole id, with its prefix, or use the type that has this prefix."
        elif len(body) != LENGTH:
            fact = f"an id must have {LENGTH} characters{after}, not {len(body)}"
            advice = "Give the whole id."
        elif invalid:
            fact = f"an id must not contain {invalid[0]!r}"
            advice = "Use digits, and letters except I, L, O and U."
        else:
            fact = f"the first character of an id{after} must be 0 to 7, not {body[0]!r}"
            advice = "A greater one does not fit in the 128 bits of a ULID."
    return IdInvalid(name, fact, show(text), advice)
