"""Problems of a declaration are reported when the class is complete, or the table is opened."""

# Most of these classes are only declared, not used.
# pyright: reportUnusedClass=false

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

import pytest
from pydantic import ConfigDict, ValidationError, computed_field

import keyfold
from keyfold.errors import DeclarationInvalid
from keyfold.model import (
    Entity,
    Expiry,
    Index,
    Key,
    Table,
    Version,
    attr,
    part,
)
from tests.unit.model.declaring import problems_of

by_status = Index("ByStatus", key=Key("gsi1pk", "gsi1sk"))


def test_a_computed_field_in_a_key_is_refused_with_the_way_to_do_it() -> None:
    def declare() -> None:
        class Bad(
            Entity,
            table=Table("Shop", key=Key("pk", "sk"), indexes=[by_status]),
            key=("NAME#{folded}", "-"),
            indexes={by_status: ("-", "{folded}")},
        ):
            name: str

            @computed_field
            @property
            def folded(self) -> str:
                return self.name.casefold()

    assert problems_of(declare) == [
        (
            "Bad.pk: template 'NAME#{folded}' names 'folded', which is computed; keys are made from "
            "other fields."
        ),
        (
            "Bad.gsi1sk: template '{folded}' names 'folded', which is computed; keys are made from "
            "other fields. Declare an ordinary one, and set it in before_write."
        ),
    ]


def test_all_problems_of_an_entity_are_reported_at_once() -> None:
    table = Table("Shop", key=Key("pk", "sk"), indexes=[by_status], ttl="ttl")

    def declare() -> None:
        class Bad(
            Entity,
            table=table,
            key=("USER#{nmae}", "{count}"),
            indexes={by_status: "STATUS#{status}"},
            unique=["email", "tags"],
        ):
            model_config = ConfigDict(frozen=False)

            name: str = attr("sk")
            count: int
            lost: str = part()
            tags: set[str] = attr(default_factory=set)
            one: str = attr("x")
            two: str = attr("x")
            ttl: datetime
            first: Version = 0
            second: Version = 0

    assert problems_of(declare) == [
        "Bad.two: it is stored as 'x', as is one.",
        (
            "Bad.pk: template 'USER#{nmae}' names 'nmae', which is not a field; its fields are name, "
            "count, lost, tags, one, two, ttl, first, second."
        ),
        (
            "Bad: key template '{count}' has an int without a width. Write {count:03} for numbers of "
            "up to three digits: without leading zeros, 10 would sort before 9."
        ),
        "Bad: ByStatus has 2 key attributes (gsi1pk, gsi1sk), but 1 templates are declared.",
        "Bad.lost: it is a part(), but no template of the item's key uses it.",
        (
            "Bad: unique field 'email' is not one of its fields, which are name, count, lost, tags, "
            "one, two, ttl, first, second."
        ),
        "Bad.tags: a unique field must be stored as text, a number or bytes; it is set[str].",
        "Bad: entities must be frozen. Remove frozen from its model_config.",
        (
            "Bad.ttl: it is stored as 'ttl', the table's ttl, which must be a number of seconds. "
            "Declare it as Expiry."
        ),
        "Bad: it has several Version fields; keep one.",
    ]
    assert table.entities == {}


@pytest.mark.parametrize("name", ["get", "f", "put", "query", "update", "delete", "replace"])
def test_a_field_that_shadows_a_method_is_refused(name: str) -> None:
    def declare() -> None:
        make: Any = type(Entity)
        make("Bad", (Entity,), {"__annotations__": {name: str}, "__module__": __name__})

    (problem,) = problems_of(declare)
    assert problem == (
        f"Bad.{name}: Entity has a method of that name. Rename the field, and store "
        f'it as {name!r} with attr("{name}").'
    )


def test_a_computed_field_may_not_shadow_a_method_either() -> None:
    def declare() -> None:
        class Bad(Entity):
            @computed_field
            @property
            def f(self) -> str:
                return ""

    assert "Bad.f: Entity has a method of that name" in problems_of(declare)[0]


def test_names_that_only_resemble_methods_are_allowed() -> None:
    table = Table("Tab", key=Key("pk"))

    class Fine(Entity, table=table, key="{id}"):
        id: str
        count: int
        size: int
        place: str
        owner: str

    assert repr(Fine.f.count) == "Fine.f.count"
    assert repr(Fine.f.place) == "Fine.f.place"


@pytest.mark.parametrize(
    ("table", "names", "text"),
    [
        (Table("Tab", key=Key("pk")), {"pk": str}, "the attribute of a key of the item"),
        (
            Table("Tab", key=Key("pk"), type_attribute="kind"),
            {"kind": str},
            "the attribute of the item's type",
        ),
    ],
)
def test_a_field_may_not_use_a_reserved_attribute_name(
    table: Table, names: dict[str, Any], text: str
) -> None:
    def declare() -> None:
        make: Any = type(Entity)
        make(
            "Bad",
            (Entity,),
            {"__annotations__": {"id": str, **names}, "__module__": __name__},
            table=table,
            key="BAD#{id}",
        )

    (problem,) = problems_of(declare)
    assert text in problem


