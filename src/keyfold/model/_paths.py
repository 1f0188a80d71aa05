"""Fields in conditions and updates: `Rate.f.stale`, `Order.f.address.city`, `Cart.f.lines[0]`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, NoReturn, TypeVar

from keyfold.errors import FieldUnknown, KeyfoldError, PathInvalid, ValueInvalid
from keyfold.model._any_values import Encode, encode_any
from keyfold.model._codecs import Codec, StoredField
from keyfold.model._expressions import (
    Among,
    Between,
    Called,
    Comparator,
    Compared,
    Condition,
    Given,
    Operand,
    Place,
    Size,
    give,
)
from keyfold.model._moments import has_moment, resolve_moments
from keyfold.model._placeholders import Placeholder
from keyfold.model._scalars import show
from keyfold.model._schemas import EntitySchema

C = TypeVar("C")

# As many as DynamoDB compares one value with.
_MOST_OPTIONS = 100
_SOME_TIME = datetime(2020, 1, 1, tzinfo=UTC)
_OPEN = Codec(encode_any)


class Comparable(ABC, Generic[C]):
    """What a condition compares with values of type `C`.

    `eq` and `ne` compare for equality, since Python's own `==` has to answer at once.
    """

    __slots__ = ()

    @abstractmethod
    def _left(self) -> Operand:
        """Return what is compared."""

    @abstractmethod
    def _right(self, value: C) -> Operand:
        """Return what it is compared with; raises PathInvalid, ValueInvalid."""

    def _compare(self, comparator: Comparator, value: C) -> Condition:
        return Compared(self._left(), comparator, self._right(value))

    def eq(self, value: C) -> Condition:
        """It is this."""
        return self._compare("=", value)

    def ne(self, value: C) -> Condition:
        """It is something else, or absent."""
        return self._compare("<>", value)

    def __lt__(self, value: C) -> Condition:
        return self._compare("<", value)

    def __le__(self, value: C) -> Condition:
        return self._compare("<=", value)

    def __gt__(self, value: C) -> Condition:
        return self._compare(">", value)

    def __ge__(self, value: C) -> Condition:
        return self._compare(">=", value)

    def between(self, low: C, high: C) -> Condition:
        """It is between these, both included."""
        return Between(self._left(), self._right(low), self._right(high))

    def __bool__(self) -> NoReturn:
        raise PathInvalid(repr(self), "it is neither true nor false here. Compare it")

    def __eq__(self, other: object) -> NoReturn:
        raise PathInvalid(repr(self), f"== answers at once. Write {self!r}.eq(...)")

    def __ne__(self, other: object) -> NoReturn:
        raise PathInvalid(repr(self), f"!= answers at once. Write {self!r}.ne(...)")

    __hash__ = object.__hash__


class SizePath(Comparable[int]):
    """The size of a field, to be compared."""

    __slots__ = ("_owner", "_place")

    def __init__(self, owner: str, place: Place) -> None:
        self._owner, self._place = owner, place

    def __repr__(self) -> str:
        return f"{self._owner}.size"

    def _left(self) -> Operand:
        return Size(self._place)

    def _right(self, value: int) -> Operand:
        if not isinstance(value, int | Placeholder) or isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise PathInvalid(repr(self), f"a size is a whole number, and {value!r:.80} is none")
        return give(value, encode_any)


@dataclass(frozen=True, slots=True)
class PathFacts:
    """What is known of a path: whose it is, where it leads, and how that is stored.

    `stored` is the field of a model that it ends at, None for a member of a list or a map.
    """

    owner: str
    text: str
    place: Place
    codec: Codec
    stored: StoredField | None = None


class FieldPath(Comparable[Any]):
    """A field of an entity, or something inside it.

    Values are encoded as the field stores them. What is inside a map is its attribute, or its
    member: `Order.f.box["size"]` where the name means something else here.
    """

    # One name, and a hidden one: any other would hide the field of that name.
    __slots__ = ("_facts",)

    def __init__(self, facts: PathFacts) -> None:
        self._facts = facts

    def __repr__(self) -> str:
        return f"{self._facts.owner}.f.{self._facts.text}"

    def __getattr__(self, name: str) -> FieldPath:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._member(name, f".{name}")

    def __getitem__(self, key: str | int) -> FieldPath:
        if isinstance(key, str):
            return self._member(key, f"[{key!r}]")
        codec = self._facts.codec
        if isinstance(key, Placeholder):
            check_kinds(self, {"L", "M"}, "it has no members")
            return self._inside(f"[{key}]", str(key), codec.members or _OPEN)
        if not isinstance(key, int) or isinstance(key, bool) or key < 0:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise PathInvalid(repr(self), f"{key!r} is no place in a list: those count from 0")
        if codec.kinds and "L" not in codec.kinds:
            raise PathInvalid(f"{self!r}[{key}]", f"{self!r} is no list")
        return self._inside(f"[{key}]", key, codec.members or _OPEN)

    def _member(self, name: str, text: str) -> FieldPath:
        codec = self._facts.codec
        if codec.model is not None:
            field = codec.model.fields.get(name)
            if field is not None:
                return self._inside(text, field.stored, field.codec, field)
            if not codec.model.has_extra or name in codec.model.by_stored:
                raise FieldUnknown(repr(self), name, tuple(codec.model.fields))
        elif codec.kinds and "M" not in codec.kinds:
            raise PathInvalid(f"{self!r}{text}", f"{self!r} is no map, and has no {name!r}")
        return self._inside(text, name, codec.members or _OPEN)

    def _inside(
        self, text: str, step: str | int, codec: Codec, stored: StoredField | None = None
    ) -> FieldPath:
        facts = self._facts
        place = Place((*facts.place.steps, step), facts.owner)
        return FieldPath(PathFacts(facts.owner, facts.text + text, place, codec, stored))

    def _left(self) -> Operand:
        return self._facts.place

    def _right(self, value: Any) -> Operand:
        return operand_for(self, value)

    def in_(self, *options: Any) -> Condition:
        """The field is one of these."""
        if not 1 <= len(options) <= _MOST_OPTIONS:
            fact = f"in_() takes 1 to {_MOST_OPTIONS} options, not {len(options)}"
            raise PathInvalid(repr(self), fact)
        return Among(self._facts.place, tuple(operand_for(self, option) for option in options))

    def exists(self) -> Condition:
        """The field is there."""
        return Called("attribute_exists", self._facts.place)

    def not_exists(self) -> Condition:
        """The field is not there."""
        return Called("attribute_not_exists", self._facts.place)

    def begins_with(self, text: str | bytes) -> Condition:
        """The field's text, or its bytes, begin with this."""
        check_kinds(self, {"S", "B"}, "begins_with() is for text and bytes")
        if not isinstance(text, str | bytes | Placeholder):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise PathInvalid(repr(self), f"{show(text)} is neither text nor bytes")
        return Called("begins_with", self._facts.place, given_for(self, text, encode_any))

    def contains(self, member: Any) -> Condition:
        """The field has this member, or its text contains this."""
        check_kinds(
            self, {"S", "B", "L", "SS", "NS", "BS"}, "contains() is for text, bytes, lists and sets"
        )
        codec = self._facts.codec.members
        return Called(
            "contains",
            self._facts.place,
            given_for(self, member, codec.encode if codec else encode_any),
        )

    @property
    def size(self) -> SizePath:
        """How large the field is: characters of a text, members of a list, set or map."""
        check_kinds(
            self, {"S", "B", "L", "M", "SS", "NS", "BS"}, "a number, or a bool, has no size"
        )
        return SizePath(repr(self), self._facts.place)


