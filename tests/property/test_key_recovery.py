"""A field that is stored and part of the key is read back from either, whatever its type."""

from __future__ import annotations

from types import new_class
from typing import Any

import pytest
from hypothesis import assume, given

from keyfold.errors import KeyPartInvalid
from keyfold.model import Entity, Key, Table
from tests.examples import examples
from tests.property.key_strategies import KINDS

EXAMPLES = examples(50)


def make_entity(name: str, *, is_optional: bool) -> type[Any]:
    """Return an entity that stores a field of a kind, and has it in its sort key."""
    kind = KINDS[name]
    spec = f":{kind.spec}" if kind.spec else ""
    annotation = kind.annotation | None if is_optional else kind.annotation
    members: dict[str, Any] = {"__annotations__": {"field": annotation, "other": str}}
    members |= {"__module__": __name__, **({"field": None} if is_optional else {})}
    table = Table("Things", key=Key("pk", "sk"))
    options = {"table": table, "key": ("T", f"T/{{field{spec}}}")}
    return new_class("Thing", (Entity,), options, lambda namespace: namespace.update(members))


@pytest.mark.parametrize("is_optional", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_an_entity_is_the_same_without_the_attribute(name: str, is_optional: bool) -> None:
    entity = make_entity(name, is_optional=is_optional)
    schema = entity.keyfold_schema()

    @EXAMPLES
    @given(KINDS[name].values)
    def check(value: Any) -> None:
        thing = entity(field=value, other="x")
        try:
            item = schema.encode(thing)
        except KeyPartInvalid:
            assume(False)
            return
        without = {name: item[name] for name in item if name != "field"}
        assert "field" in item
        assert schema.decode(item) == schema.decode(without) == thing
        assert schema.encode(schema.decode(without)) == item

    check()
