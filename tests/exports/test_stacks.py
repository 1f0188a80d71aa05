"""Exported CDK stacks synthesise to the exported templates."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from keyfold.export import export_cdk, export_cloudformation
from tests.clients.environments import Unavailable, find_node, make_python
from tests.exports.tables import TABLES

FOLDER = Path(__file__).parent

pytestmark = pytest.mark.cdk


def test_a_stack_synthesises_to_the_template(tmp_path: Path) -> None:
    try:
        python = make_python("cdk", FOLDER / "requirements-cdk.txt")
        node = find_node()
    except Unavailable as reason:
        # Without a network, or without Node, the tools cannot be installed.
        pytest.skip(str(reason))
    module = tmp_path / "tables_stack.py"
    module.write_text(export_cdk(*TABLES).to_text(), "utf-8")
    command = [python, str(FOLDER / "synthesise.py"), str(module), "TablesStack"]
    path = f"{Path(node.program).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
    )
    assert done.returncode == 0, done.stderr
    synthesised = json.loads(done.stdout)
    wanted: Any = export_cloudformation(*TABLES).content
    assert synthesised["Resources"] == wanted["Resources"]
    assert synthesised["Outputs"] == wanted["Outputs"]
