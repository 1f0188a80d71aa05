"""Several server processes on one socket and one file, and the process that minds them."""

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
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import NoReturn

from keyfold.errors import KeyfoldError, WorkerFailed
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
    """A signal to stop has come."""


def run_workers(
    settings: ProcessSettings,
    listener: socket.socket,
    count: int,
    *,
    on_ready: Callable[[], None],
    tables: Sequence[RuledTable] = (),
) -> None:
    """Serve with `count` processes until SIGTERM or SIGINT comes; replace those that die."""
    # What is wrong with the settings is said once, and here.
    load_tls(settings)
    make_gate(settings, lambda _: None, tables)
    open_engine(settings, upkeep_seconds=None).close()
    with tempfile.TemporaryDirectory(prefix="keyfold-") as folder:
        rules = [TableRules(each.layout, dict(each.roles)) for each in tables]
        (Path(folder) / _RULES).write_bytes(pickle.dumps(rules))
        minder = WorkerSupervisor(settings, listener, Path(folder))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _stop)
        try:
            for place in range(count):
                minder.start(place)
            on_ready()
            minder.mind()
        except _Stop:
            pass
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            minder.stop()


def _stop(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - a handler's signature
    raise _Stop


class WorkerSupervisor:
    """Starts workers, and starts another where one has died."""

    def __init__(self, settings: ProcessSettings, listener: socket.socket, folder: Path) -> None:
        self._settings, self._listener, self._folder = settings, listener, folder
        self._workers: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, place: int) -> None:
        handle = self._listener.fileno()
        ready, tell_ready = os.pipe()
        told = {
            "settings": asdict(self._settings),
            "handle": handle,
            "tell_ready": tell_ready,
            "place": place,
            "folder": str(self._folder),
            # What the rules are made of may be the user's own, such as typed ids.
            "modules": sys.path,
        }
        worker = self._workers[place] = subprocess.Popen(  # noqa: S603 - this very Python
            [sys.executable, "-m", "keyfold.wire.server._workers", json.dumps(told)],
            pass_fds=(handle, tell_ready),
            # A worker whose standard input ends has lost us, and stops.
            stdin=subprocess.PIPE,
            # Ctrl-C comes to us alone.
            process_group=0,
        )
        os.close(tell_ready)
        with open(ready, "rb") as pipe:  # noqa: PTH123 - by its number
            if not pipe.read():
                # Another would only end in the same way.
                raise WorkerFailed(place, worker.wait())

    def mind(self) -> NoReturn:
        while True:
            ended, _ = os.wait()
            for place, worker in list(self._workers.items()):
                if worker.pid == ended:
                    sys.stderr.write(f"keyfold: worker {place} ended; starting another\n")
                    self.start(place)

    def stop(self) -> None:
        for worker in self._workers.values():
            with suppress(ProcessLookupError):
                worker.terminate()
        for worker in self._workers.values():
            worker.wait()


def run_worker(told: str) -> None:
    """Be a worker: what `_Minder.start` starts."""
    options = json.loads(told)
    sys.path[:] = options["modules"]
    settings = ProcessSettings(**options["settings"])
    listener = socket.socket(fileno=options["handle"])
    metrics = Metrics()
    place, folder = int(options["place"]), Path(options["folder"])
    metrics.collect = lambda own: _collect(own, place, folder)

    def tell_ready() -> None:
        os.write(options["tell_ready"], b"ready")
        os.close(options["tell_ready"])

    def share(loop: asyncio.AbstractEventLoop) -> None:
        _share(metrics, place, folder)
        loop.call_later(_SHARE_SECONDS, share, loop)

    def while_running(stopping: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin.fileno(), stopping.set)
        if settings.has_metrics:
            share(loop)

    run_server(
        settings,
        listener,
        on_ready=tell_ready,
        # From a folder that only our own processes can write to.
        tables=pickle.loads((folder / _RULES).read_bytes()),  # noqa: S301
        metrics=metrics,
        while_running=while_running,
    )


def _share(metrics: Metrics, place: int, folder: Path) -> None:
    """Let the other workers know what this one has counted."""
    draft = folder / f"{place}.draft"
    draft.write_bytes(metrics.to_json())
    draft.replace(folder / f"{place}.json")


def _collect(own: Metrics, place: int, folder: Path) -> Iterable[Metrics]:
    yield own
    for path in sorted(folder.glob("*.json")):
        if path.stem != str(place):
            yield Metrics.from_json(path.read_bytes())


if __name__ == "__main__":
    try:
        run_worker(sys.argv[1])
    except KeyfoldError as error:
        print(f"keyfold: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
