"""What a role's rights come to for each action of IAM, which knows fewer distinctions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from keyfold.policy._layouts import join_names
from keyfold.policy._rights import WRITE, Right
from keyfold.policy._rules import Grant
from keyfold.policy.iam._gaps import Gap

_PUTS = Right.CREATE | Right.UPDATE

# The actions on items of one partition, and the rights that they take.
ITEM_ACTIONS: Mapping[str, Right] = {
    "BatchGetItem": Right.GET,
    "BatchWriteItem": WRITE,
    "ConditionCheckItem": Right.GET,
    "DeleteItem": Right.DELETE,
    "GetItem": Right.GET,
    "PutItem": _PUTS,
    "Query": Right.QUERY,
    "UpdateItem": _PUTS,
}
# Those of them by which an item's attributes are set.
SETTING = ("BatchWriteItem", "PutItem", "UpdateItem")


class ActionRule(NamedTuple):
    """How an action is allowed: which attributes may be named, and whether some must be."""

    # All that may be named, None for any; and what may not be.
    only: frozenset[str] | None = None
    never: frozenset[str] = frozenset()
    # Whether reads must name what they read.
    selects: bool = False
    # The indexes that are left out.
    closed: frozenset[str] = frozenset()


FREE = ActionRule()


def find_treatment(action: str, grant: Grant) -> ActionRule | None:
    """Return how an action is allowed by a grant; None where it is not, or IAM cannot say so."""
    if ITEM_ACTIONS[action].value & ~grant.rights:
        return None
    if action in ("BatchGetItem", "GetItem"):
        return treat_reads(grant)
    if action == "Query":
        return treat_reads(grant)._replace(closed=grant.closed)
    if action == "BatchWriteItem":
        if grant.fixed:
            return None
        if grant.hidden:
            return ActionRule(only=grant.declared - grant.hidden - grant.unique)
        return ActionRule(never=grant.unique)
    if grant.hidden:
        # Whoever may give a condition may ask for the item that fails it; nothing tells of that.
        return None
    if action in ("DeleteItem", "ConditionCheckItem"):
        return FREE
    if grant.fixed and action == "PutItem":
        return None
    return ActionRule(never=grant.fixed | grant.unique)


def treat_reads(grant: Grant) -> ActionRule:
    """Return how items are read, by a grant that allows it."""
    if not grant.hidden:
        return FREE
    return ActionRule(only=grant.declared - grant.hidden, selects=True)


def find_gaps(grant: Grant) -> list[Gap]:
    """Return where IAM cannot say what a grant says."""
    where = join_names([name for name, _ in grant.parts])
    gaps: list[Gap] = []

    def narrow(kind: str, actions: set[str], fact: str, advice: str) -> None:
        gaps.append(Gap(kind, "narrower", frozenset(actions), where, fact, advice))

    puts, deletes = grant.rights & _PUTS.value, grant.rights & Right.DELETE.value
    if puts and puts != _PUTS.value:
        allowed, missing = (
            ("create", "replace") if puts & Right.CREATE.value else ("change", "create")
        )
        narrow(
            "create-or-replace",
            {"PutItem", "UpdateItem", "BatchWriteItem"},
            f"the role may {allowed} items and not {missing} them, and IAM cannot tell the two "
            "apart, so puts and updates are left out",
            "Give the role both, or let a service with a role of its own write these items.",
        )
    elif (puts or deletes) and not (puts and deletes):
        narrow(
            "batch-writes",
            {"BatchWriteItem"},
            "a batch may put and delete, and IAM cannot tell the two apart, so batches of writes "
            "are left out",
            "Write items one by one, or in transactions.",
        )
    elif puts and deletes and grant.fixed:
        narrow(
            "batch-writes",
            {"BatchWriteItem"},
            "whole items may not be put here, and IAM cannot tell puts from deletes in a batch, "
            "so batches of writes are left out",
            "Delete items one by one, or in transactions.",
        )
    if grant.hidden and grant.rights & (_PUTS | Right.DELETE | Right.GET).value:
        hidden = join_names(sorted(grant.hidden))
        narrow(
            "hidden-in-failures",
            {"PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"},
            f"the item that fails a condition would show {hidden}, and IAM cannot forbid to ask "
            "for it, so writes with conditions, and checks, are left out",
            "Put hidden attributes into items of another shard.",
        )
    if grant.fixed and not grant.hidden and puts == _PUTS.value:
        fixed = join_names(sorted(grant.fixed))
        narrow(
            "fixed-in-conditions",
            {"UpdateItem"},
            f"{fixed} may not be changed, and IAM cannot tell a change from a condition, so no "
            "update may name it",
            "Leave it out of conditions.",
        )
    if grant.unique and not grant.hidden and puts == _PUTS.value:
        unique = join_names(sorted(grant.unique))
        narrow(
            "unique-in-conditions",
            {"PutItem", "UpdateItem"},
            f"{unique} may not be set outside a store, which keeps it unique, and IAM cannot tell "
            "that from a condition, so no put or update may name it",
            "Leave it out of conditions.",
        )
    return gaps
