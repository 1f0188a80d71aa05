"""Requests whose JSON has gone wrong."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any, cast

from hypothesis import strategies as st

Draw = st.DrawFn


class Sent(bytes):
    """What is sent, which a report shows in short."""

    __slots__ = ()

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        shown = repr(bytes(self)) if len(self) < 2_000 else f"{bytes(self[:1_500])!r}…{len(self):,}"
        printer.text(shown)


@dataclass(slots=True)
class Members:
    """A JSON object that may have a member twice."""

    pairs: list[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Raw:
    """JSON text that no encoder would write; it may be none at all."""

    text: str

    def __repr__(self) -> str:
        return f"Raw({self.text[:40]!r}…{len(self.text)})" if len(self.text) > 60 else self.text


def _nested(opening: str, inner: str, closing: str, levels: int) -> Raw:
    return Raw(opening * levels + inner + closing * levels)


_DEEP = [
    nested
    for levels in (2, 33, 300, 5_000)
    for nested in (
        _nested("[", "", "]", levels),
        _nested('{"x":', "1", "}", levels),
        _nested('{"L":[', '{"S":"x"}', "]}", levels),
        _nested('{"M":{"x":', '{"N":"1"}', "}}", levels),
    )
]

_NUMBERS = [
    Raw(text)
    for text in (
        *("-0", "0", "1", "-1", "1.0", "1.5", "1e2", "1E-2", "2147483648", "9223372036854775807"),
        *("9223372036854775808", "18446744073709551616", "1e308", "1e309", "-1e999", "5e-324"),
        *("9" * 400, "0." + "0" * 400 + "1", "01", "+1", ".5", "1.", "NaN", "Infinity", "0x10"),
    )
]

_TEXTS = [
    *("", " ", "a", "\0", "\n", "\x7f", "\ufeff", "\ufffd", "\uffff", "\u202e", "é", "e\u0301"),
    *("ﬀ", "İ", "\U0001f44b", "\U0010ffff", "\u0661", "null", "true", "__proto__", "../..", "%00"),
    *("Hash", "Range", "id", "pk", "sk", "S", "N", "M", "SS", "#n", ":v", "ALL_NEW", "HASH"),
    *("x" * 256, "x" * 1_025, "é" * 2_049, "x" * 70_000, "x" * 410_000),
]

_NAMES = [
    *("TableName", "IndexName", "Key", "Item", "Items", "Keys", "ExclusiveStartKey", "Limit"),
    *("RequestItems", "TransactItems", "Expected", "AttributeUpdates", "KeyConditions"),
    *("AttributesToGet", "ConditionalOperator", "ReturnValues", "ReturnConsumedCapacity"),
    *("ReturnItemCollectionMetrics", "ReturnValuesOnConditionCheckFailure", "Select"),
    *("ProjectionExpression", "ConditionExpression", "FilterExpression", "UpdateExpression"),
    *("KeyConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"),
    *("ConsistentRead", "ScanIndexForward", "Segment", "TotalSegments", "ClientRequestToken"),
    *("Get", "Put", "Update", "Delete", "ConditionCheck", "PutRequest", "DeleteRequest"),
    *("KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes", "LocalSecondaryIndexes"),
    *("GlobalSecondaryIndexUpdates", "Create", "Projection", "ProvisionedThroughput", "Tags"),
    *("BillingMode", "OnDemandThroughput", "StreamSpecification", "SSESpecification"),
    *("TimeToLiveSpecification", "ResourceArn", "TagKeys", "NextToken", "ExclusiveStartTableName"),
]

_VALUES: list[Any] = [
    *(None, True, False, [], {}, [[]], [{}], [None], {"": None}, {"x": {}}),
    *({"S": "x"}, {"S": ""}, {"S": None}, {"S": 1}, {"N": "1"}, {"N": 1}, {"N": ""}, {"N": "x"}),
    *({"N": "1e125"}, {"N": "1e126"}, {"N": "-1e-131"}, {"N": "NaN"}, {"N": "1" * 39}),
    *({"N": "1e99999999999"}, {"N": "\u0661"}, {"N": " 1"}, {"N": "1_0"}, {"N": "0" * 5_000}),
    *({"B": ""}, {"B": "YQ=="}, {"B": "YQ"}, {"B": "!"}, {"B": "é"}, {"BOOL": "true"}),
    *({"BOOL": None}, {"NULL": False}, {"NULL": "x"}, {"SS": []}, {"SS": ["a", "a"]}),
    *({"SS": [1]}, {"NS": ["1", "1.0"]}, {"BS": ["YQ==", "YQ"]}, {"SS": [None]}, {"SS": "a"}),
    *({"L": None}, {"L": {}}, {"L": [{}]}, {"M": []}, {"M": {"": {"S": "x"}}}, {"M": {"x": {}}}),
    *({"S": "x", "N": "1"}, {"X": "x"}, {"s": "x"}, {"S": {"S": "x"}}, {"S": ["x"]}),
    *({"Value": {"S": "x"}, "Exists": True}, {"Exists": "no"}, {"ComparisonOperator": "IN"}),
    *({"AttributeValueList": []}, {"Action": "ADD", "Value": {"SS": ["x"]}}),
]

_TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"})

_PROPER_VALUES: list[dict[str, Any]] = [
    *({"S": ""}, {"S": "k"}, {"S": "x" * 1_025}, {"N": "0"}, {"N": "-1.5"}, {"N": "9e125"}),
    *({"N": "1e-130"}, {"B": ""}, {"B": "YQ=="}, {"BOOL": False}, {"NULL": True}, {"L": []}),
    *({"M": {}}, {"SS": ["a", "b"]}, {"NS": ["1", "2"]}, {"BS": ["YQ=="]}),
    *({"L": [{"N": "1"}, {"S": "x"}]}, {"M": {"a": {"M": {"b": {"L": []}}}}}),
]

_INTEGERS = [0, 1, -1, 2, 5, 100, 101, 1_000_000, 2**31 - 1, 2**31, 2**53, 2**63 - 1]

_TOKENS = [
    *("(", ")", ",", ".", "[0]", "[99999999999999999999]", "[-1]", "#", "#n", ":", ":v", "="),
    *("<>", "<=", "+", "-", " AND ", " OR ", "NOT ", " IN (", " BETWEEN ", "SET ", "REMOVE "),
    *("ADD ", "DELETE ", "size(", "attribute_exists(", "begins_with(", "if_not_exists("),
    *("list_append(", "contains(", "attribute_type(", "x", "a.b", "é", "\0", "\u00a0", "'", '"'),
]

texts = st.sampled_from(_TEXTS) | st.text(max_size=20)
numbers = st.sampled_from(_NUMBERS) | st.integers() | st.floats(allow_nan=False)
surrogates = st.sampled_from([Raw(r'"\ud800"'), Raw(r'"\udc00x"'), Raw(r'"\ud83d\ud83d"')])
scalars = st.none() | st.booleans() | numbers | texts
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
odd_values = (
    st.sampled_from(_VALUES) | texts | numbers | surrogates | st.sampled_from(_DEEP) | trees
)
odd_names = st.sampled_from(_NAMES) | texts


@st.composite
def mutated_json(draw: Draw, request: dict[str, Any]) -> bytes:
    """The JSON of a request, with one to four things wrong with it."""
    root = [_from_plain(request)]
    for _ in range(draw(st.integers(1, 4), label="mutations")):
        mutate = draw(st.sampled_from([_nudge, _nudge, _break]))
        mutate(draw, root)
    return Sent(_write(root[0]).encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value is: what holds it, and at which position."""

    holder: list[Any] | Members
    at: int

    @property
    def value(self) -> Any:
        entry = self._entries[self.at]
        return entry[1] if isinstance(self.holder, Members) else entry

    def put(self, new: Any) -> None:
        """Put another value in the place of this one."""
        self._entries[self.at] = self._entry(new)

    def repeat(self, new: Any) -> None:
        """Put another value before this one, by the same name."""
        self._entries.insert(self.at, self._entry(new))

    def rename(self, name: str) -> None:
        """Give the value another name, where it has one."""
        if isinstance(self.holder, Members):
            self.holder.pairs[self.at] = (name, self.value)

    def remove(self) -> None:
        """Take the value away."""
        del self._entries[self.at]

    @property
    def _entries(self) -> list[Any]:
        return self.holder.pairs if isinstance(self.holder, Members) else self.holder

    def _entry(self, value: Any) -> Any:
        if isinstance(self.holder, Members):
            return (self.holder.pairs[self.at][0], value)
        return value


