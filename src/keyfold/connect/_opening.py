"""Opens a store for a URL or a boto3 client."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from keyfold.errors import (
    OptionInvalid,
    ResourceNotFoundException,
    UrlUnknown,
    ValidationException,
)
from keyfold.model import Table as DeclaredTable
from keyfold.store import AsyncStore, Executor, Store, StoreSettings
from keyfold.store._plans import OnInvalid
from keyfold.store._settings import Clock, Hook, real_now

if TYPE_CHECKING:
    # A store needs one kind of database: the modules of the others are not imported.
    from keyfold.connect._threads import ThreadedEngine
    from keyfold.engine import Engine

_CLIENT = "keyfold.wire.client"
_MEMORY = ":memory:"
_REMOTE = ("dynamodb", "http", "https")
# The name of the secret in a file that its cursors are sealed with.
_SECRET = "cursors"  # noqa: S105 - not a password


def open(  # noqa: A001 - keyfold.open is what users call
    tables: DeclaredTable | Sequence[DeclaredTable],
    url: str | os.PathLike[str] | None = None,
    *,
    client: Any = None,
    streams_client: Any = None,
    clock: Clock = real_now,
    cursor_key: bytes | None = None,
    on_invalid: OnInvalid = "raise",
    on_call: Sequence[Hook] = (),
    **options: Any,
) -> Store:
    """Open a database for one or more tables, and return a store.

    `url` is the path of a file, or `":memory:"`: missing tables are created, and streams that
    tables declare are enabled. Or it is a service, `dynamodb://REGION`,
    `dynamodb://REGION/TABLE-PREFIX` or `http(s)://HOST:PORT`: there, nothing is created unless
    requested. `options` are passed to `Engine.open` or `keyfold.wire.client.Client`. Instead of a
    URL, `client` takes a boto3 client, and `streams_client` one for DynamoDB Streams, which is
    needed to follow tables.

    `clock` returns the time by which items expire. An item that does not fit an entity raises
    ItemInvalid; with `on_invalid="raw"` it is returned as a RawItem, in place of an entity (the
    result types do not show this) and in a page's `invalid`. `on_call` hooks are called with
    every low-level call. `cursor_key` seals the cursors of pages. Without it, a file stores a key;
    elsewhere, cursors are valid only in this process.
    """
    listed = _list(tables)
    kind = _kind_of(url, client, options)
    settings = StoreSettings(
        listed,
        cursor_key=cursor_key,
        clock=clock,
        on_invalid=on_invalid,
        on_call=on_call,
        is_embedded=kind == "file",
    )
    if kind == "client":
        return Store(_load_boto().BotoClient(client, streams_client), settings)
    assert url is not None  # without a URL, the kind is "client"
    if kind == "service":
        service = import_module(_CLIENT).Client(str(url), **options)
        return Store(service, settings, close=service.close)
    engine = _open_engine(url, clock, options)
    try:
        if cursor_key is None:
            settings.use_cursor_key(engine.keep_secret(_SECRET))
        store = Store(engine, settings, close=engine.close)
        for table in listed:
            described = _describe(engine, table)
            if described is None:
                store.create_table(table)
            elif _lacks_stream(table, described):
                _enable_stream(engine, table)
    except BaseException:
        engine.close()
        raise
    return store


def open_async(
    tables: DeclaredTable | Sequence[DeclaredTable],
    url: str | os.PathLike[str] | None = None,
    *,
    client: Any = None,
    streams_client: Any = None,
    clock: Clock = real_now,
    cursor_key: bytes | None = None,
    on_invalid: OnInvalid = "raise",
    on_call: Sequence[Hook] = (),
    **options: Any,
) -> AsyncStore:
    """Async version of `open`, with the same options; use the store with `async with`.

    The database is opened on entry, and work that may wait for the disk runs in threads. `client`
    may be an aioboto3 client; a boto3 client is called in threads.
    """
    listed = _list(tables)
    kind = _kind_of(url, client, options)
    settings = StoreSettings(
        listed,
        cursor_key=cursor_key,
        clock=clock,
        on_invalid=on_invalid,
        on_call=on_call,
        is_embedded=kind == "file",
    )
    if kind == "client":
        boto = _load_boto()
        if boto.is_async(client):
            return AsyncStore(boto.AsyncBotoClient(client, streams_client), settings)
        return AsyncStore(
            _load_threads().ThreadExecutor(boto.BotoClient(client, streams_client)), settings
        )
    assert url is not None  # without a URL, the kind is "client"
    if kind == "service":
        service = import_module(_CLIENT).AsyncClient(str(url), **options)
        return AsyncStore(service, settings, close=service.close)
    threaded: ThreadedEngine = _load_threads().ThreadedEngine(
        str(url), lambda: _open_engine(url, clock, options), _SECRET
    )

    async def prepare(store: AsyncStore) -> None:
        try:
            secret = await threaded.open()
            if cursor_key is None:
                settings.use_cursor_key(secret)
            for table in listed:
                described = await threaded.call(_describe, table)
                if described is None:
                    await store.create_table(table)
                elif _lacks_stream(table, described):
                    await threaded.call(_enable_stream, table)
        except BaseException:
            await threaded.close()
            raise

    return AsyncStore(threaded, settings, prepare=prepare, close=threaded.close)


class Table(DeclaredTable):
    """One DynamoDB table: its key, its indexes, and its entities.

    `ttl` names the attribute with the expiry time of items; `type_attribute` one that holds the
    entity of each item, if keys alone do not identify it. `naming` is the rule for stored names.
    `stream` is what stream records show of an item: its keys, its new image, its old image, or
    both images. `billing`, `deletion_protection` and `tags` are for deployment; None leaves the
    setting of an existing table unchanged.

    This is `keyfold.model.Table`, which has no access to databases, with methods to open one.
    """

    def open(
        self,
        url: str | os.PathLike[str] | None = None,
        *,
        client: Any = None,
        streams_client: Any = None,
        clock: Clock = real_now,
        cursor_key: bytes | None = None,
        on_invalid: OnInvalid = "raise",
        on_call: Sequence[Hook] = (),
        **options: Any,
    ) -> Store:
        """Open a database for this table only; see `keyfold.open` for the options.

        >>> from keyfold import Entity, Key
        >>> songs = Table("Songs", key=Key("pk"))
        >>> class Song(Entity, table=songs, key="SONG#{title}"):
        ...     title: str
        >>> with songs.open(":memory:") as store:
        ...     store.run(Song(title="Sinnerman").put())
        Song(title='Sinnerman')
        """
        return open(
            self,
            url,
            client=client,
            streams_client=streams_client,
            clock=clock,
            cursor_key=cursor_key,
            on_invalid=on_invalid,
            on_call=on_call,
            **options,
        )

    def open_async(
        self,
        url: str | os.PathLike[str] | None = None,
        *,
        client: Any = None,
        streams_client: Any = None,
        clock: Clock = real_now,
        cursor_key: bytes | None = None,
        on_invalid: OnInvalid = "raise",
        on_call: Sequence[Hook] = (),
        **options: Any,
    ) -> AsyncStore:
        """Open a database for this table only, for async code; see `keyfold.open_async`."""
        return open_async(
            self,
            url,
            client=client,
            streams_client=streams_client,
            clock=clock,
            cursor_key=cursor_key,
            on_invalid=on_invalid,
            on_call=on_call,
            **options,
        )


@contextmanager
def open_executor(
    url: str | os.PathLike[str], *, may_make: bool = False, keeps_expired: bool = False
) -> Generator[Executor]:
    """Open a database for raw DynamoDB requests, without tables or entities.

    A file must exist and must not be empty, unless `may_make` allows creating it. With
    `keeps_expired`, expired items in a file are not deleted while it is open. Raises UrlUnknown,
    FileUnreachable, FileNotKeyfold and other file errors.
    """
    if _kind_of(url, None, {}) == "service":
        with import_module(_CLIENT).Client(str(url)) as client:
            yield client
        return
    if not may_make and os.fspath(url) != _MEMORY:
        import_module("keyfold.engine.storage").require_file(url)
    options: dict[str, Any] = {"upkeep_seconds": None} if keeps_expired else {}
    with import_module("keyfold.engine").Engine.open(url, **options) as engine:
        yield engine


def _load_threads() -> Any:
    # Importing asyncio takes a fifth of the time to open a store, and sync stores do not need it.
    return import_module("keyfold.connect._threads")


def _load_boto() -> Any:
    return import_module(f"{_CLIENT}._boto")


def _list(tables: DeclaredTable | Sequence[DeclaredTable]) -> tuple[DeclaredTable, ...]:
    return tuple(tables) if isinstance(tables, Sequence) else (tables,)


def _kind_of(
    url: str | os.PathLike[str] | None, client: Any, options: dict[str, Any]
) -> Literal["client", "file", "service"]:
    """Return the kind of database to open; raises OptionInvalid, UrlUnknown."""
    if client is not None:
        if url is not None:
            raise OptionInvalid("url", url, "Give a URL or a client, not both.")
        if options:
            raise OptionInvalid(
                "options", tuple(options), "With a client of your own there are no options."
            )
        return "client"
    if url is None:
        raise OptionInvalid("url", url, "Give a URL, or a client.")
    scheme, separator, _ = str(url).partition("://")
    if not separator:
        return "file"
    if scheme not in _REMOTE:
        advice = (
            "Give the path of a file, ':memory:', http(s)://HOST:PORT or "
            "dynamodb://REGION[/TABLE-PREFIX]."
        )
        raise UrlUnknown(str(url), advice)
    return "service"


def _open_engine(url: str | os.PathLike[str], clock: Clock, options: dict[str, Any]) -> Engine:
    given: dict[str, Any] = {"clock": lambda: clock().timestamp(), **options}
    return import_module("keyfold.engine").Engine.open(url, **given)


def _describe(engine: Engine, table: DeclaredTable) -> dict[str, Any] | None:
    try:
        return engine.execute("DescribeTable", {"TableName": table.name})["Table"]
    except ResourceNotFoundException:
        return None


def _lacks_stream(table: DeclaredTable, described: dict[str, Any]) -> bool:
    return table.stream is not None and "StreamSpecification" not in described


def _enable_stream(engine: Engine, table: DeclaredTable) -> None:
    """Enable the stream of a table that was created before it declared one."""
    payload = {"TableName": table.name, "StreamSpecification": table.stream_to_dynamodb()}
    # Another process may have enabled it first.
    with suppress(ValidationException):
        engine.execute("UpdateTable", payload)
