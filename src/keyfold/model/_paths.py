"""Fields in conditions and updates: `Rate.f.stale`, `Order.f.address.city`, `Cart.f.lines[0]`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, ValuesView
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar, cast

from keyfold.errors import FieldUnknown, KeyfoldError, PathInvalid, ValueInvalid
from keyfold.expressions import (
    Between,
    Comparator,
    Comparison,
    Condition,
    FunctionCall,
    In,
    Operand,
    Path,
)
from keyfold.model._any_values import Encode, encode_any
from keyfold.model._codecs import StoredField
from keyfold.model._moments import SAMPLE_TIME, has_moment, resolve_moments
from keyfold.model._operands import Literal, to_literal
from keyfold.model._placeholders import Placeholder
from keyfold.model._scalars import show
from keyfold.model._schemas import EntitySchema
from keyfold.model._value_codecs import ValueCodec

C = TypeVar("C")

# DynamoDB's limit on the operands of IN.
_MAX_OPTIONS = 100
# What may hold them all. Not every iterable: text and models are, and are single values.
_OPTION_LISTS = (list, tuple, AbstractSet, ValuesView, Iterator, range)
_ANY = ValueCodec(encode_any)


class Comparable(ABC, Generic[C]):
    """Something that a condition compares with values of type `C`.

    Use `eq` and `ne` for equality: Python's `==` would have to return a bool before the request
    runs.
    """

    __slots__ = ()

    @abstractmethod
    def _left(self) -> Operand:
        """Return the left operand."""

    @abstractmethod
    def _right(self, value: C) -> Operand:
        """Return a value as the right operand; raises PathInvalid and ValueInvalid."""

    def _bound(self, value: C) -> Operand:
        """Return a value to compare with by order, as the right operand."""
        return self._right(value)

    def _compare(self, comparator: Comparator, value: C) -> Condition:
        right = self._right(value) if comparator in ("=", "<>") else self._bound(value)
        return Comparison(comparator, self._left(), right)

    def eq(self, value: C) -> Condition:
        """Equal to `value`."""
        return self._compare("=", value)

    def ne(self, value: C) -> Condition:
        """Not equal to `value`, or absent."""
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
        """Between `low` and `high`, both included."""
        return Between(self._left(), self._bound(low), self._bound(high))

    def __bool__(self) -> NoReturn:
        raise PathInvalid(repr(self), "a field has no truth value. Compare it with a value")

    def __eq__(self, other: object) -> NoReturn:
        raise PathInvalid(repr(self), f"== does not make a condition. Write {self!r}.eq(...)")

    def __ne__(self, other: object) -> NoReturn:
        raise PathInvalid(repr(self), f"!= does not make a condition. Write {self!r}.ne(...)")

    __hash__ = object.__hash__


class SizePath(Comparable[int]):
    """The size of a field, for comparisons: `Cart.f.lines.size > 3`."""

    __slots__ = ("_owner", "_path")

    def __init__(self, owner: str, path: Path) -> None:
        self._owner, self._path = owner, path

    def __repr__(self) -> str:
        return f"{self._owner}.size"

    def _left(self) -> Operand:
        return FunctionCall("size", (self._path,))

    def _right(self, value: int) -> Operand:
        if not isinstance(value, int | Placeholder) or isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise PathInvalid(repr(self), f"a size is an int; got {value!r:.80}")
        return to_literal(value, encode_any)


@dataclass(frozen=True, slots=True)
class PathInfo:
    """What a path refers to: the entity, the path in its item, and how the value is stored.

    `stored` is the model field at the end of the path, None for a member of a list or a map.
    """

    owner: str
    text: str
    path: Path
    codec: ValueCodec
    stored: StoredField | None = None
    # The path by the names of fields, where `path` has those of attributes.
    names: tuple[str | int | Placeholder, ...] = ()


class FieldPath(Comparable[Any]):
    """A field of an entity, or a value nested in it, for conditions and updates.

    Values are encoded as the field stores them. Values in a map are attributes of the path, or
    members of it if the name is that of a method: `Order.f.box["size"]`.
    """

    # A single private name: any other would hide the field of that name.
    __slots__ = ("_info",)

    def __init__(self, info: PathInfo) -> None:
        self._info = info

    def __repr__(self) -> str:
        return f"{self._info.owner}.f.{self._info.text}"

    def __getattr__(self, name: str) -> FieldPath:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._member(name, f".{name}")

    def __getitem__(self, key: str | int) -> FieldPath:
        if isinstance(key, str):
            return self._member(key, f"[{key!r}]")
        codec = self._info.codec
        if isinstance(key, Placeholder):
            check_kinds(self, {"L", "M"}, "it has no members")
            return self._inside(f"[{key}]", str(key), codec.members or _ANY, name=key)
        if not isinstance(key, int) or isinstance(key, bool) or key < 0:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise PathInvalid(repr(self), f"{key!r} is not a list position: those start at 0")
        if codec.kinds and "L" not in codec.kinds:
            raise PathInvalid(f"{self!r}[{key}]", f"{self!r} is not a list")
        return self._inside(f"[{key}]", key, codec.member_at(key) or _ANY)

    def _member(self, name: str, text: str) -> FieldPath:
        codec = self._info.codec
        if codec.model is not None:
            field = codec.model.fields.get(name)
            if field is not None:
                return self._inside(text, field.stored, field.codec, field)
            if not codec.model.has_extra or name in codec.model.by_stored:
                raise FieldUnknown(repr(self), name, tuple(codec.model.fields))
        elif codec.kinds and "M" not in codec.kinds:
            raise PathInvalid(f"{self!r}{text}", f"{self!r} is not a map, so it has no {name!r}")
        stored, member = self._find_in_union(name, text)
        return self._inside(text, stored, member or codec.members or _ANY)

    def _find_in_union(self, name: str, text: str) -> tuple[str, ValueCodec | None]:
        """Return the attribute of a field in the models of a union, and its codec if only one has it.

        Raises PathInvalid if the models store it under several names.
        """
        models = [each.model for each in self._info.codec.options if each.model is not None]
        found = [each.fields[name] for each in models if name in each.fields]
        names = {each.stored for each in found}
        if len(names) > 1:
            listed = ", ".join(sorted(names))
            raise PathInvalid(f"{self!r}{text}", f"it is stored under several names: {listed}")
        return (names.pop() if names else name), (found[0].codec if len(found) == 1 else None)

    def _inside(
        self,
        text: str,
        step: str | int,
        codec: ValueCodec,
        stored: StoredField | None = None,
        name: Placeholder | None = None,
    ) -> FieldPath:
        info = self._info
        path = Path((*info.path.steps, step), owner=info.owner)
        own = (step if stored is None else stored.name) if name is None else name
        names = (*info.names, own)
        return FieldPath(PathInfo(info.owner, info.text + text, path, codec, stored, names))

    def _left(self) -> Operand:
        return self._info.path

    def _right(self, value: Any) -> Operand:
        return operand_for(self, value)

    def _bound(self, value: Any) -> Operand:
        return operand_for(self, value, self._info.codec.encode_bound)

    def in_(self, *options: Any) -> Condition:
        """Equal to one of `options`, of which there are at most 100.

        They may also be passed as one list, set or other iterable:
        `Order.f.status.in_(["new", "paid"])`.
        """
        if len(options) == 1 and not self._info.codec.kinds & {"L", "SS", "NS", "BS"}:
            (only,) = options
            if isinstance(only, _OPTION_LISTS):
                options = tuple(cast(Iterable[Any], only))
        if not 1 <= len(options) <= _MAX_OPTIONS:
            fact = f"in_() takes 1 to {_MAX_OPTIONS} options, not {len(options)}"
            raise PathInvalid(repr(self), fact)
        return In(self._info.path, tuple(operand_for(self, option) for option in options))

    def exists(self) -> Condition:
        """The field has a value."""
        return FunctionCall("attribute_exists", (self._info.path,))

    def not_exists(self) -> Condition:
        """The field has no value."""
        return FunctionCall("attribute_not_exists", (self._info.path,))

    def begins_with(self, text: str | bytes) -> Condition:
        """The field's text, or its bytes, begin with `text`."""
        check_kinds(self, {"S", "B"}, "begins_with() is for text and bytes")
        if not isinstance(text, str | bytes | Placeholder):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise PathInvalid(repr(self), f"{show(text)} is neither text nor bytes")
        return FunctionCall("begins_with", (self._info.path, value_operand(self, text, encode_any)))

    def contains(self, member: Any) -> Condition:
        """The list or set contains `member`, or the text contains it as a substring."""
        check_kinds(
            self, {"S", "B", "L", "SS", "NS", "BS"}, "contains() is for text, bytes, lists and sets"
        )
        members = self._info.codec.members
        encode = encode_any if members is None else members.encode
        return FunctionCall("contains", (self._info.path, value_operand(self, member, encode)))

    @property
    def size(self) -> SizePath:
        """The size of the field: characters of text, or members of a list, set or map."""
        check_kinds(
            self, {"S", "B", "L", "M", "SS", "NS", "BS"}, "numbers and booleans have no size"
        )
        return SizePath(repr(self), self._info.path)


