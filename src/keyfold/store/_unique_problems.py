"""Differences between guards and items, and how they are found in what was read of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from keyfold.model._formatting import show_item
from keyfold.policy import UNIQUE_START
from keyfold.store._guards import StoredGuard
from keyfold.values import AttributeValue, Item

ProblemKind = Literal[
    "missing guard",
    "stale guard",
    "wrong owner",
    "wrong expiry",
    "duplicate",
    "former format",
    "unreadable",
    "undeclared",
]
# Problems that have one solution, which follows from the items.
_CERTAIN = frozenset(
    {"missing guard", "stale guard", "wrong owner", "wrong expiry", "former format"}
)


@dataclass(frozen=True, slots=True)
class UniqueProblem:
    """A difference between the guards of unique values and the items that have them.

    `name` is the guard's name, and `guard` its key. `items` are the keys of the items that have
    the value, `owner` is the key that the guard has, or None. `expiry` is the TTL attribute of an
    item that has the value alone. An undeclared name has guards, but no unique field; its `guard`
    is the item that lists the names.
    """

    kind: ProblemKind
    name: str
    guard: Item
    items: tuple[Item, ...] = ()
    owner: Item | None = None
    expiry: AttributeValue | None = None
    is_repaired: bool = False

    @property
    def is_certain(self) -> bool:
        """Whether it can be repaired without a decision: not if several items have the value.

        Guards of a name that is not declared may be those of another program.
        """
        return self.kind in _CERTAIN

    @property
    def value(self) -> str:
        """The value as text; the hash of a long one."""
        text = str(next(iter(self.guard.values()))["S"])
        if self.kind in ("former format", "unreadable", "undeclared"):
            return text
        kind, _, value = text.removeprefix(f"{UNIQUE_START}{self.name}#").partition("#")
        return repr(value) if kind == "S" else f"{kind} {value}"

    def __str__(self) -> str:
        items, owner = " and ".join(map(show_item, self.items)), show_item(self.owner or {})
        subject = f"{self.name} {self.value}:"
        match self.kind:
            case "missing guard":
                return f"{subject} {items} has it, but it has no guard."
            case "stale guard":
                return f"{subject} its guard belongs to {owner}, which does not have it."
            case "wrong owner":
                return f"{subject} {items} has it, but its guard belongs to {owner}."
            case "wrong expiry":
                return f"{subject} {items} has it, but its guard expires at another time."
            case "duplicate":
                return f"{subject} {items} have it."
            case "former format":
                return f"{subject} the guard is in a former format, without an owner."
            case "unreadable":
                return f"{self.value}: the item has the key of a guard, but is not a guard."
            case "undeclared":
                return (
                    f"{self.name}: there are guards of this name, but no unique field has it. "
                    "`keyfold apply --allow-removal` removes them."
                )

    def to_json(self) -> dict[str, Any]:
        """Return the problem as a JSON object."""
        return {
            "kind": self.kind,
            "name": self.name,
            "value": self.value,
            "items": list(self.items),
            "owner": self.owner,
            "repaired": self.is_repaired,
        }


def find_problem(
    name: str,
    key: Item,
    holders: Sequence[tuple[Item, AttributeValue | None]],
    guard: StoredGuard | None,
) -> UniqueProblem | None:
    """Compare a guard with the items that have its value; return the problem, or None.

    `key` is that of the guard. `holders` are the items, each with its TTL attribute.
    """
    items = tuple(each for each, _ in holders)
    owner = None if guard is None else guard.owner
    if len(items) > 1:
        return UniqueProblem("duplicate", name, key, items, owner)
    expiry = holders[0][1] if holders else None
    kind: ProblemKind = "wrong owner"
    if items == (() if owner is None else (owner,)):
        if guard is None or guard.expiry == expiry:
            return None
        kind = "wrong expiry"
    elif owner is None:
        kind = "missing guard"
    elif not items:
        kind = "stale guard"
    return UniqueProblem(kind, name, key, items, owner, expiry)