def facts_of(path: FieldPath) -> PathFacts:
    """Return what is known of a path."""
    return path._facts  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - hidden from users only


def operand_for(path: FieldPath, value: Any) -> Operand:
    """Return a value, or another field, as an operand that meets this field."""
    return facts_of(value).place if isinstance(value, FieldPath) else given_for(path, value)


def given_for(path: FieldPath, value: Any, encode: Encode | None = None) -> Given:
    """Return a value as the field stores it, or as `encode` does.

    Raises PathInvalid or ValueInvalid where it does not fit.
    """
    encode = encode or facts_of(path).codec.encode
    try:
        if has_moment(value):
            encode(resolve_moments(value, _SOME_TIME))
        return give(value, encode)
    except ValueInvalid as error:
        raise error.inside(repr(path)) from None
    except (AttributeError, TypeError, ValueError) as error:
        if isinstance(error, KeyfoldError):
            raise
        raise PathInvalid(repr(path), f"{show(value)} does not fit its type") from None


def check_kinds(path: FieldPath, kinds: set[str], fact: str) -> None:
    """Raise PathInvalid unless a field may be stored as one of these types."""
    known = facts_of(path).codec.kinds
    if known and not known & kinds:
        raise PathInvalid(repr(path), fact)


class Fields:
    """The fields of an entity, for conditions and updates."""

    __slots__ = ("_schema",)

    def __init__(self, schema: EntitySchema) -> None:
        self._schema = schema

    def __getattr__(self, name: str) -> FieldPath:
        if name.startswith("__"):
            raise AttributeError(name)
        return field_path(self._schema, name)

    def __getitem__(self, name: str) -> FieldPath:
        return field_path(self._schema, name)


def field_path(schema: EntitySchema, name: str) -> FieldPath:
    """Return the path of a field, by its name in Python."""
    field = schema.fields.get(name)
    if field is None:
        if schema.codec.has_extra and name not in schema.known_names:
            return FieldPath(PathFacts(schema.name, name, Place((name,), schema.name), _OPEN))
        raise FieldUnknown(schema.name, name, tuple(schema.fields))
    if field.is_part:
        raise PathInvalid(
            f"{schema.name}.f.{name}",
            "the field lives in the item's key, and is not stored. No condition looks at it, and "
            "to change it, delete the entity and put another, in a transaction",
        )
    place = Place((field.stored,), schema.name)
    return FieldPath(PathFacts(schema.name, name, place, field.codec, field))
