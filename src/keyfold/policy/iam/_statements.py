"""Builds the statements of an exported policy."""

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
    """The partitions of one template, as IAM patterns."""

    area: str
    template: KeyTemplate
    globs: tuple[Glob, ...]


class Keys(NamedTuple):
    """The partitions that a statement allows."""

    wanted: tuple[tuple[GlobPiece, ...], ...] | None
    # Patterns of partitions that are excluded.
    unwanted: tuple[tuple[GlobPiece, ...], ...] = ()
    # Whether the request must name a partition.
    is_required: bool = True


ANY_KEYS = Keys(None, (), is_required=False)


def write_pattern(pieces: Iterable[GlobPiece]) -> str:
    """Write a key pattern in the syntax of IAM policies.

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


def group_patterns(listed_patterns: Iterable[PartitionPatterns]) -> list[list[PartitionPatterns]]:
    """Group the patterns that can share a statement.

    A pattern may exclude what another one matches: `U#*` must exclude keys with two delimiters,
    such as those of `U#*#O`.
    """
    groups: list[list[PartitionPatterns]] = []
    for patterns in listed_patterns:
        for group in groups:
            if not any(
                _conflicts(patterns, other) or _conflicts(other, patterns) for other in group
            ):
                group.append(patterns)
                break
        else:
            groups.append([patterns])
    return groups


def _conflicts(one: PartitionPatterns, other: PartitionPatterns) -> bool:
    return one.template is not other.template and any(
        can_fit(other.template, forbidden) for glob in one.globs for forbidden in glob.forbidden
    )


def keys_of(
    listed_patterns: Iterable[PartitionPatterns], unwanted: Iterable[tuple[GlobPiece, ...]] = ()
) -> Keys:
    """Return the keys for patterns that share a statement."""
    globs = [glob for patterns in listed_patterns for glob in patterns.globs]
    forbidden = [each for glob in globs for each in glob.forbidden]
    return Keys(
        tuple(dict.fromkeys(glob.pieces for glob in globs)),
        tuple(dict.fromkeys((*forbidden, *unwanted))),
    )


class StatementList:
    """Collects statements; actions with the same resources and conditions share one."""

    def __init__(self, tag_conditions: Conditions) -> None:
        self._tag_conditions = tag_conditions
        self._statements: dict[str, tuple[str, list[str], list[str], Conditions]] = {}

    def add(
        self,
        sid: str,
        actions: Iterable[str],
        resources: Iterable[str],
        keys: Keys = ANY_KEYS,
        rule: ActionRule | None = None,
    ) -> None:
        """Allow actions on resources, for certain keys and attributes."""
        listed = list(resources)
        conditions = _write_conditions(keys, rule or ActionRule(), self._tag_conditions)
        identity = json.dumps([listed, conditions], sort_keys=True)
        known = self._statements.setdefault(identity, (sid, [], listed, conditions))
        known[1].extend(action for action in actions if action not in known[1])

    def count_with(self, action: str) -> int:
        """Return the number of statements that allow an action."""
        return sum(action in actions for _, actions, _, _ in self._statements.values())

    def to_document(self) -> dict[str, Any]:
        """Return the policy document, ready for JSON."""
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


def _write_conditions(keys: Keys, rule: ActionRule, tags: Conditions) -> Conditions:
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
    if rule.only is not None:
        add("ForAllValues:StringEquals", ATTRIBUTES, sorted(rule.only))
    if rule.never:
        add("ForAllValues:StringNotEquals", ATTRIBUTES, sorted(rule.never))
    if rule.selects:
        add("StringEquals", SELECT, _SELECTED)
    if keys.is_required:
        # Without it, ForAllValues is true for a request that names no partition at all.
        add("Null", LEADING_KEYS, "false")
    for operator, tests in tags.items():
        for key, value in tests.items():
            add(operator, key, value)
    return conditions


def tag_conditions(tenant: str | None, templates: Iterable[KeyTemplate]) -> Conditions:
    """Return conditions that keep delimiters and wildcards out of the principal's tag."""
    if tenant is None:
        return {}
    key = f"aws:PrincipalTag/{tenant}"
    delimiters = sorted({each for template in templates for each in template.delimiters})
    # IAM would take an asterisk in a tag literally; guards refuse such ids all the same.
    refused = [f"*{write_pattern([each])}*" for each in dict.fromkeys([*delimiters, *"*?$"])]
    return {"StringNotLike": {key: ["", *refused]}, "Null": {key: "false"}}


def name_statement(names: Iterable[str], verb: str = "") -> str:
    """Return a Sid for areas or indexes: only letters and digits."""
    words = [word for name in names for word in re.findall(r"[A-Za-z0-9]+", name)]
    return (verb + "".join(word[:1].upper() + word[1:] for word in words))[:100] or "Items"
