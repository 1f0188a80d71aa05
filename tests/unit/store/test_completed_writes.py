"""What the store adds to an entity when it writes it: timestamps, and the work of before_write."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Self

import pytest

from keyfold.errors import (
    DeclarationInvalid,
    UniqueTaken,
    UpdateInvalid,
    VersionConflict,
    WriteRefused,
)
from keyfold.model import (
    CreatedAt,
    Entity,
    Expiry,
    Index,
    Key,
    Table,
    UnixTime,
    Update,
    UpdatedAt,
    Version,
    attr,
    batch,
    part,
    transaction,
)
from keyfold.testing import Clock
from tests.unit.store.store_kinds import START, AnyStore, OpenStore

by_change = Index("ByChange", key=Key("change_pk", "change_sk"))
pages = Table("Pages", key=Key("pk"), indexes=[by_change], ttl="ttl")


class Page(
    Entity,
    table=pages,
    key="PAGE#{name}",
    indexes={by_change: ("LANGUAGE#{language}", "{updated_at}")},
):
    name: str = part()
    text: str = ""
    language: str = "en"
    views: int = 0
    created_at: CreatedAt | None = None
    updated_at: UpdatedAt | None = None
    ttl: Expiry | None = None


class Log(Entity, table=pages, key="LOG#{name}"):
    name: str = part()
    lines: int = 0
    created_at: Annotated[UnixTime, CreatedAt] | None = None
    updated_at: Annotated[UnixTime, UpdatedAt] | None = None


people = Table("People", key=Key("pk", "sk"))


class Person(Entity, table=people, key=("P#{id}", "P"), unique="email"):
    id: str = part()
    email: str
    name: str = ""
    initial: str = ""
    tags: list[str] = attr(default_factory=list)
    seen_at: datetime | None = None
    version: Version = 0

    def before_write(self, now: datetime) -> Self:
        update = {"email": self.email.lower(), "initial": self.name[:1], "seen_at": now}
        return self.model_copy(update=update)


LATER = START + timedelta(hours=1)


@pytest.fixture
def library(open_store: OpenStore) -> AnyStore:
    return open_store([pages, people])


BY_CHANGE = Page.query(by_change, language="en")


def test_timestamps_are_the_stores(library: AnyStore, clock: Clock) -> None:
    page = library.run(Page(name="a").create())
    assert (page.created_at, page.updated_at) == (START, START)
    assert library.run(page.refresh()) == page
    clock.advance(3600)
    replaced = library.run(page.model_copy(update={"text": "x"}).replace())
    assert (replaced.created_at, replaced.updated_at) == (START, LATER)
    clock.advance(3600)
    later = LATER + timedelta(hours=1)
    changed = library.run(page.change(language="nl"))
    assert (changed.created_at, changed.updated_at) == (START, later)
    assert library.run(page.refresh()) == changed
    unread = library.run(Page(name="a").put())
    assert unread.created_at == later


@pytest.mark.indexes
def test_an_update_sets_the_time_of_the_write(library: AnyStore, clock: Clock) -> None:
    page = library.run(Page(name="a").create())
    library.run(Page(name="b").create())
    library.run_until(BY_CHANGE, lambda found: sorted(each.name for each in found) == ["a", "b"])
    clock.advance(3600)
    by_key = Page.update(name="a").increment(Page.f.views).knowing(language="en")
    assert library.run(by_key).updated_at == LATER
    library.run_until(BY_CHANGE, lambda found: [each.name for each in found] == ["b", "a"])
    clock.advance(3600)
    again = library.run(page.update().increment(Page.f.views))
    assert (again.created_at, again.views) == (START, 2)
    assert again.updated_at == LATER + timedelta(hours=1)


def test_a_change_of_nothing_keeps_the_time_of_the_last(library: AnyStore, clock: Clock) -> None:
    page = library.run(Page(name="a").create())
    clock.advance(3600)
    assert library.run(page.change()) == page
    assert library.run(page.change(created_at=START, updated_at=START)) == page


def test_timestamps_in_batches_and_transactions(library: AnyStore, clock: Clock) -> None:
    made = library.run(batch([Page(name="a").put(), Page(name="b").put()]))
    assert [each.created_at for each in made] == [START, START]
    clock.advance(3600)
    edits = transaction(
        made[0].change(text="x"), Log(name="l").create(), made[1].model_copy().replace()
    )
    _, log, replaced = library.run(edits)
    assert (log.created_at, replaced.created_at, replaced.updated_at) == (LATER, START, LATER)
    changed = library.run(made[0].refresh())
    assert changed is not None
    assert (changed.text, changed.updated_at) == ("x", LATER)


def test_timestamps_can_be_unix_times(library: AnyStore) -> None:
    log = library.run(Log(name="l").create())
    assert log.created_at == START
    assert library.run(log.refresh()) == log
    stored = library.execute("GetItem", {"TableName": pages.name, "Key": {"pk": {"S": "LOG#l"}}})
    assert stored["Item"]["created_at"] == {"N": str(int(START.timestamp()))}


def test_a_request_runs_at_the_time_of_the_store(library: AnyStore, clock: Clock) -> None:
    request = Page(name="a").create().expiring_in(timedelta(days=1))
    clock.advance(3600)
    page = library.run(request)
    assert (page.created_at, page.ttl) == (LATER, LATER + timedelta(days=1))
    assert library.run(Page(name="a").create().or_get()) == page


def test_timestamps_cannot_be_set(library: AnyStore) -> None:
    page = library.run(Page(name="a").create())
    for field in ("created_at", "updated_at"):
        with pytest.raises(UpdateInvalid, match=f"{field} is a timestamp, which the store sets"):
            Page.update(name="a").set(Page.f[field], LATER)
        with pytest.raises(UpdateInvalid, match=f"{field} is a timestamp, which the store sets"):
            page.change(**{field: LATER})


def test_declarations_of_timestamps_are_checked() -> None:
    with pytest.raises(DeclarationInvalid, match=r"Odd\.at: it is CreatedAt, which is known only"):

        class Odd(Entity, table=Table("Odd", key=Key("pk")), key="O#{at}"):  # pyright: ignore[reportUnusedClass] - it is refused
            at: CreatedAt

    with pytest.raises(DeclarationInvalid, match="several UpdatedAt fields"):

        class Twice(Entity, table=Table("Odd", key=Key("pk")), key="O#{id}"):  # pyright: ignore[reportUnusedClass] - it is refused
            id: str
            one: UpdatedAt | None = None
            two: UpdatedAt | None = None

    with pytest.raises(DeclarationInvalid, match="must be a datetime or UnixTime"):

        class Text(Entity, table=Table("Odd", key=Key("pk")), key="O#{id}"):  # pyright: ignore[reportUnusedClass] - it is refused
            id: str
            at: Annotated[str, CreatedAt] = ""


# before_write.


def test_before_write_completes_an_entity(library: AnyStore, clock: Clock) -> None:
    ada = library.run(Person(id="1", email="Ada@X", name="Ada").create())
    assert (ada.email, ada.initial, ada.seen_at) == ("ada@x", "A", START)
    assert library.run(ada.refresh()) == ada
    with pytest.raises(UniqueTaken):
        library.run(Person(id="2", email="ADA@x").create())
    clock.advance(3600)
    changed = library.run(ada.change(name="Bea", email="BEA@X"))
    assert (changed.email, changed.initial, changed.seen_at) == ("bea@x", "B", LATER)
    assert library.run(Person(id="2", email="ada@x").create().or_get()).id == "2"
    replaced = library.run(changed.model_copy(update={"name": "Cy"}).replace())
    assert replaced.initial == "C"


def test_before_write_leaves_a_change_of_nothing(library: AnyStore, clock: Clock) -> None:
    ada = library.run(Person(id="1", email="Ada@X", name="Ada").create())
    clock.advance(3600)
    assert library.run(ada.change(name="Ada")) == ada


@pytest.mark.indexes
def test_before_write_may_derive_what_index_keys_need(open_store: OpenStore) -> None:
    by_slug = Index("BySlug", key=Key("slug_pk"))
    posts = Table("Posts", key=Key("pk"), indexes=[by_slug])

    class Post(Entity, table=posts, key="POST#{id}", indexes={by_slug: "SLUG#{slug}"}):
        id: str = part()
        title: str
        slug: str = ""

        def before_write(self, now: datetime) -> Self:
            return self.model_copy(update={"slug": self.title.lower()})

    store = open_store(posts)
    store.run(Post(id="1", title="Hello").create())
    store.run(batch([Post(id="2", title="World").put()]))
    store.run(transaction(Post(id="3", title="Bye").put()))
    for slug in ("hello", "world", "bye"):
        [found] = store.run_until(Post.query(by_slug, slug=slug), len)
        assert found.slug == slug


def test_before_write_in_a_transaction(library: AnyStore) -> None:
    ada = library.run(Person(id="1", email="a@x", name="Ada").create())
    _, bob = library.run(
        transaction(ada.change(email="C@X"), Person(id="2", email="A@X", name="Bob").create())
    )
    assert (bob.email, bob.initial) == ("a@x", "B")
    with pytest.raises(UniqueTaken):
        library.run(Person(id="3", email="c@x").create())


def test_a_put_keeps_the_entity_that_it_was_made_of(library: AnyStore) -> None:
    person = Person(id="1", email="a@x", tags=["a"])
    request = person.create()
    person.tags.append("b")
    assert library.run(request).tags == ["a"]


def test_writes_are_shown_as_others_are() -> None:
    person = Person(id="1", email="a@x")
    assert repr(person.create()).startswith("<create Person(id='1', email='a@x'")
    assert repr(person.change(name="x")) == "<update Person pk='P#1' sk='P': name>"


def test_updates_that_would_bypass_before_write_are_refused(library: AnyStore) -> None:
    ada = library.run(Person(id="1", email="a@x", name="Ada").create())
    for update in (ada.update(), Person.update(id="1")):
        with pytest.raises(UpdateInvalid, match=r"because of before_write\(\)"):
            update.set(Person.f.name, "Bea")
    unchecked: Update[Person] = ada.update().unchecked().set(Person.f.name, "Bea")
    assert library.run(unchecked).initial == "A"
    with pytest.raises(UpdateInvalid, match=r"Pass all of them to change\(\)"):
        ada.change(name="Bea").unchecked().set(Person.f.initial, "x")


class Parcel(Entity, table=people, key=("PARCEL#{id}", "PARCEL")):
    id: str = part()
    status: str = "open"
    open_since: str | None = None

    def before_write(self, now: datetime) -> Self:
        return self.model_copy(update={"open_since": "today" if self.status == "open" else None})


def test_a_change_of_an_entity_that_was_not_read_loses_no_derived_field(library: AnyStore) -> None:
    made = Parcel(id="1")
    stored = library.run(made.create())
    assert stored.open_since == "today"
    # `made` has no `open_since`, so it could not tell that the field has to go.
    with pytest.raises(VersionConflict) as conflict:
        library.run(made.change(status="sent"))
    assert conflict.value.found == stored
    assert library.run(stored.change(status="sent")).open_since is None


def test_a_change_derives_what_an_older_program_did_not(library: AnyStore) -> None:
    item = {"pk": {"S": "PARCEL#1"}, "sk": {"S": "PARCEL"}, "status": {"S": "open"}}
    library.execute("PutItem", {"TableName": "People", "Item": item})
    old = library.run(Parcel.get(id="1"))
    assert old is not None
    assert library.run(old.change(status="sent")).open_since is None
    library.execute("PutItem", {"TableName": "People", "Item": item | {"status": {"S": "sent"}}})
    old = library.run(Parcel.get(id="1"))
    assert old is not None
    assert library.run(old.change(status="open")).open_since == "today"


class Moved(Entity, table=people, key=("M#{id}", "M")):
    id: str = part()
    other: int = 0

    def before_write(self, now: datetime) -> Any:
        return None if self.other else self.model_copy(update={"id": "x"})


def test_before_write_must_return_the_same_entity(library: AnyStore) -> None:
    with pytest.raises(WriteRefused, match=r"before_write\(\) changed id"):
        library.run(Moved(id="1").create())
    with pytest.raises(WriteRefused, match=r"before_write\(\) returned None"):
        library.run(Moved(id="1", other=1).put())
