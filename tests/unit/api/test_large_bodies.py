from __future__ import annotations

import gc
import json
import random
from typing import Any, cast

import orjson
import pytest

from keyfold.api import large_bodies
from keyfold.api.large_bodies import MAX_CONTAINERS, MAX_DEPTH, parse_in_slices
from keyfold.errors import SerializationException

_SCALARS = (1, -2.5, True, None, "", "a,b", '[{"', "\\", '\\"', "]}", "é", "x" * 30)
_DAMAGE = b'[]{},:"\\ 1'


def _make_value(source: random.Random, depth: int = 0) -> Any:
    kind = source.random()
    if depth > 5 or kind < 0.35:
        return source.choice(_SCALARS)
    if kind < 0.65:
        return [_make_value(source, depth + 1) for _ in range(source.randrange(5))]
    names = [source.choice(('a"', "b,", "c", "")) + str(source.randrange(3)) for _ in range(4)]
    return {name: _make_value(source, depth + 1) for name in names}


def _write(value: Any, source: random.Random, depth: int = 0) -> str:
    """Return JSON with spaces, and with members whose names are repeated."""
    space = source.choice(("", "", " ", "\n"))
    if isinstance(value, list):
        values = cast("list[Any]", value)
        text = "[" + ",".join(_write(each, source, depth + 1) for each in values) + "]"
    elif isinstance(value, dict):
        pairs = list(cast("dict[str, Any]", value).items())
        repeated = [name for name, _ in pairs if depth < 3 and source.random() < 0.5]
        pairs += [(name, _make_value(source, 5)) for name in repeated]
        written = [
            f"{space}{json.dumps(name)}{space}:{_write(v, source, depth + 1)}" for name, v in pairs
        ]
        text = "{" + ",".join(written) + "}"
    else:
        text = json.dumps(value, ensure_ascii=source.random() < 0.5)
    return f"{space}{text}{space}"


def _damage(text: bytes, source: random.Random) -> bytes:
    place, byte = source.randrange(len(text)), source.choice(_DAMAGE)
    end = place + source.randrange(2)
    return text[:place] + bytes([byte])[: source.randrange(2)] + text[end:]


def _parse(text: bytes) -> str:
    try:
        # The order of members counts, too.
        return repr(parse_in_slices(text))
    except SerializationException:
        return "invalid"


def _parse_at_once(text: bytes) -> str:
    try:
        return repr(orjson.loads(text))
    except orjson.JSONDecodeError:
        return "invalid"


@pytest.mark.parametrize("size", [3, 7, 40])
def test_slices_mean_what_the_whole_means(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_bodies, "SLICE_BYTES", size)
    seen = {"valid": 0, "invalid": 0}
    for seed in range(150):
        source = random.Random(seed)
        text = _write(_make_value(source), source).encode()
        for each in (text, *(_damage(text, source) for _ in range(4))):
            expected = _parse_at_once(each)
            assert _parse(each) == expected, each
            seen["invalid" if expected == "invalid" else "valid"] += 1
    assert min(seen.values()) > 100


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b",",
        b"[,1]",
        b"[1,]",
        b"[1,,2]",
        b"[1],[2]",
        b'{"a":1,}',
        b'{"a":,"b":1}',
        b"[1}",
        b"][",
    ],
)
def test_commas_without_a_value_are_not_json(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in range(1, 9):
        monkeypatch.setattr(large_bodies, "SLICE_BYTES", size)
        with pytest.raises(SerializationException):
            parse_in_slices(text)


def test_deep_nesting_is_refused() -> None:
    assert parse_in_slices(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 100_000):
        for text in (b"[" * depth + b"]" * depth, b"[" * depth, b'{"a":' * depth, b"[0," * depth):
            with pytest.raises(SerializationException):
                parse_in_slices(text)


def test_too_many_objects_and_arrays_are_refused() -> None:
    with pytest.raises(SerializationException):
        parse_in_slices(b"[" + b"[]," * MAX_CONTAINERS + b"0]")


def test_space_is_no_text() -> None:
    assert parse_in_slices(b'{"a":1}'.ljust(8 << 20)) == {"a": 1}
    assert parse_in_slices(b'[0,"a"' + b" " * (8 << 20) + b",1]") == [0, "a", 1]


def test_a_text_longer_than_any_item_allows_is_refused() -> None:
    # The longest text of an item, in the longest way to write it.
    longest = b'{"a":"' + rb"\u0041" * 400 * 1_024 + b'"}'
    assert parse_in_slices(longest) == {"a": "A" * 400 * 1_024}
    for text in (
        b'{"a":"' + b"x" * (8 << 20) + b'"}',
        b'"' + b"x" * (8 << 20),
        b"[0," + b"1" * (8 << 20),
    ):
        with pytest.raises(SerializationException, match=r"more than 2\.5 MB"):
            parse_in_slices(text)


def test_a_text_may_have_any_brackets() -> None:
    value = {"a": '[{"' * 100_000, "b": [1, "]" * 100_000]}
    assert parse_in_slices(orjson.dumps(value)) == value


def test_collections_are_paused_and_resumed() -> None:
    assert gc.isenabled()
    with pytest.raises(SerializationException):
        parse_in_slices(b"[")
    assert gc.isenabled()
    gc.disable()
    try:
        parse_in_slices(b"[]")
        assert not gc.isenabled()
    finally:
        gc.enable()