def path_info(path: FieldPath) -> PathInfo:
    """Return what a path refers to."""
    return path._info  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - hidden from users only


def operand_for(path: FieldPath, value: Any, encode: Encode | None = None) -> Operand:
    """Return a value, or another field, as an operand to compare with or assign to a field."""
    if isinstance(value, FieldPath):
        return path_info(value).path
    return value_operand(path, value, encode)


def value_operand(path: FieldPath, value: Any, encode: Encode | None = None) -> Literal:
    """Return a value as an operand, encoded by the field's codec or by `encode`.

    Raises PathInvalid or ValueInvalid if the value is not of the field's type.
    """
    encode = encode or path_info(path).codec.encode
    try:
        if has_moment(value):
            encode(resolve_moments(value, SAMPLE_TIME))
        return to_literal(value, encode)
    except ValueInvalid as error:
        raise error.inside(repr(path)) from None
    except (AttributeError, TypeError, ValueError) as error:
        if isinstance(error, KeyfoldError):
            raise
        shown = path_info(path).codec.show(value)
        raise PathInvalid(repr(path), f"{shown} is not of its type") from None


def check_kinds(path: FieldPath, kinds: AbstractSet[str], fact: str) -> None:
    """Raise PathInvalid unless the field can be stored as one of the DynamoDB types `kinds`."""
    known = path_info(path).codec.kinds
    if known and not known & kinds:
        raise PathInvalid(repr(path), fact)


class Fields:
    """The fields of an entity, for conditions and updates; `Entity.f` returns it."""

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
    """Return the path of a field, by its Python name; raises FieldUnknown and PathInvalid."""
    field = schema.fields.get(name)
    if field is None:
        if schema.codec.has_extra and name not in schema.known_names:
            path = Path((name,), owner=schema.name)
            return FieldPath(PathInfo(schema.name, name, path, _ANY, names=(name,)))
        raise FieldUnknown(schema.name, name, tuple(schema.fields))
    if field.is_part:
        raise PathInvalid(
            f"{schema.name}.f.{name}",
            "the field is stored only as part of the item's key, so it cannot be used in a "
            "condition. To change it, delete the entity and put another, in a transaction",
        )
    path = Path((field.stored,), owner=schema.name)
    return FieldPath(PathInfo(schema.name, name, path, field.codec, field, (name,)))
