"""Several document paths at once: which of them clash, and what of an item they select."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from keyfold.engine.expressions.faults import ExpressionFault
from keyfold.engine.expressions.trees import Steps, show_path
from keyfold.errors import ValidationException
from keyfold.values import AttributeValue, Item

PathTree = dict[str | int, "PathTree | None"]
"""Paths merged by their common beginnings; None is where one ends."""


def check_paths_apart(paths: Iterable[Steps]) -> None:
    """Raise ExpressionFault if one path is inside another, or two take one value for a map and a list.

    The service looks at the paths from the last to the first, so `paths` must come that way.
    """
    seen: list[Steps] = []
    for path in paths:
        for other in seen:
            clash = _clash(path, other)
            if clash:
                raise ExpressionFault(
                    f"Two document paths {clash} with each other; must remove or rewrite one of "
                    f"these paths; path one: {show_path(path)}, path two: {show_path(other)}"
                )
        seen.append(path)


def _clash(path: Steps, other: Steps) -> str | None:
    for step, other_step in zip(path, other, strict=False):
        if step != other_step:
            return "conflict" if type(step) is not type(other_step) else None
    return "overlap"


@lru_cache(maxsize=1024)
def merge_paths(paths: tuple[Steps, ...]) -> PathTree:
    """Merge paths that do not clash into one tree.

    >>> merge_paths((("a", "b"), ("a", "c", 0)))
    {'a': {'b': None, 'c': {0: None}}}
    """
    tree: PathTree = {}
    for path in paths:
        node = tree
        for step in path[:-1]:
            inner = node.setdefault(step, {})
            assert inner is not None
            node = inner
        node[path[-1]] = None
    return tree


def select(item: Item, tree: PathTree) -> Item:
    """Return the parts of `item` at the paths of `tree`, in the shape they have there.

    What is not there is left out. Elements of a list keep their order and close up.

    >>> select({"a": {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}]}}, {"a": {2: None, 0: None}})
    {'a': {'L': [{'N': '1'}, {'N': '3'}]}}
    """
    selected: Item = {}
    for name, inner in tree.items():
        value = item.get(name)  # pyright: ignore[reportArgumentType] - a position is never a name
        if value is None:
            continue
        if inner is not None:
            value = _select_inside(value, inner)
            if value is None:
                continue
        selected[name] = value  # pyright: ignore[reportArgumentType] - as above
    return selected


def _select_inside(value: AttributeValue, tree: PathTree) -> AttributeValue | None:
    members = value.get("M")
    if members is not None:
        selected = select(members, tree)
        return {"M": selected} if selected else None
    elements = value.get("L")
    if elements is None:
        return None
    kept: list[AttributeValue] = []
    for position, inner in sorted(
        (step, inner) for step, inner in tree.items() if isinstance(step, int)
    ):
        if position >= len(elements):
            break
        element = elements[position]
        if inner is not None:
            element = _select_inside(element, inner)
        if element is not None:
            kept.append(element)
    return {"L": kept} if kept else None


@dataclass(frozen=True, slots=True)
class Projection:
    """The attributes, and parts of attributes, that a request asks for."""

    paths: tuple[Steps, ...]
    attributes: frozenset[str]
    """The top-level attributes among them."""
    _tree: PathTree
    _names: tuple[str, ...] | None
    """The attributes asked for, if nothing inside one is."""

    @staticmethod
    def of(paths: tuple[Steps, ...]) -> Projection:
        """Make a projection of paths that do not clash."""
        return _make_projection(paths)

    def apply(self, item: Item) -> Item:
        """Return what the projection asks for of `item`."""
        if self._names is not None:
            return {name: item[name] for name in self._names if name in item}
        return select(item, self._tree)


@lru_cache(maxsize=1024)
def _make_projection(paths: tuple[Steps, ...]) -> Projection:
    names = tuple(path[0] for path in paths if isinstance(path[0], str))
    only_names = all(len(path) == 1 for path in paths)
    return Projection(paths, frozenset(names), merge_paths(paths), names if only_names else None)


def check_scalar_keys(
    paths: Iterable[Steps], key_names: Iterable[str], index_key_names: Iterable[str]
) -> None:
    """Raise ValidationException if a path leads into an attribute of a key, which is a scalar."""
    inner = {path[0] for path in paths if len(path) > 1}
    for label, names in (("Key", key_names), ("IndexKey", index_key_names)):
        for name in names:
            if name in inner:
                raise ValidationException(
                    "Key attributes must be scalars; list random access '[]' and map lookup '.' "
                    f"are not allowed: {label}: {name}"
                )
