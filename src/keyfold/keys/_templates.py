"""Key templates: literals and parts that render to the text of a key, and parse back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final, NamedTuple

from keyfold.keys._annotations import format_for
from keyfold.keys._errors import (
    KeyPartInvalid,
    KeyRangeInvalid,
    KeyTemplateInvalid,
    MissingKeyPart,
    show,
)
from keyfold.keys._formats import PartFormat, PartRefused
from keyfold.keys._shapes import Shape, can_begin, find_end, find_head, is_encodable


class TemplateField(NamedTuple):
    """A field that a template names, and what follows its colon: '03' in {line:03}."""

    name: str
    spec: str


class KeyPrefix(NamedTuple):
    """What some known fields determine of a key: `is_whole` where that is all of it."""

    text: str
    used: tuple[str, ...]
    is_whole: bool


class KeySpan(NamedTuple):
    """The least and the greatest text of a range of keys, both included; None is no limit."""

    low: str | None
    high: str | None


@dataclass(frozen=True, slots=True)
class TemplatePart:
    """One part of a template, between the literals on its two sides."""

    name: str
    format: PartFormat
    shape: Shape
    # What every value of the part begins with: "O#" for a typed id.
    head: str
    before: str
    after: str
    # Whether anything stands behind the part.
    is_followed: bool


def read_fields(text: str, *, owner: str) -> tuple[TemplateField, ...]:
    """Return the fields that a template names, in their order.

    >>> read_fields("{order}#{line:03}", owner="OrderLine")
    (TemplateField(name='order', spec=''), TemplateField(name='line', spec='03'))

    Raises KeyTemplateInvalid for a malformed text.
    """
    return tuple(each for _, each in _split(text, owner) if each is not None)


class KeyTemplate:
    """The text of a key, with fields in it: `RATE#{base}#{target}`.

    A part may not be empty, and a part that is free text may not contain a delimiter: any
    character of the template's literals that is neither a letter nor a digit. So a key
    parses in one way only, and no value can pose as several parts.

    >>> rate = KeyTemplate.from_types(
    ...     "RATE#{base}#{target}", {"base": str, "target": str}, owner="Rate"
    ... )
    >>> rate.render({"base": "USD", "target": "EUR"})
    'RATE#USD#EUR'
    >>> rate.parse("RATE#USD#EUR")
    {'base': 'USD', 'target': 'EUR'}
    >>> rate.prefix({"base": "USD"})
    KeyPrefix(text='RATE#USD#', used=('base',), is_whole=False)

    Raises KeyTemplateInvalid for a text that is malformed, that names a field which
    `formats` lacks, or in which one part could not be told from the next.
    """

    __slots__ = (
        "_match",
        "_readers",
        "_steps",
        "delimiters",
        "fields",
        "owner",
        "parts",
        "tail",
        "text",
    )

    def __init__(self, text: str, formats: Mapping[str, PartFormat], owner: str) -> None:
        self.text: Final = text
        self.owner: Final = owner
        pieces = _split(text, owner)
        literals = "".join(literal for literal, _ in pieces)
        self.delimiters: Final = frozenset(each for each in literals if not each.isalnum())
        self.tail: Final = pieces[-1][0]
        self.parts: Final = self._make_parts(pieces, formats)
        self.fields: Final = tuple(part.name for part in self.parts)
        self._check_boundaries()

        # What is done for every item is laid out once.
        self._steps = [(part.before, part.name, part.format.render) for part in self.parts]
        self._readers = [(part.name, part.format.read) for part in self.parts]
        pattern = "".join(f"{re.escape(part.before)}({part.format.pattern})" for part in self.parts)
        self._match = re.compile(pattern + re.escape(self.tail)).fullmatch

    @classmethod
    def from_types(cls, text: str, types: Mapping[str, object], owner: str) -> KeyTemplate:
        """Make a template whose fields have these types, as annotations give them.

        Raises KeyTemplateInvalid also for a type that cannot be a part of a key.
        """
        formats: dict[str, PartFormat] = {}
        for name, spec in read_fields(text, owner=owner):
            if name not in types:
                raise _refuse_unknown(owner, text, name, types)
            formats[name] = format_for(types[name], spec, field=name, owner=owner)
        return cls(text, formats, owner)

    def __repr__(self) -> str:
        return f"<KeyTemplate {self.text!r} of {self.owner}>"

    def render(self, values: Mapping[str, object]) -> str:
        """Return the key of these values, which may hold other fields too.

        Raises MissingKeyPart where one is missing, KeyPartInvalid where one cannot stand
        in the key.
        """
        text = ""
        for before, name, render in self._steps:
            try:
                value = values[name]
            except KeyError:
                raise MissingKeyPart(self.owner, self.text, name, tuple(values)) from None
            try:
                text += before + render(value)
            except PartRefused as refused:
                raise self._refuse(name, value, refused) from None
        return text + self.tail

    def parse(self, text: str) -> dict[str, Any] | None:
        """Return the values whose key is `text`; None where there are none."""
        found = self._match(text)
        if found is None:
            return None
        values: dict[str, Any] = {}
        for (name, read), piece in zip(self._readers, found.groups(), strict=True):
            value = read(piece)
            if value is None:
                return None
            values[name] = value
        return values

    def prefix(self, values: Mapping[str, object]) -> KeyPrefix:
        """Return the longest beginning that every key with these values has, and no other.

        Fields count as far as they are known without a gap from the first one on; `used`
        names those. The literal behind them belongs to the prefix, and so does what every
        value of the next part begins with, such as the prefix of a typed id.

        Raises KeyPartInvalid as `render` does.
        """
        text, place = self._advance(values)
        used = self.fields[:place]
        if place == len(self.parts):
            return KeyPrefix(text, used, is_whole=True)
        return KeyPrefix(text + self.parts[place].head, used, is_whole=False)

    def starting_with(self, values: Mapping[str, object], beginning: str) -> str:
        """Return what keys with these values begin with, if their next part does so too.

        >>> rate = KeyTemplate.from_types(
        ...     "RATE#{base}#{target}", {"base": str, "target": str}, owner="Rate"
        ... )
        >>> rate.starting_with({"base": "USD"}, "E")
        'RATE#USD#E'

        Raises KeyRangeInvalid where no part is left, and KeyPartInvalid where no value of
        the next part begins so.
        """
        text, part = self._next_part(values)
        if not isinstance(beginning, str) or not can_begin(part.shape, beginning):  # pyright: ignore[reportUnnecessaryIsInstance] # what callers pass is theirs
            refused = PartRefused(
                "has no value that begins so", "Give the beginning of one, as it stands in the key."
            )
            raise self._refuse(part.name, beginning, refused)
        return text + beginning

    def span(
        self, values: Mapping[str, object], low: object | None = None, high: object | None = None
    ) -> KeySpan:
        """Return the limits of the keys with these values whose next part is in a range.

        Both ends are included, with all that may follow that part; an end that is None is
        open. Of this template's keys, those between the limits are exactly the ones asked
        for.

        >>> line = KeyTemplate.from_types(
        ...     "{day}#{line:03}", {"day": str, "line": int}, owner="Line"
        ... )
        >>> line.span({"day": "mon"}, low=2)
        KeySpan(low='mon#002', high='mon$')

        Raises KeyRangeInvalid where no part is left, where `low` is above `high`, or where
        the order of keys is not that of the part; KeyPartInvalid as `render` does.
        """
        text, part = self._next_part(values)
        head = text + part.head
        if low is None and high is None:
            return KeySpan(head or None, find_end(head))
        if part.is_followed and not part.format.keeps_order_before(part.after):
            raise KeyRangeInvalid(
                self.owner,
                self.text,
                f"cannot give a range of {part.name!r}: what follows it disturbs the order",
                f"Give it a width, as in {{{part.name}:10}}, or put it last.",
            )
        low_text = None if low is None else self._render_part(part, low)
        high_text = None if high is None else self._render_part(part, high)
        if low_text is not None and high_text is not None and low_text > high_text:
            raise KeyRangeInvalid(
                self.owner,
                self.text,
                f"has no range of {part.name!r} from {show(low)} to {show(high)}",
                "Swap the two.",
            )
        return KeySpan(
            (head or None) if low_text is None else text + low_text + part.after,
            find_end(head) if high_text is None else _find_last(text + high_text, part),
        )

    def _advance(self, values: Mapping[str, object]) -> tuple[str, int]:
        """Render as far as values are known: the text, and the place of the next part."""
        text = ""
        for place, part in enumerate(self.parts):
            text += part.before
            if part.name not in values:
                return text, place
            text += self._render_part(part, values[part.name])
        return text + self.tail, len(self.parts)

    def _next_part(self, values: Mapping[str, object]) -> tuple[str, TemplatePart]:
        text, place = self._advance(values)
        if place == len(self.parts):
            raise KeyRangeInvalid(
                self.owner,
                self.text,
                "has no part left for a range: all are given",
                "Leave out the one that the range is about.",
            )
        return text, self.parts[place]

    def _render_part(self, part: TemplatePart, value: object) -> str:
        try:
            return part.format.render(value)
        except PartRefused as refused:
            raise self._refuse(part.name, value, refused) from None

    def _refuse(self, name: str, value: object, refused: PartRefused) -> KeyPartInvalid:
        return KeyPartInvalid(
            self.owner, self.text, name, refused.fact, show(value), refused.advice
        )

    def _make_parts(
        self, pieces: list[tuple[str, TemplateField | None]], formats: Mapping[str, PartFormat]
    ) -> tuple[TemplatePart, ...]:
        parts: list[TemplatePart] = []
        for place, (before, named) in enumerate(pieces[:-1]):
            assert named is not None  # only the last piece has no field
            name = named.name
            if name not in formats:
                raise _refuse_unknown(self.owner, self.text, name, formats)
            try:
                narrowed = formats[name].narrowed(self.delimiters)
            except PartRefused as refused:
                raise KeyTemplateInvalid(
                    self.owner, self.text, f"names {name!r}, which {refused.fact}", refused.advice
                ) from None
            shape, after = narrowed.shape, pieces[place + 1][0]
            is_followed = place < len(pieces) - 2 or after != ""
            parts.append(
                TemplatePart(name, narrowed, shape, find_head(shape), before, after, is_followed)
            )
        return tuple(parts)

    def _check_boundaries(self) -> None:
        for part in self.parts:
            is_bounded = part.after != "" and part.after[0] in self.delimiters
            if part.is_followed and part.format.width is None and not is_bounded:
                raise KeyTemplateInvalid(
                    self.owner,
                    self.text,
                    f"does not show where {part.name!r} ends",
                    f"Put a delimiter such as # behind it, or give it a width, "
                    f"as in {{{part.name}:10}}.",
                )


def _refuse_unknown(
    owner: str, text: str, name: str, known: Mapping[str, object]
) -> KeyTemplateInvalid:
    advice = f"The fields are {', '.join(known)}." if known else "There are no fields."
    return KeyTemplateInvalid(owner, text, f"names {name!r}, which is no field", advice)


def _find_last(text: str, part: TemplatePart) -> str | None:
    """Return the greatest text that `text`, which ends with the part, may go on to."""
    return find_end(text + part.after) if part.is_followed else text


def _split(text: str, owner: str) -> list[tuple[str, TemplateField | None]]:
    """Return literals, each with the field behind it; the last literal has none."""

    def refuse(fact: str, advice: str) -> KeyTemplateInvalid:
        return KeyTemplateInvalid(owner, text, fact, advice)

    pieces: list[tuple[str, TemplateField | None]] = []
    literal = ""
    try:
        for before, name, spec, conversion in Formatter().parse(text):
            literal += before
            if name is None:
                continue
            if not name.isidentifier() or conversion is not None:
                raise refuse(
                    f"has {{{name}}}" if conversion is None else f"has !{conversion}",
                    "Between braces stands the name of a field, and a width where it needs one.",
                )
            if any(each is not None and each.name == name for _, each in pieces):
                raise refuse(f"names {name!r} twice", "A field stands in a template once.")
            pieces.append((literal, TemplateField(name, spec or "")))
            literal = ""
    except KeyTemplateInvalid:
        raise
    except ValueError:
        raise refuse(
            "has a brace without its partner", "Write {{ or }} for a brace of the key itself."
        ) from None
    pieces.append((literal, None))
    if not text:
        raise refuse("is empty", "A key has at least one character.")
    if not is_encodable(text):
        raise refuse("is no valid Unicode", "Take out the half of a surrogate pair.")
    return pieces
