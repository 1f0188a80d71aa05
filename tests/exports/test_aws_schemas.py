"""Exported schemas pass the validator of the AWS DynamoDB MCP server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from keyfold.export import export_aws_schema
from tests.clients.environments import Unavailable, make_python
from tests.exports.patterns import parcels
from tests.exports.tables import TABLES, counters, shipments

FOLDER = Path(__file__).parent
DOCUMENTS = [*((table,) for table in TABLES), (parcels,), (shipments, counters, parcels)]

pytestmark = pytest.mark.exports


@pytest.fixture(scope="session")
def python() -> str:
    try:
        return make_python("mcp", FOLDER / "requirements-mcp.txt")
    except Unavailable as reason:
        # Without a network, or without Node, the tools cannot be installed.
        pytest.skip(str(reason))


def validate(python: str, path: Path) -> tuple[int, str]:
    module = "awslabs.dynamodb_mcp_server.repo_generation_tool.codegen"
    command = [python, "-m", module, "--schema", str(path), "--validate-only"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_schemas_are_valid(python: str, tmp_path: Path, subtests: pytest.Subtests) -> None:
    path = tmp_path / "schema.json"
    for tables in DOCUMENTS:
        with subtests.test(tables=", ".join(table.name for table in tables)):
            path.write_text(export_aws_schema(*tables).to_text(), "utf-8")
            code, output = validate(python, path)
            assert code == 0, output


def test_a_fault_would_be_found(python: str, tmp_path: Path) -> None:
    schema: Any = export_aws_schema(counters).content
    schema["tables"][0]["entities"]["Counter"]["fields"][0]["type"] = "number"
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema), "utf-8")
    code, output = validate(python, path)
    assert code == 1
    assert "Invalid type value 'number'" in output
