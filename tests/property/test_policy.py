"""For any partition key, a guard grants exactly what the templates of the table's areas say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keyfold.policy import Access, Guard, Right, Role
from tests.examples import examples
from tests.unit.policy.clinic import Note, clinic, keeper, nurse, patient

THOROUGH = examples(200)

LAYOUT = clinic.layout
TENANT = "user"

# Texts that are keys, nearly keys, or neither: pieces of templates in any order.
IDS = st.one_of(st.sampled_from(["ada", "bob", "a", "SETTINGS", "U", "F"]), st.text(max_size=3))
PIECES = st.one_of(st.sampled_from(["U#", "#F#", "C#", "SETTINGS", "#", "O#", "M#", "\n"]), IDS)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=5).map("".join),
    st.builds("U#{}".format, IDS),
    st.builds("U#{}#F#{}".format, IDS, IDS),
    st.builds("C#{}".format, IDS),
)
OWN = st.sampled_from(["ada", "a", "SETTINGS", "F", "é", "\n"])


def rights_in(role: Role, own: str | None, text: str) -> Right:
    """Return a role's rights in a partition, by parsing its key with every template in turn."""
    for area in LAYOUT.areas.values():
        for template in area.templates:
            parts = template.parse(text)
            if parts is None:
                continue
            if role.tenant in parts and parts[role.tenant] != own:
                return Right(0)
            return role.can.get(area.name, Right(0)) | role.can.get("*", Right(0))
    return role.can.get("*", Right(0))


@THOROUGH
@given(text=TEXTS, own=OWN, right=st.sampled_from(list(Right)))
def test_a_tenant_has_the_rights_that_the_templates_give_it(
    text: str, own: str, right: Right
) -> None:
    guard = Guard(LAYOUT, patient, {TENANT: own})
    check(guard, patient, own, text, right)


@THOROUGH
@given(text=TEXTS, right=st.sampled_from(list(Right)))
def test_roles_without_a_tenant_have_the_rights_that_the_templates_give_them(
    text: str, right: Right
) -> None:
    for role in (nurse, keeper):
        check(Guard(LAYOUT, role, {}), role, None, text, right)


def check(guard: Guard, role: Role, own: str | None, text: str, right: Right) -> None:
    access = Access("GetItem", "Clinic", rights=right, partition=({"S": text},), attributes=None)
    is_allowed = right in rights_in(role, own, text)
    assert (guard.check(access) is None) is is_allowed
    for _ in range(2):  # the second time is answered from the cache
        assert guard.admits(right.value, {"S": text}) is is_allowed


@THOROUGH
@given(text=st.one_of(TEXTS, st.builds("O#{}".format, IDS)), own=OWN)
def test_only_its_tenant_may_query_or_write_into_an_index_partition(text: str, own: str) -> None:
    guard = Guard(LAYOUT, patient, {TENANT: own})
    [template, _] = Note.keyfold_schema().index_keys["ByOwner"]
    assert template.template is not None
    parts = template.template.parse(text)
    query = Access("Query", "Clinic", "ByOwner", Right.QUERY, ({"S": text},), None)
    assert (guard.check(query) is None) is (parts == {TENANT: own})
    put = Access(
        "PutItem",
        "Clinic",
        rights=Right.CREATE,
        partition=({"S": f"U#{own}"},),
        written={"owner_pk": {"S": text}},
    )
    assert (guard.check(put) is None) is (parts in (None, {TENANT: own}))
