"""A server process: from its settings to a graceful stop by a signal."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from keyfold.api import WriteCheck
from keyfold.api.wordings import Wording
from keyfold.engine import Engine, TableKeyNames, Throttling, TrafficFile
from keyfold.errors import OptionInvalid
from keyfold.policy import Layout, Role
from keyfold.policy.accesses import KeyLookup
from keyfold.wire.server._descriptors import raise_descriptor_limit
from keyfold.wire.server._file_access import create_private
from keyfold.wire.server._gate import Gate, RuledTable, make_key_gate, make_policy_gate
from keyfold.wire.server._limits import Limits
from keyfold.wire.server._metrics import Metrics
from keyfold.wire.server._server import Server, new_event_loop

_SWITCH_SECONDS = 0.000_05


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """The settings of a server process: the engine's options and the server's."""

    path: str
    durability: str | None = None
    region: str = "us-east-1"
    buckets: str | None = None
    # How long expired items stay, in seconds; None for the default of files or memory.
    expiry_grace: float | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    has_metrics: bool = False
    has_access_log: bool = False
    # The path of a file of access keys; or of a policy for all requests, with the principal's ids.
    auth: str | None = None
    policy: str | None = None
    ids: Mapping[str, str] = field(default_factory=dict[str, str])
    allow_host: Sequence[str] = ()
    allow_origin: Sequence[str] = ()
    insecure: bool = False
    # Whether dates of signatures are checked without keys.
    check_dates: bool = False
    # That of errors about requests.
    wording: Wording = "2026"
    # By what requests are refused, besides on-demand maximums.
    throttling: Throttling | None = None
    # The file to which the keys and units of requests are appended.
    record: str | None = None


class TableRules(NamedTuple):
    """The layout and roles of a declared table, in a form that one process can send another."""

    layout: Layout
    roles: Mapping[str, Role]


def run_server(
    settings: ProcessSettings,
    listener: socket.socket,
    *,
    on_ready: Callable[[], None],
    tables: Sequence[RuledTable] = (),
    write_checks: Mapping[str, WriteCheck] | None = None,
    metrics: Metrics | None = None,
    while_running: Callable[[asyncio.Event], None] | None = None,
    beside: Callable[[Engine], AbstractContextManager[None]] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the accepted requests.

    `on_ready` is called once clients can connect. `tables` declare the roles of access keys, and
    `write_checks` decide which writes to the tables with these names are accepted. `while_running`
    is called once on the event loop, and may schedule more; setting the event that it gets stops the
    server. `beside` returns what runs in threads of its own, on the same engine, while the server does.
    """
    tls = load_tls(settings)
    raise_descriptor_limit(Limits())

    def find_key_names(table: str) -> TableKeyNames | None:
        return engine.find_key_names(table)

    # First, so that errors in the keys are reported before the database file is created.
    gate = make_gate(settings, find_key_names, tables, checked=write_checks or ())
    engine = open_engine(settings, write_checks=write_checks)
    with engine:
        server = Server(
            engine,
            listener=listener,
            tls=tls,
            metrics=metrics if settings.has_metrics else None,
            access_log=sys.stdout if settings.has_access_log else None,
            gate=gate,
            allow_host=settings.allow_host,
            allow_origin=settings.allow_origin,
            insecure=settings.insecure,
            date_clock=time.time if settings.check_dates else None,
        )

        async def serve() -> None:
            stopping = asyncio.Event()
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, stopping.set)
            await server.start()
            if while_running is not None:
                while_running(stopping)
            on_ready()
            # What is loaded by now stays, so the garbage collector need not scan it again.
            gc.freeze()
            await stopping.wait()
            await server.stop()

        # Threads that compute give way to the event loop after this time: 5 ms is too long for it.
        sys.setswitchinterval(_SWITCH_SECONDS)
        with (
            nullcontext() if beside is None else beside(engine),
            asyncio.Runner(loop_factory=new_event_loop) as runner,
        ):
            runner.run(serve())


def open_engine(settings: ProcessSettings, **options: Any) -> Engine:
    """Return an engine opened with a server's settings.

    If requests need a key, a new file is for its owner only: others would read it without one.
    """
    is_private = settings.auth is not None and settings.path != ":memory:"
    is_new = is_private and create_private(settings.path)
    try:
        return Engine.open(
            settings.path,
            durability=settings.durability,  # pyright: ignore[reportArgumentType] - checked there
            region=settings.region,
            buckets=settings.buckets,
            expiry_grace=settings.expiry_grace,
            wording=settings.wording,
            throttling=settings.throttling,
            on_traffic=None if settings.record is None else TrafficFile(settings.record).write,
            **options,
        )
    except BaseException:
        if is_new and Path(settings.path).stat().st_size == 0:
            Path(settings.path).unlink()
        raise


def make_gate(
    settings: ProcessSettings,
    keys: KeyLookup,
    tables: Sequence[RuledTable],
    *,
    checked: Collection[str] = (),
) -> Gate | None:
    """Return the gate that the settings ask for; None if any access key is accepted.

    `checked` are the names of tables whose writes the engine checks.
    """
    region, wording = settings.region, settings.wording
    if settings.auth is not None:
        return make_key_gate(
            settings.auth, keys, tables=tables, checked=checked, region=region, wording=wording
        )
    if settings.policy is not None:
        return make_policy_gate(
            settings.policy, keys, ids=settings.ids, region=region, wording=wording
        )
    return None


def load_tls(settings: ProcessSettings) -> ssl.SSLContext | None:
    """Return the TLS context of a server; None without a certificate. Raises OptionInvalid."""
    cert, key = settings.tls_cert, settings.tls_key
    if cert is None and key is None:
        return None
    if cert is None:
        raise OptionInvalid("tls_cert", cert, "Give the certificate of the key, too.")
    for option, path in (("tls_cert", cert), ("tls_key", key)):
        if path is not None and not Path(path).is_file():
            raise OptionInvalid(option, path, "Name an existing file.")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "reason", None) or str(error)
        advice = f"Give a certificate and its private key, as PEM ({reason})."
        raise OptionInvalid("tls_cert", cert, advice) from None
    return context
