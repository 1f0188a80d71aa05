"""More connections than there may be: some are refused, none is met with silence, nothing else fails."""

from __future__ import annotations

import errno
import io
import logging
import resource
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar
from unittest import mock

import orjson
import pytest

from keyfold.engine import Engine
from keyfold.wire.server import Limits, Server, _descriptors
from keyfold.wire.server._acceptor import Acceptor
from keyfold.wire.server._metrics import Metrics
from keyfold.wire.server._process import ProcessSettings, load_tls
from tests.fuzz.talking import Line
from tests.unit.wire.server.http import CREATE, Wire, ask, get, make_table, put
from tests.unit.wire.server.test_server import address_of

TLS = Path(__file__).parents[1] / "unit/wire/server/tls"
T = TypeVar("T")


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        make_table(engine)
        yield engine


def on_loop(acceptor: Acceptor, call: Callable[[], T]) -> T:
    """Call a function on the loop of a running server."""
    result: Future[T] = Future()
    acceptor._loop.call_soon_threadsafe(lambda: result.set_result(call()))
    return result.result()


def running_acceptor(server: Server) -> Acceptor:
    assert server._acceptor is not None
    return server._acceptor


def test_connections_beyond_the_limit_get_an_answer(engine: Engine) -> None:
    log, metrics = io.StringIO(), Metrics()
    server = Server(engine, limits=Limits(connections=5), access_log=log, metrics=metrics)
    with ExitStack() as stack, server.running() as url:
        address = address_of(url)
        lines = [stack.enter_context(Line(address)) for _ in range(5)]
        for line in lines:
            assert line.ask(put("a")).status == 200
        for number in range(200):
            # One that sends a request, one that waits for an answer first, one that does not read.
            refused = stack.enter_context(Line(address))
            if number % 3 == 0:
                refused.send(get("a"))
            if number % 3 < 2:
                response = refused.read_response()
                assert response.status == 503
                assert response.headers["connection"] == "close"
                assert response.headers["retry-after"] == "1"
                assert response.headers["x-keyfold-undone"] == "true"
        acceptor = running_acceptor(server)
        assert on_loop(acceptor, lambda: len(acceptor._refused)) <= 64
        for line in lines:
            assert line.ask(get("a")).status == 200
        # They are all dropped before long, and a place that becomes free can be taken.
        lines[0].close()
        state = acceptor._state
        while on_loop(acceptor, lambda: len(state.clients)) == 5:
            pass
        assert stack.enter_context(Line(address)).ask(get("a")).status == 200
        on_loop(acceptor, lambda: acceptor.sweep(state.now + 3.0))
        while on_loop(acceptor, lambda: len(acceptor._refused)):
            pass
    entries = [orjson.loads(line) for line in log.getvalue().splitlines()]
    assert sum(entry["status"] == 503 for entry in entries) == 200
    assert metrics.errors["none", "ServiceUnavailable"] == 200


@pytest.fixture
def tls_server(engine: Engine) -> Server:
    settings = ProcessSettings(":memory:", tls_cert=f"{TLS}/cert.pem", tls_key=f"{TLS}/key.pem")
    limits = Limits(connections=100, handshake_seconds=1_000.0)
    return Server(engine, tls=load_tls(settings), limits=limits)


def test_handshakes_are_counted_and_timed(tls_server: Server) -> None:
    context = ssl.create_default_context(cafile=f"{TLS}/cert.pem")
    with ExitStack() as stack, tls_server.running() as url:
        address = address_of(url)
        acceptor = running_acceptor(tls_server)
        # Half of a greeting, and then nothing.
        unfinished = [stack.enter_context(socket.create_connection(address)) for _ in range(150)]
        for client in unfinished:
            client.sendall(b"\x16\x03\x01\x02\x00\x01")
        # Clients that do finish theirs get in, although there are more connections than 100.
        for _ in range(10):
            line = stack.enter_context(Line(address, context))
            assert line.ask(get("a")).status == 200
            assert on_loop(acceptor, lambda: len(acceptor._opening)) <= 64
        times = on_loop(acceptor, lambda: [each.since for each in acceptor._opening.values()])
        assert times
        on_loop(acceptor, lambda: acceptor.sweep(min(times) + 1_000.0))
        assert on_loop(acceptor, lambda: len(acceptor._opening)) == len(times)
        on_loop(acceptor, lambda: acceptor.sweep(max(times) + 1_001.0))
        for client in unfinished:
            # The server has closed it.
            with suppress(ConnectionResetError):
                assert client.recv(100) == b""
        assert on_loop(acceptor, lambda: len(acceptor._opening)) == 0


