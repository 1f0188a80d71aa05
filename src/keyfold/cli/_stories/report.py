"""Tells the stories on a database, and reports what came of each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keyfold.cli._databases import create_empty_table
from keyfold.cli._demo_databases import DemoDatabase
from keyfold.cli._stories import exchange_rates, letsgo, market, pantry
from keyfold.cli._stories.teller import (
    Actor,
    OpenAs,
    Step,
    Story,
    StoryClock,
    StoryFailed,
    Teller,
)
from keyfold.store import Store
from keyfold.store._sent_calls import CallLog

STORIES: dict[str, Story] = {
    "exchange_rates": exchange_rates.STORY,
    "letsgo": letsgo.STORY,
    "pantry": pantry.STORY,
    "market": market.STORY,
}


@dataclass(frozen=True, slots=True)
class StoryReport:
    """The steps of one story."""

    design: str
    title: str
    steps: list[Step]

    @property
    def holds(self) -> bool:
        """Whether every step went as the story has it."""
        return not any(step.problems for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "design": self.design,
            "title": self.title,
            "steps": [step.to_json() for step in self.steps],
            "as_expected": self.holds,
        }


def tell_stories(
    url: str,
    *,
    now: datetime,
    designs: Iterable[str] | None = None,
    on_design: Callable[[str], None] = lambda _: None,
    index_lag: int = 0,
) -> list[StoryReport]:
    """Create the tables of these designs, or of all, in a database, and tell their stories.

    Each actor has the rights of their roles. Time begins at `now`, and passes as the stories say.
    With an `index_lag`, they are told in memory, on an engine whose global indexes lack that many of
    the last writes. Raises WriteRefused, before anything is written, if one of the tables has items.
    """
    names = list(STORIES if designs is None else designs)
    tables = [STORIES[name].table for name in names]
    reports: list[StoryReport] = []
    clock, log = StoryClock(now), CallLog(tables)
    database = DemoDatabase(url, index_lag)
    with database.open(tables, clock=clock, log=log) as store:
        for table in tables:
            create_empty_table(store, table)
        for name in names:
            on_design(name)
            clock.now = now
            told = tell_story(
                name, clock, log, lambda actor: _act(store, actor), attempts=database.attempts
            )
            reports.append(told)
    return reports


def tell_story(
    design: str, clock: StoryClock, log: CallLog, open_as: OpenAs, *, attempts: int = 1
) -> StoryReport:
    """Tell the story of one design; `log` is a hook of the stores that `open_as` returns.

    A read whose result is as the story has it only later has several `attempts`.
    """
    story = STORIES[design]
    teller = Teller(story.table, clock, log, open_as, attempts=attempts)
    # The last step says why a story failed.
    with suppress(StoryFailed):
        story.tell(teller)
    return StoryReport(design, story.title, teller.steps)


def _act(store: Store, actor: Actor) -> Store:
    return store.as_principal(*actor.roles, **actor.ids) if actor.roles else store
