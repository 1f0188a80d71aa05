"""Relations of entities, and their diagram in Mermaid."""

from __future__ import annotations

import re

import pytest

from keyfold import Entity, Key, Table, part
from keyfold.designs import letsgo, market, pantry
from keyfold.export.documents import DesignDocument, EntityDiagram
from keyfold.export.documents._blocks import to_plain
from keyfold.export.documents._relations import find_relations
from tests.unit.export.documents.conftest import describe

LINE = re.compile(
    r"erDiagram"
    r'|    \w+ (\|\||\|o)--(o\{|o\|) \w+ : "[^"]*"'
    r'|    (\w+|"\w+") \{|    \}'
    # Mermaid reads PK, FK and UK, in any case, as marks and not as names.
    r'|        [\w-]+ (?!(?i:pk|fk|uk)\b)[A-Za-z_][\w-]*( [PU]K(, UK)?)?( "[^"]*")?'
)


def find_diagram(document: DesignDocument) -> EntityDiagram:
    [found] = [
        block
        for section in document.sections
        for block in section.blocks
        if isinstance(block, EntityDiagram)
    ]
    return found


@pytest.mark.parametrize("table", [market.table, pantry.table, letsgo.table], ids=lambda t: t.name)
def test_every_line_is_one_that_mermaid_takes(table: Table) -> None:
    lines = find_diagram(describe(table)).mermaid.splitlines()
    assert [line for line in lines if LINE.fullmatch(line) is None] == []


def test_names_that_mermaid_reserves_are_changed_and_explained(document: DesignDocument) -> None:
    mermaid = find_diagram(document).mermaid
    assert '        String pk_ PK "pk: PATIENT#{patient}"\n' in mermaid
    assert '        String sk PK "VISIT#{number:03}"\n' in mermaid
    assert "        String email UK\n" in mermaid


def test_entities_with_reserved_names_are_quoted() -> None:
    table = Table("Odd", key=Key("id"))

    class Style(Entity, table=table, key="S#{number:03}"):  # pyright: ignore[reportUnusedClass] - declared
        number: int
        is_5: bool = False

    assert '    "Style" {' in find_diagram(describe(table)).mermaid


def test_entities_relate_by_the_fields_of_their_keys() -> None:
    found = {(each.one, each.many): each for each in find_relations(market.table)}
    lines = found["Order", "OrderLine"]
    assert lines.fields == ("order",)  # the user is that of the order
    assert not lines.is_optional
    assert found["Order", "Reward"].is_optional
    assert found["Account", "User"].is_optional
    # A line belongs to a user by way of its order.
    assert ("User", "OrderLine") not in found


def test_a_relation_may_be_of_one_to_one() -> None:
    found = {(each.one, each.many): each for each in find_relations(letsgo.table)}
    assert found["Issuer", "ActiveIssuer"].is_single
    assert ("IdentityTenant", "TenantIdentity") not in found  # only in the other direction
    assert found["TenantIdentity", "IdentityTenant"].fields == ("tenant_id", "identity_id")


def test_fields_of_other_types_do_not_relate() -> None:
    table = Table("Types", key=Key("pk"))

    class One(Entity, table=table, key="ONE#{code:03}"):  # pyright: ignore[reportUnusedClass] - declared
        code: int = part()

    class Two(Entity, table=table, key="TWO#{name}"):  # pyright: ignore[reportUnusedClass] - declared
        name: str = part()
        code: str = ""

    assert find_relations(table) == ()


def test_relations_are_also_in_words(document: DesignDocument) -> None:
    words = [to_plain(each) for each in find_diagram(document).relations]
    assert words == [
        "Patient has any number of Visit, by patient",
        "Ward has any number of Visit, by ward, which may have none",
    ]
