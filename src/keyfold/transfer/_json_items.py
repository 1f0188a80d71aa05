"""Items as JSON: DynamoDB JSON, in which every value names its type, or plain JSON.

`{"pk": {"S": "a"}, "n": {"N": "1"}}` is DynamoDB JSON, `{"pk": "a", "n": 1}` is plain. The partition
key tells them apart: it is an object in DynamoDB JSON, and cannot be one in plain JSON, because a key
is a scalar.

Plain JSON has fewer types than DynamoDB. Strings, numbers, booleans, arrays, objects and null become
`S`, `N`, `BOOL`, `L`, `M` and `NULL`. Where the key's definition or the declaration of a field says
binary, a string is base64. All other types that a declaration asks for, such as sets, are made when
the item is brought into the form of its entity.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from keyfold.errors import ServiceError
from keyfold.model import Table
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._value_codecs import ValueCodec
from keyfold.transfer._entities import Reject
from keyfold.transfer._json_documents import describe_error, refuse_constant
from keyfold.values import AttributeValue, Item, normalise_item

_BINARY, _BINARIES = frozenset({"B"}), frozenset({"BS"})


class NumberText(str):
    """A number of a JSON document, as it is written there."""

    __slots__ = ()


def parse_exactly(text: str | bytes) -> Any:
    """Return a JSON value with its numbers as they are written.

    Raises ValueError, also for an object with two members of one name.

    >>> parse_exactly('[0.85, 12345678901234567890123456789012345678]')
    ['0.85', '12345678901234567890123456789012345678']
    """
    return json.loads(
        text,
        parse_float=NumberText,
        parse_int=NumberText,
        parse_constant=refuse_constant,
        object_pairs_hook=_make_object,
    )


def _make_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(members)
    if len(made) < len(members):
        names = [name for name, _ in members]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has {twice!r:.80} twice")
    return made


@dataclass(frozen=True, slots=True)
class ItemReader:
    """Reads the items of one table from JSON.

    `key_types` are the types of the key attributes of the table and its indexes; `keys` are those of
    the primary key, the partition key first. With a declaration, fields have their declared types.
    """

    keys: tuple[str, ...]
    key_types: Mapping[str, str]
    declared: Table | None = None
    # The codecs of the attributes in which a string may be binary, by entity.
    _binaries: dict[str, dict[str, ValueCodec]] = field(
        default_factory=dict[str, dict[str, ValueCodec]], init=False
    )

    @classmethod
    def for_table(cls, definition: Mapping[str, Any], declared: Table | None) -> ItemReader:
        """Return the reader for a table, by its definition as CreateTable or DescribeTable has it."""
        keys = {each["KeyType"]: each["AttributeName"] for each in definition["KeySchema"]}
        types = {
            each["AttributeName"]: each["AttributeType"]
            for each in definition["AttributeDefinitions"]
        }
        return cls(tuple(keys[kind] for kind in ("HASH", "RANGE") if kind in keys), types, declared)

    def __call__(self, text: bytes) -> Item | Reject:
        """Return the item of a JSON object, in the engine's form, or a reject with the reason."""
        try:
            read: Any = orjson.loads(text)
        except ValueError:
            # Numbers may be out of the range of floats, and not out of DynamoDB's.
            return self._read_exactly(text)
        if not isinstance(read, dict):
            return reject_text("it is not a JSON object", text)
        item = unwrap(cast(dict[str, Any], read), self.keys[0])
        # Numbers of plain JSON are floats here, so it is read once more.
        return self._read_exactly(text) if self._is_plain(item) else _check(item, text)

    def _read_exactly(self, text: bytes) -> Item | Reject:
        try:
            read = parse_exactly(text)
        except RecursionError:
            return _reject_nested(text)
        except ValueError as error:
            return reject_text(f"it is not JSON: {describe_error(error)}", text)
        if not isinstance(read, dict):
            return reject_text("it is not a JSON object", text)
        plain = unwrap(cast(dict[str, Any], read), self.keys[0])
        try:
            return _check(self._from_plain(plain), text)
        except RecursionError:
            return _reject_nested(text)

    def _is_plain(self, item: Mapping[str, Any]) -> bool:
        if self.keys[0] in item:
            return not isinstance(item[self.keys[0]], dict)
        return not all(isinstance(each, dict) for each in item.values())

    def _from_plain(self, plain: Mapping[str, Any]) -> Item:
        item: Item = {}
        for name, value in plain.items():
            kind = self.key_types.get(name)
            if value is None and kind is not None and name not in self.keys:
                # DynamoDB refuses null as the key of an index; an item without the key is not in it.
                continue
            is_binary = kind == "B" and value.__class__ is str
            item[name] = {"B": value} if is_binary else to_attribute_value(value, None)
        for name, codec in self._find_binaries(item).items():
            if name in item:
                item[name] = to_attribute_value(plain[name], codec)
        return item

    def _find_binaries(self, item: Item) -> Mapping[str, ValueCodec]:
        if self.declared is None:
            return {}
        try:
            schema = self.declared.find_schema(item)
        except ItemMismatch:
            # It is rejected with the reason, where items are classified.
            return {}
        known = self._binaries.get(schema.name)
        if known is None:
            known = self._binaries[schema.name] = _binaries_of(schema)
        return known


