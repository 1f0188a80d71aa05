from __future__ import annotations

from keyfold.expressions.reserved_words import RESERVED_WORDS, is_reserved


def test_the_list_is_as_long_as_in_the_developer_guide() -> None:
    assert len(RESERVED_WORDS) == 573


def test_words_are_reserved_in_any_case() -> None:
    assert all(map(is_reserved, ["NAME", "name", "Name", "ttl", "Year", "SIZE", "zone", "abort"]))


def test_ordinary_names_are_not_reserved() -> None:
    assert not any(map(is_reserved, ["pk", "sk", "names_", "contains", "begins_with", "id"]))
