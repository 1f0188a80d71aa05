"""Rates, volumes and examples that a declaration has for tools."""

from __future__ import annotations

import pytest

from keyfold.errors import DeclarationInvalid
from keyfold.model import Entity, Get, Key, Table
from keyfold.model._expected_use import MONTH_SECONDS, CallRate, Volume

SONGS = Table("Songs", key=Key("pk"))
OTHERS = Table("Others", key=Key("pk"))


class Song(Entity, table=SONGS, key="SONG#{title}"):
    title: str


class Stranger(Entity, table=OTHERS, key="STRANGER#{name}"):
    name: str


@pytest.mark.parametrize(
    ("given", "per_second"),
    [
        ("40/s", 40.0),
        ("1.5k/min", 25.0),
        ("7.2 k/h", 2.0),
        ("86400/day", 1.0),
        (f"{MONTH_SECONDS}/month", 1.0),
        (0.5, 0.5),
        (3, 3.0),
    ],
)
def test_rates_are_per_second_whatever_their_unit(given: str | float, per_second: float) -> None:
    assert CallRate.parse(given).per_second == pytest.approx(per_second)


@pytest.mark.parametrize("given", ["40", "40/week", "many/s", "/s", "-1/s", -1, float("inf"), True])
def test_what_is_no_rate_is_refused_with_the_pattern(given: str | float) -> None:
    table = Table("Songs", key=Key("pk"))
    with pytest.raises(
        DeclarationInvalid, match=r"Songs: pattern 'Get': rate: .* is (not a|too large)"
    ):
        table.pattern("Get", rate=given)


def test_a_peak_is_not_lower_than_the_rate() -> None:
    with pytest.raises(
        DeclarationInvalid, match=r"its peak \(1/s\) is lower than its rate \(60/s\)"
    ):
        Table("Songs", key=Key("pk")).pattern("Get", rate="60/s", peak="1/s")


def test_a_pattern_has_its_rates_and_the_rules_that_it_ignores() -> None:
    table = Table("Songs", key=Key("pk"))

    @table.pattern("Get", rate="60/min", peak=5, lint_ignore={"P04": "it is new"})
    def get(title: str) -> Get[Song]:
        return Song.get(title=title)

    assert get.rate == CallRate(1.0, "60/min")
    assert get.peak == CallRate(5.0, "5/s")
    assert get.lint_ignore == {"P04": "it is new"}


def test_volumes_are_by_entity() -> None:
    SONGS.expect(Song, items="1.5M", growth="20k/month", bytes=600, per_partition=1)
    assert SONGS.volumes == {"Song": Volume(1_500_000, 20_000, 600, 1)}


def test_volumes_of_other_tables_and_nonsense_are_refused() -> None:
    with pytest.raises(DeclarationInvalid, match="Stranger is not an entity of this table"):
        SONGS.expect(Stranger, items=1)
    with pytest.raises(DeclarationInvalid, match="Song: 'lots' is not a count"):
        SONGS.expect(Song, items="lots")


def test_examples_are_those_of_every_function() -> None:
    @SONGS.examples
    def one() -> list[Song]:
        return [Song(title="Sinnerman")]

    @SONGS.examples
    def other() -> list[Song]:
        return [Song(title="Feeling Good")]

    assert SONGS.example_entities() == (*one(), *other())
    assert OTHERS.example_entities() == ()


def test_an_example_of_another_table_is_refused() -> None:
    OTHERS.examples(lambda: [Song(title="Sinnerman")])
    with pytest.raises(DeclarationInvalid, match="Others: examples: Song"):
        OTHERS.example_entities()
