from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from keyfold.imports import (
    InferredEntity,
    InferredIndex,
    InferredTable,
    infer_entities,
    load_tables,
    write_module,
)
from keyfold.values import Item

PLAIN = InferredTable("Shop", "pk", "sk")


def item(pk: str, sk: str, **attributes: Any) -> Item:
    """Return an item; attributes are texts, or values in DynamoDB's form."""
    made: Item = {"pk": {"S": pk}, "sk": {"S": sk}}
    for name, value in attributes.items():
        made[name] = {"S": value} if isinstance(value, str) else value
    return made


def infer(items: list[Item], table: InferredTable = PLAIN) -> Mapping[str, InferredEntity]:
    """Return the entities by name, after their module was run."""
    made = infer_entities(table, items)
    load_tables(write_module([made], title="Test."))
    return {each.name: each for each in made.entities}


def keys_of(items: list[Item], table: InferredTable = PLAIN) -> dict[str, tuple[str, ...]]:
    return {name: each.key for name, each in infer(items, table).items()}


def test_words_before_ids_are_literals() -> None:
    items = [item(f"USER#{n}", f"USER#{n}", name="x") for n in range(10, 20)]
    items += [item(f"USER#{n}", f"ORDER#{n}7", total={"N": "1"}) for n in range(10, 20)]
    assert keys_of(items) == {
        "User": ("USER#{user}", "USER#{user}"),
        "Order": ("USER#{user}", "ORDER#{order}"),
    }


def test_words_that_decide_nothing_are_values() -> None:
    names = ("ann", "bob", "cid", "dan")
    items = [item(f"PERSON#{n}", f"LIKES#{m}", since="x") for n in names for m in names if n != m]
    assert keys_of(items) == {"Like": ("PERSON#{person}", "LIKES#{like}")}


def test_a_word_among_ids_is_a_literal_if_its_items_differ() -> None:
    items = [item(f"G{n}", "METADATA", title="x") for n in range(5)]
    items += [item(f"G{n}", f"2026-01-0{d}", score={"N": "1"}) for n in range(5) for d in (1, 2)]
    found = infer(items)
    assert {each.key[1] for each in found.values()} == {"METADATA", "{key}"}
    [game] = [each for each in found.values() if each.key[1] == "{key}"]
    assert {each.name: each.annotation for each in game.fields}["key"] == "date"


@pytest.mark.parametrize("separator", ["|", "/", ":", "_", "-"])
def test_other_separators_are_found(separator: str) -> None:
    items = [item(f"user{separator}{n}", f"cart{separator}{n}5", x="1") for n in range(12)]
    assert keys_of(items) == {"Cart": (f"user{separator}{{user}}", f"cart{separator}{{cart}}")}


def test_a_type_attribute_of_all_items_tells_entities_apart() -> None:
    items = [item(f"{n}", "a", type="Cat", lives={"N": "9"}) for n in range(10)]
    items += [item(f"{n}", "b", type="Dog", bark="loud") for n in range(10)]
    made = infer_entities(PLAIN, items)
    assert made.settings == {"type_attribute": '"type"'}
    assert {each.name for each in made.entities} == {"Cat", "Dog"}
    [table] = load_tables(write_module([made], title="Test."))
    assert table.find_schema(items[0]).name == "Cat"


def test_items_of_one_key_shape_are_told_apart_by_their_type() -> None:
    items = [item(f"{n}", f"{n}x", kind="Cat", lives={"N": "9"}) for n in range(5)]
    items += [item(f"{n}", f"{n}y", kind="Dog", bark="loud") for n in range(5)]
    assert {*infer(items)} == {"Cat", "Dog"}


def test_a_type_that_decides_nothing_is_a_field() -> None:
    items = [item(f"USER#{n}", f"ADDRESS#{n}", type="home" if n % 2 else "work") for n in range(10)]
    [address] = infer(items).values()
    assert {each.name: each.annotation for each in address.fields}["type"] == "str"


def test_index_keys_get_templates() -> None:
    index = InferredIndex("GSI1", ("gsi1pk",), ("gsi1sk",))
    table = InferredTable("Shop", "pk", "sk", indexes=(index,))
    items = [
        item(f"ORDER#{n}", "ORDER", gsi1pk=f"CUSTOMER#c{n % 3}", gsi1sk=f"DAY#{n * 3}", customer=f"c{n % 3}", day=f"{n * 3}")
        for n in range(10, 20)
    ]  # fmt: skip
    [order] = infer(items, table).values()
    assert order.index_keys == {"GSI1": (("CUSTOMER#{customer}", "DAY#{day}"),)}
    assert {each.attribute for each in order.fields} == {None, "customer", "day"}


def test_an_index_key_without_fields_stays_an_attribute() -> None:
    table = InferredTable("Shop", "pk", "sk", indexes=(InferredIndex("GSI1", ("gsi1pk",)),))
    items = [item(f"ORDER#{n}", "ORDER", gsi1pk=f"CUSTOMER#c{n}") for n in range(10)]
    [order] = infer(items, table).values()
    assert order.index_keys == {}
    assert "gsi1pk" in {each.attribute for each in order.fields}
    assert order.evidence is not None
    assert order.evidence.doubts == (
        "gsi1pk: looks like 'CUSTOMER#{part1}', but no field has its parts",
    )


