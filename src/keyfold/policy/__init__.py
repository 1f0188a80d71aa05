"""Policy: who may do what in which partitions of a table, as data, and its evaluation.

It speaks of keys, not of entities, so the server can enforce it as well as a store.
"""

from __future__ import annotations

from keyfold.policy._accesses import Access
from keyfold.policy._rights import ALL, EVERYTHING, READ, WRITE, Right, Role

__all__ = ["ALL", "EVERYTHING", "READ", "WRITE", "Access", "Right", "Role"]
