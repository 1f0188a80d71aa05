"""Key templates: literals and fields that render to the text of a key, and parse it back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final, NamedTuple

from keyfold.errors import KeyPartInvalid, KeyRangeInvalid, KeyTemplateInvalid, MissingKeyPart
from keyfold.keys._annotations import format_for
from keyfold.keys._formats import PartFormat, PartRefused
from keyfold.keys._shapes import Shape, can_begin, find_end, find_head, is_encodable
from keyfold.keys._shown_values import show


class TemplateField(NamedTuple):
    """A field that a template names, and the spec after its colon: '03' in {line:03}."""

    name: str
    spec: str


class KeyPrefix(NamedTuple):
    """The prefix of a key that the known fields determine; `is_whole` if it is the whole key."""

    text: str
    used: tuple[str, ...]
    is_whole: bool


class KeySpan(NamedTuple):
    """The lower and upper limit of a range of keys, both inclusive; None means no limit."""

    low: str | None
    high: str | None


@dataclass(frozen=True, slots=True)
class TemplatePart:
    """One part of a template, with the literals before and after it."""

    name: str
    format: PartFormat
    shape: Shape
    # The prefix that all values of the part share: "O#" for a typed id.
    head: str
    before: str
    after: str
    # Whether the part is followed by a literal or by another part.
    is_followed: bool


def read_fields(text: str, *, owner: str) -> tuple[TemplateField, ...]:
    """Return the fields that a template names, in order.

    >>> read_fields("{order}#{line:03}", owner="OrderLine")
    (TemplateField(name='order', spec=''), TemplateField(name='line', spec='03'))

    Raises KeyTemplateInvalid for a malformed template.
    """
    return tuple(each for _, each in _split(text, owner) if each is not None)


class KeyTemplate:
    """A template for the text of a key, with fields in braces: `RATE#{base}#{target}`.

    A part must not be empty, and a free text part must not contain a delimiter. The delimiters
    are all characters of the template's literals that are neither letters nor digits. So a key
    parses in only one way, and no value can be mistaken for several parts.

    >>> rate = KeyTemplate.from_types(
    ...     "RATE#{base}#{target}", {"base": str, "target": str}, owner="Rate"
    ... )
    >>> rate.render({"base": "USD", "target": "EUR"})
    'RATE#USD#EUR'
    >>> rate.parse("RATE#USD#EUR")
    {'base': 'USD', 'target': 'EUR'}
    >>> rate.prefix({"base": "USD"})
    KeyPrefix(text='RATE#USD#', used=('base',), is_whole=False)

    Raises KeyTemplateInvalid for a template that is malformed, that names a field which
    `formats` lacks, or that has no boundary between two parts.
    """

    __slots__ = (
        "_match",
        "_only_reader",
        "_readers",
        "_steps",
        "delimiters",
        "fields",
        "matches",
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

        # Prepared once, because `render` and `parse` run for every item.
        self._steps = [(part.before, part.name, part.format.render) for part in self.parts]
        self._readers = [(part.name, part.format.read) for part in self.parts]
        # Most templates have one part, which is read without a loop.
        self._only_reader = self._readers[0] if len(self._readers) == 1 else None
        pattern = "".join(f"{re.escape(part.before)}({part.format.pattern})" for part in self.parts)
        self._match = re.compile(pattern + re.escape(self.tail)).fullmatch
        # Returns a true value for the keys of this template: as `parse`, without the values.
        self.matches: Final[Callable[[str], object]] = (
            self._match if all(part.format.always_reads for part in self.parts) else self.parse
        )

    @classmethod
    def from_types(cls, text: str, types: Mapping[str, object], owner: str) -> KeyTemplate:
        """Return a template whose fields have these types, given as annotations.

        Raises KeyTemplateInvalid like the constructor, and for a type that cannot be a key part.
        """
        formats: dict[str, PartFormat] = {}
        for name, spec in read_fields(text, owner=owner):
            if name not in types:
                raise _unknown_field_error(owner, text, name, types)
            formats[name] = format_for(types[name], spec, field=name, owner=owner)
        return cls(text, formats, owner)

    def __repr__(self) -> str:
        return f"<KeyTemplate {self.text!r} of {self.owner}>"

    def render(self, values: Mapping[str, object]) -> str:
        """Return the key of these values; fields that the template does not name are ignored.

        Raises MissingKeyPart if a value is missing, KeyPartInvalid if one cannot be a part of
        the key.
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
                raise self._part_error(name, value, refused) from None
        return text + self.tail

    def parse(self, text: str) -> dict[str, Any] | None:
        """Return the values whose key is `text`; None if it is not a key of this template."""
        found = self._match(text)
        if found is None:
            return None
        if self._only_reader is not None:
            name, read = self._only_reader
            value = read(found[1])
            return None if value is None else {name: value}
        values: dict[str, Any] = {}
        for (name, read), piece in zip(self._readers, found.groups(), strict=True):
            value = read(piece)
            if value is None:
                return None
            values[name] = value
        return values

    def prefix(self, values: Mapping[str, object]) -> KeyPrefix:
        """Return the longest prefix that every key with these values has, and no other key.

        Fields are used in template order, up to the first one without a value; `used` names
        them. The prefix includes the literal after them, and the prefix that all values of the
        next part share, such as that of a typed id.

        Raises KeyPartInvalid like `render`.
        """
        text, place = self._advance(values)
        used = self.fields[:place]
        if place == len(self.parts):
            return KeyPrefix(text, used, is_whole=True)
        return KeyPrefix(text + self.parts[place].head, used, is_whole=False)

    def starting_with(self, values: Mapping[str, object], beginning: str) -> str:
        """Return the prefix of the keys with these values whose next part begins with `beginning`.

        >>> rate = KeyTemplate.from_types(
        ...     "RATE#{base}#{target}", {"base": str, "target": str}, owner="Rate"
        ... )
        >>> rate.starting_with({"base": "USD"}, "E")
        'RATE#USD#E'

        Raises KeyRangeInvalid if `values` has all the parts, and KeyPartInvalid if no value of
        the next part begins with `beginning`.
        """
        text, part = self._next_part(values)
        if not isinstance(beginning, str) or not can_begin(part.shape, beginning):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may pass anything
            refused = PartRefused(
                "has no value with this prefix", "Give the start of a value, as written in the key."
            )
            raise self._part_error(part.name, beginning, refused)
        return text + beginning

    def span(
        self, values: Mapping[str, object], low: object | None = None, high: object | None = None
    ) -> KeySpan:
        """Return the limits of the keys with these values whose next part is in a range.

        Both limits are inclusive, whatever follows that part in the key; None means no limit.
        Exactly the keys of this template that were asked for lie between the returned limits.

        >>> line = KeyTemplate.from_types(
        ...     "{day}#{line:03}", {"day": str, "line": int}, owner="Line"
        ... )
        >>> line.span({"day": "mon"}, low=2)
        KeySpan(low='mon#002', high='mon$')

        Raises KeyRangeInvalid if `values` has all the parts, if `low` is greater than `high`, or
        if keys do not sort in the order of the part; KeyPartInvalid like `render`.
        """
        text, part = self._next_part(values)
        head = text + part.head
        if low is None and high is None:
            return KeySpan(head or None, find_end(head))
        if part.is_followed and not part.format.keeps_order_before(part.after):
            raise KeyRangeInvalid(
                self.owner,
                self.text,
                f"cannot give a range of {part.name!r}: the text after it breaks the sort order",
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
        """Render up to the first part without a value; return the text and that part's place."""
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
                "has no part left for a range: all parts are given",
                "Leave out the part that the range is over.",
            )
        return text, self.parts[place]

    def _render_part(self, part: TemplatePart, value: object) -> str:
        try:
            return part.format.render(value)
        except PartRefused as refused:
            raise self._part_error(part.name, value, refused) from None

    def _part_error(self, name: str, value: object, refused: PartRefused) -> KeyPartInvalid:
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
                raise _unknown_field_error(self.owner, self.text, name, formats)
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
                    f"Put a delimiter such as # after it, or give it a width, "
                    f"as in {{{part.name}:10}}.",
                )


