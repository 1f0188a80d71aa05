"""Reserved partition keys, which a table's fallback reads and does not write; updates by any key."""

from __future__ import annotations

from typing import Any

import pytest

import keyfold
from keyfold import Entity, Key, Table, batch, part, transaction
from keyfold.errors import DeclarationInvalid, QueryInvalid, WriteRefused

table = Table("Boxes", key=Key("pk", "sk"), reserved=("sys#", "own#"))


class Setting(Entity, table=table, key=("sys#settings", "{name}")):
    name: str = part()
    value: int = 0


class Thing(Entity, table=table, key=("{pk}", "{sk}"), fallback=True, extra="allow"):
    pk: str
    sk: str


@pytest.mark.parametrize("key", ["sys#", "sys#settings", "own#1"])
def test_the_fallback_may_not_write_reserved_keys(key: str) -> None:
    thing = Thing(pk=key, sk="a")
    writes: list[Any] = [
        thing.put, thing.create, thing.replace, thing.update, thing.delete,
        lambda: thing.change(color="red"),
        lambda: Thing.update(pk=key, sk="a"),
        lambda: Thing.delete(pk=key, sk="a"),
        lambda: batch([thing.put()]),
        lambda: transaction(thing.put()),
    ]  # fmt: skip
    prefix = "sys#" if key.startswith("sys") else "own#"
    for write in writes:
        with pytest.raises(WriteRefused) as caught:
            write()
        assert str(caught.value) == (
            f"pk {key!r}: each pk that starts with {prefix!r} is reserved for declared entities. "
            "Use another one, or the entity that is declared for it. [write-refused]"
        )


def test_declared_entities_write_reserved_keys_and_the_fallback_reads_them() -> None:
    with keyfold.open(table, ":memory:") as store:
        store.run(Setting(name="size", value=3).put())
        assert store.run(table.get(pk="sys#settings", sk="size")) == Setting(name="size", value=3)
        assert store.run(Thing.get(pk="sys#other", sk="x")) is None
        store.run(Thing(pk="sys", sk="x").put())


def test_reserved_prefixes_are_texts() -> None:
    assert Table("Plain", key=Key("pk"), reserved="a").reserved == ("a",)
    with pytest.raises(DeclarationInvalid, match="reserved has ''; it must have prefixes"):
        Table("Wrong", key=Key("pk"), reserved=[""])


def test_an_update_by_any_key_is_of_the_entity_with_such_a_key() -> None:
    with keyfold.open(table, ":memory:") as store:
        store.run(batch([Setting(name="size").put(), Thing(pk="a", sk="b").put()]))
        size = store.run(table.update(pk="sys#settings", sk="size").set(Setting.f.value, 5))
        assert size == Setting(name="size", value=5)
        thing = store.run(table.update(pk="a", sk="b").set_from({"color": "red"}))
        assert thing == Thing.model_validate({"pk": "a", "sk": "b", "color": "red"})
    with pytest.raises(WriteRefused):
        table.update(pk="sys#else", sk="x")


def test_an_update_by_any_key_needs_an_entity() -> None:
    strict = Table("Strict", key=Key("pk"))

    class Only(Entity, table=strict, key="only#{n}"):
        n: str

    assert strict.update(pk="only#1").key == Only.update(n="1").key
    with pytest.raises(QueryInvalid, match="no entity has the key pk='other'"):
        strict.update(pk="other")
    typed = Table("Typed", key=Key("pk"), type_attribute="kind")
    with pytest.raises(QueryInvalid, match="its 'kind' tells the entity of an item"):
        typed.update(pk="x")
