"""IAM policies: evaluates them as AWS does, and exports roles as policies.

Declaring and guarding tables does not need this package, so it is imported separately.
"""

from __future__ import annotations

from keyfold.policy.iam._decisions import EXPLICIT_DENY, find_denial, may_allow, resource_of
from keyfold.policy.iam._documents import PolicyDocument, parse_policy
from keyfold.policy.iam._export import Export, export_policy
from keyfold.policy.iam._gaps import Gap

__all__ = [
    "EXPLICIT_DENY",
    "Export",
    "Gap",
    "PolicyDocument",
    "export_policy",
    "find_denial",
    "may_allow",
    "parse_policy",
    "resource_of",
]
