"""Imported modules type-check with pyright's strict mode."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from keyfold.cli._demo import run_demo
from keyfold.connect import open_executor
from keyfold.export import export_aws_schema, export_workbench
from keyfold.imports import import_aws_schema, import_dynamodb, import_workbench, write_module
from tests.exports.patterns import parcels
from tests.exports.tables import DESIGNS, TABLES

ROOT = Path(__file__).resolve().parents[2]


def write_imports(folder: Path) -> None:
    run_demo(str(folder / "demo.db"), now=datetime(2026, 7, 1, tzinfo=UTC))
    with open_executor(str(folder / "demo.db"), keeps_expired=True) as database:
        for table in DESIGNS:
            text = write_module([import_dynamodb(database, table.name)], title="Inferred.")
            (folder / f"live_{table.name}.py").write_text(text, "utf-8")
    for name, export, read in (
        ("schema", export_aws_schema, import_aws_schema),
        ("workbench", export_workbench, import_workbench),
    ):
        file = folder / "exported.json"
        file.write_text(export(*TABLES, parcels).to_text(), "utf-8")
        text = write_module(read(file), title="Imported.")
        (folder / f"{name}_tables.py").write_text(text, "utf-8")


def test_imported_modules_type_check_and_are_formatted(tmp_path: Path) -> None:
    write_imports(tmp_path)
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT / "src")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    pyright = ["pyright", "--pythonpath", sys.executable, "--project", tmp_path]
    for command in (
        pyright,
        ["ruff", "check", "--isolated", "--select", "E,F,I", "--line-length", "100", tmp_path],
        ["ruff", "format", "--isolated", "--check", "--line-length", "100", tmp_path],
    ):
        checked = subprocess.run(
            [sys.executable, "-m", *command], capture_output=True, check=False, text=True
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr
