"""Evaluates IAM policies: an explicit deny wins, and what is not allowed is denied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from keyfold.api import names_where
from keyfold.policy._access import Access
from keyfold.policy._guard import Denial
from keyfold.policy.iam._documents import PolicyCondition, PolicyDocument, Statement
from keyfold.policy.iam._patterns import TAG, WildcardPattern
from keyfold.values import AttributeValue

REGION, ACCOUNT = "us-east-1", "000000000000"

EXPLICIT_DENY = "an explicit deny in an identity-based policy"
"""The fact of a denial by a Deny statement, which the service words differently from others."""

# A batch is one decision per table for all its members; a transaction is one for each member.
_BATCHES = names_where(lambda each: each.is_batch)
_TRANSACTIONS = names_where(lambda each: each.is_transaction)
# The condition keys whose values are unknown for an opaque access.
_UNKNOWN_IF_OPAQUE = frozenset(
    {
        "dynamodb:attributes",
        "dynamodb:fulltablescan",
        "dynamodb:leadingkeys",
        "dynamodb:returnvalues",
        "dynamodb:select",
    }
)


class _Request(NamedTuple):
    """What a policy is evaluated on: one action on one resource."""

    action: str
    resource: str
    # Values by condition key in lower case; keys without a value are absent.
    context: Mapping[str, tuple[str, ...]]
    unknown_keys: frozenset[str]
    # The values of policy variables.
    known: Mapping[str, str]


def find_denial(
    policy: PolicyDocument,
    ids: Mapping[str, str],
    accesses: Iterable[Access],
    *,
    name: str | None = None,
    region: str = REGION,
    account: str = ACCOUNT,
) -> Denial | None:
    """Return the first access of a call that a policy denies; None if it allows all.

    `ids` are the tags of the principal, `name` is its user name.

    >>> from keyfold.policy.iam import parse_policy
    >>> policy = parse_policy('''{
    ...     "Statement": {"Effect": "Allow", "Action": "dynamodb:Get*", "Resource": "*"}
    ... }''')
    >>> find_denial(policy, {}, [Access("GetItem", "Music")])
    >>> find_denial(policy, {}, [Access("Scan", "Music")]).fact
    'no identity-based policy allows the dynamodb:Scan action'
    """
    known = {f"{TAG}{tag.lower()}": value for tag, value in ids.items()}
    if name is not None:
        known["aws:username"] = name
    for group in _group(accesses):
        request = _read_request(group, known, region, account)
        applying = [each for each in policy.statements if _applies(each, request)]
        action = group[0].action
        if not all(statement.is_allow for statement in applying):
            return Denial(action, group[0].table, EXPLICIT_DENY)
        if not applying:
            fact = f"no identity-based policy allows the dynamodb:{action} action"
            return Denial(action, group[0].table, fact)
    return None


def may_allow(policy: PolicyDocument, action: str) -> bool:
    """Return whether a policy may allow an action: on some resource, under some condition.

    >>> from keyfold.policy.iam import parse_policy
    >>> policy = parse_policy('{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}')
    >>> may_allow(policy, "PartiQLSelect")
    True
    """
    named = f"dynamodb:{action}".lower()
    return any(
        _matches(each.actions, named, {}) != each.excludes_actions
        for each in policy.statements
        if each.is_allow
    )


def resource_of(access: Access, *, region: str = REGION, account: str = ACCOUNT) -> str:
    """Return the ARN of the table, index or other resource of an access.

    >>> resource_of(Access("Query", "Music", "ByYear"))
    'arn:aws:dynamodb:us-east-1:000000000000:table/Music/index/ByYear'
    """
    # An operation that is not about one table needs permission on all.
    arn = f"arn:{partition_of(region)}:dynamodb:{region}:{account}:table/{access.table or '*'}"
    if access.index_name is not None:
        return f"{arn}/index/{access.index_name}"
    return arn if access.part is None else f"{arn}/{access.part}"


def partition_of(region: str) -> str:
    """Return the AWS partition of a region, as in ARNs."""
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"


def _group(accesses: Iterable[Access]) -> list[list[Access]]:
    """Group the accesses that IAM decides on together."""
    groups: dict[object, list[Access]] = {}
    for place, access in enumerate(accesses):
        if access.action in _BATCHES:
            key = (access.action, access.table, access.select, access.is_opaque)
            groups.setdefault(key, []).append(access)
        else:
            groups[place] = [access]
    return list(groups.values())


def _read_request(
    group: list[Access], known: Mapping[str, str], region: str, account: str
) -> _Request:
    first = group[0]
    is_within = first.enclosing in _TRANSACTIONS
    context = {
        "dynamodb:attributes": sorted({name for each in group for name in _attributes_of(each)}),
        "dynamodb:enclosingoperation": [first.enclosing] if is_within else [],
        "dynamodb:leadingkeys": sorted({text for each in group for text in _leading(each)}),
        "dynamodb:returnconsumedcapacity": [first.capacity],
        "dynamodb:returnvalues": [first.return_values],
        "dynamodb:select": [first.select],
    }
    known_context = {
        key: tuple(value for value in values if value is not None)
        for key, values in context.items()
    }
    known_context |= {key: (value,) for key, value in known.items()}
    unknown_keys = _UNKNOWN_IF_OPAQUE if first.is_opaque else frozenset[str]()
    if any(each.partition is not None and len(each.partition) > 1 for each in group):
        # It is not documented what IAM gets for a partition key of several attributes.
        unknown_keys |= {"dynamodb:leadingkeys"}
    if known_context["dynamodb:leadingkeys"] and any(each.partition is None for each in group):
        # A member without a known partition must not pass because of the others in its batch.
        unknown_keys |= {"dynamodb:leadingkeys"}
    return _Request(
        f"dynamodb:{first.action}".lower(),
        resource_of(first, region=region, account=account),
        {key: values for key, values in known_context.items() if values},
        unknown_keys,
        known,
    )


def _attributes_of(access: Access) -> frozenset[str]:
    return access.named | (access.attributes or frozenset[str]())


def _leading(access: Access) -> Iterable[str]:
    return [] if access.partition is None else [_text_of(access.partition[0])]


def _text_of(value: AttributeValue) -> str:
    (text,) = value.values()
    return str(text)


def _applies(statement: Statement, request: _Request) -> bool:
    return (
        _matches(statement.actions, request.action, {}) != statement.excludes_actions
        and _matches(statement.resources, request.resource, request.known)
        != statement.excludes_resources
        and all(
            _holds(condition, request, is_allow=statement.is_allow)
            for condition in statement.conditions
        )
    )


def _matches(patterns: tuple[WildcardPattern, ...], value: str, known: Mapping[str, str]) -> bool:
    return any(pattern.is_like(value, known) for pattern in patterns)


def _holds(condition: PolicyCondition, request: _Request, *, is_allow: bool) -> bool:
    if condition.key in request.unknown_keys:
        # Unknown values are decided on the safe side: an Allow does not apply, a Deny does.
        return not is_allow
    values = request.context.get(condition.key)
    operator = condition.operator
    if operator.comparison == "null":
        return any(
            pattern.equals("true", {}) is (values is None) for pattern in _lowered(condition)
        )
    if values is None:
        if condition.if_exists or condition.quantifier == "ForAllValues":
            return True
        return condition.quantifier is None and operator.is_negated
    tests = [_passes(condition, value, request.known) for value in values]
    return any(tests) if condition.quantifier == "ForAnyValue" else all(tests)


def _lowered(condition: PolicyCondition) -> list[WildcardPattern]:
    return [pattern.lowered() for pattern in condition.values]


def _passes(condition: PolicyCondition, value: str, known: Mapping[str, str]) -> bool:
    """Test one value: it must match one of the policy's values, or none if negated."""
    match condition.operator.comparison:
        case "like":
            fits = any(pattern.is_like(value, known) for pattern in condition.values)
        case "equals":
            fits = any(pattern.equals(value, known) for pattern in condition.values)
        case _:
            lowered = {key: each.lower() for key, each in known.items()}
            fits = any(pattern.equals(value.lower(), lowered) for pattern in _lowered(condition))
    return fits is not condition.operator.is_negated
