"""Maps the rights of a role to IAM actions, which distinguish less."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from keyfold.policy._layouts import join_names
from keyfold.policy._rights import WRITE, Right
from keyfold.policy._rules import Grant
from keyfold.policy.iam._gaps import Gap

_PUTS = Right.CREATE | Right.UPDATE

# The actions on items of one partition, and the rights that they need.
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
# Those that set attributes of items.
SETTING_ACTIONS = ("BatchWriteItem", "PutItem", "UpdateItem")


class ActionRule(NamedTuple):
    """How an action is allowed: which attributes a request may name, and whether it must name any."""

    # The only attributes that may be named, None for any; and those that may not be named.
    only: frozenset[str] | None = None
    never: frozenset[str] = frozenset()
    # Whether reads must name the attributes they return.
    selects: bool = False
    # The indexes that are excluded.
    closed: frozenset[str] = frozenset()


UNRESTRICTED = ActionRule()


def find_action_rule(action: str, grant: Grant) -> ActionRule | None:
    """Return how a grant allows an action; None if it does not, or if IAM cannot express it."""
    if ITEM_ACTIONS[action].value & ~grant.rights or grant.own_items is not None:
        return None
    if action in ("BatchGetItem", "GetItem"):
        return read_rule(grant)
    if action == "Query":
        return read_rule(grant)._replace(closed=grant.closed)
    if action == "BatchWriteItem":
        if grant.fixed:
            return None
        if grant.hidden:
            return ActionRule(only=grant.declared - grant.hidden - grant.unique)
        return ActionRule(never=grant.unique)
    if grant.hidden:
        # A request with a condition may have the item returned if the condition fails, and no
        # condition key shows that.
        return None
    if action in ("DeleteItem", "ConditionCheckItem"):
        return UNRESTRICTED
    if grant.fixed and action == "PutItem":
        return None
    return ActionRule(never=grant.fixed | grant.unique)


def read_rule(grant: Grant) -> ActionRule:
    """Return how a grant that allows reads restricts them."""
    if not grant.hidden:
        return UNRESTRICTED
    return ActionRule(only=grant.declared - grant.hidden, selects=True)


def find_gaps(grant: Grant) -> list[Gap]:
    """Return the gaps of a grant: what IAM cannot express."""
    where = join_names([name for name, _ in grant.parts])
    gaps: list[Gap] = []

    def narrow(kind: str, actions: set[str], fact: str, advice: str) -> None:
        gaps.append(Gap(kind, "narrower", frozenset(actions), where, fact, advice))

    if grant.own_items is not None:
        narrow(
            "sort-keys",
            {name for name, rights in ITEM_ACTIONS.items() if rights.value & grant.rights},
            "its tenants share a partition, and IAM sees no sort keys, so it cannot tell their items "
            "apart, and everything there is left out",
            "Let a service with its own role act for them, and check the role there.",
        )
        return gaps
    if grant.writable is not None and grant.rights & WRITE.value:
        gaps.append(
            Gap(
                "sort-keys",
                "wider",
                frozenset(
                    name for name, rights in ITEM_ACTIONS.items() if rights.value & WRITE.value
                ),
                where,
                "its partitions can have items of other shards, too, and IAM sees no sort keys, so it "
                "cannot deny writes of these",
                "Let a service with its own role write, and check the role there.",
            )
        )
    puts, deletes = grant.rights & _PUTS.value, grant.rights & Right.DELETE.value
    if puts and puts != _PUTS.value:
        allowed, missing = (
            ("create", "replace") if puts & Right.CREATE.value else ("change", "create")
        )
        narrow(
            "create-or-replace",
            {"PutItem", "UpdateItem", "BatchWriteItem"},
            f"the role may {allowed} items but not {missing} them, and IAM cannot distinguish the "
            "two, so puts and updates are left out",
            "Give the role both rights, or let a service with its own role write these items.",
        )
    elif (puts or deletes) and not (puts and deletes):
        narrow(
            "batch-writes",
            {"BatchWriteItem"},
            "a batch may put and delete, and IAM cannot distinguish the two, so batch writes are "
            "left out",
            "Write items one by one, or in transactions.",
        )
    elif puts and deletes and grant.fixed:
        narrow(
            "batch-writes",
            {"BatchWriteItem"},
            "the role may not put whole items, and IAM cannot distinguish puts from deletes in a "
            "batch, so batch writes are left out",
            "Delete items one by one, or in transactions.",
        )
    if grant.hidden and grant.rights & (_PUTS | Right.DELETE | Right.GET).value:
        hidden = join_names(sorted(grant.hidden))
        narrow(
            "hidden-in-failures",
            {"PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"},
            f"a failed condition can return the item with {hidden}, and IAM cannot prevent that, "
            "so single writes and condition checks are left out",
            "Put hidden attributes into items of another shard.",
        )
    if grant.fixed and not grant.hidden and puts == _PUTS.value:
        fixed = join_names(sorted(grant.fixed))
        narrow(
            "fixed-in-conditions",
            {"UpdateItem"},
            f"{fixed} may not be changed, and IAM cannot distinguish a change from a condition, so "
            "updates may not name it at all",
            "Leave it out of conditions.",
        )
    if grant.unique and not grant.hidden and puts == _PUTS.value:
        unique = join_names(sorted(grant.unique))
        narrow(
            "unique-in-conditions",
            {"PutItem", "UpdateItem"},
            f"only a store may set {unique}, to keep it unique, and IAM cannot distinguish that "
            "from a condition, so puts and updates may not name it at all",
            "Leave it out of conditions.",
        )
    return gaps
