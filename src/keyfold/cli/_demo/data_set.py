"""A data set in plain Python, and the results that a table with these items must return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from keyfold.engine.items.expiry import GRACE_IN_FILES
from keyfold.errors import KeyfoldError
from keyfold.keys import Ulid, UlidSource
from keyfold.model import Entity, Pattern, Table

E = TypeVar("E", bound=Entity)
U = TypeVar("U", bound=Ulid)

SEED = 20_260_101
# Half of the grace after which a file deletes expired items: patterns such as GetStale find them.
_EXPIRED_AT_MOST = GRACE_IN_FILES / 2


class DataGenerator:
    """Generates random data: the same data for the same seed."""

    def __init__(self, seed: int, now: datetime) -> None:
        self.random = Random(seed)  # noqa: S311 - data, no secrets
        self.now = now

    def uuid(self) -> UUID:
        """Return a random UUID, such as an identity provider's user id."""
        return UUID(int=self.random.getrandbits(128), version=4)

    def ulid(self, kind: type[U], time: datetime) -> U:
        """Return a ULID of a given time."""
        source = UlidSource(clock=time.timestamp, randomness=self.random.randbytes)
        return kind.new(source=source)

    def ago(self, longest: timedelta) -> datetime:
        """Return a random time at most `longest` ago, in whole seconds."""
        return self.now - timedelta(seconds=self.random.randint(1, int(longest.total_seconds())))

    def expired(self) -> datetime:
        """Return a random expiry time in the past, so recent that a file still has the item."""
        return self.ago(_EXPIRED_AT_MOST)

    def ahead(self, longest: timedelta) -> datetime:
        """Return a random time at most `longest` ahead, in whole seconds."""
        return self.now + timedelta(seconds=self.random.randint(1, int(longest.total_seconds())))

    def happens(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.random.random() < probability


@dataclass(frozen=True, slots=True)
class Case:
    """A call of a pattern, and the result it must return or the error it must raise."""

    pattern: Pattern[..., Any]
    arguments: Mapping[str, Any]
    expected: Any
    in_order: bool = True


class DataSet:
    """The expected content of a table: the data loaded, and the changes that cases make to it.

    Cases are added in the order in which they will run. Each change that a case makes to the
    table is also made here, so that expected results never come from a store.
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
        self.expiry_of = expiry_of
        self._stored: dict[tuple[str, ...], Entity] = {}

    def load(self, entities: Iterable[Entity]) -> None:
        """Add the entities that the table has at the beginning."""
        for entity in entities:
            self.put(entity)
            self.loaded.append(entity)
            self.expired += self._has_expired(entity)

    def put(self, *entities: Entity) -> None:
        """Add entities that a case writes, replacing those with the same key."""
        for entity in entities:
            self._stored[self.key_of(entity)] = entity

    def drop(self, *entities: Entity) -> None:
        """Remove entities that a case deletes."""
        for entity in entities:
            del self._stored[self.key_of(entity)]

    def find(self, kind: type[E], *, with_expired: bool = False) -> list[E]:
        """Return the entities of a type, in the order of their keys."""
        found = [
            (key, entity)
            for key, entity in self._stored.items()
            if isinstance(entity, kind) and (with_expired or not self._has_expired(entity))
        ]
        return [entity for _, entity in sorted(found, key=lambda pair: pair[0])]

    def find_expired(self, kind: type[E]) -> list[E]:
        """Return the expired entities of a type, which patterns must not return."""
        return [each for each in self.find(kind, with_expired=True) if self._has_expired(each)]

    @property
    def stored(self) -> dict[tuple[str, ...], Entity]:
        """The expected entities of the table, by key."""
        return dict(self._stored)

    def expect(self, pattern: Pattern[..., Any], expected: Any, /, **arguments: Any) -> None:
        """Add a case: what a pattern must return for these arguments, or the error class."""
        self.cases.append(Case(pattern, arguments, expected))

    def expect_in_any_order(
        self, pattern: Pattern[..., Any], expected: Any, /, **arguments: Any
    ) -> None:
        """Add a case whose result may be in any order."""
        self.cases.append(Case(pattern, arguments, expected, in_order=False))

    def key_of(self, entity: Entity) -> tuple[str, ...]:
        """Return the primary key of an entity."""
        # Entity.put, since the entity's own put may refuse; this only encodes.
        item = Entity.put(entity).to_dynamodb()["Item"]
        return tuple(item[name]["S"] for name in self.table.key.names)

    def _has_expired(self, entity: Entity) -> bool:
        expiry = self.expiry_of(entity)
        return expiry is not None and expiry <= self.now


def is_error(expected: Any) -> bool:
    """Return whether an expected result is an error class."""
    return isinstance(expected, type) and issubclass(expected, KeyfoldError)
