"""Parses IAM policy documents.

Anything unknown is refused by name: a policy that is only partly understood could allow what it
forbids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, cast

from keyfold.errors import PolicyInvalid
from keyfold.policy.iam._patterns import TAG, VariableUnknown, WildcardPattern

CURRENT = "2012-10-17"
_VERSIONS = ("2008-10-17", CURRENT)

# The supported condition keys in lower case, and whether each has several values.
KEYS: dict[str, bool] = {
    "aws:username": False,
    "dynamodb:attributes": True,
    "dynamodb:enclosingoperation": False,
    "dynamodb:fulltablescan": False,
    "dynamodb:leadingkeys": True,
    "dynamodb:returnconsumedcapacity": False,
    "dynamodb:returnvalues": False,
    "dynamodb:select": False,
}
_SHOWN_KEYS = (
    "dynamodb:LeadingKeys, Attributes, Select, ReturnValues, ReturnConsumedCapacity, "
    "EnclosingOperation and FullTableScan, aws:username and aws:PrincipalTag/…"
)

Comparison = Literal["equals", "equals_ignoring_case", "like", "bool", "null"]
Quantifier = Literal["ForAllValues", "ForAnyValue"]


class Operator(NamedTuple):
    """How a condition compares values."""

    comparison: Comparison
    is_negated: bool = False


OPERATORS: dict[str, Operator] = {
    "Bool": Operator("bool"),
    "Null": Operator("null"),
    "StringEquals": Operator("equals"),
    "StringEqualsIgnoreCase": Operator("equals_ignoring_case"),
    "StringLike": Operator("like"),
    "StringNotEquals": Operator("equals", is_negated=True),
    "StringNotEqualsIgnoreCase": Operator("equals_ignoring_case", is_negated=True),
    "StringNotLike": Operator("like", is_negated=True),
}

_STATEMENT = {
    *("Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Condition"),
}
_is_action = re.compile(r"\*|[A-Za-z0-9-]+:[A-Za-z0-9*?]+").fullmatch
_is_resource = re.compile(r"\*|arn:[^:]*:[^:]*:.*", re.DOTALL).fullmatch


class PolicyCondition(NamedTuple):
    """One test of one condition key; all tests of a statement must pass."""

    quantifier: Quantifier | None
    operator: Operator
    if_exists: bool
    key: str
    values: tuple[WildcardPattern, ...]


class Statement(NamedTuple):
    """A statement: actions on resources, allowed or denied under conditions."""

    is_allow: bool
    actions: tuple[WildcardPattern, ...]
    excludes_actions: bool
    resources: tuple[WildcardPattern, ...]
    excludes_resources: bool
    conditions: tuple[PolicyCondition, ...]


class PolicyDocument(NamedTuple):
    """A parsed IAM policy, for `find_denial`."""

    statements: tuple[Statement, ...]


def parse_policy(text: str | bytes, *, source: str = "the policy") -> PolicyDocument:
    """Parse the JSON of an identity-based IAM policy.

    `source` names the policy in errors, for instance by its file. Raises PolicyInvalid.

    >>> policy = parse_policy('''{
    ...     "Version": "2012-10-17",
    ...     "Statement": {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}
    ... }''')
    >>> len(policy.statements)
    1
    """
    try:
        document = json.loads(text, object_pairs_hook=_Members)
    except (ValueError, RecursionError) as error:
        raise PolicyInvalid(source, f"it is not JSON: {error}", "") from None
    return _Reader(source).read(document)


class _Members(dict[str, Any]):
    """The members of a JSON object; `duplicate` is a name that occurs twice, if any."""

    __slots__ = ("duplicate",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        self.duplicate = next((name for name in names if names.count(name) > 1), None)


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._has_variables = False

    def read(self, document: Any) -> PolicyDocument:
        members = self._members(document, "the policy", {"Version", "Id", "Statement"})
        version = members.get("Version", _VERSIONS[0])
        if version not in _VERSIONS:
            raise self._error(f"Version is {version!r:.80}", f'Write "{CURRENT}".')
        self._has_variables = version == CURRENT
        if "Statement" not in members:
            raise self._error("it has no Statement", "")
        given = members["Statement"]
        listed = cast("list[Any]", given) if isinstance(given, list) else [given]
        return PolicyDocument(
            tuple(self._read_statement(each, place) for place, each in enumerate(listed))
        )

    def _error(self, fact: str, advice: str) -> PolicyInvalid:
        return PolicyInvalid(self._source, fact, advice)

    def _members(self, given: Any, subject: str, known: set[str] | None) -> _Members:
        if not isinstance(given, _Members):
            raise self._error(f"{subject} is not a JSON object", "")
        if given.duplicate is not None:
            raise self._error(f"{subject} has {given.duplicate!r:.80} twice", "Merge the two.")
        unknown = [] if known is None else [name for name in given if name not in known]
        if unknown:
            advice = (
                "It belongs into resource-based policies; this is an identity-based one."
                if unknown[0] in ("Principal", "NotPrincipal")
                else f"It may have {', '.join(sorted(known or ()))}."
            )
            raise self._error(f"{subject} has {unknown[0]!r:.80}, which is not supported", advice)
        return given

    def _read_statement(self, given: Any, place: int) -> Statement:
        subject = f"statement {place}"
        members = self._members(given, subject, _STATEMENT)
        sid = members.get("Sid")
        if sid is not None:
            if not isinstance(sid, str):
                raise self._error(f"the Sid of {subject} is not a string", "")
            subject += f" ({sid:.80})"
        effect = members.get("Effect")
        if effect not in ("Allow", "Deny"):
            fact = f"the Effect of {subject} is {effect!r:.80}"
            raise self._error(fact, 'Write "Allow" or "Deny".')
        actions, excludes_actions = self._read_patterns(members, "Action", subject)
        resources, excludes_resources = self._read_patterns(members, "Resource", subject)
        return Statement(
            effect == "Allow",
            tuple(pattern.lowered() for pattern in actions),
            excludes_actions,
            resources,
            excludes_resources,
            tuple(self._read_conditions(members.get("Condition"), subject)),
        )

    def _read_patterns(
        self, members: _Members, name: Literal["Action", "Resource"], subject: str
    ) -> tuple[tuple[WildcardPattern, ...], bool]:
        given = [each for each in (name, f"Not{name}") if each in members]
        if len(given) != 1:
            fact = f"{subject} has {' and '.join(given) or f'no {name}'}"
            raise self._error(fact, f"Give either {name} or Not{name}.")
        texts = self._texts(members[given[0]], f"the {given[0]} of {subject}")
        check: Callable[[str], object] = _is_action if name == "Action" else _is_resource
        example = "dynamodb:GetItem" if name == "Action" else "arn:aws:dynamodb:…, or *"
        for text in texts:
            if check(text) is None:
                fact = f"the {given[0]} of {subject} has {text!r:.80}"
                raise self._error(fact, f"Write it like {example}.")
        has_variables = name == "Resource" and self._has_variables
        patterns = [self._pattern(text, subject, has_variables=has_variables) for text in texts]
        return tuple(patterns), given[0] != name

    def _texts(self, given: Any, subject: str, *, may_be_flags: bool = False) -> list[str]:
        listed = cast("list[Any]", given) if isinstance(given, list) else [given]
        if may_be_flags:
            flags = {True: "true", False: "false"}
            listed = [flags[each] if isinstance(each, bool) else each for each in listed]
        if not listed or not all(isinstance(each, str) for each in listed):
            raise self._error(f"{subject} is neither a string nor a list of strings", "")
        return listed

    def _pattern(self, text: str, subject: str, *, has_variables: bool) -> WildcardPattern:
        try:
            return WildcardPattern.parse(text, has_variables=has_variables)
        except VariableUnknown as unknown:
            raise self._error(
                f"{subject} has the variable {unknown.name!r:.80}, which is not supported",
                "Supported are ${aws:PrincipalTag/…}, ${aws:username}, ${*}, ${?} and ${$}.",
            ) from None

    def _read_conditions(self, given: Any, subject: str) -> list[PolicyCondition]:
        if given is None:
            return []
        block = self._members(given, f"the Condition of {subject}", None)
        conditions: list[PolicyCondition] = []
        for name, tests in block.items():
            quantifier, operator, if_exists = self._read_operator(name, subject)
            for key, values in self._members(tests, f"{name} of {subject}", None).items():
                self._check_key(key, name, quantifier, operator, subject)
                flags = operator.comparison in ("bool", "null")
                place = f"{name} of {key} in {subject}"
                texts = self._texts(values, place, may_be_flags=flags)
                if flags and not all(text.lower() in ("true", "false") for text in texts):
                    raise self._error(f"{place} is neither true nor false", "")
                patterns = [
                    self._pattern(text, subject, has_variables=self._has_variables)
                    for text in texts
                ]
                conditions.append(
                    PolicyCondition(quantifier, operator, if_exists, key.lower(), tuple(patterns))
                )
        return conditions

    def _read_operator(self, name: str, subject: str) -> tuple[Quantifier | None, Operator, bool]:
        quantifier: Quantifier | None = None
        rest = name
        for each in ("ForAllValues", "ForAnyValue"):
            if name.startswith(f"{each}:"):
                quantifier, rest = each, name.removeprefix(f"{each}:")
        if_exists = rest.endswith("IfExists")
        operator = OPERATORS.get(rest.removesuffix("IfExists"))
        if operator is None:
            fact = f"{subject} has the operator {name!r:.80}, which is not supported"
            raise self._error(fact, f"Supported are {', '.join(OPERATORS)}.")
        if operator.comparison == "null" and (if_exists or quantifier is not None):
            raise self._error(
                f"{subject} has the operator {name!r:.80}", "Null takes no prefix or suffix."
            )
        return quantifier, operator, if_exists

    def _check_key(
        self,
        key: str,
        name: str,
        quantifier: Quantifier | None,
        operator: Operator,
        subject: str,
    ) -> None:
        lowered = key.lower()
        is_tag = lowered.startswith(TAG) and len(lowered) > len(TAG)
        if not is_tag and lowered not in KEYS:
            fact = f"{subject} has the condition key {key!r:.80}, which is not supported"
            raise self._error(fact, f"Supported are {_SHOWN_KEYS}.")
        if KEYS.get(lowered) and quantifier is None and operator.comparison != "null":
            raise self._error(
                f"{subject} compares {key} with {name}, but the key has several values",
                f"Write ForAnyValue:{name}, or ForAllValues:{name} together with a Null check.",
            )
