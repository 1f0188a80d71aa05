"""Denies PartiQL statements by their operation alone, to principals that may run none.

Reading a statement takes longer than reading any other request, and such a principal has no use for
the errors in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from keyfold.api import names_where
from keyfold.api.statements import statements_in
from keyfold.policy import Access, PrincipalGuard
from keyfold.policy.iam import PolicyDocument, may_allow

STATEMENT_OPERATIONS = names_where(lambda each: each.has_statements)

_ACTIONS = {
    "select": "PartiQLSelect",
    "insert": "PartiQLInsert",
    "update": "PartiQLUpdate",
    "delete": "PartiQLDelete",
}
# The first word of a statement is in here, or it is none of these.
_START = 64


def find_denied_to_guards(guards: Iterable[PrincipalGuard]) -> frozenset[str]:
    """Return the operations with statements that no guard allows, on any table."""
    known = tuple(guards)
    return frozenset(
        operation
        for operation in STATEMENT_OPERATIONS
        if not any(guard.check(_any_statement(operation)) is None for guard in known)
    )


def find_denied_by_policy(policy: PolicyDocument) -> frozenset[str]:
    """Return the operations with statements that a policy allows on no table."""
    may_run = any(may_allow(policy, action) for action in _ACTIONS.values())
    return frozenset() if may_run else STATEMENT_OPERATIONS


def guess_access(request: dict[str, Any]) -> Access:
    """Return the access of a request's first statement, by its first word, for an error."""
    for member in statements_in(request):
        words = str(member.get("Statement", ""))[:_START].split(None, 1)
        if words:
            return Access(_ACTIONS.get(words[0].lower(), "PartiQLSelect"), None)
    return Access("PartiQLSelect", None)


def _any_statement(operation: str) -> Access:
    return Access("PartiQLSelect", None, attributes=None, enclosing=operation, is_opaque=True)
