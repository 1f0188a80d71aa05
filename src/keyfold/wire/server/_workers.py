"""Several server processes on one socket and one file, and the process that supervises them."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import NoReturn

from keyfold.api import WriteCheck
from keyfold.errors import KeyfoldError, WorkerFailed
from keyfold.terminals import escaped_output
from keyfold.wire.server._gate import RuledTable
from keyfold.wire.server._metrics import Metrics
from keyfold.wire.server._process import (
    ProcessSettings,
    TableRules,
    load_tls,
    make_gate,
    open_engine,
    run_server,
)

_SHARE_SECONDS = 0.5
_RULES = "rules.pickle"


class _Stop(Exception):
    """A signal to stop was received."""


def run_workers(
    settings: ProcessSettings,
    listener: socket.socket,
    count: int,
    *,
    on_ready: Callable[[], None],
    tables: Sequence[RuledTable] = (),
    write_checks: Mapping[str, WriteCheck] | None = None,
) -> None:
    """Serve with `count` processes until SIGTERM or SIGINT; restart those that die."""
    # Errors in the settings are reported once, here, and not by each worker.
    load_tls(settings)
    make_gate(settings, lambda _: None, tables)
    open_engine(settings, upkeep_seconds=None).close()
    with tempfile.TemporaryDirectory(prefix="keyfold-") as folder:
        rules = [TableRules(each.layout, dict(each.roles)) for each in tables]
        (Path(folder) / _RULES).write_bytes(pickle.dumps((rules, write_checks)))
        supervisor = WorkerSupervisor(settings, listener, Path(folder))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _stop)
        try:
            for index in range(count):
                supervisor.start(index)
            on_ready()
            supervisor.supervise()
        except _Stop:
            pass
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            supervisor.stop()


def _stop(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - a handler's signature
    raise _Stop


class WorkerSupervisor:
    """Starts worker processes, and restarts those that die."""

    def __init__(self, settings: ProcessSettings, listener: socket.socket, folder: Path) -> None:
        self._settings, self._listener, self._folder = settings, listener, folder
        self._workers: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, index: int) -> None:
        handle = self._listener.fileno()
        ready_read, ready_write = os.pipe()
        options = {
            "settings": asdict(self._settings),
            "handle": handle,
            "ready_write": ready_write,
            "index": index,
            "folder": str(self._folder),
            # Unpickling the rules may need the user's modules, such as those of typed ids.
            "modules": sys.path,
        }
        worker = self._workers[index] = subprocess.Popen(  # noqa: S603 - the running Python
            [sys.executable, "-m", "keyfold.wire.server._workers", json.dumps(options)],
            pass_fds=(handle, ready_write),
            # A worker stops at the end of its standard input: when this process dies.
            stdin=subprocess.PIPE,
            # Only this process gets the SIGINT of Ctrl-C.
            process_group=0,
        )
        os.close(ready_write)
        with open(ready_read, "rb") as pipe:  # noqa: PTH123 - a file descriptor
            if not pipe.read():
                # Another worker would fail in the same way.
                raise WorkerFailed(index, worker.wait())

    def supervise(self) -> NoReturn:
        while True:
            ended, _ = os.wait()
            for index, worker in list(self._workers.items()):
                if worker.pid == ended:
                    sys.stderr.write(f"keyfold: worker {index} ended; starting another\n")
                    self.start(index)

    def stop(self) -> None:
        for worker in self._workers.values():
            with suppress(ProcessLookupError):
                worker.terminate()
        for worker in self._workers.values():
            worker.wait()


def run_worker(encoded: str) -> None:
    """Run a worker; `encoded` are the options from `WorkerSupervisor.start`, as JSON."""
    options = json.loads(encoded)
    sys.path[:] = options["modules"]
    settings = ProcessSettings(**options["settings"])
    listener = socket.socket(fileno=options["handle"])
    metrics = Metrics()
    index, folder = int(options["index"]), Path(options["folder"])
    metrics.collect = lambda own: _collect(own, index, folder)

    def report_ready() -> None:
        os.write(options["ready_write"], b"ready")
        os.close(options["ready_write"])

    def share(loop: asyncio.AbstractEventLoop) -> None:
        _share(metrics, index, folder)
        loop.call_later(_SHARE_SECONDS, share, loop)

    def while_running(stopping: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin.fileno(), stopping.set)
        if settings.has_metrics:
            share(loop)

    # Safe to unpickle: only our own processes can write to the folder.
    tables, write_checks = pickle.loads((folder / _RULES).read_bytes())  # noqa: S301
    run_server(
        settings,
        listener,
        on_ready=report_ready,
        tables=tables,
        write_checks=write_checks,
        metrics=metrics,
        while_running=while_running,
    )


def _share(metrics: Metrics, index: int, folder: Path) -> None:
    """Write this worker's metrics to a file for the other workers."""
    draft = folder / f"{index}.draft"
    draft.write_bytes(metrics.to_json())
    draft.replace(folder / f"{index}.json")


def _collect(own: Metrics, index: int, folder: Path) -> Iterable[Metrics]:
    """Yield the metrics of this worker, and those that the others have shared."""
    yield own
    for path in sorted(folder.glob("*.json")):
        if path.stem != str(index):
            yield Metrics.from_json(path.read_bytes())


if __name__ == "__main__":
    with escaped_output():
        try:
            run_worker(sys.argv[1])
        except KeyfoldError as error:
            print(f"keyfold: {error}", file=sys.stderr)  # noqa: T201
            sys.exit(2)
