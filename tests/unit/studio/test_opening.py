"""How a studio knows the tables of a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold import Entity, Key, Table
from keyfold.designs import exchange_rates, market
from keyfold.engine import Engine
from keyfold.studio import open_workspace
from keyfold.studio._marks import make_marks
from keyfold.studio._opening import make_workspace
from keyfold.studio._problems import StudioProblem
from keyfold.studio._recording import CallRecorder


def make_songs() -> tuple[Table, type[Any]]:
    songs = Table("Songs", key=Key("pk", "sk"))

    class Song(Entity, table=songs, key=("ARTIST#{artist}", "SONG#{title}")):
        artist: str
        title: str

    return songs, Song


def write_songs(file: Path) -> Table:
    table, song = make_songs()
    with keyfold.open(table, str(file)) as store:
        for title in ("Sinnerman", "Feeling Good"):
            store.run(song(artist="Nina Simone", title=title).put())
    return table


def test_a_named_table_is_declared(tmp_path: Path) -> None:
    table = write_songs(tmp_path / "songs.db")
    with open_workspace(str(tmp_path / "songs.db"), [table]) as workspace:
        found = workspace.find("Songs")
        assert (found.table, found.origin, found.problems) == (table, "declared", ())
        assert (workspace.name, workspace.kind) == ("songs.db", "file")


def test_a_table_of_the_project_is_found_by_its_name(tmp_path: Path) -> None:
    table = write_songs(tmp_path / "songs.db")
    with open_workspace(str(tmp_path / "songs.db"), known=[table]) as workspace:
        assert workspace.find("Songs").origin == "declared"


def test_an_included_design_is_known_by_its_name(tmp_path: Path) -> None:
    with keyfold.open(market.table, str(tmp_path / "market.db")):
        pass
    with open_workspace(str(tmp_path / "market.db")) as workspace:
        found = workspace.find("Market")
        assert (found.table, found.origin) == (market.table, "design")


def test_a_design_of_another_key_is_not_taken(tmp_path: Path) -> None:
    other = Table("Market", key=Key("id"))

    class Thing(Entity, table=other, key="THING#{name}"):
        name: str

    with keyfold.open(other, str(tmp_path / "market.db")) as store:
        store.run(Thing(name="one").put())
    with open_workspace(str(tmp_path / "market.db")) as workspace:
        assert workspace.find("Market").origin == "inferred"


def test_an_unknown_table_is_inferred(tmp_path: Path) -> None:
    write_songs(tmp_path / "songs.db")
    with open_workspace(str(tmp_path / "songs.db")) as workspace:
        found = workspace.find("Songs")
        assert found.origin == "inferred"
        [schema] = found.table.entities.values()
        assert [part.template and part.template.text for part in schema.keys] == [
            "ARTIST#{artist}",
            "SONG#{title}",
        ]
        assert found.module is not None


def test_a_table_without_items_is_inferred_again_when_it_has_some() -> None:
    table, song = make_songs()
    with Engine.open(":memory:") as engine:
        workspace = make_workspace(engine)
        assert workspace.list_tables() == ()
        engine.execute("CreateTable", table.to_dynamodb())
        assert workspace.list_tables() == ("Songs",)
        assert not workspace.find("Songs").table.entities
        made = song(artist="Nina Simone", title="Sinnerman")
        item = song.keyfold_schema().encode(made)
        engine.execute("PutItem", {"TableName": "Songs", "Item": item})
        assert workspace.find("Songs").table.entities


def test_a_table_that_is_not_there_says_so(tmp_path: Path) -> None:
    write_songs(tmp_path / "songs.db")
    with open_workspace(str(tmp_path / "songs.db"), [market.table]) as workspace:
        assert "has no such table" in workspace.find("Market").problems[0]


def test_a_table_that_lacks_an_index_says_so() -> None:
    plain = Table(exchange_rates.table.name, key=exchange_rates.table.key)
    with Engine.open(":memory:") as engine:
        engine.execute("CreateTable", plain.to_dynamodb())
        workspace = make_workspace(engine, [exchange_rates.table])
        [problem] = workspace.find("ExchangeRates").problems
        assert "BaseCurrencyIndex" in problem


def test_without_a_database_there_are_sample_items() -> None:
    with open_workspace(None, [market.table]) as workspace:
        assert workspace.kind == "memory"
        scanned = workspace.executor.execute("Scan", {"TableName": "Market"})
        assert scanned["Count"] > 5


def test_an_unknown_name_is_refused() -> None:
    with Engine.open(":memory:") as engine, pytest.raises(StudioProblem, match="no table 'None'"):
        make_workspace(engine).find("None")


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("PutItem", {"TableName": "Market", "Item": {}}),
        ("ExecuteStatement", {"Statement": 'DELETE FROM "Market" WHERE pk = 1'}),
        ("BatchExecuteStatement", {"Statements": []}),
        ("ExecuteTransaction", {"TransactStatements": []}),
        ("DeleteTable", {"TableName": "Market"}),
        ("UpdateTimeToLive", {"TableName": "Market"}),
    ],
)
def test_a_read_only_workspace_refuses_writes(operation: str, request_: dict[str, object]) -> None:
    with open_workspace(None, [market.table], read_only=True) as workspace:
        with pytest.raises(StudioProblem, match="--read-only"):
            workspace.executor.execute(operation, dict(request_))
        assert workspace.executor.execute("Scan", {"TableName": "Market"})["Count"]


def test_calls_are_recorded_with_their_units() -> None:
    with open_workspace(None, [market.table]) as workspace:
        times = iter(range(10))
        recorder = CallRecorder(workspace.executor, clock=lambda: next(times) / 1_000)
        recorder.execute("Scan", {"TableName": "Market", "Limit": 3})
        [made] = recorder.calls
        assert (made.operation, made.is_read, made.scanned, made.returned) == ("Scan", True, 3, 3)
        assert made.units == 0.5
        assert made.milliseconds == pytest.approx(1)
        assert "ReturnConsumedCapacity" not in made.request
        assert recorder.count_units() == (0.5, 0)


def test_marks_differ() -> None:
    names = ["Order", "OrderLine", "Origin", "Oracle", "A", "Ab", "abc", "über"]
    marks = make_marks(names)
    assert len({mark.letters for mark in marks.values()}) == len(names)
    assert all(1 <= len(mark.letters) <= 2 for mark in marks.values())


def test_marks_of_the_second_round_are_hollow() -> None:
    marks = [*make_marks([f"Entity{number}" for number in range(12)]).values()]
    assert [mark.is_hollow for mark in marks] == [False] * 10 + [True] * 2
    assert marks[10].hue == 1
