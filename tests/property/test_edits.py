"""Random edits keep the declaration's promises: an item is what its entity says it is.

Index keys, stored computed fields and the type attribute of every item equal those of the entity
that the item is read as, whatever wrote it, and whether what the writer had read was outdated.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

import keyfold
from keyfold import (
    CreatedAt,
    Entity,
    Index,
    Key,
    Request,
    Store,
    Table,
    UpdatedAt,
    Version,
    attr,
    computed_field,
    part,
)
from keyfold.errors import ConditionFailed, IndexPartsUnknown, UpdateInvalid

by_pair = Index("ByPair", key=Key("pair", "last"))
by_third = Index("ByThird", key=Key("third"))
table = Table("Edited", key=Key("pk"), indexes=[by_pair, by_third], type_attribute="type")


class Plain(
    Entity,
    table=table,
    key="PLAIN#{id}",
    indexes={by_pair: ("{x}#{y}", "{updated_at}"), by_third: "{z}"},
):
    id: str = part()
    x: str | None = None
    y: str = "y"
    z: str | None = None
    number: int = 0
    tags: set[str] = attr(default_factory=set)
    created_at: CreatedAt | None = None
    updated_at: UpdatedAt | None = None

    @computed_field(depends=("x", "number"))
    def shown(self) -> str:
        return f"{self.x}{self.number}"


class Versioned(Entity, table=table, key="VERSIONED#{id}", indexes={by_pair: ("{x}#{y}", "{z}")}):
    id: str = part()
    x: str | None = None
    y: str = "y"
    z: str | None = None
    number: int = 0
    version: Version = 0
    created_at: CreatedAt | None = None


class Editor:
    """Makes random writes of one entity, from what it read now or earlier."""

    def __init__(self, source: random.Random, store: Store) -> None:
        self._random, self._store = source, store
        self._held: dict[tuple[type[Entity], str], Any] = {}

    def _values(self) -> dict[str, Any]:
        names = self._random.sample(["x", "y", "z"], self._random.randint(0, 3))
        return {
            name: self._random.choice(["u", "v"] if name == "y" else [None, "u", "v"])
            for name in names
        }

    def _assign(self, update: Any, values: dict[str, Any]) -> Any:
        entity: Any = update.schema.entity
        for name, value in values.items():
            update = update.set(entity.f[name], value)
        return update

    def _make(self, kind: str, entity: Any, name: str) -> Request[Any] | None:
        values, held = self._values(), self._held.get((entity, name))
        if self._random.random() < 0.5:
            held = self._store.run(entity.get(id=name))
        match kind:
            case "put" | "create":
                return getattr(entity(id=name, **values), kind)()
            case "update":
                return self._assign(entity.update(id=name), values)
            case "upsert":
                first = dict(list(values.items())[:1])
                others = {each: values[each] for each in values if each not in first}
                update = self._assign(entity.update(id=name), first)
                if self._random.random() < 0.5:
                    update = update.knowing(**others)
                return update.or_create(**others)
            case _ if held is None:
                return None
            case "change":
                number = (
                    {"number": self._random.randint(0, 2)} if self._random.random() < 0.5 else {}
                )
                return held.change(**values, **number)
            case "edit":
                return self._assign(held.update(), values)
            case _:
                return held.delete() if self._random.random() < 0.3 else None

    def write(self) -> tuple[str, bool]:
        """Make one write; return its kind, and whether it was done."""
        kind = self._random.choice(
            ["put", "create", "update", "upsert", "change", "change", "edit", "delete"]
        )
        entity, name = self._random.choice([Plain, Versioned]), self._random.choice("ab")
        is_done = False
        try:
            request = self._make(kind, entity, name)
            if request is not None:
                self._store.run(request)
                is_done = True
        except (ConditionFailed, IndexPartsUnknown, UpdateInvalid):
            pass
        self._check(entity, name)
        return kind, is_done

    def _check(self, entity: Any, name: str) -> None:
        key = entity.get(id=name).key
        found = self._store.execute("GetItem", {"TableName": table.name, "Key": key}).get("Item")
        if found is None:
            return
        schema = entity.keyfold_schema()
        read = schema.decode(found)
        assert schema.encode(read) == found
        if self._random.random() < 0.2:
            self._held[entity, name] = read


@pytest.mark.parametrize("seed", range(5))
def test_items_stay_what_their_entities_say(seed: int) -> None:
    with keyfold.open(table, ":memory:") as store:
        editor = Editor(random.Random(seed), store)
        done = Counter(kind for kind, is_done in (editor.write() for _ in range(800)) if is_done)
    assert min(done[kind] for kind in ("update", "upsert", "change", "edit", "delete")) > 5