def _binaries_of(schema: EntitySchema) -> dict[str, ValueCodec]:
    return {
        name: each.codec
        for each in schema.codec.by_stored.values()
        for name in (each.stored, *each.former)
        if _has_binary(each.codec, ())
    }


def _has_binary(codec: ValueCodec, around: tuple[int, ...]) -> bool:
    """Return whether a codec, or that of a value inside, stores binary values."""
    if codec.kinds in (_BINARY, _BINARIES):
        return True
    if id(codec.model) in around:
        return False  # a model that contains itself
    inside = [*codec.positions, *([] if codec.members is None else [codec.members])]
    if codec.model is not None:
        inside += [each.codec for each in codec.model.fields.values()]
        around = (*around, id(codec.model))
    return any(_has_binary(each, around) for each in inside)


def to_attribute_value(value: Any, codec: ValueCodec | None) -> AttributeValue:
    """Return the attribute value of a plain JSON value, whose numbers are `NumberText`.

    >>> to_attribute_value({"rate": NumberText("0.85"), "tags": ["a", None]}, None)
    {'M': {'rate': {'N': '0.85'}, 'tags': {'L': [{'S': 'a'}, {'NULL': True}]}}}
    """
    match value:
        case NumberText():
            return {"N": str(value)}
        case str():
            return {"B": value} if codec is not None and codec.kinds == _BINARY else {"S": value}
        case bool():
            return {"BOOL": value}
        case None:
            return {"NULL": True}
        case list():
            members = cast(list[Any], value)
            if codec is not None and codec.kinds == _BINARIES and members:
                return {"BS": members}
            inside = [None if codec is None else codec.member_at(i) for i in range(len(members))]
            return {"L": [to_attribute_value(*each) for each in zip(members, inside, strict=True)]}
        case _:
            return {
                "M": {
                    name: to_attribute_value(each, _member_codec(codec, name))
                    for name, each in cast(dict[str, Any], value).items()
                }
            }


def _member_codec(codec: ValueCodec | None, name: str) -> ValueCodec | None:
    if codec is None or codec.model is None:
        return None if codec is None else codec.members
    found = codec.model.by_stored.get(name)
    return None if found is None else found.codec


# What every reader of items needs.


def unwrap(read: dict[str, Any], key: str | None = None) -> dict[str, Any]:
    """Return the item in a JSON object; lines of rejects files have a reason beside it.

    `key` is the name of the partition key, if it is known.
    """
    inner: Any = read.get("Item")
    if read.keys() <= {"Item", "reason"} and isinstance(inner, dict):
        members = cast(dict[str, Any], inner)
        # A bare item whose only attribute is called Item has a value there, not attributes.
        if key in members or all(isinstance(each, dict) for each in members.values()):
            return members
    return read


def check_item(item: dict[str, Any]) -> Item | Reject:
    """Return an item of DynamoDB JSON in the engine's form, or a reject with the service's reason."""
    try:
        return normalise_item(item)[0]
    except ServiceError as error:
        return Reject(error.message, item)


def _check(item: dict[str, Any], text: bytes) -> Item | Reject:
    """Return an item that was read from a text, as `check_item` does."""
    found = check_item(item)
    if isinstance(found, Reject):
        try:
            orjson.dumps(item)
        except TypeError:
            # It has half of a surrogate pair, or is nested too deeply, for a file of rejects.
            return reject_text(found.reason, text)
    return found


def _reject_nested(text: bytes) -> Reject:
    return reject_text("it is nested too deeply", text)


def reject_text(reason: str, text: bytes) -> Reject:
    """Return a reject of text that is not an item."""
    return Reject(reason, line=text.decode(errors="replace"))
