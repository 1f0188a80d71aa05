"""The JSON of example entities matches the exported JSON Schema, by a validator of others."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from keyfold.export import export_jsonschema
from tests.clients.environments import Unavailable, make_python
from tests.exports.patterns import parcels
from tests.exports.tables import DESIGNS

FOLDER = Path(__file__).parent

pytestmark = pytest.mark.exports


def find_faults(folder: Path, schema: Any, documents: list[tuple[str, Any]]) -> str:
    try:
        python = make_python("validators", FOLDER / "requirements-validators.txt")
    except Unavailable as reason:
        # Without a network, or without Node, the tools cannot be installed.
        pytest.skip(str(reason))
    paths = [folder / "schema.json", folder / "documents.json"]
    for path, content in zip(paths, (schema, documents), strict=True):
        path.write_text(json.dumps(content), "utf-8")
    command = [python, str(FOLDER / "validate_documents.py"), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_json_of_examples_matches(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for table in (*DESIGNS, parcels):
        with subtests.test(table=table.name):
            documents = [
                (type(each).__name__, each.model_dump(mode="json", by_alias=True))
                for each in table.example_entities()
            ]
            assert find_faults(tmp_path, export_jsonschema(table).content, documents) == ""
            assert documents


def test_other_json_does_not_match(tmp_path: Path) -> None:
    schema = export_jsonschema(parcels).content
    faults = find_faults(tmp_path, schema, [("Sender", {"sender": 1})])
    assert "'email' is a required property" in faults
    assert "1 is not of type 'string'" in faults