def test_a_field_stored_under_the_name_of_an_index_key_made_by_a_template_is_refused() -> None:
    table = Table("Tab", key=Key("pk"), indexes=[by_status])

    def declare() -> None:
        class Bad(Entity, table=table, key="{id}", indexes={by_status: ("S#{id}", "{at}")}):
            id: str
            at: str = attr("gsi1pk")

    assert problems_of(declare) == [
        (
            "Bad.at: it is stored as 'gsi1pk', the attribute of a key of the item. Give it another "
            "name with attr(), or make it a part()."
        )
    ]


def test_an_index_of_another_table_and_contradicting_templates_are_refused() -> None:
    other = Index("Other", key=Key("a"))
    first = Index("First", key=Key("a"))
    second = Index("Second", key=Key("a", "pk"))
    table = Table("Tab", key=Key("pk"), indexes=[first, second])

    def declare() -> None:
        class Bad(
            Entity,
            table=table,
            key="BAD#{id}",
            indexes={other: "{id}", first: "A#{id}", second: ("B#{id}", "C#{id}")},
        ):
            id: str

    assert problems_of(declare) == [
        "Bad: Other is not an index of Tab.",
        (
            "Bad: 'pk' in Second is part of the item's key, so its template must be 'BAD#{id}', not "
            "'C#{id}'."
        ),
        "Bad: 'a' is 'A#{id}' for First but 'B#{id}' for Second; an item has one value of it.",
    ]


def test_an_entity_needs_one_template_per_key_attribute() -> None:
    table = Table("Tab", key=Key("pk", "sk"))

    def without() -> None:
        class Bad(Entity, table=table):
            id: str

    def with_one() -> None:
        class Bad(Entity, table=table, key="{id}"):
            id: str

    assert problems_of(without) == ["Bad: it has a table but no key. Declare key=…."]
    assert problems_of(with_one) == [
        "Bad: its key has 1 templates, but the table's key has 2 attributes (pk, sk)."
    ]


def test_all_problems_of_a_table_are_reported_at_once() -> None:
    def declare() -> None:
        Table(
            "Tab",
            key=Key(("a", "b")),
            indexes=[
                Index("Ind", key=Key("x")),
                Index("Ind", key=Key("x", "x")),
                Index("Loc", key=Key("x", "y"), local=True),
                Index("Wide", key=Key(("a", "b", "c", "d", "e"))),
                Index("ä", key=Key("x")),
                Index("Word", key=Key("x"), project="some"),
                Index("None", key=Key("x"), project=()),
                Index("Many", key=Key("x"), project=["y"] * 21),
            ],
            naming="kebab",  # type: ignore[arg-type]
        )

    assert problems_of(declare) == [
        (
            "'ä' is not a valid name of a table or index: use 3 to 255 letters, digits, '_', '-' and "
            "'.'."
        ),
        "Tab: index 'Ind' is declared twice.",
        "Tab: a table's key has one partition attribute and at most one sort attribute.",
        "Tab: naming is 'kebab'; it must be one of as_written, camel, pascal.",
        "Tab: index 'Ind' has an attribute twice in its key.",
        (
            "Tab: index 'Loc' is local, so it must have the table's partition key a, b and one sort "
            "attribute, in a table with a sort key."
        ),
        (
            "Tab: index 'Wide' must have 1 to 4 attributes in its partition key, and at most 4 in its "
            "sort key."
        ),
        "Tab: index 'Word' projects 'some'; pass 'all', 'keys' or a list of names.",
        (
            "Tab: index 'None' projects []; pass at least one attribute name, each of 1 to 255 "
            "characters."
        ),
        "Tab: index 'Many' projects a name twice.",
        "Tab: index 'Many' projects 21 names; the maximum is 20.",
    ]


@pytest.mark.parametrize("name", ["ab", "a" * 256, "a b", "a/b", ""])
def test_an_invalid_table_name_is_refused(name: str) -> None:
    (problem,) = problems_of(lambda: Table(name, key=Key("pk")))
    assert problem.startswith(f"{name!r} is not a valid name of a table or index")


MANY_GLOBAL = [Index(f"Idx{each}", key=Key(f"a{each}")) for each in range(21)]
MANY_LOCAL = [Index(f"Idx{each}", key=Key("pk", f"a{each}"), local=True) for each in range(6)]
MANY_NAMES = [
    Index(f"Idx{each}", key=Key(f"a{each}"), project=[f"x{name}" for name in range(20)])
    for each in range(6)
]


