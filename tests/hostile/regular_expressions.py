"""Finds every regular expression in the package, and the texts that make one slow.

An expression is slow if the time it takes on a text grows faster than the text. That needs a part that
may be repeated, in a text that fails, or matches, after it. So a text that matches is taken as a
model: something in it is repeated many times, and the rest is kept, left out or made to fail.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import keyfold

SOURCE = Path(keyfold.__file__).parent
METHODS = {"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}

# Repeated in each text, besides parts of the model.
_PUMPS = (
    "0",
    "a",
    "A",
    " ",
    "-",
    ".",
    ":",
    ",",
    "'",
    '"',
    "\\",
    "\n",
    "[",
    "{",
    "/*",
    "''",
    '""',
    "é",
)
_FAILURES = ("", "\0", "!\n")

# How long the repeated part gets. In small steps at first: if time doubles with each character, the
# next step must still come to an end.
_SIZES = (8, 12, 16, 20, 24, 28, 34, 42, 52, 64, 80, 100, 160, 400, 1_000, 4_000)
# A linear expression takes 8 times as long on a text that is 8 times as long, a quadratic one 64 times.
_STEP, _MAX_GROWTH = 8, 24
# Below this, growth is not measured: at the last size, a quadratic expression takes longer.
_SUSPICIOUS_SECONDS = 0.003
_ATTEMPTS = 7


class Site(NamedTuple):
    """A place in the source that compiles or uses a pattern."""

    module: str
    # The pattern as written in the source.
    written: str
    # The methods of `re` that it is used with.
    methods: tuple[str, ...]
    # The pattern; None if it is built in a function.
    pattern: re.Pattern[Any] | None

    @property
    def name(self) -> str:
        return f"{self.module}: {self.written}"


def find_sites() -> list[Site]:
    """Return every use of `re` in the package that takes a pattern."""
    sites: list[Site] = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        if "import re\n" in text:
            parts = path.relative_to(SOURCE.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            sites += _find_in_module(name, ast.parse(text))
    return sites


def _find_in_module(name: str, tree: ast.Module) -> Iterator[Site]:
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and (node.func.attr == "compile" or node.func.attr in METHODS)
        ):
            continue
        methods = (node.func.attr,)
        if node.func.attr == "compile":
            methods = tuple(sorted(_find_methods(node, parents, tree)))
        yield Site(name, ast.unparse(node.args[0]), methods, _evaluate(name, node))


def _find_methods(node: ast.AST, parents: dict[ast.AST, ast.AST], tree: ast.Module) -> set[str]:
    """Return the methods of a compiled pattern that are used."""
    parent = parents[node]
    if isinstance(parent, ast.Attribute):
        return {parent.attr}
    named = parent.targets[0] if isinstance(parent, ast.Assign) else None
    if not isinstance(named, ast.Name):
        return set()
    return {
        each.attr
        for each in ast.walk(tree)
        if isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id == named.id
        and each.attr in METHODS
    }


def _evaluate(module: str, call: ast.Call) -> re.Pattern[Any] | None:
    names = vars(importlib.import_module(module))
    flags = (
        call.args[1:]
        if isinstance(call.func, ast.Attribute) and call.func.attr == "compile"
        else []
    )
    try:
        values = [
            eval(compile(ast.Expression(each), module, "eval"), names)
            for each in (call.args[0], *flags)
        ]
    except NameError:
        return None
    return re.compile(*values)


def use(pattern: re.Pattern[Any], method: str, text: Any) -> Any:
    """Use a pattern as the package does."""
    if method == "sub":
        return pattern.sub(b"\0" if isinstance(text, bytes) else "\0", text)
    found: Any = getattr(pattern, method)(text)
    return list(found) if method == "finditer" else found


def find_slow_text(pattern: re.Pattern[Any], method: str, sample: str) -> str | None:
    """Return how to build a text on which a pattern is slow, from one that it matches; None if none."""
    for start, pump, end in _find_attacks(sample):
        write = _make_writer(pattern, start, pump, end)
        for size in _SIZES:
            took = _measure(pattern, method, write(size))
            if took > _SUSPICIOUS_SECONDS and _grows(pattern, method, write, size):
                return f"{start!r} + {pump!r} * n + {end!r}"
    return None


def _find_attacks(sample: str) -> Iterator[tuple[str, str, str]]:
    step = max(1, len(sample) // 16)
    for place in range(0, len(sample) + 1, step):
        own = {sample[place : place + size] for size in (1, 2, 3)} | {
            sample[max(0, place - 2) : place]
        }
        for pump in sorted({*own, *_PUMPS} - {""}):
            for failure in _FAILURES:
                yield sample[:place], pump, failure
            yield sample[:place], pump, sample[place:] + "\0"


def _make_writer(pattern: re.Pattern[Any], start: str, pump: str, end: str) -> Callable[[int], Any]:
    def write(size: int) -> Any:
        text = start + pump * (size // len(pump)) + end
        return text.encode() if isinstance(pattern.pattern, bytes) else text

    return write


def _measure(pattern: re.Pattern[Any], method: str, text: Any) -> float:
    before = time.thread_time()
    use(pattern, method, text)
    return time.thread_time() - before


def _grows(pattern: re.Pattern[Any], method: str, write: Callable[[int], Any], size: int) -> bool:
    """Return whether the time grows faster than the text.

    What else the machine does can make a measurement too large, never too small. So one attempt
    within the limit is enough; a quadratic expression exceeds it in every attempt.
    """
    small, large = write(size // _STEP), write(size)
    for _ in range(_ATTEMPTS):
        least = min(_measure(pattern, method, small) for _ in range(3))
        if _measure(pattern, method, large) < max(_MAX_GROWTH * least, _SUSPICIOUS_SECONDS):
            return False
    return True
