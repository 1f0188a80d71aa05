"""From a URL to a store."""

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
from keyfold.store._plans import OnUnfit
from keyfold.store._settings import Clock, Hook, real_now

if TYPE_CHECKING:
    # A database is of one kind: what the others need is not loaded.
    from keyfold.connect._threads import ThreadedEngine
    from keyfold.engine import Engine

_CLIENT = "keyfold.wire.client"
_MEMORY = ":memory:"
_REMOTE = ("dynamodb", "http", "https")
# Under this name, a file keeps what its cursors are sealed with.
_SECRET = "cursors"  # noqa: S105 - no password


def open(  # noqa: A001 - keyfold.open is what users call
    tables: DeclaredTable | Sequence[DeclaredTable],
    url: str | os.PathLike[str] | None = None,
    *,
    client: Any = None,
    streams_client: Any = None,
    clock: Clock = real_now,
    cursor_key: bytes | None = None,
    on_invalid: OnUnfit = "raise",
    on_call: Sequence[Hook] = (),
    **options: Any,
) -> Store:
    """Open a database for one table, or for several.

    `url` is a file, or `":memory:"`; the tables that it lacks are made, and streams that tables
    declare are switched on. `dynamodb://REGION`, `dynamodb://REGION/TABLE-PREFIX` and
    `http(s)://HOST:PORT` are services, where nothing is made unasked. `options` go to `Engine.open`
    or to `keyfold.wire.client.Client`. In place of a URL, `client` is a boto3 client that you have,
    and `streams_client` one of its kind for streams, where those are followed.
    `clock` gives the time by which items expire. An item that fits no entity raises ItemInvalid, or
    comes back as a RawItem with `on_invalid="raw"`: in place of an entity, though the types of
    results do not say so, and in a page's `invalid`. `on_call` hooks see every low-level call.
    `cursor_key` seals the cursors of pages; a file keeps one, elsewhere they last as long as the
    process does without it.
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
    assert url is not None  # or it would be a client
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
                _switch_stream_on(engine, table)
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
    on_invalid: OnUnfit = "raise",
    on_call: Sequence[Hook] = (),
    **options: Any,
) -> AsyncStore:
    """Open a database for an event loop; takes what `open` takes, and is used with `async with`.

    Nothing is opened before that is entered, and whatever may wait for the disk is done aside.
    `client` may be aioboto3's; boto3's own is called by threads.
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
    assert url is not None  # or it would be a client
    if kind == "service":
        service = import_module(_CLIENT).AsyncClient(str(url), **options)
        return AsyncStore(service, settings, close=service.close)
    aside: ThreadedEngine = _load_threads().ThreadedEngine(
        str(url), lambda: _open_engine(url, clock, options), _SECRET
    )

    async def prepare(store: AsyncStore) -> None:
        try:
            secret = await aside.open()
            if cursor_key is None:
                settings.use_cursor_key(secret)
            for table in listed:
                described = await aside.call(_describe, table)
                if described is None:
                    await store.create_table(table)
                elif _lacks_stream(table, described):
                    await aside.call(_switch_stream_on, table)
        except BaseException:
            await aside.close()
            raise

    return AsyncStore(aside, settings, prepare=prepare, close=aside.close)


class Table(DeclaredTable):
    """One DynamoDB table: its key, its indexes, and the entities that live in it.

    `ttl` names the attribute by which items expire; `type_attribute` one that holds each
    item's entity, where keys alone do not tell. `naming` is the rule for stored names. `stream`
    is what the records of its changes show of an item: its keys, its new image, its old one, or
    both.
    `billing`, `deletion_protection` and `tags` are how it is to be deployed; what is None is
    left as it is wherever the table exists already.

    This is `keyfold.model.Table`, which knows of no database, with the ways to open one.
    """

    def open(
        self,
        url: str | os.PathLike[str] | None = None,
        *,
        client: Any = None,
        streams_client: Any = None,
        clock: Clock = real_now,
        cursor_key: bytes | None = None,
        on_invalid: OnUnfit = "raise",
        on_call: Sequence[Hook] = (),
        **options: Any,
    ) -> Store:
        """Open a database for this table alone; takes what `keyfold.open` takes.

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
        on_invalid: OnUnfit = "raise",
        on_call: Sequence[Hook] = (),
        **options: Any,
    ) -> AsyncStore:
        """Open a database for this table alone, for an event loop, as `keyfold.open_async` does."""
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
    """Open a database for requests of DynamoDB's API as they are; no tables are made.

    A file has to be there, and not to be empty, unless `may_make` lets it be made. With
    `keeps_expired`, what has expired in a file is not deleted meanwhile. Raises UrlUnknown,
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
    # To load asyncio takes a fifth of all that opening a store does, and threads need none of it.
    return import_module("keyfold.connect._threads")


def _load_boto() -> Any:
    return import_module(f"{_CLIENT}._boto")


def _list(tables: DeclaredTable | Sequence[DeclaredTable]) -> tuple[DeclaredTable, ...]:
    return tuple(tables) if isinstance(tables, Sequence) else (tables,)


def _kind_of(
    url: str | os.PathLike[str] | None, client: Any, options: dict[str, Any]
) -> Literal["client", "file", "service"]:
    """Tell what is to be opened; raises OptionInvalid, UrlUnknown."""
    if client is not None:
        if url is not None:
            raise OptionInvalid("url", url, "Give a URL or a client, not both.")
        if options:
            raise OptionInvalid("options", tuple(options), "A client of your own takes none.")
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


def _switch_stream_on(engine: Engine, table: DeclaredTable) -> None:
    """Begin the stream of a table that was made before it was declared to have one."""
    asked = {"TableName": table.name, "StreamSpecification": table.stream_to_dynamodb()}
    # Another process may be quicker.
    with suppress(ValidationException):
        engine.execute("UpdateTable", asked)
