"""Policy: roles and rights on the partitions of a table, as data, and their evaluation.

Rules are about keys, not entities, so that the server can enforce them as well as a store.
"""

from __future__ import annotations

from keyfold.policy._access import Access
from keyfold.policy._guard import Denial, Guard
from keyfold.policy._guard_unions import GuardUnion, PrincipalGuard, RuledTable, make_guards
from keyfold.policy._layouts import (
    OWN_START,
    UNIQUE_START,
    Area,
    IndexEntry,
    IndexLayout,
    Layout,
)
from keyfold.policy._readable_items import find_readable
from keyfold.policy._reader_index import ReaderIndex
from keyfold.policy._rights import ALL, EVERYTHING, READ, WRITE, Right, Role
from keyfold.policy._role_problems import find_role_problems

__all__ = [
    "ALL",
    "EVERYTHING",
    "OWN_START",
    "READ",
    "UNIQUE_START",
    "WRITE",
    "Access",
    "Area",
    "Denial",
    "Guard",
    "GuardUnion",
    "IndexEntry",
    "IndexLayout",
    "Layout",
    "PrincipalGuard",
    "ReaderIndex",
    "Right",
    "Role",
    "RuledTable",
    "find_readable",
    "find_role_problems",
    "make_guards",
]
