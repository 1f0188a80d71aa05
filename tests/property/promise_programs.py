"""Random declarations of one table, as three versions of a program have them.

`old` and `newer` run side by side: the newer one knows a further field. `renamed` comes after both: its
class and one of its fields have other names.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Optional, cast

from hypothesis import strategies as st
from pydantic import BaseModel, Field

from keyfold import (
    CreatedAt,
    Entity,
    Expiry,
    Index,
    Key,
    Table,
    UpdatedAt,
    Version,
    attr,
    computed_field,
    part,
)
from keyfold.store import Store

Generation = Literal["old", "newer", "renamed"]
GENERATIONS: tuple[Generation, ...] = ("old", "newer", "renamed")


@dataclass(frozen=True)
class Spec:
    """What is random in a declaration."""

    has_type: bool
    has_version: bool
    has_times: bool
    has_label: bool
    unique: frozenset[str]
    lowest_age: int
    most_tags: int
    # Whether members without a city are in the index by their team.
    has_choice: bool = False
    # Whether `before_write` derives a field.
    has_hook: bool = False
    # Whether members can expire.
    has_expiry: bool = False


specs = st.builds(
    Spec,
    has_type=st.booleans(),
    has_version=st.booleans(),
    has_times=st.booleans(),
    has_label=st.booleans(),
    unique=st.sets(st.sampled_from(["email", "handle"])).map(frozenset),
    lowest_age=st.sampled_from([0, 18]),
    most_tags=st.sampled_from([1, 3]),
    has_choice=st.booleans(),
    has_hook=st.booleans(),
    has_expiry=st.booleans(),
)


class Address(BaseModel):
    """A nested model with bounds."""

    street: str = ""
    number: int = Field(default=1, ge=1, le=9)


@dataclass(frozen=True)
class Program:
    """One version of a program: its table, its entity, and the store that it uses."""

    generation: Generation
    table: Table
    member: type[Any]
    store: Store

    @property
    def login(self) -> str:
        """The field that was renamed."""
        return "login" if self.generation == "renamed" else "handle"


def declare(spec: Spec, generation: Generation) -> tuple[Table, type[Any]]:
    """Return the table and the entity, as one version of the program declares them."""
    by_city = Index("ByCity", key=Key("city_pk", "city_sk"))
    table = Table(
        "Members",
        key=Key("pk", "sk"),
        indexes=[by_city],
        type_attribute="kind" if spec.has_type else None,
        ttl="expires" if spec.has_expiry else None,
    )
    login = "login" if generation == "renamed" else "handle"
    fields: dict[str, Any] = {
        "team": (str, part()),
        "name": (str, part()),
        "email": (str | None, None),
        login: (str, attr(was="handle", min_length=1) if login == "login" else attr(min_length=1)),
        "age": (int, attr(ge=spec.lowest_age, le=120)),
        "points": (int, attr(default=0, ge=0, le=10)),
        "tags": (set[str], attr(default=set(), max_length=spec.most_tags)),
        "notes": (list[str], attr(default=[], max_length=3)),
        "city": (str | None, None),
        "address": (Address | None, None),
    }
    if generation != "old":
        fields["nickname"] = (str | None, None)
    if spec.has_version:
        fields["version"] = (Version, 0)
    if spec.has_times:
        # Optional, not `| None`: to pyright, the annotated type is not a type here.
        fields["created_at"] = (Optional[CreatedAt], None)  # noqa: UP045 - as above
        fields["updated_at"] = (Optional[UpdatedAt], None)  # noqa: UP045 - as above
    if spec.has_hook:
        fields["initial"] = (str, "")
    if spec.has_expiry:
        fields["expires"] = (Optional[Expiry], None)  # noqa: UP045 - as above
    namespace: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {name: kind for name, (kind, _) in fields.items()},
        **{name: default for name, (_, default) in fields.items() if default is not ...},
    }
    if spec.has_label:

        def label(self: Any) -> str:
            return f"{getattr(self, login)} ({self.age})"

        label.__annotations__ = {"return": str}
        namespace["label"] = computed_field(depends=(login, "age"))(label)
    if spec.has_hook:

        def before_write(self: Any, now: datetime) -> Any:
            return self.model_copy(update={"initial": getattr(self, login)[:1]})

        namespace["before_write"] = before_write
    unique = {"login" if name == "handle" and login == "login" else name for name in spec.unique}
    by_place = ("CITY#{city}", "{age:03}#{name}")
    options: dict[str, Any] = {
        "table": table,
        "key": ("TEAM#{team}", "MEMBER#{name}"),
        "indexes": {
            by_city: [by_place, ("TEAM#{team}", "{name}")] if spec.has_choice else by_place
        },
        "kind": ("Person", "Member") if generation == "renamed" else "Member",
        "unique": tuple(sorted(unique)),
    }
    name = "Person" if generation == "renamed" else "Member"
    made = types.new_class(name, (Entity,), options, lambda body: body.update(namespace))
    return table, cast("type[Any]", made)
