"""Kinds of requests that methods of other requests return, for annotations and `isinstance`.

>>> from keyfold.designs.market import order_by_id
>>> from keyfold.requests import Chain
>>> isinstance(order_by_id("O1"), Chain)
True
"""

from __future__ import annotations

from keyfold.model._collections import CollectionGet
from keyfold.model._paged_reads import Count, First
from keyfold.model._patterns import Explanation, PatternStep
from keyfold.model._requests import Chain, Mapped
from keyfold.model._writes import CreateOrGet

__all__ = [
    "Chain",
    "CollectionGet",
    "Count",
    "CreateOrGet",
    "Explanation",
    "First",
    "Mapped",
    "PatternStep",
]
