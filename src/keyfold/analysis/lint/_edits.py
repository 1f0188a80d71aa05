"""Edits of source files that mend what is mechanical, for `keyfold lint --fix`.

An edit is about the declaration at a finding's place: the call of Table or Index, the class
statement of an entity, or the decorator of a pattern. A declaration that is not written out there,
such as one with `lint_ignore=IGNORED`, is left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import unified_diff
from itertools import accumulate
from pathlib import Path
from typing import assert_never

from keyfold.analysis.lint._findings import Finding, RemoveIgnore, RenameIgnore, SetArgument


@dataclass(frozen=True, slots=True)
class SourceFix:
    """A file with edits made: its text before and after, and the findings that this mends."""

    file: Path
    before: str
    after: str
    findings: tuple[Finding, ...]

    def diff(self) -> str:
        """Return the changes as a unified diff."""
        lines = unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            str(self.file),
            str(self.file),
        )
        return "".join(lines)

    def write(self) -> None:
        """Write the file as it is after the edits."""
        self.file.write_text(self.after, "utf-8", newline="")


def make_fixes(findings: Iterable[Finding], folder: Path) -> list[SourceFix]:
    """Return the edits that mend findings, by file; only files below the folder are edited."""
    by_file: dict[Path, list[Finding]] = {}
    for each in findings:
        file = None if each.place.file is None else Path(each.place.file).resolve()
        if each.edit is not None and file is not None and file.is_relative_to(folder.resolve()):
            by_file.setdefault(file.relative_to(folder.resolve()), []).append(each)
    return [fix for file, each in by_file.items() if (fix := _fix(folder, file, each)) is not None]


def _fix(folder: Path, file: Path, findings: list[Finding]) -> SourceFix | None:
    try:
        with (folder / file).open(encoding="utf-8", newline="") as opened:
            before = opened.read()
    except OSError:
        return None
    after = before
    mended: list[Finding] = []
    # From the last line to the first, so that the lines of the others stay what they are.
    for each in sorted(findings, key=lambda one: -(one.place.line or 0)):
        edited = _edit(after, each)
        if edited is not None:
            after = edited
            mended.append(each)
    return SourceFix(folder / file, before, after, tuple(mended)) if mended else None


def _edit(source: str, finding: Finding) -> str | None:
    """Return a source after the edit of a finding; None if that is not possible."""
    declared = _find_declaration(source, finding.place.line)
    if declared is None:
        return None
    text = _SourceText(source)
    match finding.edit:
        case None:
            return None
        case SetArgument(name, value):
            return _set_argument(text, declared, name, value)
        case RemoveIgnore(code):
            return _remove_ignore(text, declared, code)
        case RenameIgnore(code, new):
            key = _find_ignore(declared, code)
            return None if key is None else text.replace(*text.span(key), f'"{new}"')
        case _:
            assert_never(finding.edit)


# A declaration: its positional arguments or bases, and its keywords, in the order of the source.
_Arguments = list[ast.expr | ast.keyword]


def _find_declaration(source: str, line: int | None) -> _Arguments | None:
    """Return the arguments of the call or class statement that begins at a line."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef() if _first_line(node) == line:
                return _in_order([*node.bases, *node.keywords])
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _first_line(node) == line:
                for each in node.decorator_list:
                    if isinstance(each, ast.Call) and _name_of(each) == "pattern":
                        return _in_order([*each.args, *each.keywords])
            case ast.Call() if node.lineno == line and _name_of(node) in ("Table", "Index"):
                return _in_order([*node.args, *node.keywords])
            case _:
                pass
    return None


def _first_line(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the line of the first decorator, where `inspect` says that the source begins."""
    return min(each.lineno for each in (node, *node.decorator_list))


def _name_of(call: ast.Call) -> str:
    match call.func:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _in_order(arguments: list[ast.expr | ast.keyword]) -> _Arguments:
    return sorted(arguments, key=lambda each: (each.lineno, each.col_offset))


class _SourceText:
    """A source, with the places of its nodes as offsets."""

    def __init__(self, source: str) -> None:
        self.source = source
        # Lines as Python has them: other separators do not end one.
        self._lines = _split_lines(source)
        self._starts = [0, *accumulate(map(len, self._lines))]

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place, whose column counts bytes."""
        text = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(text)

    def span(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        """Return the offsets of the start and the end of a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.offset(node.lineno, node.col_offset)
        return start, self.offset(node.end_lineno, node.end_col_offset)

    def replace(self, start: int, end: int, text: str) -> str:
        """Return the source with a part replaced."""
        return self.source[:start] + text + self.source[end:]

    def indent_of(self, node: ast.expr | ast.keyword) -> str | None:
        """Return the white space before a node that begins a line; None if it does not."""
        before = self._lines[node.lineno - 1].encode()[: node.col_offset].decode()
        return before if not before.strip() else None


def _split_lines(source: str) -> list[str]:
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", source)


def _set_argument(text: _SourceText, arguments: _Arguments, name: str, value: str) -> str | None:
    for each in arguments:
        if isinstance(each, ast.keyword) and each.arg == name:
            return text.replace(*text.span(each.value), value)
    if not arguments:
        return None
    last = arguments[-1]
    indent = text.indent_of(last)
    gap = " " if indent is None else f"\n{indent}"
    _, end = text.span(last)
    return text.replace(end, end, f",{gap}{name}={value}")


def _find_ignores(arguments: _Arguments) -> tuple[ast.keyword, ast.Dict] | None:
    for each in arguments:
        match each:
            case ast.keyword(arg="lint_ignore", value=ast.Dict() as ignored):
                return each, ignored
            case _:
                pass
    return None


def _find_ignore(arguments: _Arguments, code: str) -> ast.expr | None:
    found = _find_ignores(arguments)
    return None if found is None else next(_keys_named(found[1], code), None)


def _keys_named(ignored: ast.Dict, code: str) -> Iterator[ast.expr]:
    for key in ignored.keys:
        if isinstance(key, ast.Constant) and key.value == code:
            yield key


def _remove_ignore(text: _SourceText, arguments: _Arguments, code: str) -> str | None:
    found = _find_ignores(arguments)
    if found is None:
        return None
    keyword, ignored = found
    key = next(_keys_named(ignored, code), None)
    if key is None:
        return None
    place = ignored.keys.index(key)
    if len(ignored.keys) == 1:
        position = arguments.index(keyword)
        if position == 0:
            return None  # it has a name or a base before it, if it is what we think it is
        return text.replace(text.span(arguments[position - 1])[1], text.span(keyword)[1], "")
    if place == len(ignored.keys) - 1:
        start, end = text.span(ignored.values[place - 1])[1], text.span(ignored.values[place])[1]
        return text.replace(start, end, "")
    following = ignored.keys[place + 1]
    if following is None:
        return None  # **others
    return text.replace(text.span(key)[0], text.span(following)[0], "")