def _places(holder: list[Any] | Members) -> Iterator[Place]:
    """Every place inside, deepest last."""
    count = len(holder.pairs if isinstance(holder, Members) else holder)
    for place in [Place(holder, at) for at in range(count)]:
        yield place
        value = place.value
        if isinstance(value, Members | list):
            yield from _places(cast("list[Any] | Members", value))


def _nudge(draw: Draw, root: list[Any]) -> None:
    """Change something so that its JSON type stays: the engine's own checks find it."""
    places = [place for place in _places(root) if place.holder is not root]
    if not places:
        return
    place = draw(st.sampled_from(places))
    match place.value:
        case str() as text:
            place.put(_edit(draw, text))
        case bool() as flag:
            place.put(not flag)
        case int():
            place.put(draw(st.sampled_from(_INTEGERS)))
        case Members(pairs=[(kind, _)]) if kind in _TYPES:
            place.put(_from_plain(draw(st.sampled_from(_PROPER_VALUES))))
        case _:
            match draw(st.sampled_from(["remove", "repeat", "rename", "move"])):
                case "remove":
                    place.remove()
                case "repeat":
                    place.repeat(deepcopy(place.value))
                case "rename":
                    place.rename(draw(odd_names))
                case _:
                    place.put(deepcopy(draw(st.sampled_from(places)).value))


