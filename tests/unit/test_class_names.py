"""A class name stands for one class, so that a reader who searches for it finds it."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import keyfold

SOURCE = Path(keyfold.__file__).parent


def test_class_names_are_unique() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted(SOURCE.rglob("*.py")):
        module = file.relative_to(SOURCE)
        # Each design is a program of its own, as a user would write it.
        if module.parts[0] == "designs":
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{module}:{node.lineno}")
    repeated = {name: places for name, places in found.items() if len(places) > 1}
    assert repeated == {}
