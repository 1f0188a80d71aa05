"""A table whose names are in the way of a client's own."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, Field

from keyfold import ALL, Entity, Get, Key, Put, Query, Role, Table, Update, attr, part

awkward = Table("awkward-things", key=Key("pk", "sk"))


class Problem(BaseModel):
    """A tree, as `tree.branches` has it."""

    label: str = ""
    branches: list[Problem] = Field(default_factory=list["Problem"])


class Results(Entity, table=awkward, key=("R#{owner}", "{number:04}")):
    r"""Has a name of the client's; its text has a \ and a "quote".

    And more, with a "quote"
    """

    owner: str = part()
    number: int = part()
    kind: str = attr(default="", alias="list")
    copy_of: str | None = attr(default=None, alias="copy")
    first_name: str = attr(default="", alias="first-name")
    on: date | None = attr(default=None, alias="date")
    pause: timedelta = timedelta(minutes=5)
    prices: dict[str, Decimal | None] = Field(default_factory=dict[str, "Decimal | None"])
    tags: set[str] = Field(default_factory=set[str])
    pairs: tuple[tuple[str, int], ...] = ()
    raw: bytes = b""
    tree: Problem | None = None
    more: dict[str, Any] = Field(default_factory=dict[str, Any])


@awkward.pattern("Close", path="/things/{owner}/{number}/close")
def close(owner: str, number: int, idempotency_key: str) -> Update[Results]:
    return Results.update(owner=owner, number=number).set(Results.f.kind, idempotency_key)


def list_things(owner: str, page_size: int = 2, tagged: tuple[str, ...] = ()) -> Query[Results]:
    query = Results.query(owner=owner).limit(page_size)
    for tag in tagged:
        query = query.where(Results.f.tags.contains(tag))
    return query


list_things.__name__ = "list"
awkward.pattern("List", path="/things/{owner}")(list_things)


@awkward.pattern("One", path="/things/{owner}/{number}")
def one(owner: str, number: int) -> Get[Results]:
    return Results.get(owner=owner, number=number)


@awkward.pattern("Put")
def put(results: Results) -> Put[Results]:
    return results.put()


awkward.add_role(Role("owner", tenant="owner", can={Results: ALL}))