def test_clients_beyond_the_limit_are_answered_after_a_handshake(engine: Engine) -> None:
    settings = ProcessSettings(":memory:", tls_cert=f"{TLS}/cert.pem", tls_key=f"{TLS}/key.pem")
    server = Server(engine, tls=load_tls(settings), limits=Limits(connections=2))
    context = ssl.create_default_context(cafile=f"{TLS}/cert.pem")
    with ExitStack() as stack, server.running() as url:
        address = address_of(url)
        lines = [stack.enter_context(Line(address, context)) for _ in range(2)]
        for line in lines:
            assert line.ask(get("a")).status == 200
        for _ in range(5):
            assert stack.enter_context(Line(address, context)).read_response().status == 503


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS])
def test_exhausted_descriptors_are_logged_once(
    engine: Engine, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    wire = Wire(engine)
    loop = mock.Mock()
    listener = mock.Mock()
    listener.accept.side_effect = OSError(code, "too many open files")
    acceptor = Acceptor(listener, wire.state, loop, None)
    acceptor.start()
    with caplog.at_level(logging.WARNING, "keyfold.server"):
        for number in range(1, 100):
            acceptor._accept()
            # It does not try again at once, but after a while.
            assert loop.remove_reader.call_count == number
            ((_, again), _) = loop.call_later.call_args
            again()
            assert loop.add_reader.call_count == number + 1
        assert len(caplog.records) == 1
        assert "too many open files" in caplog.text
        wire.wait(61.0)
        acceptor._accept()
    assert len(caplog.records) == 2
    wire.close()


def test_a_client_that_is_gone_already_is_no_error(engine: Engine) -> None:
    wire = Wire(engine)
    listener = mock.Mock()
    listener.accept.side_effect = ConnectionAbortedError
    acceptor = Acceptor(listener, wire.state, mock.Mock(), None)
    acceptor._accept()
    wire.close()


@pytest.mark.parametrize(
    ("descriptors", "connections"),
    [(1_024, 896), (256, 128), (100, 50), (20_000, 1_000), (resource.RLIM_INFINITY, 1_000)],
)
def test_descriptors_are_kept_for_files(
    monkeypatch: pytest.MonkeyPatch, descriptors: int, connections: int
) -> None:
    fake = SimpleNamespace(
        RLIMIT_NOFILE=resource.RLIMIT_NOFILE,
        RLIM_INFINITY=resource.RLIM_INFINITY,
        getrlimit=mock.Mock(return_value=(descriptors, descriptors)),
    )
    monkeypatch.setattr(_descriptors, "resource", fake)
    assert _descriptors.fit_to_descriptors(Limits()).connections == connections


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((256, resource.RLIM_INFINITY), (1_128, resource.RLIM_INFINITY)),
        ((1_024, 4_096), (1_128, 4_096)),
        ((256, 1_024), (1_024, 1_024)),
        ((4_096, 4_096), None),
        ((1_024, 1_024), None),
    ],
)
def test_the_process_raises_its_limit_if_it_may(
    monkeypatch: pytest.MonkeyPatch, before: tuple[int, int], after: tuple[int, int] | None
) -> None:
    change = mock.Mock()
    fake = SimpleNamespace(
        RLIMIT_NOFILE=resource.RLIMIT_NOFILE,
        RLIM_INFINITY=resource.RLIM_INFINITY,
        getrlimit=mock.Mock(return_value=before),
        setrlimit=change,
    )
    monkeypatch.setattr(_descriptors, "resource", fake)
    _descriptors.raise_descriptor_limit(Limits())
    expected = [] if after is None else [mock.call(resource.RLIMIT_NOFILE, after)]
    assert change.call_args_list == expected


def test_a_process_with_few_descriptors_serves_on(tmp_path: Path) -> None:
    """A server with 256 descriptors meets 400 connections; a database needs some, too."""
    command = [
        sys.executable,
        "-m",
        "keyfold",
        "serve",
        f"{tmp_path}/a.db",
        "--port",
        "0",
        "--json",
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # In the new process, before there are threads.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)),  # noqa: PLW1509
    )
    assert process.stdout is not None
    url = orjson.loads(process.stdout.readline())["url"]
    address = address_of(url)
    statuses: list[int] = []
    with ExitStack() as stack:
        polite = stack.enter_context(Line(address))
        lines = [stack.enter_context(Line(address)) for _ in range(400)]
        for line in lines:
            line.send(ask("ListTables", {}))
        for line in lines:
            try:
                statuses.append(line.read_response().status)
            except AssertionError:
                # Cut off, to refuse others.
                statuses.append(0)
        # What opens files works: the table's first commit, a thread's first read.
        assert polite.ask(ask("CreateTable", CREATE)).status == 200
        assert polite.ask(put("a")).status == 200
        assert polite.ask(ask("Scan", {"TableName": "Things"})).status == 200
        process.terminate()
        _, errors = process.communicate(timeout=30.0)
    assert process.returncode == 0
    assert statuses.count(200) == 127
    assert statuses.count(503) >= 64
    assert set(statuses) <= {0, 200, 503}
    assert len(errors.splitlines()) <= 2
