"""Decorated functions, written so that mutmut changes them, too: it leaves out those with decorators."""

from __future__ import annotations

import ast
from collections.abc import Iterator

# The decorators that may as well be called after the function is defined.
_MOVED = ("cache", "cached_property", "contextmanager", "lru_cache", "property")


def undecorate(source: str) -> str:
    r"""Return a module in which decorators are called after the functions that they decorate.

    >>> print(undecorate("@contextmanager\ndef hold():\n    yield\n"), end="")
    def hold():
        yield
    hold = contextmanager(hold)
    """
    lines = source.splitlines(keepends=True)
    # From the last one on, so that the numbers of the lines before stay the same.
    for node in sorted(_find_decorated(source), key=lambda node: -node.lineno):
        (decorator,) = node.decorator_list
        indentation = " " * node.col_offset
        call = f"{indentation}{node.name} = {ast.unparse(decorator)}({node.name})\n"
        assert node.end_lineno is not None  # always so after parsing
        lines.insert(node.end_lineno, call)
        del lines[decorator.lineno - 1 : decorator.end_lineno]
    return "".join(lines)


def _find_decorated(source: str) -> Iterator[ast.FunctionDef]:
    """Yield the functions with one of the decorators above, and no other."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and len(node.decorator_list) == 1:
            decorator = node.decorator_list[0]
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(named, ast.Name) and named.id in _MOVED:
                yield node
