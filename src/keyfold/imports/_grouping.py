"""Items grouped by entity: by the structure of their keys, and the words that tell them apart.

Items whose keys have the same separators are split by a position at a time, as in a decision tree. A
word is a literal of a template if it decides which attributes an item has, or what the rest of its key
looks like; a word that decides nothing, such as a currency or a name, is the value of a field.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyfold.imports._splitting import SplitText, split_text
from keyfold.imports._texts import TYPED, TextKind, kind_of
from keyfold.values import Item

# A feature belongs to a word if this share of the word's items have it, and to others at most the rest.
_PURE = 0.95
# Names of attributes that store the type of an item.
TYPE_ATTRIBUTES = frozenset(
    {"type", "tp", "kind", "entity", "entitytype", "itemtype", "typename", "recordtype", "et"}
    | {"objecttype", "edbe", "dtype", "modeltype", "class", "classname"}
)
_MAX_PREFIXES = 40
_MAX_TYPES = 100
_ID = "\0"

Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class KeyedItem:
    """An item with its key in pieces; None for a key attribute that is not text."""

    item: Item
    keys: tuple[SplitText | None, ...]
    features: frozenset[Hashable]

    def piece(self, position: Position) -> str:
        """Return a piece: the key attribute's number, and the place in it."""
        split = self.keys[position[0]]
        assert split is not None  # positions are those of texts
        return split.pieces[position[1]]


@dataclass(frozen=True, slots=True)
class ItemGroup:
    """Items that are taken for one entity. `kind` is the value of their type attribute."""

    items: tuple[KeyedItem, ...]
    kind: str | None = None


def is_type_attribute(name: str) -> bool:
    """Return whether an attribute's name says that it stores the type of an item."""
    return "".join(each for each in name.lower() if each.isalnum()) in TYPE_ATTRIBUTES


def group_items(items: Sequence[Item], key: Sequence[str], separators: str) -> list[ItemGroup]:
    """Return the items in groups, the largest first."""
    by_structure: dict[Hashable, list[KeyedItem]] = defaultdict(list)
    for item in items:
        keyed = _read(item, key, separators)
        structure = tuple(None if each is None else each.separators for each in keyed.keys)
        by_structure[structure].append(keyed)
    groups = [group for found in by_structure.values() for group in _split(found)]
    return sorted(groups, key=lambda group: -len(group.items))


def _read(item: Item, key: Sequence[str], separators: str) -> KeyedItem:
    texts: list[str | None] = [item[name].get("S") for name in key]
    keys = tuple(None if text is None else split_text(text, separators) for text in texts)
    features: set[Hashable] = {(name, *value) for name, value in item.items() if name not in key}
    features |= {
        (name, "is", value["S"])
        for name, value in item.items()
        if is_type_attribute(name) and "S" in value
    }
    placed = [
        ((number, place), piece)
        for number, split in enumerate(keys)
        if split is not None
        for place, piece in enumerate(split.pieces)
    ]
    features |= {(place, kind) for place, piece in placed if (kind := kind_of(piece)) in TYPED}
    if len(key) > 1:
        features |= {
            (place, "same", other)
            for place, piece in placed
            for other, text in placed
            if place < other and piece == text and kind_of(piece) is not TextKind.EMPTY
        }
    return KeyedItem(item, keys, frozenset(features))


def _split(items: list[KeyedItem]) -> Iterator[ItemGroup]:
    found = _find_split(items)
    if found is not None:
        for each in _divide(items, found).values():
            yield from _split(each)
        return
    by_type = _find_types(items)
    if by_type is None:
        yield ItemGroup(tuple(items), _find_kind(items))
    else:
        for kind, each in by_type.items():
            yield ItemGroup(tuple(each), kind)


def _divide(items: list[KeyedItem], position: Position) -> dict[str, list[KeyedItem]]:
    """Return the items by their word at a position; all that is not a word is one class."""
    classes: dict[str, list[KeyedItem]] = defaultdict(list)
    for each in items:
        piece = each.piece(position)
        classes[piece if kind_of(piece) is TextKind.WORD else _ID].append(each)
    return classes


