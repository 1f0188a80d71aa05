"""Single-table DynamoDB design as running Python.

>>> import keyfold
>>> from keyfold import Entity, Key, Table
>>> songs = Table("Songs", key=Key("pk"))
>>> class Song(Entity, table=songs, key="SONG#{title}"):
...     title: str
...     artist: str
>>> with keyfold.open(songs, ":memory:") as store:
...     _ = store.run(Song(title="Sinnerman", artist="Nina Simone").put())
...     store.run(Song.get(title="Sinnerman"))
Song(title='Sinnerman', artist='Nina Simone')

Importing the package loads no submodules: each name is imported when it is first used, so that
`keyfold --help` does not wait for pydantic or the engine.
"""

from __future__ import annotations

from importlib import import_module

# Equal to typing.TYPE_CHECKING at run time. Importing typing would load much of the standard library.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from keyfold.connect import open, open_async  # noqa: A004 - keyfold.open is what users call
    from keyfold.keys import Ulid
    from keyfold.model import (
        Batch,
        Change,
        Check,
        Collection,
        Condition,
        Delete,
        Entity,
        Expiry,
        Get,
        Index,
        Key,
        Page,
        Pattern,
        Provisioned,
        Put,
        Query,
        RawItem,
        Ref,
        Request,
        Scan,
        Shard,
        Table,
        Transaction,
        UnixTime,
        Update,
        Version,
        attr,
        batch,
        now,
        part,
        transaction,
    )
    from keyfold.policy import ALL, EVERYTHING, READ, WRITE, Right, Role
    from keyfold.store import AsyncStore, Store

__version__ = "0.1.0"

__all__ = [
    "ALL",
    "EVERYTHING",
    "READ",
    "WRITE",
    "AsyncStore",
    "Batch",
    "Change",
    "Check",
    "Collection",
    "Condition",
    "Delete",
    "Entity",
    "Expiry",
    "Get",
    "Index",
    "Key",
    "Page",
    "Pattern",
    "Provisioned",
    "Put",
    "Query",
    "RawItem",
    "Ref",
    "Request",
    "Right",
    "Role",
    "Scan",
    "Shard",
    "Store",
    "Table",
    "Transaction",
    "Ulid",
    "UnixTime",
    "Update",
    "Version",
    "__version__",
    "attr",
    "batch",
    "now",
    "open",
    "open_async",
    "part",
    "transaction",
]

_MODULES = {
    "ALL": "keyfold.policy",
    "EVERYTHING": "keyfold.policy",
    "READ": "keyfold.policy",
    "WRITE": "keyfold.policy",
    "AsyncStore": "keyfold.store",
    "Batch": "keyfold.model",
    "Change": "keyfold.model",
    "Check": "keyfold.model",
    "Collection": "keyfold.model",
    "Condition": "keyfold.model",
    "Delete": "keyfold.model",
    "Entity": "keyfold.model",
    "Expiry": "keyfold.model",
    "Get": "keyfold.model",
    "Index": "keyfold.model",
    "Key": "keyfold.model",
    "Page": "keyfold.model",
    "Pattern": "keyfold.model",
    "Provisioned": "keyfold.model",
    "Put": "keyfold.model",
    "Query": "keyfold.model",
    "RawItem": "keyfold.model",
    "Ref": "keyfold.model",
    "Request": "keyfold.model",
    "Right": "keyfold.policy",
    "Role": "keyfold.policy",
    "Scan": "keyfold.model",
    "Shard": "keyfold.model",
    "Store": "keyfold.store",
    "Table": "keyfold.model",
    "Transaction": "keyfold.model",
    "Ulid": "keyfold.keys",
    "UnixTime": "keyfold.model",
    "Update": "keyfold.model",
    "Version": "keyfold.model",
    "attr": "keyfold.model",
    "batch": "keyfold.model",
    "now": "keyfold.model",
    "open": "keyfold.connect",
    "open_async": "keyfold.connect",
    "part": "keyfold.model",
    "transaction": "keyfold.model",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'keyfold' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(module), name)
    return found
