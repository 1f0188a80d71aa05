"""Tallies: the number of items of each entity, with a checksum that ignores their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from keyfold.store._canonical_items import to_canonical
from keyfold.values import Item

_BITS = 128


@dataclass(frozen=True, slots=True)
class Tally:
    """A count of items and the sum of their hashes: equal for the same items in any order."""

    count: int = 0
    checksum: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.count + other.count, (self.checksum + other.checksum) % (1 << _BITS))

    def to_json(self) -> dict[str, Any]:
        """Return the tally as a JSON object, the checksum in hexadecimal."""
        return {"count": self.count, "checksum": f"{self.checksum:0{_BITS // 4}x}"}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Tally:
        """Rebuild what `to_json` returned."""
        return cls(document["count"], int(document["checksum"], 16))


def tally_item(item: Item) -> Tally:
    """Return the tally of one normalised item."""
    digest = blake2b(to_canonical(item), digest_size=_BITS // 8).digest()
    return Tally(1, int.from_bytes(digest))


@dataclass(slots=True)
class Tallies:
    """The tallies of each entity, with items that had expired at the start kept separate."""

    lasting: dict[str, Tally] = field(default_factory=dict[str, Tally])
    expired: dict[str, Tally] = field(default_factory=dict[str, Tally])

    def add(self, entity: str, item: Item, *, is_expired: bool) -> None:
        """Add one item to its entity's tally."""
        tallies = self.expired if is_expired else self.lasting
        tallies[entity] = tallies.get(entity, Tally()) + tally_item(item)

    def merge(self, other: Tallies) -> None:
        """Add the tallies of `other` to these."""
        for mine, added in ((self.lasting, other.lasting), (self.expired, other.expired)):
            for entity, tally in added.items():
                mine[entity] = mine.get(entity, Tally()) + tally

    def to_json(self) -> dict[str, Any]:
        """Return the tallies as a JSON object."""
        return {
            "lasting": {entity: tally.to_json() for entity, tally in self.lasting.items()},
            "expired": {entity: tally.to_json() for entity, tally in self.expired.items()},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Tallies:
        """Rebuild what `to_json` returned."""
        lasting, expired = (
            {entity: Tally.from_json(tally) for entity, tally in document[kind].items()}
            for kind in ("lasting", "expired")
        )
        return cls(lasting, expired)


@dataclass(frozen=True, slots=True)
class EntityComparison:
    """The items of one entity that were written, compared with those the target holds.

    `held` is None if the target was not read. `fact` says what is wrong, or why the comparison
    is inconclusive.
    """

    entity: str
    written: Tally
    held: Tally | None
    is_wrong: bool
    fact: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object."""
        return {
            "written": self.written.to_json(),
            "held": None if self.held is None else self.held.to_json(),
            "ok": not self.is_wrong,
            "note": self.fact,
        }


_SAME_KEYS = "items with the same key replace each other, or something else writes to the target"


def compare(written: Tallies, held: Tallies, *, is_merged: bool) -> list[EntityComparison]:
    """Compare the items written with the items the target holds, entity by entity."""
    entities = set[str]().union(written.lasting, held.lasting, written.expired, held.expired)
    return [
        _compare(
            entity,
            (written.lasting.get(entity, Tally()), written.expired.get(entity, Tally())),
            (held.lasting.get(entity, Tally()), held.expired.get(entity, Tally())),
            is_merged=is_merged,
        )
        for entity in sorted(entities)
    ]


def _compare(
    entity: str, written: tuple[Tally, Tally], held: tuple[Tally, Tally], *, is_merged: bool
) -> EntityComparison:
    put, found = written[0] + written[1], held[0] + held[1]
    is_wrong, fact = False, ""
    if written[0] != held[0]:
        if is_merged and found.count >= put.count:
            fact = "the table also holds other items, so the checksums cannot be compared"
        elif put.count != found.count:
            is_wrong, fact = True, f"the target holds {found.count:,}; {_SAME_KEYS}"
        else:
            is_wrong = True
            fact = "the target holds as many items, but different ones; something else writes to it"
    elif written[1] != held[1]:
        # DynamoDB may delete expired items at any time.
        fact = (
            f"{written[1].count:,} had expired at the start, of which {held[1].count:,} remain; "
            "the other items are the same"
        )
        is_wrong = held[1].count > written[1].count and not is_merged
    return EntityComparison(entity, put, found, is_wrong=is_wrong, fact=fact)
