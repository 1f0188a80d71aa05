"""The statements of an exported policy, as they are gathered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from keyfold.keys import Glob, GlobPiece, KeyTemplate, NamedPart, Wildcard, can_fit
from keyfold.policy.iam._action_rules import ActionRule

LEADING_KEYS, ATTRIBUTES, SELECT = (
    "dynamodb:LeadingKeys",
    "dynamodb:Attributes",
    "dynamodb:Select",
)
_SELECTED = ["SPECIFIC_ATTRIBUTES", "COUNT"]
_SPECIAL = re.compile(r"[*?$]")

Conditions = dict[str, dict[str, Any]]


class PartitionPatterns(NamedTuple):
    """Partitions of one template, as patterns."""

    area: str
    template: KeyTemplate
    globs: tuple[Glob, ...]


class Keys(NamedTuple):
    """Which partitions a statement is for."""

    wanted: tuple[tuple[GlobPiece, ...], ...] | None
    # Patterns of those that it is not for.
    unwanted: tuple[tuple[GlobPiece, ...], ...] = ()
    # Whether a partition must be known at all.
    is_required: bool = True


ANY_KEYS = Keys(None, (), is_required=False)


def write_pattern(pieces: Iterable[GlobPiece]) -> str:
    """Write a pattern of keys as a policy has it.

    >>> write_pattern(["U#", NamedPart("user"), "#*", Wildcard.ANY])
    'U#${aws:PrincipalTag/user}#${*}*'
    """
    written = ""
    for piece in pieces:
        match piece:
            case str():
                written += _SPECIAL.sub(lambda found: f"${{{found[0]}}}", piece)
            case NamedPart(name):
                written += f"${{aws:PrincipalTag/{name}}}"
            case _:
                written += piece.value
    return written


def group_places(places: Iterable[PartitionPatterns]) -> list[list[PartitionPatterns]]:
    """Put places together that one statement can be for.

    What must be kept out of one may be what another is: `U#*` takes nothing with two delimiters,
    which `U#*#O` has.
    """
    groups: list[list[PartitionPatterns]] = []
    for place in places:
        for group in groups:
            if not any(_disturb(place, other) or _disturb(other, place) for other in group):
                group.append(place)
                break
        else:
            groups.append([place])
    return groups


def _disturb(one: PartitionPatterns, other: PartitionPatterns) -> bool:
    return one.template is not other.template and any(
        can_fit(other.template, forbidden) for glob in one.globs for forbidden in glob.forbidden
    )


def keys_of(
    places: Iterable[PartitionPatterns], unwanted: Iterable[tuple[GlobPiece, ...]] = ()
) -> Keys:
    """Return the keys of places that go together."""
    globs = [glob for place in places for glob in place.globs]
    forbidden = [each for glob in globs for each in glob.forbidden]
    return Keys(
        tuple(dict.fromkeys(glob.pieces for glob in globs)),
        tuple(dict.fromkeys((*forbidden, *unwanted))),
    )


class StatementList:
    """Gathers statements: actions that are allowed in the same way share one."""

    def __init__(self, tag_conditions: Conditions) -> None:
        self._tag_conditions = tag_conditions
        self._statements: dict[str, tuple[str, list[str], list[str], Conditions]] = {}

    def add(
        self,
        sid: str,
        actions: Iterable[str],
        resources: Iterable[str],
        keys: Keys = ANY_KEYS,
        treatment: ActionRule | None = None,
    ) -> None:
        """Allow actions on resources."""
        listed = list(resources)
        conditions = _write_conditions(keys, treatment or ActionRule(), self._tag_conditions)
        identity = json.dumps([listed, conditions], sort_keys=True)
        known = self._statements.setdefault(identity, (sid, [], listed, conditions))
        known[1].extend(action for action in actions if action not in known[1])

    def count_with(self, action: str) -> int:
        """Return how many statements allow an action."""
        return sum(action in actions for _, actions, _, _ in self._statements.values())

    def to_document(self) -> dict[str, Any]:
        """Return the policy as JSON has it."""
        statements: list[dict[str, Any]] = []
        taken: dict[str, int] = {}
        for sid, actions, resources, conditions in self._statements.values():
            taken[sid] = taken.get(sid, 0) + 1
            statement: dict[str, Any] = {
                "Sid": sid if taken[sid] == 1 else f"{sid}{taken[sid]}",
                "Effect": "Allow",
                "Action": [f"dynamodb:{action}" for action in sorted(actions)],
                "Resource": resources,
            }
            if conditions:
                statement["Condition"] = conditions
            statements.append(statement)
        return {"Version": "2012-10-17", "Statement": statements}


def _write_conditions(keys: Keys, treatment: ActionRule, tags: Conditions) -> Conditions:
    conditions: Conditions = {}

    def add(operator: str, key: str, value: Any) -> None:
        conditions.setdefault(operator, {})[key] = value

    if keys.wanted is not None:
        has_wildcards = any(isinstance(each, Wildcard) for pieces in keys.wanted for each in pieces)
        operator = "StringLike" if has_wildcards else "StringEquals"
        wanted = [write_pattern(each) for each in keys.wanted]
        add(f"ForAllValues:{operator}", LEADING_KEYS, wanted)
    if keys.unwanted:
        unwanted = [write_pattern(each) for each in keys.unwanted]
        add("ForAllValues:StringNotLike", LEADING_KEYS, unwanted)
    if treatment.only is not None:
        add("ForAllValues:StringEquals", ATTRIBUTES, sorted(treatment.only))
    if treatment.never:
        add("ForAllValues:StringNotEquals", ATTRIBUTES, sorted(treatment.never))
    if treatment.selects:
        add("StringEquals", SELECT, _SELECTED)
    if keys.is_required:
        # Without it, ForAllValues holds for a request that names no partition at all.
        add("Null", LEADING_KEYS, "false")
    for operator, tests in tags.items():
        for key, value in tests.items():
            add(operator, key, value)
    return conditions


def tag_conditions(tenant: str | None, templates: Iterable[KeyTemplate]) -> Conditions:
    """Return what the tag of a principal must be to stand in keys."""
    if tenant is None:
        return {}
    key = f"aws:PrincipalTag/{tenant}"
    delimiters = sorted({each for template in templates for each in template.delimiters})
    # An asterisk in it is a character, and still nobody is to be called that.
    refused = [f"*{write_pattern([each])}*" for each in dict.fromkeys([*delimiters, *"*?$"])]
    return {"StringNotLike": {key: ["", *refused]}, "Null": {key: "false"}}


def name_statement(names: Iterable[str], verb: str = "") -> str:
    """Return a Sid for areas, indexes and the like: letters and digits alone."""
    words = [word for name in names for word in re.findall(r"[A-Za-z0-9]+", name)]
    return (verb + "".join(word[:1].upper() + word[1:] for word in words))[:100] or "Items"
