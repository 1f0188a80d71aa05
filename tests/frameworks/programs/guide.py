"""The examples of the guide to agents' stores, and the tests that it shows."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from keyfold.testing import Service, dynamodb

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "develop-agents.md"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_examples() -> dict[str, Any]:
    """Run the examples as one program, and return its names."""
    text = PAGE.read_text("utf-8")
    namespace: dict[str, Any] = {"__name__": "example"}
    for example in PYTHON.finditer(text):
        # Blank lines in front, so that a traceback gives the line of the page.
        before = "\n" * text.count("\n", 0, example.start(1))
        exec(compile(before + example[1], PAGE, "exec", dont_inherit=True), namespace)
    return namespace


def test_the_guide_names_the_versions_that_are_tested() -> None:
    rows = re.findall(r"^\|.*?`([a-z-]+)` ([0-9.]+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(rows) == 3
    assert rows == [(name, ".".join(version(name).split(".")[:2])) for name, _ in rows]


def test_the_examples_run(service: Service | None) -> None:
    run_examples()


def test_after_restart_they_run_again(service: Service | None) -> None:
    names = run_examples()
    tests = [name for name in names if name.startswith("test_")]
    assert tests
    for name in tests:
        with dynamodb() as own:
            names[name](own)
