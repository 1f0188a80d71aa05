"""A data set in plain Python, and what a table that holds it must answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from keyfold.errors import KeyfoldError
from keyfold.keys import Ulid, UlidSource
from keyfold.model import Entity, Pattern, Table

E = TypeVar("E", bound=Entity)
U = TypeVar("U", bound=Ulid)

SEED = 20_260_101


class Draws:
    """What is drawn for a data set: the same for the same seed."""

    def __init__(self, seed: int, now: datetime) -> None:
        self.random = Random(seed)  # noqa: S311 - data, no secrets
        self.now = now

    def uuid(self) -> UUID:
        """Return the next id, as an identity provider would give it."""
        return UUID(int=self.random.getrandbits(128), version=4)

    def ulid(self, kind: type[U], moment: datetime) -> U:
        """Return an id that was made at a moment."""
        source = UlidSource(clock=moment.timestamp, randomness=self.random.randbytes)
        return kind.new(source=source)

    def ago(self, longest: timedelta) -> datetime:
        """Return a moment up to so long ago, to the second."""
        return self.now - timedelta(seconds=self.random.randint(1, int(longest.total_seconds())))

    def ahead(self, longest: timedelta) -> datetime:
        """Return a moment up to so far ahead, to the second."""
        return self.now + timedelta(seconds=self.random.randint(1, int(longest.total_seconds())))

    def happens(self, share: float) -> bool:
        """Tell whether something is so that is so in this share of cases."""
        return self.random.random() < share


@dataclass(frozen=True, slots=True)
class Case:
    """A call of a pattern, and what it must return, or the error that it must raise."""

    pattern: Pattern[..., Any]
    arguments: Mapping[str, Any]
    expected: Any
    in_order: bool = True


class World:
    """What a table holds: the data set, and what the cases make of it.

    Cases are told in the order in which they will run. Each change that one makes is made here,
    too, so that what is expected never comes from a store.
    """

    def __init__(
        self,
        table: Table,
        now: datetime,
        expiry_of: Callable[[Any], datetime | None] = lambda _: None,
    ) -> None:
        self.table = table
        self.now = now
        self.cases: list[Case] = []
        self.loaded: list[Entity] = []
        self.expired = 0
        self._expiry_of = expiry_of
        self._stored: dict[tuple[str, ...], Entity] = {}

    def load(self, entities: Iterable[Entity]) -> None:
        """Take in what the table has from the beginning."""
        for entity in entities:
            self.put(entity)
            self.loaded.append(entity)
            self.expired += self._has_expired(entity)

    def put(self, *entities: Entity) -> None:
        """Take in what a case writes, in place of what has the same key."""
        for entity in entities:
            self._stored[self.key_of(entity)] = entity

    def drop(self, *entities: Entity) -> None:
        """Take out what a case removes."""
        for entity in entities:
            del self._stored[self.key_of(entity)]

    def find(self, kind: type[E], *, with_expired: bool = False) -> list[E]:
        """Return what there is of a type, in the order of the keys."""
        found = [
            (key, entity)
            for key, entity in self._stored.items()
            if isinstance(entity, kind) and (with_expired or not self._has_expired(entity))
        ]
        return [entity for _, entity in sorted(found, key=lambda pair: pair[0])]

    def find_expired(self, kind: type[E]) -> list[E]:
        """Return what is stored of a type, and must not be seen."""
        return [each for each in self.find(kind, with_expired=True) if self._has_expired(each)]

    @property
    def stored(self) -> dict[tuple[str, ...], Entity]:
        """All that must be in the table, by its key."""
        return dict(self._stored)

    def expect(self, pattern: Pattern[..., Any], expected: Any, /, **arguments: Any) -> None:
        """Tell what a pattern must return for these arguments: a value, or a type of error."""
        self.cases.append(Case(pattern, arguments, expected))

    def expect_in_any_order(
        self, pattern: Pattern[..., Any], expected: Any, /, **arguments: Any
    ) -> None:
        """Tell what a pattern must return, where nothing says in which order."""
        self.cases.append(Case(pattern, arguments, expected, in_order=False))

    def key_of(self, entity: Entity) -> tuple[str, ...]:
        """Return the key that an entity is stored under."""
        # Not the entity's own put, which may refuse: nothing is written here.
        item = Entity.put(entity).to_dynamodb()["Item"]
        return tuple(item[name]["S"] for name in self.table.key.names)

    def _has_expired(self, entity: Entity) -> bool:
        expiry = self._expiry_of(entity)
        return expiry is not None and expiry <= self.now


def is_error(expected: Any) -> bool:
    """Tell whether a case is to fail."""
    return isinstance(expected, type) and issubclass(expected, KeyfoldError)
