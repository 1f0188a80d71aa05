"""Exported TypeScript type-checks, and its key builders render what our templates render."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from keyfold import Entity
from keyfold.errors import KeyfoldError
from keyfold.export import export_typescript
from keyfold.export._json_schema import define_entities
from keyfold.model._schemas import EntitySchema
from tests.clients.environments import Node, Unavailable, make_javascript
from tests.exports.key_formats import Color, Level, Parts, TicketId, formats
from tests.exports.patterns import parcels
from tests.exports.tables import DESIGNS, counters, shipments

FOLDER = Path(__file__).parent / "typescript"
TABLES = (*DESIGNS, parcels, shipments, counters, formats)
OPTIONS = [
    "--strict",
    "--noUnusedLocals",
    "--noUncheckedIndexedAccess",
    "--exactOptionalPropertyTypes",
]

pytestmark = pytest.mark.exports


class Compiler:
    """Compiles TypeScript, and calls what was compiled."""

    def __init__(self, node: Node, modules: Path, folder: Path) -> None:
        self.node, self.modules, self.folder = node, modules, folder

    def compile(self, source: str) -> subprocess.CompletedProcess[str]:
        file = self.folder / "exported.mts"
        file.write_text(source, "utf-8")
        tsc = str(self.modules / "typescript" / "bin" / "tsc")
        target = ["--target", "es2022", "--module", "nodenext", *OPTIONS]
        command = [self.node.program, tsc, *target, str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def call(self, cases: list[tuple[str, Any]]) -> list[Any]:
        """Return the results of functions of the module that was compiled last."""
        path = self.folder / "cases.json"
        path.write_text(json.dumps(cases), "utf-8")
        script = str(FOLDER / "run_builders.mjs")
        command = [self.node.program, script, str(self.folder / "exported.mjs"), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def make_compiler(folder: Path) -> Compiler:
    try:
        node, modules = make_javascript(FOLDER)
    except Unavailable as reason:
        # Without a network, or without Node, the tools cannot be installed.
        pytest.skip(str(reason))
    return Compiler(node, modules, folder)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """Return the compiler with all tables compiled into one module."""
    compiler = make_compiler(tmp_path_factory.mktemp("typescript"))
    done = compiler.compile(export_typescript(*TABLES).to_text())
    assert (done.returncode, done.stdout) == (0, "")
    return compiler


def test_a_wrong_argument_does_not_compile(tmp_path: Path) -> None:
    source = export_typescript(parcels).to_text()
    call = 'parcelKey({ sender: "3f0e7c1a-5a55-4c0e-9f3a-1d2b6c7e8f90", number: "7" });\n'
    done = make_compiler(tmp_path).compile(source + call)
    assert done.returncode != 0
    assert "Type 'string' is not assignable to type 'number'" in done.stdout


@cache
def list_names() -> dict[int, str]:
    return {id(each.schema): each.name for each in define_entities(*TABLES).entities}


def name_of(schema: EntitySchema) -> str:
    return list_names()[id(schema)]


def keys_of(entity: Entity) -> Iterator[tuple[str, Any]]:
    """Yield the names of the key builders of an entity, with the keys that they have to return."""
    schema = type(entity).keyfold_schema()
    name = name_of(schema)
    first = name[:1].lower() + name[1:]
    item = schema.encode(entity)
    yield f"{first}Key", {part.attribute: plain(item[part.attribute]) for part in schema.keys}
    for index, parts in schema.index_keys.items():
        camel = "".join(word[:1].upper() + word[1:] for word in index.split("-"))
        found = {part.attribute: item.get(part.attribute) for part in parts}
        is_in = None not in found.values()
        yield (
            f"{first}KeyIn{camel}",
            {each: plain(value) for each, value in found.items()} if is_in else None,
        )


def plain(value: Any) -> Any:
    ((kind, data),) = value.items()
    return int(data) if kind == "N" else data


def test_keys_of_examples_are_those_of_the_items(compiled: Compiler) -> None:
    cases: list[tuple[str, Any]] = []
    wanted: list[Any] = []
    for table in (*DESIGNS, parcels):
        assert table.example_entities()
        for entity in table.example_entities():
            for name, key in keys_of(entity):
                cases.append((name, entity.model_dump(mode="json", by_alias=True)))
                wanted.append(key)
    assert compiled.call(cases) == wanted


def make_parts(random: Random) -> Parts:
    """Return an entity with random values of every type that keys take."""
    offset = timezone(timedelta(minutes=random.randrange(-14 * 60, 14 * 60)))
    when = datetime(2, 1, 1, tzinfo=UTC) + timedelta(
        seconds=random.randrange(9996 * 365 * 86400),
        microseconds=random.choice([0, 120000, 123456, 7]),
    )
    day = date.fromordinal(random.randrange(1, date.max.toordinal()))
    cents = random.choice([0, 5, 100, 12345, 99999999])
    return Parts.model_validate(
        {
            "name": random.choice(["a", "Ünïcödé", "😀 x", "1.5", "a'b\\c"]),
            "code": random.choice(["abc", "€😀ß", "000"]),
            "level": random.choice([*Level]),
            "kind": random.choice(["a", "b"]),
            "ticket": TicketId.at(
                datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=random.randrange(999))
            ),
            "id": UUID(int=random.getrandbits(128)),
            "the number": random.choice([0, 7, 99999]),
            "price": Decimal(cents).scaleb(-random.randrange(3)),
            "on": day,
            "when": when.astimezone(offset),
            "hue": random.choice([*Color]),
            "day": random.choice([None, day]),
            "at": when.astimezone(offset),
            "count": random.choice([0, -5, 2**40]),
            "color": random.choice([*Color]),
        }
    )


def test_every_kind_of_part_is_rendered_as_by_templates(compiled: Compiler) -> None:
    random = Random(19)
    cases: list[tuple[str, Any]] = []
    wanted: list[Any] = []
    for _ in range(300):
        entity = make_parts(random)
        dumped = entity.model_dump(mode="json", by_alias=True)
        for name, key in keys_of(entity):
            if name in ("partsKey", "partsKeyInByTimes"):
                cases.append((name, dumped))
                wanted.append(key)
    assert compiled.call(cases) == wanted


REFUSED: list[tuple[str, Any]] = [
    ("name", ""),
    ("name", "a#b"),
    ("name", 'a"b'),
    ("name", "\ud800"),
    ("code", "ab"),
    ("code", "abcd"),
    ("ticket", "T#nonsense"),
    ("ticket", "U#01JZ10H7X367VB2NF4YQ973DHW"),
    ("id", "no"),
    ("the number", -1),
    ("the number", 100000),
    ("price", "-1"),
    ("price", "123456789"),
    ("price", "0.001"),
    ("on", "2026-02-30"),
    ("on", "yesterday"),
    ("when", "2026-01-01T00:00:00"),
    ("when", "0001-01-01T00:00:00+10:00"),
    ("hue", "toString"),
    ("level", 2),
]


def test_builders_refuse_what_templates_refuse(compiled: Compiler) -> None:
    valid = make_parts(Random(1)).model_dump(mode="json", by_alias=True)
    cases = [("partsKey", {**valid, name: value}) for name, value in REFUSED]
    found = compiled.call(cases)
    for (name, value), result in zip(REFUSED, found, strict=True):
        assert result.keys() == {"refused"}, (name, value)
        assert result["refused"].startswith(f"{name} must ")
    for name, value in REFUSED:
        with pytest.raises((KeyfoldError, ValueError)):
            Parts.keyfold_schema().encode(Parts.model_validate({**valid, name: value}))
