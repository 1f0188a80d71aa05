"""Opens a store for a URL or a boto3 client."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from keyfold.clocks import Clock
from keyfold.connect._table_checks import has_table
from keyfold.errors import OptionInvalid, UrlUnknown
from keyfold.model import Table
from keyfold.store import AsyncStore, Executor, Hook, Store, StoreSettings
from keyfold.store._arguments import takes_arguments_of
from keyfold.store._plans import OnInvalid

if TYPE_CHECKING:
    # A store needs one kind of database: the modules of the others are not imported.
    from keyfold.connect._threads import ThreadedEngine
    from keyfold.engine import Engine

_CLIENT = "keyfold.wire.client"
_MEMORY = ":memory:"
_REMOTE = ("dynamodb", "http", "https")
# The name of the secret in a file that its cursors are sealed with.
_SECRET = "cursors"  # noqa: S105 - not a password


class Opening:
    """The arguments of `open` and `open_async`, checked, and the settings of the store to open."""

    def __init__(
        self,
        tables: Table | Sequence[Table],
        url: str | os.PathLike[str] | None = None,
        *,
        client: Any = None,
        streams_client: Any = None,
        clock: Clock = time.time,
        cursor_key: bytes | None = None,
        on_invalid: OnInvalid = "report",
        on_call: Hook | Sequence[Hook] = (),
        **options: Any,
    ) -> None:
        self.tables = tuple(tables) if isinstance(tables, Sequence) else (tables,)
        self.kind = _kind_of(url, client, options)
        self.url = "" if url is None else url  # without one, the kind is "client"
        self.client, self.streams_client = client, streams_client
        self.clock, self.options = clock, options
        self.needs_cursor_key = cursor_key is None
        self.settings = StoreSettings(
            self.tables,
            cursor_key=cursor_key,
            clock=clock,
            on_invalid=on_invalid,
            on_call=on_call,
            is_embedded=self.kind == "file",
        )

    def open_engine(self) -> Engine:
        """Open the engine of a file."""
        given: dict[str, Any] = {"clock": self.clock, **self.options}
        return import_module("keyfold.engine").Engine.open(self.url, **given)


@takes_arguments_of(Opening)
def open(opening: Opening) -> Store:  # noqa: A001 - keyfold.open is what users call
    """Open a database for one or more tables, and return a store.

    `url` is the path of a file, or `":memory:"`: missing tables are created, and a table that
    lacks a declared index, expiry or stream raises TableOutdated: run `keyfold apply`. Or it is a
    service, `dynamodb://REGION`, `dynamodb://REGION/TABLE-PREFIX` or `http(s)://HOST:PORT`: there,
    nothing is created unless requested. `options` are passed to `Engine.open` or `keyfold.wire.client.Client`. Instead of a
    URL, `client` takes a boto3 client, and `streams_client` one for DynamoDB Streams, which is
    needed to follow tables.

    `clock` returns the time by which items expire, in seconds since 1970. An item that does not
    fit its entity, or fits none, is reported in the `invalid` of its page or collection; with
    `on_invalid="raise"`, reading the page raises ItemInvalid. Reads of single items always do.
    `on_call` is a hook, or several: each is called with a `CallRecord` after every attempt of a
    low-level call. `cursor_key` seals the cursors of pages, and the handles of end users. Without
    it, a file stores a key; elsewhere, cursors are valid only in this process, and there are no
    handles.

    The method `Table.open` does the same for one table:

    >>> from keyfold import Entity, Key, Table
    >>> songs = Table("Songs", key=Key("pk"))
    >>> class Song(Entity, table=songs, key="SONG#{title}"):
    ...     title: str
    >>> with songs.open(":memory:") as store:
    ...     store.run(Song(title="Sinnerman").put())
    Song(title='Sinnerman')
    """
    settings = opening.settings
    if opening.kind == "client":
        return Store(_load_boto().BotoClient(opening.client, opening.streams_client), settings)
    if opening.kind == "service":
        service = import_module(_CLIENT).Client(str(opening.url), **opening.options)
        return Store(service, settings, close=service.close)
    engine = opening.open_engine()
    try:
        if opening.needs_cursor_key:
            settings.use_cursor_key(engine.keep_secret(_SECRET))
        store = Store(engine, settings, close=engine.close)
        for table in opening.tables:
            if not has_table(engine, table):
                store.create_table(table)
    except BaseException:
        engine.close()
        raise
    return store


@takes_arguments_of(Opening)
def open_async(opening: Opening) -> AsyncStore:
    """Async version of `open`, with the same options; use the store with `async with`.

    The database is opened on entry, and work that may wait for the disk runs in threads. `client`
    may be an aioboto3 client; a boto3 client is called in threads.
    """
    settings = opening.settings
    if opening.kind == "client":
        boto = _load_boto()
        if boto.is_async(opening.client):
            return AsyncStore(
                boto.AsyncBotoClient(opening.client, opening.streams_client), settings
            )
        client = boto.BotoClient(opening.client, opening.streams_client)
        return AsyncStore(_load_threads().ThreadExecutor(client), settings)
    if opening.kind == "service":
        service = import_module(_CLIENT).AsyncClient(str(opening.url), **opening.options)
        return AsyncStore(service, settings, close=service.close)
    threaded: ThreadedEngine = _load_threads().ThreadedEngine(
        str(opening.url), opening.open_engine, _SECRET
    )

    async def prepare(store: AsyncStore) -> None:
        try:
            secret = await threaded.open()
            if opening.needs_cursor_key:
                settings.use_cursor_key(secret)
            for table in opening.tables:
                if not await threaded.call(has_table, table):
                    await store.create_table(table)
        except BaseException:
            await threaded.close()
            raise

    return AsyncStore(threaded, settings, prepare=prepare, close=threaded.close)


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


def find_kept_key(executor: Executor) -> bytes | None:
    """Return the key that cursors of a file are sealed with; None if the database keeps none."""
    keep: Callable[[str], bytes] | None = getattr(executor, "keep_secret", None)
    return None if keep is None else keep(_SECRET)


def _load_threads() -> Any:
    # Importing asyncio takes a fifth of the time to open a store, and sync stores do not need it.
    return import_module("keyfold.connect._threads")


def _load_boto() -> Any:
    return import_module(f"{_CLIENT}._boto")


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