@pytest.mark.parametrize(
    ("declare", "expected"),
    [
        (lambda: Table("Tab", key=Key("pk", types={"pk": "X"})), "'pk' must be 'S', 'N' or 'B', not"),  # type: ignore[dict-item]
        (lambda: Table("Tab", key=Key("pk", types={"id": "N"})), "is not an attribute of that key"),
        (lambda: Table("Tab", key=Key("pk", "pk")), "its key has 'pk' twice"),
        (lambda: Table("Tab", key="pk"), "its key must be a Key; got 'pk'"),  # type: ignore[arg-type]
        (lambda: Table("Tab", key=Key("pk"), indexes=["x"]), "its indexes must be Index objects; got 'x'"),  # type: ignore[list-item]
        (lambda: Table(5, key=Key("pk")), "5 is not a valid name of a table or index"),  # type: ignore[arg-type]
        (lambda: Table("Tab", key=Key("pk"), ttl="pk"), "its ttl is 'pk', which is already part of its key"),
        (
            lambda: Table("Tab", key=Key("pk"), ttl="a", type_attribute="a"),
            "its type_attribute is 'a', which is already its ttl",
        ),
        (lambda: Table("Tab", key=Key("pk"), ttl=""), "its ttl must be the name of an attribute, not"),
        (lambda: Table("Tab", key=Key("pk"), indexes=MANY_GLOBAL), "21 global indexes; the maximum is 20"),
        (lambda: Table("Tab", key=Key("pk", "sk"), indexes=MANY_LOCAL), "6 local indexes; the maximum is 5"),
        (lambda: Table("Tab", key=Key("pk"), indexes=MANY_NAMES), "120 names projected by its indexes"),
    ],
)  # fmt: skip
def test_a_table_that_the_service_would_refuse_is_refused(
    declare: Callable[[], Any], expected: str
) -> None:
    (problem,) = problems_of(declare)
    assert expected in problem


def test_an_invalid_name_of_a_key_attribute_is_refused() -> None:
    assert problems_of(lambda: Table("Tab", key=Key("pk", ""))) == [
        "Tab: '' is not a valid name of a key attribute: use 1 to 255 characters."
    ]


def test_opening_a_table_reports_all_problems_at_once() -> None:
    lonely = Index("Lonely", key=Key("nobody", "fills"))
    named = Index("Named", key=Key("name"))
    table = Table("Shop", key=Key("pk"), indexes=[lonely, named], ttl="ttl")

    class User(Entity, table=table, key="U#{id}"):
        id: str
        name: str

    class Unit(Entity, table=table, key="U#{code}"):
        code: str
        name: int

    with pytest.raises(DeclarationInvalid) as caught:
        keyfold.open(table, ":memory:")
    assert list(caught.value.problems) == [
        (
            "User and Unit can both have the key ('U#a',). Change a template, so that a key identifies "
            "the entity of its item."
        ),
        "Shop: no entity fills the key of index 'Lonely' (nobody, fills).",
        "Shop: no entity has a field stored as 'ttl', the ttl.",
        "Shop: key attribute 'name' holds different types: S for User, N for Unit.",
    ]
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def test_a_field_stored_as_a_key_must_have_a_key_type() -> None:
    index = Index("Ind", key=Key("a", "b"))
    table = Table("Tab", key=Key("pk", types={"pk": "B"}), indexes=[index])

    class Full(Entity, table=table, key="{pk}"):
        pk: bytes
        a: str
        b: str

    table.check()

    class Part(Entity, table=table, key="{pk}", fallback=True):
        pk: str
        a: bool = False

    assert problems_of(table.check) == [
        (
            "Part: 'a' is a key attribute, which holds text, a number or bytes, but is stored as BOOL "
            "here."
        ),
        "Tab: key attribute 'pk' holds different types: B for Full, S for Part.",
        "Tab: key attribute 'a' holds different types: S for Full, BOOL for Part.",
    ]


def test_a_free_form_key_is_alone_or_a_fallback() -> None:
    table = Table("Tab", key=Key("pk"))

    class Free(Entity, table=table, key="{pk}"):
        pk: str

    class Order(Entity, table=table, key="O#{id}"):
        id: str

    assert problems_of(table.check) == [
        (
            "Free and Order: an entity with a free-form key must be the only one in its table, or "
            "the table's fallback."
        )
    ]


def test_a_table_has_one_fallback() -> None:
    table = Table("Tab", key=Key("pk"))

    class Free(Entity, table=table, key="{pk}", fallback=True):
        pk: str

    def declare() -> None:
        class Other(Entity, table=table, key="{pk}", fallback=True):
            pk: str

    assert problems_of(declare) == ["Other: Free is already the table's fallback."]
    table.check()


