"""The declaration of a role in its source, and the change that would give it a right."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from difflib import ndiff
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from keyfold.model import Table
from keyfold.policy import Right, Role
from keyfold.policy._rights import EVERYTHING


class RoleSource(NamedTuple):
    """Where a role is declared: the call of `Role`, and the mapping of its rights."""

    module: ModuleType
    file: str
    line: int
    text: str
    can: ast.Dict


def find_role_source(table: Table, role: Role) -> RoleSource | None:
    """Return where a role is declared; None if that cannot be told."""
    for module in _list_modules(table, role):
        file = getattr(module, "__file__", None)
        if file is None or not file.endswith(".py"):
            continue
        try:
            text = Path(file).read_text(encoding="utf-8")
            tree = ast.parse(text)
        except (OSError, SyntaxError, ValueError):
            continue
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and _is_declaration(call, role.name):
                can = next((each.value for each in call.keywords if each.arg == "can"), None)
                if isinstance(can, ast.Dict):
                    return RoleSource(module, file, call.lineno, text, can)
    return None


def _list_modules(table: Table, role: Role) -> Iterator[ModuleType]:
    """Yield the loaded modules that have the role as a global, then those that have its table."""
    loaded = list(sys.modules.values())
    for wanted in (role, table):
        for module in loaded:
            if any(value is wanted for value in list(getattr(module, "__dict__", {}).values())):
                yield module


def _is_declaration(call: ast.Call, name: str) -> bool:
    named = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    first: ast.expr | None = call.args[0] if call.args else None
    for each in call.keywords:
        if each.arg == "name":
            first = each.value
    return named == "Role" and isinstance(first, ast.Constant) and first.value == name


def show_source_change(table: Table, role: Role, area: str, rights: Right) -> dict[str, Any] | None:
    """Return the change of a role's declaration that grants rights in an area, as a diff.

    `lines` are pairs of a sign (" ", "-" or "+") and a line. None if the declaration is not known.
    """
    source = find_role_source(table, role)
    if source is None:
        return None
    assert source.can.end_lineno is not None  # it was parsed
    before = source.text.splitlines()[source.can.lineno - 1 : source.can.end_lineno]
    after = _add_rights(source, before, area, rights)
    lines = [(line[0], line[2:]) for line in ndiff(before, after) if line[0] in " -+"]
    return {
        "file": "/".join(Path(source.file).parts[-2:]),
        "line": source.can.lineno,
        "lines": _dedent(_keep_context(lines)),
        "needs": "" if hasattr(source.module, "Right") else "from keyfold import Right",
    }


def _dedent(lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    margin = min((len(line) - len(line.lstrip()) for _, line in lines if line.strip()), default=0)
    return [(sign, line[margin:]) for sign, line in lines]


def _keep_context(lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the changed lines, with one before and after each."""
    changed = {number for number, (sign, _) in enumerate(lines) if sign != " "}
    kept = {near for number in changed for near in (number - 1, number, number + 1)}
    return [line for number, line in enumerate(lines) if number in kept]


def _add_rights(source: RoleSource, lines: list[str], area: str, rights: Right) -> list[str]:
    """Return the lines of the mapping with more rights in an area."""
    added = " | ".join(f"Right.{each.name}" for each in Right if each in rights)
    can = source.can
    for key, value in zip(can.keys, can.values, strict=True):
        if key is not None and _name_of(source.module, key) == area:
            return _insert(source, lines, value, f" | {added}")
    name = _find_global(source.module, area) or f'"{area}"'
    entry = f"{name}: {added}"
    if not can.values:
        return [lines[0].replace("{}", f"{{{entry}}}", 1), *lines[1:]]
    last = can.values[-1]
    if last.lineno == can.lineno:
        return _insert(source, lines, last, f", {entry}")
    indent = lines[last.lineno - can.lineno]
    indent = indent[: len(indent) - len(indent.lstrip())]
    at = (last.end_lineno or last.lineno) - can.lineno + 1
    return [*lines[:at], f"{indent}{entry},", *lines[at:]]


def _insert(source: RoleSource, lines: list[str], node: ast.expr, text: str) -> list[str]:
    """Return the lines with a text after one of the nodes of the mapping."""
    number = (node.end_lineno or node.lineno) - source.can.lineno
    line = lines[number]
    # Columns are counted in bytes.
    at = len(line.encode()[: node.end_col_offset].decode())
    return [*lines[:number], line[:at] + text + line[at:], *lines[number + 1 :]]


def _name_of(module: ModuleType, key: ast.expr) -> str:
    """Return the name of the shard or entity that a key of the mapping stands for."""
    if isinstance(key, ast.Constant):
        return str(key.value)
    found: Any = None
    if isinstance(key, ast.Name):
        found = getattr(module, key.id, None)
    elif isinstance(key, ast.Attribute) and isinstance(key.value, ast.Name):
        found = getattr(getattr(module, key.value.id, None), key.attr, None)
    if isinstance(found, str):
        return found
    return found.__name__ if isinstance(found, type) else str(getattr(found, "name", ""))


def _find_global(module: ModuleType, area: str) -> str | None:
    """Return the name by which a module knows a shard or an entity."""
    for name, value in vars(module).items():
        if isinstance(value, type):
            known = value.__name__
        elif hasattr(value, "template"):
            known = getattr(value, "name", None)
        else:
            continue
        if known == area and area != EVERYTHING:
            return name
    return None