def _find_split(items: list[KeyedItem]) -> Position | None:
    """Return the position whose words decide most about the items; None if none decides anything."""
    best: tuple[int, int] = (0, 0)
    chosen: Position | None = None
    for position in _list_positions(items[0]):
        classes = _divide(items, position)
        if len(classes) < 2:  # noqa: PLR2004 - nothing to tell apart
            continue
        score = (_count_decided(items, classes, position), -len(classes))
        if score[0] and score > best:
            best, chosen = score, position
    return chosen


def _list_positions(keyed: KeyedItem) -> Iterator[Position]:
    for number, split in enumerate(keyed.keys):
        for place in range(0 if split is None else len(split.pieces)):
            yield number, place


def _count_decided(
    items: list[KeyedItem], classes: Mapping[str, list[KeyedItem]], position: Position
) -> int:
    """Return how many features the words at a position decide; a prefix counts as one of them."""
    split = items[0].keys[position[0]]
    is_prefix = (
        position[1] == 0 and split is not None and bool(split.separators) and _ID not in classes
    )
    is_repeated = len(items) >= 2 * len(classes)
    if _ID in classes and any(len(each) == 1 for word, each in classes.items() if word != _ID):
        return 0
    if not is_repeated and not (is_prefix and len(classes) <= _MAX_PREFIXES):
        return 0
    counts = {word: Counter(f for each in found for f in each.features)
              for word, found in classes.items()}  # fmt: skip
    features = {feature for each in counts.values() for feature in each}
    decided = sum(_is_decided(feature, position, classes, counts) for feature in features)
    return decided + (is_prefix and len(items) > len(classes))


def _is_decided(
    feature: Any,
    position: Position,
    classes: Mapping[str, list[KeyedItem]],
    counts: Mapping[str, Counter[Hashable]],
) -> bool:
    """Return whether each word's items have a feature all or none, and words differ in that."""
    if feature[0] == position or (len(feature) > 2 and feature[2] == position):  # noqa: PLR2004
        return False  # it is about this very position
    shares = [counts[word][feature] / len(found) for word, found in classes.items()]
    having = sum(share >= _PURE for share in shares)
    lacking = sum(share <= 1 - _PURE for share in shares)
    return bool(having and lacking) and having + lacking == len(shares)


def _find_types(items: list[KeyedItem]) -> dict[str, list[KeyedItem]] | None:
    """Return items of one key by their type attribute; None if they have one type, or none."""
    names = {name for each in items for name in each.item if is_type_attribute(name)}
    for name in sorted(names):
        values = [each.item.get(name, {}).get("S") for each in items]
        kinds = {value for value in values if value is not None}
        if None in values or not 1 < len(kinds) <= min(_MAX_TYPES, len(items) / 2):
            continue
        by_type: dict[str, list[KeyedItem]] = defaultdict(list)
        for value, each in zip(values, items, strict=True):
            assert value is not None  # all items have the attribute
            by_type[value].append(each)
        # A `type` that decides nothing, such as that of an address, is a field like others.
        if _decides(name, by_type):
            return dict(by_type)
    return None


def _decides(name: str, by_type: Mapping[str, list[KeyedItem]]) -> bool:
    counts = {kind: Counter(f for each in found for f in each.features)
              for kind, found in by_type.items()}  # fmt: skip
    features: set[Any] = {feature for each in counts.values() for feature in each}
    others = (feature for feature in features if feature[0] != name)
    return any(_is_decided(feature, (-1, -1), by_type, counts) for feature in others)


def _find_kind(items: list[KeyedItem]) -> str | None:
    for name in items[0].item:
        if is_type_attribute(name):
            values = {each.item.get(name, {}).get("S") for each in items}
            if len(values) == 1:
                return values.pop()
    return None