def _unknown_field_error(
    owner: str, text: str, name: str, known: Mapping[str, object]
) -> KeyTemplateInvalid:
    advice = f"The fields are {', '.join(known)}." if known else "There are no fields."
    return KeyTemplateInvalid(owner, text, f"names {name!r}, which is not a field", advice)


def _find_last(text: str, part: TemplatePart) -> str | None:
    """Return the upper limit of keys that begin with `text`, which ends with the part."""
    return find_end(text + part.after) if part.is_followed else text


def _split(text: str, owner: str) -> list[tuple[str, TemplateField | None]]:
    """Return the literals, each with the field that follows it; None after the last literal."""

    def error(fact: str, advice: str) -> KeyTemplateInvalid:
        return KeyTemplateInvalid(owner, text, fact, advice)

    pieces: list[tuple[str, TemplateField | None]] = []
    literal = ""
    try:
        for before, name, spec, conversion in Formatter().parse(text):
            literal += before
            if name is None:
                continue
            if not name.isidentifier() or conversion is not None:
                raise error(
                    f"has {{{name}}}" if conversion is None else f"has !{conversion}",
                    "Braces hold the name of a field, and a width if its type needs one.",
                )
            if any(each is not None and each.name == name for _, each in pieces):
                raise error(f"names {name!r} twice", "A template can name a field only once.")
            pieces.append((literal, TemplateField(name, spec or "")))
            literal = ""
    except KeyTemplateInvalid:
        raise
    except ValueError:
        raise error("has an unmatched brace", "Write {{ or }} for a literal brace.") from None
    pieces.append((literal, None))
    if not text:
        raise error("is empty", "A key must have at least one character.")
    if not is_encodable(text):
        raise error("is not valid Unicode", "Remove the unpaired surrogate.")
    return pieces