def test_keys_may_be_numbers() -> None:
    table = InferredTable("Counters", "id", key_types={"id": "N"})
    items: list[Item] = [{"id": {"N": str(n)}, "count": {"N": "1"}} for n in range(5)]
    made = infer_entities(table, items)
    [declared] = load_tables(write_module([made], title="Test."))
    assert declared.to_dynamodb()["AttributeDefinitions"] == [
        {"AttributeName": "id", "AttributeType": "N"}
    ]


def test_values_of_each_type_are_kept() -> None:
    more: dict[str, Any] = {
        "yes": {"BOOL": True},
        "raw": {"B": b"\x00"},
        "words": {"SS": ["a", "b"]},
        "numbers": {"NS": ["1", "2.5"]},
        "nothing": {"NULL": True},
        "mixed": {"L": [{"S": "a"}, {"N": "1"}]},
        "map": {"M": {"deep": {"L": [{"BOOL": False}]}}},
    }
    [thing] = infer([item(f"T#{n}", "T", **more) for n in range(3)]).values()
    assert {each.name: each.annotation for each in thing.fields if each.attribute} == {
        "yes": "bool",
        "raw": "bytes",
        "words": "frozenset[str]",
        "numbers": "frozenset[Decimal]",
        "nothing": "Any",
        "mixed": "list[Any]",
        "map": "dict[str, Any]",
    }
    assert thing.evidence is not None
    assert thing.evidence.fitting == 3


def test_names_of_attributes_cannot_break_the_module() -> None:
    hostile = '"); raise SystemExit("""'
    items = [item(f"T#{n}", "T", **{hostile: "a", "class": "b", "2": "c", "get": "d"}) for n in range(3)]  # fmt: skip
    [thing] = infer(items).values()
    assert {each.attribute for each in thing.fields} == {None, hostile, "class", "2", "get"}


def test_keys_with_braces_and_quotes_are_kept() -> None:
    items = [item(f'A{{"x"}}#{n}', "T'\"\\", name="a") for n in range(3)]
    [thing] = infer(items).values()
    assert thing.evidence is not None
    assert thing.evidence.fitting == 3


def test_entities_whose_keys_collide_leave_one_as_the_fallback() -> None:
    items = [item(f"a{n}", f"{n}", x="1") for n in range(6)]
    items += [item(f"b{n}", f"x#{n}", y={"N": "1"}) for n in range(6)]
    items += [item(f"b{n}", f"{n}#{n}", z={"N": "1"}) for n in range(6)]
    made = infer_entities(PLAIN, items)
    load_tables(write_module([made], title="Test."))
    assert sum(each.is_fallback for each in made.entities) <= 1


def test_certainty_falls_with_fewer_items_and_with_doubts() -> None:
    many = infer([item(f"USER#{n}", f"ORDER#{n}", x="1") for n in range(20)])["Order"]
    few = infer([item(f"USER#{n}", f"ORDER#{n}", x="1") for n in range(5)])["Order"]
    one = infer([item("USER#bob", "ORDER#7", x="1")])["Order"]
    assert [each.evidence.certainty for each in (many, few, one) if each.evidence] == [
        "high",
        "medium",
        "low",
    ]
    assert one.evidence is not None
    assert one.evidence.doubts == ("pk: 'bob' may be a literal",)


CITIES = InferredTable(
    "Shop", "pk", "sk", indexes=(InferredIndex("ByCity", ("city_pk",), ("city_sk",)),)
)


def test_ids_are_named_by_the_word_that_begins_like_their_prefix() -> None:
    ids = [f"C#01HK153X0000000000000000{n:02}" for n in range(10)]
    items = [item(each, "CONCERT", title="x") for each in ids]
    items += [item(each, f"SEAT#{n:03}", buyer="ada") for each in ids for n in range(3)]
    assert keys_of(items) == {
        "Concert": ("{concert}", "CONCERT"),
        "Seat": ("{concert}", "SEAT#{number:03}"),
    }


def test_an_index_key_that_copies_an_attribute_is_made_of_it() -> None:
    items = [
        item(
            f"SHOW#{n}",
            "SHOW",
            city=f"town{n % 3}",
            day=f"2026-01-{n:02}",
            city_pk=f"CITY#town{n % 3}",
            city_sk=f"2026-01-{n:02}",
        )
        for n in range(10, 20)
    ]
    show = infer(items, CITIES)["Show"]
    assert show.index_keys == {"ByCity": (("CITY#{city}", "{day}"),)}
    assert "city_sk" not in {each.name for each in show.fields}


def test_parts_whose_name_is_taken_are_named_by_their_type() -> None:
    items = [
        item(f"SALES#2026-01-{n}", f"SALE#2026-01-{n}T09:00:00.000000Z#t{n}", price={"N": "1"})
        for n in range(10, 20)
    ]
    assert keys_of(items) == {"Sale": ("SALES#{sale}", "SALE#{at}#{sale2}")}
