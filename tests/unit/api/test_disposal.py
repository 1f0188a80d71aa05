"""Large values are freed in parts, unless somebody else uses them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from keyfold.api import large_bodies
from keyfold.api.disposal import free_in_parts
from keyfold.api.large_bodies import parse_in_slices
from keyfold.errors import SerializationException

VALUES: dict[str, str] = {
    "lists": "[" + "[]," * 50_000 + "[]]",
    "attribute values": '{"a": [' + '{"N":"1"},' * 50_000 + '{"N":"1"}]}',
    "nested": "[" * 60 + "1" + "]" * 60,
    "a tree": json.dumps([[[{"a": [{"b": [str(n)] * 10}] * 10}] * 10] * 10 for n in range(10)]),
    "updates": json.dumps({f"n{n}": {"Action": "PUT", "Value": {"S": ""}} for n in range(9_000)}),
    "nothing": "null",
}


# In a process of its own: whatever else runs in this one makes and frees containers, too.
COUNTING = """
import gc, json, sys
from keyfold.api.disposal import free_in_parts

def count_containers():
    return sum(each.__class__ in (list, dict) for each in gc.get_objects())

left = {}
for kind, text in json.load(sys.stdin).items():
    gc.collect()
    before = count_containers()
    values = [json.loads(text)]
    free_in_parts(values)
    left[kind] = len(values) + abs(count_containers() - before)
print(json.dumps(left))
"""


def test_everything_is_freed() -> None:
    command = [sys.executable, "-c", COUNTING]
    done = subprocess.run(
        command, input=json.dumps(VALUES), capture_output=True, text=True, check=True
    )
    left = json.loads(done.stdout)
    assert left.keys() == VALUES.keys()
    assert max(left.values()) < 50, left


@pytest.mark.parametrize("kind", VALUES)
def test_what_others_use_stays(kind: str) -> None:
    value = json.loads(VALUES[kind])
    free_in_parts([value])
    free_in_parts([{"a": [value, {}]}, value])
    assert value == json.loads(VALUES[kind])


def test_a_part_that_others_use_stays() -> None:
    value: dict[str, Any] = json.loads(VALUES["updates"])
    kept = value["n17"]
    values = [value]
    del value
    free_in_parts(values)
    assert kept == {"Action": "PUT", "Value": {"S": ""}}


class Leaf:
    """A value that counts how many of its kind have been freed."""

    freed = 0

    def __del__(self) -> None:
        Leaf.freed += 1


def count_most_freed(values: list[Any]) -> int:
    """Free values, and return how many leaves were freed by one line of the function, at most."""
    most, last = 0, Leaf.freed

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal most, last
        most, last = max(most, Leaf.freed - last), Leaf.freed
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        free_in_parts(values)
    finally:
        sys.settrace(before)
    return most


def test_what_is_freed_at_once_does_not_grow_with_the_value() -> None:
    most = [
        count_most_freed([[{"L": [{"a": Leaf()}, {"b": Leaf()}]} for _ in range(length)]])
        for length in (2_000, 10_000)
    ]
    assert 0 < most[1] <= most[0] <= 2_000
    before = Leaf.freed
    count_most_freed([{"a": [Leaf() for _ in range(5_000)]}])
    assert Leaf.freed - before == 5_000


def test_what_was_parsed_of_an_invalid_body_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    freed: list[int] = []

    def note(values: list[Any]) -> None:
        # Two references: the list, and the argument. So it will be freed.
        freed.append(sys.getrefcount(values[0]))
        free_in_parts(values)

    monkeypatch.setattr(large_bodies, "free_in_parts", note)
    with pytest.raises(SerializationException):
        parse_in_slices(b"[" + b"[]," * 100_000 + b"!]")
    assert freed == [2]
