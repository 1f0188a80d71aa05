"""Key conditions of queries: the key attributes with a value, and a range of the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

from keyfold.errors import KeyfoldError, QueryInvalid
from keyfold.expressions import RequestPrinter, readable_value
from keyfold.keys import KeyTemplate, Ulid
from keyfold.model._key_parts import KeyPart
from keyfold.model._moments import SAMPLE_TIME, has_moment, resolve_moments
from keyfold.model._placeholder_keys import (
    render_placeholder_prefix,
    render_placeholder_start,
)
from keyfold.model._placeholders import Placeholder
from keyfold.values import AttributeValue


class KeyRange(Protocol):
    """A range of sort keys, whose ends may depend on the time at which a request runs."""

    def resolve(self, now: datetime) -> SortRange:
        """Return the range for a request that runs at `now`."""
        ...


@dataclass(frozen=True, slots=True)
class SortRange:
    """A range, or a prefix, of the first sort key attribute that has no fixed value."""

    attribute: str
    low: AttributeValue | None = None
    high: AttributeValue | None = None
    prefix: AttributeValue | None = None

    def resolve(self, now: datetime) -> SortRange:  # noqa: ARG002 - a PartRange needs it
        """Return the range for a request that runs at `now`: itself, as it has no Moments."""
        return self

    def write(self, printer: RequestPrinter) -> str:
        """Return the text of the range as a condition on the sort key."""
        name, low, high = printer.write_name(self.attribute), self.low, self.high
        if self.prefix is not None:
            return f"begins_with({name}, {printer.write_value(self.prefix)})"
        if low is not None and high is not None:
            return f"{name} BETWEEN {printer.write_value(low)} AND {printer.write_value(high)}"
        if low is not None:
            return f"{name} >= {printer.write_value(low)}"
        assert high is not None  # a range has at least one of the three
        return f"{name} <= {printer.write_value(high)}"

    def __str__(self) -> str:
        name = self.attribute
        if self.prefix is not None:
            return f"{name} begins with {readable_value(self.prefix)}"
        if self.low is not None and self.high is not None:
            return f"{name} between {readable_value(self.low)} and {readable_value(self.high)}"
        if self.low is not None:
            return f"{name} >= {readable_value(self.low)}"
        assert self.high is not None  # a range has at least one of the three
        return f"{name} <= {readable_value(self.high)}"


@dataclass(frozen=True, slots=True)
class PartRange:
    """A range of the next key part, whose ends may be Moments, resolved when the request runs."""

    part: KeyPart
    known: Mapping[str, Any]
    low: Any
    high: Any

    def resolve(self, now: datetime) -> SortRange:
        """Return the range for a request that runs at `now`."""
        low, high = (resolve_moments(each, now) for each in (self.low, self.high))
        if self.part.template is None:
            return self._of_attribute(low, high)
        template, attribute = self.part.template, self.part.attribute
        if isinstance(low, Placeholder) or isinstance(high, Placeholder):
            start = render_placeholder_start(template, self.known)
            texts = tuple(None if each is None else f"{start}{each}" for each in (low, high))
        else:
            low, high = _times_to_ids(template, self.known, low, high)
            texts = template.span(self.known, low, high)
        ends: list[AttributeValue | None] = [
            None if text is None else {"S": text} for text in texts
        ]
        return SortRange(attribute, *ends)

    def _of_attribute(self, low: Any, high: Any) -> SortRange:
        part = self.part
        ends = [None if each is None else part.encode_bound(each) for each in (low, high)]
        is_known = not isinstance(low, Placeholder) and not isinstance(high, Placeholder)
        if is_known and ends[0] and ends[1] and _order(ends[0]) > _order(ends[1]):
            fact = f"the range from {readable_value(ends[0])} to {readable_value(ends[1])} is empty"
            raise QueryInvalid(part.attribute, fact, "Swap the two values.")
        return SortRange(part.attribute, *ends)

    def __str__(self) -> str:
        start = (
            ""
            if self.part.template is None
            else render_placeholder_start(self.part.template, self.known)
        )
        ends = [None if each is None else f"{start}{{{each!r}}}" for each in (self.low, self.high)]
        name = self.part.attribute
        if None not in ends:
            return f"{name} between {ends[0]} and {ends[1]}"
        return f"{name} <= {ends[1]}" if ends[0] is None else f"{name} >= {ends[0]}"


def make_range(
    part: KeyPart, known: Mapping[str, Any], low: Any, high: Any
) -> SortRange | PartRange:
    """Return the range of the next key part from `low` to `high`; raises QueryInvalid."""
    limits = PartRange(part, known, low, high)
    try:
        resolved = limits.resolve(SAMPLE_TIME)
    except (AttributeError, TypeError) as error:
        if isinstance(error, KeyfoldError):
            raise
        fact = f"{low!r:.80} and {high!r:.80} do not form a range of its values"
        raise QueryInvalid(part.attribute, fact, "Pass values of its type.") from None
    return limits if has_moment(low) or has_moment(high) else resolved


def make_prefix(part: KeyPart, known: Mapping[str, Any], text: Any) -> SortRange:
    """Return the range of values that begin with `text` in the next key part."""
    if part.template is not None:
        if isinstance(text, Placeholder):
            return SortRange(
                part.attribute,
                prefix={"S": f"{render_placeholder_start(part.template, known)}{text}"},
            )
        return SortRange(part.attribute, prefix={"S": part.template.starting_with(known, text)})
    kind = part.kind if part.held_by is not None else "B" if isinstance(text, bytes) else "S"
    wanted = {"S": str | Placeholder, "B": bytes | Placeholder}.get(kind)
    if wanted is None or not isinstance(text, wanted) or not text:
        fact = f"{text!r:.80} cannot be a prefix of its values"
        raise QueryInvalid(part.attribute, fact, "Pass a prefix of its text or bytes.")
    return SortRange(part.attribute, prefix={kind: str(text) if kind == "S" else text})


def _times_to_ids(
    template: KeyTemplate, known: Mapping[str, Any], low: Any, high: Any
) -> tuple[Any, Any]:
    """Convert the times in a range of typed ids to the first id of `low` and the last of `high`."""
    part = next((each for each in template.parts if each.name not in known), None)
    kind = getattr(part.format, "kind", None) if part is not None else None
    if not isinstance(kind, type) or not issubclass(kind, Ulid):
        return low, high
    if isinstance(low, datetime):
        low = kind.range(since=low)[0]
    if isinstance(high, datetime):
        high = kind.range(until=high)[1]
    return low, high


def _order(value: AttributeValue) -> Any:
    ((kind, data),) = value.items()
    return Decimal(data) if kind == "N" else data


@dataclass(frozen=True, slots=True)
class KeyState:
    """The key condition of a query so far: attributes with a value, then at most one range."""

    equals: tuple[tuple[str, AttributeValue], ...]
    # The sort key part after those in `equals`, and the known values of its fields.
    open_part: KeyPart | None = None
    known: Mapping[str, Any] = field(default_factory=dict[str, Any])
    range: KeyRange | None = None
    # Whether `range` comes from the caller, not only from the fields passed to query().
    is_limited: bool = False

    def write(self, printer: RequestPrinter, now: datetime) -> str:
        """Return the text of the condition for a request that runs at `now`.

        It is written without a tree of conditions, which would be made for every query.
        """
        conditions = [
            f"{printer.write_name(name)} = {printer.write_value(value)}"
            for name, value in self.equals
        ]
        if self.range is not None:
            conditions.append(self.range.resolve(now).write(printer))
        return " AND ".join(conditions)

    def __str__(self) -> str:
        parts = [f"{name} = {readable_value(value)}" for name, value in self.equals]
        if self.range is not None:
            parts.append(str(self.range))
        return " and ".join(parts)


def open_range(part: KeyPart, known: Mapping[str, Any]) -> SortRange | None:
    """Return the range of all values of a key part, given some of its fields; None if it is open."""
    if part.template is None:
        return None
    if any(isinstance(value, Placeholder) for value in known.values()):
        prefix = render_placeholder_prefix(part.template, known)
    else:
        prefix = part.template.prefix(known).text
    return SortRange(part.attribute, prefix={"S": prefix}) if prefix else None


def without_range(keys: KeyState) -> KeyState:
    """Return a key condition without the caller's range."""
    part = keys.open_part
    if part is None:
        return keys
    return KeyState(keys.equals, part, keys.known, open_range(part, keys.known))
