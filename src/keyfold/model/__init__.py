"""The model: declarations of tables, entities and access patterns, and the requests they make."""

from __future__ import annotations

from keyfold.expressions import Condition
from keyfold.model._batches import Batch, batch
from keyfold.model._billing import Billing, OnDemand, Provisioned
from keyfold.model._changes import Change, ChangeKind, Handler, Images, Reaction
from keyfold.model._collections import Collection
from keyfold.model._cross_checks import computed_field, model_validator
from keyfold.model._entities import Entity
from keyfold.model._fields import CreatedAt, Expiry, UnixTime, UpdatedAt, Version, attr, part
from keyfold.model._keys import Index, Key, Shard
from keyfold.model._moments import Moment, now
from keyfold.model._own_codecs import Codec
from keyfold.model._paged_reads import Query, Scan
from keyfold.model._patterns import Pattern
from keyfold.model._reads import Get, Ref
from keyfold.model._requests import Request
from keyfold.model._results import Page, RawItem
from keyfold.model._tables import Table
from keyfold.model._transactions import Transaction, transaction
from keyfold.model._updates import Update
from keyfold.model._writes import Check, Delete, Put

__all__ = [
    "Batch",
    "Billing",
    "Change",
    "ChangeKind",
    "Check",
    "Codec",
    "Collection",
    "Condition",
    "CreatedAt",
    "Delete",
    "Entity",
    "Expiry",
    "Get",
    "Handler",
    "Images",
    "Index",
    "Key",
    "Moment",
    "OnDemand",
    "Page",
    "Pattern",
    "Provisioned",
    "Put",
    "Query",
    "RawItem",
    "Reaction",
    "Ref",
    "Request",
    "Scan",
    "Shard",
    "Table",
    "Transaction",
    "UnixTime",
    "Update",
    "UpdatedAt",
    "Version",
    "attr",
    "batch",
    "computed_field",
    "model_validator",
    "now",
    "part",
    "transaction",
]
