"""The key ranges that a WHERE clause can match."""

from __future__ import annotations

import pytest

from keyfold.engine.items.keys import KeyAttribute, KeySchema
from keyfold.engine.partiql.access import Ranges, find_ranges
from keyfold.engine.partiql.translation import Translation
from keyfold.expressions.partiql.parser import parse_statement
from keyfold.expressions.partiql.trees import SelectStatement
from keyfold.expressions.trees import Condition
from tests.unit.expressions.refusals import refusal_of

SCHEMA = KeySchema((KeyAttribute("pk", "S"),), (KeyAttribute("sk", "N"),))


def clause(text: str) -> Condition:
    statement = parse_statement(f"SELECT * FROM T WHERE {text}").statement
    assert isinstance(statement, SelectStatement)
    assert statement.where is not None
    return Translation([]).condition(statement.where)


def ranges(text: str, *, down: bool = False) -> Ranges | None:
    return find_ranges(SCHEMA, None, clause(text), reverses_partitions=down, reverses_sort=down)


@pytest.mark.parametrize(
    "text",
    [
        "sk = 1",
        "pk > 'a'",
        "pk = 'a' OR n = 1",
        "NOT pk = 'a'",
        "pk = n",
        "pk IN ['a', n]",
        "begins_with(pk, 'a')",
        "pk = 'a' AND n = 1 OR n = 2",
    ],
)
def test_without_equality_on_the_partition_key_the_whole_table_is_read(text: str) -> None:
    assert ranges(text) is None


@pytest.mark.parametrize(
    ("text", "partitions", "count"),
    [
        ("pk = 'a'", 1, 1),
        ("'a' = pk AND n = 1", 1, 1),
        ("pk = 'a' OR pk = 'b'", 2, 2),
        ("pk IN ['a', 'b', 'a']", 2, 2),
        ("pk IN ['a', 'b'] AND sk IN [1, 2]", 2, 4),
        ("(pk = 'a' OR pk = 'b') AND (sk = 1 OR sk = 2)", 2, 4),
        ("pk = 'a' AND sk > 1 AND sk < 5", 1, 1),
        ("pk = 'a' AND sk > 5 AND sk < 1", 1, 0),
        ("pk = 'a' AND pk = 'b'", 0, 0),
        ("pk = 'a' AND sk <> 1", 1, 1),
        ("pk = 'a' AND n = 1 OR pk = 'a' AND n = 2", 1, 1),
        ("pk = 'a' AND sk = 1 OR pk = 'a' AND sk = 1", 1, 1),
        ("pk = 'a' AND sk < 1 OR pk = 'a' AND sk >= 1", 1, 2),
        ("pk = 'a' AND sk = 1 OR pk = 'b'", 2, 2),
    ],
)
def test_equality_and_in_select_partitions_and_ranges(
    text: str, partitions: int, count: int
) -> None:
    found = ranges(text)
    assert found is not None
    assert (found.partitions, len(found.spans)) == (partitions, count)
    assert all(low < high for low, high in found.spans)


def test_ranges_are_in_key_order_or_reversed() -> None:
    text = "pk IN ['b', 'a'] AND sk IN [3, 1, 2]"
    up, down = ranges(text), ranges(text, down=True)
    assert up is not None
    assert down is not None
    assert up.spans == tuple(reversed(down.spans))
    for partition in (up.spans[:3], up.spans[3:]):
        assert list(partition) == sorted(partition)


@pytest.mark.parametrize(
    "text",
    [
        "pk = 'a' OR pk = 'a' AND sk = 1",
        "pk = 'a' AND n = 1 OR pk = 'a' AND sk = 1",
        "pk = 'a' AND sk > 1 OR pk = 'a' AND sk < 3",
    ],
)
def test_overlapping_branches_are_refused(text: str) -> None:
    message = refusal_of(lambda: ranges(text))
    assert message == "Overlapping conditions with range keys are not supported in where clause"


def test_too_many_branches_are_read_by_a_scan() -> None:
    options = ", ".join(str(n) for n in range(50))
    assert ranges(f"pk IN ['a', 'b'] AND sk IN [{options}] AND (n = 1 OR n = 2)") is not None
    names = ", ".join(f"'{n}'" for n in range(60))
    assert ranges(f"pk IN [{names}] AND sk IN [{options}]") is None


@pytest.mark.parametrize("text", ["pk = 1", "pk = 'a' AND sk > 'x'", "pk IN ['a', 5]"])
def test_a_key_of_another_type_is_refused(text: str) -> None:
    assert refusal_of(lambda: ranges(text)).startswith("Key attribute's data type should match")
