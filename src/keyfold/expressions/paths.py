"""Sets of document paths: which of them clash, and which parts of an item they select."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from keyfold.errors import ValidationException
from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.trees import Steps, show_path
from keyfold.values import AttributeValue, Item

PathTree = dict[str | int, "PathTree | None"]
"""Paths merged by their common prefixes; None marks the end of a path."""


def merge_paths(paths: Iterable[Steps]) -> PathTree:
    """Merge paths into one tree.

    >>> merge_paths([("a", "b"), ("a", "c", 0)])
    {'a': {'b': None, 'c': {0: None}}}

    Raises ExpressionFault if one path is inside another, or if two paths treat the same value as
    a map and as a list. The service checks paths from the last to the first, so paths that may
    clash must be given in that order.
    """
    tree: PathTree = {}
    merged: list[Steps] = []
    for path in paths:
        if not _merge(tree, path):
            raise _clash_fault(path, merged)
        merged.append(path)
    return tree


def _merge(tree: PathTree, path: Steps) -> bool:
    """Add a path to a tree; return False if it clashes with the paths in it."""
    node = tree
    last = len(path) - 1
    for place, step in enumerate(path):
        # The steps at one node are either all names or all positions.
        if node and type(next(iter(node))) is not type(step):
            return False
        if place == last:
            if step in node:
                return False
            node[step] = None
            return True
        inner = node.setdefault(step, {})
        if inner is None:
            return False
        node = inner
    raise AssertionError


def _clash_fault(path: Steps, merged: list[Steps]) -> ExpressionFault:
    for other in merged:
        kinds_match = [
            type(step) is type(other_step)
            for step, other_step in zip(path, other, strict=False)
            if step != other_step
        ]
        if kinds_match[:1] == [True]:
            continue
        clash = "conflict" if kinds_match else "overlap"
        return ExpressionFault(
            f"Two document paths {clash} with each other; must remove or rewrite one of these "
            f"paths; path one: {show_path(path)}, path two: {show_path(other)}"
        )
    raise AssertionError


def select(item: Item, tree: PathTree) -> Item:
    """Return the parts of `item` at the paths of `tree`, with the same nesting.

    Paths that lead to nothing are left out. Elements of a list keep their order, without gaps.

    >>> select({"a": {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}]}}, {"a": {2: None, 0: None}})
    {'a': {'L': [{'N': '1'}, {'N': '3'}]}}
    """
    selected: Item = {}
    for name, inner in tree.items():
        value = item.get(name)  # pyright: ignore[reportArgumentType] - a position is never the key of a map
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
    """The requested paths, which do not clash."""
    _tree: PathTree
    _names: tuple[str, ...] | None
    """The requested attributes, if all paths are top-level."""

    @staticmethod
    def of(paths: tuple[Steps, ...]) -> Projection:
        """Return the projection of paths that do not clash."""
        if any(len(path) > 1 for path in paths):
            return Projection(paths, merge_paths(paths), None)
        return Projection(paths, {}, tuple(str(path[0]) for path in paths))

    @property
    def attributes(self) -> frozenset[str]:
        """The top-level attributes that its paths start with."""
        return frozenset(str(path[0]) for path in self.paths)

    def apply(self, item: Item) -> Item:
        """Return the requested parts of `item`."""
        if self._names is not None:
            return {name: item[name] for name in self._names if name in item}
        return select(item, self._tree)


def check_scalar_keys(
    paths: Iterable[Steps], key_names: Iterable[str], index_key_names: Iterable[str]
) -> None:
    """Raise ValidationException if a path leads into a key attribute, which is a scalar."""
    inner = {path[0] for path in paths if len(path) > 1}
    for label, names in (("Key", key_names), ("IndexKey", index_key_names)):
        for name in names:
            if name in inner:
                raise ValidationException(
                    "Key attributes must be scalars; list random access '[]' and map lookup '.' "
                    f"are not allowed: {label}: {name}"
                )
