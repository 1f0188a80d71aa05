"""What methods of requests return, for annotations and `isinstance`: other requests, and calls.

>>> from keyfold.designs.market import find_by_key
>>> from keyfold.requests import Chain
>>> isinstance(find_by_key("O#1"), Chain)
True
"""

from __future__ import annotations

from keyfold.model._calls import ApiCall, Authority
from keyfold.model._collections import CollectionGet
from keyfold.model._paged_reads import Count, First
from keyfold.model._patterns import Explanation, PatternStep
from keyfold.model._requests import Chain, Mapped
from keyfold.model._upserts import Upsert
from keyfold.model._writes import CreateOrGet

__all__ = [
    "ApiCall",
    "Authority",
    "Chain",
    "CollectionGet",
    "Count",
    "CreateOrGet",
    "Explanation",
    "First",
    "Mapped",
    "PatternStep",
    "Upsert",
]
