"""New projects: a module with a table, its tests, settings and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from keyfold.errors import FileTaken
from keyfold.export import export_aws_schema
from keyfold.imports._aws_schema import read_aws_schema
from keyfold.imports._checking import load_tables
from keyfold.imports._documents import DocumentNode
from keyfold.imports._inferred import InferredEntity, InferredField, InferredTable
from keyfold.imports._module_writer import write_module
from keyfold.imports._naming import pluralise, quote, to_class, to_snake
from keyfold.model import Table

_TASKS = """\
# What there is to do. `make` runs the tests and the review.

.PHONY: all test lint patterns cost doc plan serve

all: test lint

test:  # Run the tests, on an engine in memory.
	python -m pytest

lint:  # Review the table.
	keyfold lint --severity error

patterns:  # List the access patterns, with their requests.
	keyfold patterns

cost:  # Forecast the month.
	keyfold cost

doc:  # Write the design document.
	keyfold doc > DESIGN.md

plan:  # Compare the table with DynamoDB: make plan DB=dynamodb://eu-west-1
	keyfold plan --db $(DB)

serve:  # Serve a file to every DynamoDB client.
	keyfold serve data.db
"""
_TESTS = '''\
"""Tests of the table, on an engine in memory: `python -m pytest`."""

from __future__ import annotations

import pytest
from tables import table

from keyfold import Store
from keyfold.testing import OpenStore


@pytest.fixture
def store(keyfold_store: OpenStore) -> Store:
    return keyfold_store(table)


def test_every_pattern_can_be_explained() -> None:
    for pattern in table.patterns.values():
        assert pattern.explain().steps


def test_no_pattern_scans_the_table() -> None:
    assert not any(pattern.explain().scans for pattern in table.patterns.values())


def test_a_new_table_is_empty(store: Store) -> None:
    assert store.run(table.scan().first()) is None
'''
# Of a table, in DynamoDB.
_SHORTEST_NAME = 3
_IGNORED = "__pycache__/\n.venv/\n*.db\n*.db-*\n"


def make_starter(name: str, owner: str, item: str) -> InferredTable:
    """Return a table with two entities: an owner, and items that belong to it and sort by time."""
    first, second = to_class(owner), to_class(item)
    if first == second:
        second = f"{first}Item"
    one, other = to_snake(first), to_snake(second)
    prefix, key = one.strip("_").upper(), InferredField(one, "str")
    name_field = InferredField("name", "str", "name")
    owner_key = f"{prefix}#{{{one}}}"
    entities = (
        InferredEntity(
            first,
            (owner_key, prefix),
            (key, name_field),
            description=f"The owner of {pluralise(other)}.",
        ),
        InferredEntity(
            second,
            (owner_key, f"{other.strip('_').upper()}#{{{other}}}"),
            (key, InferredField(other, "Ulid"), name_field),
            description=f"What belongs to a {one}; the newest sorts last.",
        ),
    )
    return InferredTable(name, "pk", "sk", entities=entities)


def copy_design(design: Table, name: str | None = None) -> InferredTable:
    """Return a declared table to make a module of: its keys, indexes, settings and entities."""
    document = export_aws_schema(design).content
    assert isinstance(document, dict)  # the format is JSON
    [table] = read_aws_schema(DocumentNode(document, design.name, ""))
    return replace(table, name=name or table.name)


def name_table(folder: str) -> str:
    """Return a name for the table of a project, made from that of its folder.

    >>> name_table("my shop"), name_table("p1")
    ('MyShop', 'P1Table')
    """
    name = to_class(folder)
    return name if len(name) >= _SHORTEST_NAME else f"{name}Table"


def make_project(table: InferredTable) -> dict[str, str]:
    """Return the files of a project with a table, by name; raises DeclarationInvalid."""
    module = write_module([table], title=f"The table {table.name}.")
    load_tables(module)  # a name may be invalid
    return {
        "tables.py": module,
        "test_tables.py": _TESTS,
        "pyproject.toml": _write_settings(table.name),
        "Makefile": _TASKS,
        ".gitignore": _IGNORED,
    }


def _write_settings(name: str) -> str:
    called = to_snake(name).strip("_").replace("_", "-")
    return "\n".join(
        [
            "[project]",
            f"name = {quote(called)}",
            'version = "0.1.0"',
            'requires-python = ">=3.11"',
            'dependencies = ["keyfold"]',
            "",
            "[tool.keyfold]",
            'tables = ["tables:table"]',
            "",
            "[tool.pytest.ini_options]",
            'pythonpath = ["."]',
            "",
            "[tool.pyright]",
            'typeCheckingMode = "strict"',
            "",
        ]
    )


def write_project(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files of a project; raises FileTaken, before anything is written."""
    for name in files:
        if (folder / name).exists():
            raise FileTaken(str(folder / name))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
