"""The conformance cases: one file per operation, each a list of requests with their answers.

`README.md` beside this file describes the format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

from keyfold.api.wordings import Wording

FOLDER = Path(__file__).parent

# An operation and its request to its response; what fails raises.
Ask = Callable[[str, dict[str, Any]], dict[str, Any]]

# What a request can say of a table by a shorthand: its ARN, that of its stream, the stream's
# first shard, the number at which that starts, and an iterator that reads it from its start.
_SHORTHANDS = frozenset({"$arn", "$stream", "$shard", "$number", "$iterator"})
_PLACE = re.compile(r"\{(arn|stream|shard|number|iterator):([^}]+)\}")


@dataclass(frozen=True, slots=True)
class Step:
    """One request and what must come back, or a step of the clock."""

    operation: str
    request: dict[str, Any]
    answer: dict[str, Any] | None  # {"response": …} or {"error": …}; None: it must succeed
    advance_seconds: float = 0
    # The answer in the wording of 2025; None if it is the same.
    answer_2025: dict[str, Any] | None = None
    differences: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def answer_in(self, wording: Wording) -> dict[str, Any] | None:
        """The answer in a wording."""
        former = self.answer_2025 if wording == "2025" else None
        return self.answer if former is None else former


@dataclass(frozen=True, slots=True)
class Case:
    """One behaviour: what to do first, then the steps whose answers are compared."""

    id: str
    name: str
    source: str
    setup: tuple[Step, ...]
    steps: tuple[Step, ...]


def load_cases(paths: list[Path] | None = None) -> list[Case]:
    """Every case of the files, in their order; of all files when none is named."""
    return [
        read_case(path.stem, operation_of(path), raw)
        for path in paths or case_files()
        for raw in read_file(path)
    ]


def case_files() -> list[Path]:
    """The files with cases, one per operation."""
    return sorted(path for path in FOLDER.glob("*.json") if path.name != "fixtures.json")


def operation_of(path: Path) -> str:
    """The operation that a file is about, by its name.

    >>> operation_of(Path("put_item.json"))
    'PutItem'
    """
    return "".join(word.capitalize() for word in path.stem.split("_"))


def read_file(path: Path) -> list[dict[str, Any]]:
    """The cases of a file as they are written."""
    return cast("list[dict[str, Any]]", json.loads(path.read_text()))


def read_case(stem: str, operation: str, raw: dict[str, Any]) -> Case:
    """A case with its fixtures resolved and its shorthands written out."""
    written = cast("list[dict[str, Any]]", raw.get("steps", [raw]))
    return Case(
        id=f"{stem}: {raw['name']}",
        name=raw["name"],
        source=raw["source"],
        setup=tuple(_setup(raw.get("setup", []))),
        steps=tuple(_step(operation, one) for one in written),
    )


def _step(operation: str, raw: dict[str, Any]) -> Step:
    if "advance" in raw:
        return Step("", {}, None, advance_seconds=raw["advance"])
    answer = {kind: expand(raw[kind]) for kind in ("response", "error") if kind in raw}
    former = answer["error"].pop("message_2025", None) if "error" in answer else None
    return Step(
        raw.get("operation", operation),
        expand(raw["request"]),
        answer or None,
        answer_2025=None if former is None else {"error": {**answer["error"], "message": former}},
        differences=raw.get("differences", {}),
    )


def _setup(entries: list[Any]) -> Iterator[Step]:
    for entry in entries:
        if isinstance(entry, str):
            yield from _setup(_fixtures()[entry])
        else:
            ((operation, request),) = entry.items()
            yield Step(operation, expand(request), None)


@cache
def _fixtures() -> dict[str, list[Any]]:
    return json.loads((FOLDER / "fixtures.json").read_text())


def expand(value: Any) -> Any:
    """The value with its shorthands for large data written out.

    >>> expand({"$repeat": "ab", "times": 2})
    'abab'
    >>> expand({"$each": 2, "value": {"S": "item {i}"}})
    [{'S': 'item 0'}, {'S': 'item 1'}]
    >>> expand({"$join": ["a", {"$repeat": "b", "times": 2}]})
    'abb'
    >>> expand({"$concat": [[1], {"$each": 1, "value": 2}]})
    [1, 2]
    >>> expand({"$nest": "L", "levels": 2, "value": {"S": "x"}})
    {'L': [{'L': [{'S': 'x'}]}]}
    """
    if isinstance(value, list):
        return [expand(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    entries = cast("dict[str, Any]", value)
    if "$repeat" in entries:
        return entries["$repeat"] * entries["times"]
    if "$said" in entries:
        return f"{{said:{entries['$said']}}}"  # the runner knows it from an earlier answer
    if entries.keys() <= _SHORTHANDS and len(entries) == 1:
        ((name, table),) = entries.items()
        return f"{{{name[1:]}:{table}}}"  # known once the table is there; see fill_in
    if "$join" in entries:
        return "".join(expand(entries["$join"]))
    if "$concat" in entries:
        return [one for part in expand(entries["$concat"]) for one in part]
    if "$each" in entries:
        return [_numbered(expand(entries["value"]), i) for i in range(entries["$each"])]
    if "$nest" in entries:
        nested: Any = expand(entries["value"])
        for _ in range(entries["levels"]):
            inside: dict[str, Any] = {"L": [nested]}
            nested = inside if entries["$nest"] == "L" else {"M": {"m": nested}}
        return nested
    return {name: expand(one) for name, one in entries.items()}


def fill_in(request: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """The request with what it says of tables in place, as `ask` finds it out.

    >>> fill_in({"ResourceArn": "{arn:Hash}"}, lambda *_: {"Table": {"TableArn": "arn:aws:…"}})
    {'ResourceArn': 'arn:aws:…'}
    """
    text = json.dumps(request, ensure_ascii=False)
    places = set(_PLACE.findall(text))
    if not places:
        return request
    for kind, table in places:
        text = text.replace(f"{{{kind}:{table}}}", _look_up(kind, table, ask))
    return json.loads(text)


def _look_up(kind: str, table: str, ask: Ask) -> str:
    if kind == "arn":
        return ask("DescribeTable", {"TableName": table})["Table"]["TableArn"]
    stream = ask("ListStreams", {"TableName": table})["Streams"][0]["StreamArn"]
    if kind == "stream":
        return stream
    described = ask("DescribeStream", {"StreamArn": stream})["StreamDescription"]
    shard = described["Shards"][0]
    match kind:
        case "shard":
            return shard["ShardId"]
        case "number":
            return shard["SequenceNumberRange"]["StartingSequenceNumber"]
        case _:
            wanted = {"StreamArn": stream, "ShardId": shard["ShardId"]}
            answer = ask("GetShardIterator", {**wanted, "ShardIteratorType": "TRIM_HORIZON"})
            return answer["ShardIterator"]


def with_said(value: Any, answers: list[dict[str, Any]]) -> Any:
    """The request with what earlier answers said in place, the latest that says it first.

    >>> with_said({"BackupArn": "{said:Backup.Arn}"}, [{"Backup": {"Arn": "arn:1"}}])
    {'BackupArn': 'arn:1'}
    """
    if isinstance(value, list):
        return [with_said(one, answers) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {name: with_said(one, answers) for name, one in entries.items()}
    found = re.fullmatch(r"\{said:([^}]+)\}(.*)", value) if isinstance(value, str) else None
    if found is None:
        return value
    for answer in reversed(answers):
        said: Any = answer
        try:
            for step in found[1].split("."):
                said = said[int(step)] if step.isdigit() else said[step]
        except (KeyError, IndexError, TypeError):
            continue
        return f"{said}{found[2]}" if found[2] else said
    raise LookupError(f"no answer has said {found[1]}")


def _numbered(value: Any, i: int) -> Any:
    if isinstance(value, str):
        return value.replace("{i}", str(i))
    if isinstance(value, list):
        return [_numbered(one, i) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {_numbered(name, i): _numbered(one, i) for name, one in entries.items()}
    return value
