"""Deployment: creates and changes the tables of a database to match their declarations.

`plan` compares them and returns the steps needed, `apply` carries them out, and `verify` compares the
guards of unique fields with items. They only use DynamoDB's API, so they work on the service, on an
embedded file and on any compatible server.

>>> from keyfold import Entity, Index, Key, Table
>>> from keyfold.deploy import apply, plan
>>> from keyfold.engine import Engine
>>> songs = Table("Songs", key=Key("artist", "title"), indexes=[Index("ByYear", key=Key("year"))])
>>> class Song(Entity, table=songs, key=("{artist}", "{title}")):
...     artist: str
...     title: str
...     year: str
>>> with Engine.open(":memory:") as database:
...     for step in plan(database, [songs])[0].steps:
...         print(step.text)
...     reports = apply(database, [songs])
...     print(reports[0].is_as_declared)
create table Songs by artist, title with ByYear
True
"""

from __future__ import annotations

from keyfold.deploy._applying import Event, Report, apply, plan
from keyfold.deploy._plans import Obstacle, PlanStep, TablePlan, UniqueStep, plan_table
from keyfold.deploy._states import IndexState, TableState, read_state
from keyfold.deploy._unique import verify
from keyfold.store._unique_audit import UniqueReport
from keyfold.store._unique_problems import UniqueProblem

__all__ = [
    "Event",
    "IndexState",
    "Obstacle",
    "PlanStep",
    "Report",
    "TablePlan",
    "TableState",
    "UniqueProblem",
    "UniqueReport",
    "UniqueStep",
    "apply",
    "plan",
    "plan_table",
    "read_state",
    "verify",
]
