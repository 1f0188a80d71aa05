"""The names that `keyfold` exports: those that are imported here, and `__version__`.

This is the only list of them. Type checkers read it in `keyfold/__init__.py`, and the package loads
it when one of them is first used. `X as X` tells type checkers that X is exported.
"""

# ruff: noqa: A004, I002, PLC0414 - keyfold.open is what users call; `annotations` is no export; aliases as above

from keyfold.connect import open as open
from keyfold.connect import open_async as open_async
from keyfold.keys import Ulid as Ulid
from keyfold.model import Batch as Batch
from keyfold.model import Change as Change
from keyfold.model import Check as Check
from keyfold.model import Codec as Codec
from keyfold.model import Collection as Collection
from keyfold.model import Condition as Condition
from keyfold.model import CreatedAt as CreatedAt
from keyfold.model import Delete as Delete
from keyfold.model import Entity as Entity
from keyfold.model import Expiry as Expiry
from keyfold.model import Get as Get
from keyfold.model import Index as Index
from keyfold.model import Key as Key
from keyfold.model import OnDemand as OnDemand
from keyfold.model import Page as Page
from keyfold.model import Pattern as Pattern
from keyfold.model import Provisioned as Provisioned
from keyfold.model import Put as Put
from keyfold.model import Query as Query
from keyfold.model import RawItem as RawItem
from keyfold.model import Ref as Ref
from keyfold.model import Request as Request
from keyfold.model import Scan as Scan
from keyfold.model import Shard as Shard
from keyfold.model import Table as Table
from keyfold.model import Transaction as Transaction
from keyfold.model import UnixTime as UnixTime
from keyfold.model import Update as Update
from keyfold.model import UpdatedAt as UpdatedAt
from keyfold.model import Version as Version
from keyfold.model import attr as attr
from keyfold.model import batch as batch
from keyfold.model import computed_field as computed_field
from keyfold.model import model_validator as model_validator
from keyfold.model import now as now
from keyfold.model import part as part
from keyfold.model import transaction as transaction
from keyfold.policy import ALL as ALL
from keyfold.policy import EVERYTHING as EVERYTHING
from keyfold.policy import READ as READ
from keyfold.policy import WRITE as WRITE
from keyfold.policy import Right as Right
from keyfold.policy import Role as Role
from keyfold.store import AsyncStore as AsyncStore
from keyfold.store import Store as Store