def test_two_entities_of_one_name_are_refused_unless_the_statement_ran_again() -> None:
    table = Table("Tab", key=Key("pk"))

    def declare() -> Any:
        class Same(Entity, table=table, key="S#{id}"):
            id: str

        return Same

    declare()
    again = declare()
    assert table.entities["Same"].entity is again

    def declare_other() -> None:
        class Same(Entity, table=table, key="O#{id}"):
            id: str

    assert problems_of(declare_other) == ["Same: Tab already has an entity of that name."]


def test_kinds_are_told_apart_by_the_type_attribute() -> None:
    table = Table("Tab", key=Key("pk"), type_attribute="kind")

    class One(Entity, table=table, key="{id}", kind="x"):
        id: str

    class Other(Entity, table=table, key="{id}", kind="x"):
        id: str

    assert problems_of(table.check) == ["One and Other are both of kind 'x'."]


def test_an_entity_without_a_table_can_be_a_base_and_nothing_else() -> None:
    class Base(Entity):
        id: str
        made: str = attr("m")

    table = Table("Tab", key=Key("pk"))

    class Child(Base, table=table, key="C#{id}"):
        more: int

    assert Child(id="1", made="x", more=1).put().item == {
        "pk": {"S": "C#1"},
        "id": {"S": "1"},
        "m": {"S": "x"},
        "more": {"N": "1"},
    }
    assert problems_of(lambda: Base.get(id="1")) == [
        "Base: it has no table. Declare it with class …(Entity, table=…, key=…)."
    ]


def test_entities_are_frozen() -> None:
    table = Table("Tab", key=Key("pk"))

    class Frozen(Entity, table=table, key="{id}"):
        id: str
        amount: Decimal

    frozen = Frozen(id="1", amount=Decimal(1))
    with pytest.raises(ValidationError, match="frozen"):
        frozen.amount = Decimal(2)  # type: ignore[misc]


def test_the_table_is_made_with_the_types_of_its_keys() -> None:
    wide = Index("Wide", key=Key(("country", "city"), ("zip", "street")))
    local = Index("Local", key=Key("pk", "data"), local=True, project="keys")
    table = Table("Tab", key=Key("pk", "sk"), indexes=[wide, local], ttl="gone")

    class Place(Entity, table=table, key=("{number}", "P#{city}")):
        number: int = attr("pk")
        country: str
        city: str
        zip: int
        street: str
        data: bytes
        gone: Expiry

    table.check()
    assert table.to_dynamodb() == {
        "TableName": "Tab",
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "N"},
            {"AttributeName": "sk", "AttributeType": "S"},
            {"AttributeName": "country", "AttributeType": "S"},
            {"AttributeName": "city", "AttributeType": "S"},
            {"AttributeName": "zip", "AttributeType": "N"},
            {"AttributeName": "street", "AttributeType": "S"},
            {"AttributeName": "data", "AttributeType": "B"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "Wide",
                "KeySchema": [
                    {"AttributeName": "country", "KeyType": "HASH"},
                    {"AttributeName": "city", "KeyType": "HASH"},
                    {"AttributeName": "zip", "KeyType": "RANGE"},
                    {"AttributeName": "street", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "LocalSecondaryIndexes": [
            {
                "IndexName": "Local",
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "data", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    }


def test_a_misspelt_keyword_of_a_class_names_the_nearest() -> None:
    table = Table("Own", key=Key("pk"), indexes=[])
    options: dict[str, Any] = {"table": table, "key": "A#{code}"}

    def declare(**more: Any) -> None:
        class Order(Entity, **more):
            code: str

    assert problems_of(lambda: declare(tabel=table, key="A#{code}")) == [
        "Order: unknown keyword 'tabel'. Did you mean 'table'?"
    ]
    assert problems_of(lambda: declare(**options, indexs={}, colour="red")) == [
        "Order: unknown keyword 'indexs'. Did you mean 'indexes'?",
        (
            "Order: unknown keyword 'colour'. "
            "Known: table, key, indexes, kind, unique, fallback, checks_key, lint_ignore."
        ),
    ]
    # Pydantic's keywords are keywords of an entity, too.
    assert problems_of(lambda: declare(**options, extar="allow")) == [
        "Order: unknown keyword 'extar'. Did you mean 'extra'?"
    ]
    declare(**options, extra="allow", title="An order")
    assert "Order" in table.entities


def test_a_base_class_may_take_keywords_of_its_own() -> None:
    table = Table("Own", key=Key("pk"))

    class Base(Entity):
        flavour: ClassVar[str]

        def __init_subclass__(cls, flavour: str, **options: Any) -> None:
            super().__init_subclass__(**options)
            cls.flavour = flavour

    options: dict[str, Any] = {"table": table, "key": "T#{code}", "flavour": "green"}

    class Tea(Base, **options):
        code: str

    assert Tea.flavour == "green"
    assert "Tea" in table.entities
