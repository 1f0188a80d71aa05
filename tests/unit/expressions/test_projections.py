from __future__ import annotations

import pytest

from keyfold.expressions.paths import check_scalar_keys
from keyfold.expressions.placeholders import Placeholders
from keyfold.expressions.projections import bind_projection
from keyfold.values import Item
from tests.unit.expressions.refusals import refusal_of

ITEM: Item = {
    "a": {"N": "1"},
    "l": {
        "L": [
            {"N": "0"},
            {"N": "1"},
            {"N": "2"},
            {"L": [{"N": "3"}, {"N": "4"}]},
            {"M": {"x": {"N": "5"}, "y": {"N": "6"}}},
        ]
    },
    "m": {"M": {"x": {"N": "1"}, "y": {"M": {"z": {"N": "2"}}}, "e": {"L": []}}},
}


def project(text: str) -> Item:
    return bind_projection(text, Placeholders(None, None)).apply(ITEM)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a, zz", {"a": {"N": "1"}}),
        ("l[2], l[0]", {"l": {"L": [{"N": "0"}, {"N": "2"}]}}),
        ("l[4].x, l[1]", {"l": {"L": [{"N": "1"}, {"M": {"x": {"N": "5"}}}]}}),
        ("l[3][1], l[0]", {"l": {"L": [{"N": "0"}, {"L": [{"N": "4"}]}]}}),
        ("m.y.z, m.x", {"m": {"M": {"y": {"M": {"z": {"N": "2"}}}, "x": {"N": "1"}}}}),
        ("m.e", {"m": {"M": {"e": {"L": []}}}}),
        ("m.zz, l[9], a.b, l[0].x", {}),
        ("a[0], l.x, m[0]", {}),
        ("l[4].zz, l[0]", {"l": {"L": [{"N": "0"}]}}),
    ],
)
def test_projected_parts_keep_their_nesting(text: str, expected: Item) -> None:
    assert project(text) == expected


def test_a_dot_in_a_substituted_name_does_not_separate_steps() -> None:
    item: Item = {"a.b": {"N": "1"}, "a": {"M": {"b": {"N": "2"}}}}
    projection = bind_projection("#n, a.b", Placeholders({"#n": "a.b"}, None))
    assert projection.apply(item) == item
    assert projection.attributes == {"a.b", "a"}


@pytest.mark.parametrize(
    ("text", "clash", "one", "two"),
    [
        ("a, a", "overlap", "[a]", "[a]"),
        ("a, a.b", "overlap", "[a]", "[a, b]"),
        ("a.b.c, a.b", "overlap", "[a, b, c]", "[a, b]"),
        ("a.b[0], a.b[0]", "overlap", "[a, b, [0]]", "[a, b, [0]]"),
        ("a.b, a[1]", "conflict", "[a, b]", "[a, [1]]"),
        ("x, a[1].c, a.b.c", "conflict", "[a, [1], c]", "[a, b, c]"),
    ],
)
def test_paths_may_not_clash(text: str, clash: str, one: str, two: str) -> None:
    assert refusal_of(lambda: project(text)) == (
        f"Invalid ProjectionExpression: Two document paths {clash} with each other; must remove "
        f"or rewrite one of these paths; path one: {one}, path two: {two}"
    )


def test_the_last_fault_is_the_one_reported() -> None:
    assert refusal_of(lambda: project("a, a, #zz")).endswith("attribute name: #zz")
    assert "overlap" in refusal_of(lambda: project("#zz, a, a"))


def test_a_path_has_at_most_32_levels() -> None:
    project("a" + ".b" * 31)
    assert refusal_of(lambda: project("a" + ".b" * 32)).endswith("nesting levels: 33")


def test_a_path_may_not_lead_into_a_key_attribute() -> None:
    paths = bind_projection("a, b.c, d[0]", Placeholders(None, None)).paths
    check_scalar_keys(paths, ["a"], ["e"])
    assert refusal_of(lambda: check_scalar_keys(paths, ["b"], ["d"])) == (
        "Key attributes must be scalars; list random access '[]' and map lookup '.' "
        "are not allowed: Key: b"
    )
    assert refusal_of(lambda: check_scalar_keys(paths, ["a"], ["d"])).endswith("IndexKey: d")