def _break(draw: Draw, root: list[Any]) -> None:
    """Change something into what it may not be."""
    places = list(_places(root))
    place = draw(st.sampled_from(places))
    value, new = place.value, _from_plain(draw(odd_values))
    match draw(st.sampled_from(["replace", "repeat", "add", "wrap"])):
        case "repeat" if place.holder is not root:
            place.repeat(new)
        case "add" if isinstance(value, Members):
            value.pairs.append((draw(odd_names), new))
        case "add" if isinstance(value, list):
            cast("list[Any]", value).append(new)
        case "wrap":
            place.put(draw(st.sampled_from([[value], Members([("x", value)])])))
        case _:
            place.put(new)


def _edit(draw: Draw, text: str) -> str:
    """A text with something put in, taken out, or much too often."""
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, len(text)))
    times = draw(st.sampled_from([0, 1, 1, 2, 40, 1_500]))
    inserted = draw(st.sampled_from(_TOKENS).map(lambda token: token * times) | texts)
    return text[:start] + inserted + text[end:]


def _from_plain(value: Any) -> Any:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return Members([(name, _from_plain(one)) for name, one in members.items()])
    if isinstance(value, list):
        return [_from_plain(one) for one in cast("list[Any]", value)]
    return value


def _write(value: Any) -> str:
    match value:
        case Raw(text):
            return text
        case Members(pairs):
            return f"{{{','.join(f'{_quote(name)}:{_write(one)}' for name, one in pairs)}}}"
        case list():
            return f"[{','.join(map(_write, cast('list[Any]', value)))}]"
        case str():
            return _quote(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case _:
            return repr(value)


def _quote(text: str) -> str:
    return encode_basestring(text)
