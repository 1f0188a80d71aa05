"""The tables of docs/reference/field-types.md are true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold.model import Entity, Key, Table, part

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "field-types.md"
TEXT = PAGE.read_text("utf-8")
CLASSES = re.search(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(.+?)` \| `(.+?)` \| `(\{.+?\})` \|(?: (\w*) ?\|)?$", re.MULTILINE)
ROWS = [
    tuple(cell.replace("\\|", "|") if cell else "" for cell in row) for row in ROW.findall(TEXT)
]

assert CLASSES is not None
NAMES: dict[str, Any] = {"__name__": __name__}
exec(compile(CLASSES[1], PAGE, "exec", dont_inherit=True), NAMES)


def test_the_tables_have_all_rows() -> None:
    lines = [line for line in TEXT.splitlines() if line.startswith("| `") and '` | `{"' in line]
    assert len(ROWS) == len(lines) > 50


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_is_stored_as_it_says_and_read_back(row: tuple[str, ...]) -> None:
    kind, example, stored, _ = row
    table = Table("Things", key=Key("pk"))
    space = {"__annotations__": {"id": str, "value": eval(kind, NAMES)}, "id": part()}
    make: Any = type(Entity)
    thing = make("Thing", (Entity,), space, table=table, key="THING#{id}")
    given = eval(example, NAMES)
    entity = thing(id="1", value=given)
    item = entity.put().item
    assert item["value"] == eval(stored)
    assert thing.keyfold_schema().decode(item) == entity
    with keyfold.open(table, ":memory:") as store:
        store.run(entity.create())
        assert store.run(thing.get(id="1")) == entity
        update = thing.update(id="1").set(thing.f.value, given)
        assert store.run(update) == entity
        assert store.run(update.where(thing.f.value.eq(entity.value))) == entity
