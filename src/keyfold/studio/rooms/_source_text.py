"""The source of declarations, with the kinds of its words, so that the browser can colour them."""

from __future__ import annotations

import ast
import inspect
import io
import keyword
import linecache
import textwrap
import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keyfold.model._declared_at import SourcePlace

# What the place of an inferred declaration is called.
INFERRED = "inferred declaration"
_STRINGS = frozenset({"STRING", "FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END"})


@dataclass(frozen=True, slots=True)
class SourceText:
    """Some lines of a file: its path, the number of the first one, and the lines."""

    file: str
    first: int
    lines: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the lines for the browser, each as words: `["k", "class"]`, `["", " Order"]`.

        Kinds are k for a keyword, s for a string, c for a comment or docstring, or empty.
        """
        path = Path(self.file)
        words = split_words(self.lines)
        return {
            "file": name_file(self.file),
            "path": self.file if path.is_absolute() else None,
            "line": self.first,
            "lines": [
                {"number": self.first + number, "words": line} for number, line in enumerate(words)
            ],
        }


def name_file(file: str) -> str:
    """Return a short name of a file: relative to the current folder, or its last two parts."""
    path = Path(file)
    here = Path.cwd()
    if path.is_relative_to(here):
        return path.relative_to(here).as_posix()
    return "/".join(path.parts[-2:])


def find_definition(declared: Any) -> SourceText | None:
    """Return the source of a class or function; None if there is no file."""
    try:
        file = inspect.getsourcefile(declared)
        lines, first = inspect.getsourcelines(declared)
    except (OSError, TypeError):
        return None  # declared in an interactive session
    return None if file is None else SourceText(file, first, tuple(_without_ends(lines)))


def find_statement(place: SourcePlace) -> SourceText | None:
    """Return the source of the statement that a line of a file is in; None if there is no file."""
    lines = [*_without_ends(linecache.getlines(place.file))]
    return _find_node(place.file, lines, lambda node: _contains(node, place.line))


def find_named(text: str, name: str) -> SourceText | None:
    """Return the class or function of a name in the text of a module."""
    return _find_node(
        INFERRED,
        text.splitlines(),
        lambda node: (
            isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == name
        ),
    )


def find_line(text: str, line: int) -> SourceText | None:
    """Return the statement that a line of a module's text is in."""
    return _find_node(INFERRED, text.splitlines(), lambda node: _contains(node, line))


def _contains(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _find_node(
    file: str, lines: Sequence[str], fits: Callable[[ast.stmt], bool]
) -> SourceText | None:
    """Return the first statement of a module that fits."""
    try:
        module = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        return None
    for node in module.body:
        if fits(node):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(each.lineno for each in decorators)])
            return SourceText(file, first, tuple(lines[first - 1 : node.end_lineno]))
    return None


def _without_ends(lines: Sequence[str]) -> Iterator[str]:
    return (line.rstrip("\r\n") for line in lines)


def split_words(lines: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Return the words of each line with their kinds; a line that cannot be read is one word.

    >>> split_words(["x = 'a'  # why"])
    [[('', 'x = '), ('s', "'a'"), ('', '  '), ('c', '# why')]]
    """
    if not lines:
        return []
    plain = [[("", line)] if line else [] for line in lines]
    text = textwrap.dedent("\n".join(lines))
    shown = text.split("\n")
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(text).readline)]
    except (tokenize.TokenError, SyntaxError):
        return plain
    marks: list[list[tuple[int, int, str]]] = [[] for _ in shown]
    for number, token in enumerate(tokens):
        kind = _kind_of(token, tokens[number - 1] if number else None)
        if kind:
            _mark(marks, shown, token, kind)
    dedented = len(lines[0]) - len(shown[0])
    return [
        _cut(line, found, " " * dedented if line else "")
        for line, found in zip(shown, marks, strict=True)
    ]


def _kind_of(token: tokenize.TokenInfo, before: tokenize.TokenInfo | None) -> str:
    name = tokenize.tok_name[token.type]
    if name == "COMMENT":
        return "c"
    if name in _STRINGS:
        # A string that begins a statement is a docstring.
        begins = before is None or tokenize.tok_name[before.type] in {"INDENT", "NEWLINE"}
        return "c" if begins else "s"
    if name == "NAME" and keyword.iskeyword(token.string):
        return "k"
    return ""


def _mark(
    marks: list[list[tuple[int, int, str]]],
    lines: Sequence[str],
    token: tokenize.TokenInfo,
    kind: str,
) -> None:
    """Note where a word is; one of several lines is noted in each."""
    (first, start), (last, end) = token.start, token.end
    for number in range(first, last + 1):
        line = lines[number - 1]
        low = start if number == first else 0
        high = end if number == last else len(line)
        if high > low:
            marks[number - 1].append((low, high, kind))


def _cut(line: str, marks: Sequence[tuple[int, int, str]], indent: str) -> list[tuple[str, str]]:
    words: list[tuple[str, str]] = []
    at = 0
    for start, end, kind in marks:
        if start > at:
            words.append(("", line[at:start]))
        words.append((kind, line[start:end]))
        at = end
    if at < len(line):
        words.append(("", line[at:]))
    return [("", indent), *words] if indent else words
