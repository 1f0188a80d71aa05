"""Declarations of handlers; invalid ones are refused before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.errors import DeclarationInvalid, UpdateInvalid
from keyfold.model import Change, Entity, Key, Table, part


def make_table(stream: Any = "new and old") -> tuple[Table, type[Entity]]:
    table = Table("Things", key=Key("pk"), stream=stream)

    class Thing(Entity, table=table, key="T#{name}"):
        name: str = part()

    return table, Thing


@pytest.mark.parametrize(
    ("stream", "view"),
    [
        ("keys", "KEYS_ONLY"),
        ("new", "NEW_IMAGE"),
        ("old", "OLD_IMAGE"),
        ("new and old", "NEW_AND_OLD_IMAGES"),
    ],
)
def test_a_table_is_made_with_its_stream(stream: str, view: str) -> None:
    table, _ = make_table(stream)
    expected = {"StreamEnabled": True, "StreamViewType": view}
    assert table.to_dynamodb()["StreamSpecification"] == expected


def test_a_table_without_a_stream_sends_no_stream_settings() -> None:
    table, _ = make_table(None)
    assert "StreamSpecification" not in table.to_dynamodb()
    assert table.stream_to_dynamodb() == {"StreamEnabled": False}


def test_an_unknown_stream_is_refused() -> None:
    with pytest.raises(DeclarationInvalid) as caught:
        make_table("everything")
    assert str(caught.value) == (
        "Things: stream is 'everything'; it must be one of 'keys', 'new', 'old', 'new and old'. "
        "[declaration-invalid]"
    )


def test_a_handler_is_registered_and_still_a_function() -> None:
    table, thing = make_table()
    calls: list[Any] = []

    @table.on_change(thing)
    def note(change: Change[Any]) -> None:
        """Take note of it."""
        calls.append(change)

    change = Change[Any]("removed", old=1)
    note(change)
    assert calls == [change]
    assert change.entity == 1
    assert dict(table.handlers) == {"note": note}
    assert len(table.handlers) == 1
    assert (note.name, note.entities, note.images) == ("note", (thing,), "new and old")
    assert (note.description, note.is_async) == ("Take note of it.", False)


def test_a_handler_needs_a_stream_that_shows_what_it_wants() -> None:
    table, thing = make_table(None)
    table.on_change(thing, name="note")(lambda _: None)
    with pytest.raises(DeclarationInvalid) as caught:
        table.check()
    [problem] = caught.value.problems
    assert problem == (
        "Things: handler 'note' needs a stream, but the table declares none. "
        'Declare stream="new and old".'
    )
    table, thing = make_table("new")
    table.check()
    table.on_change(thing, name="new", images="new")(lambda _: None)
    table.on_change(thing, name="keys", images="keys")(lambda _: None)
    table.check()
    table.on_change(thing, name="both")(lambda _: None)
    with pytest.raises(DeclarationInvalid, match="handler 'both' needs the old image of an item"):
        table.check()


def test_invalid_handlers_are_refused() -> None:
    table, thing = make_table()
    _, other = make_table()
    for wrong in (other, Entity, "Thing"):
        with pytest.raises(DeclarationInvalid, match="is not an entity of this table"):
            table.on_change(wrong)  # type: ignore[arg-type]
    with pytest.raises(DeclarationInvalid, match="name has 1 to 100"):
        table.on_change(thing)(lambda _: None)
    with pytest.raises(DeclarationInvalid, match="images is 'all'; it must be one of"):
        table.on_change(thing, name="note", images="all")(lambda _: None)  # type: ignore[arg-type]

    def note(change: Change[Any]) -> None: ...

    def another(change: Change[Any]) -> None: ...

    # Declaring the same handler again is allowed: notebook cells are run twice.
    for _ in range(2):
        table.on_change(thing)(note)
    with pytest.raises(DeclarationInvalid, match="handler 'note' is declared twice"):
        table.on_change(thing, name="note")(another)


def test_only_a_create_can_be_followed_by_or_get() -> None:
    _, thing = make_table()
    one = thing(name="one")  # type: ignore[call-arg]
    request = one.create().or_get()
    assert request.to_dynamodb() == one.create().to_dynamodb()
    assert repr(request) == "<<create Thing(name='one')> or get>"
    for put in (one.put(), one.replace()):
        with pytest.raises(UpdateInvalid, match=r"Use create\(\)\.or_get\(\)"):
            put.or_get()


def test_a_pattern_that_creates_or_gets_explains_itself() -> None:
    table, thing = make_table()

    @table.pattern("Make", example={"name": "one"})
    def make(name: str) -> Any:
        return thing(name=name).create().or_get()  # type: ignore[call-arg]

    [step] = make.explain().steps
    assert (step.operation, step.key) == ("PutItem", "pk='T#one'")
