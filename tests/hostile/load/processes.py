"""The server and the attackers: processes of their own, each stopped by its own id."""

from __future__ import annotations

import json
import math
import re
import resource
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.hostile.load.attacks import ATTACKS

ROOT = Path(__file__).resolve().parents[3]
TLS = ROOT / "tests/unit/wire/server/tls"
_STOP_SECONDS = 30.0


class ServedProcess:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[bytes], address: tuple[str, int]) -> None:
        self._process = process
        self.address = address

    def find_peak_mib(self) -> float:
        """Return the largest amount of memory that it has had; 0 where the system does not tell."""
        status = Path(f"/proc/{self._process.pid}/status")
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
        return int(found[1]) / 1_024 if found else 0.0

    def stop(self) -> float:
        """Send SIGTERM, and return how long it took to exit; infinity if it does not."""
        started = time.perf_counter()
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return math.inf
        return time.perf_counter() - started

    @property
    def exit_code(self) -> int | None:
        """The exit code, or minus the signal that ended it; None while it runs."""
        return self._process.poll()


@contextmanager
def serving(path: Path, *, descriptors: int | None, tls: bool) -> Generator[ServedProcess]:
    """Run `keyfold serve` as a process."""
    command = [sys.executable, "-m", "keyfold", "serve", str(path), "--port", "0", "--json"]
    if tls:
        command += ["--tls-cert", f"{TLS}/cert.pem", "--tls-key", f"{TLS}/key.pem"]

    def limit() -> None:
        if descriptors is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    with (path.parent / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            preexec_fn=limit,  # noqa: PLW1509 - this process has one thread
            cwd=ROOT,
        )
    try:
        assert process.stdout is not None
        parts = urlsplit(str(json.loads(process.stdout.readline())["url"]))
        yield ServedProcess(process, (parts.hostname or "", parts.port or 0))
    finally:
        process.kill()
        process.wait()


def attacking(name: str, address: tuple[str, int]) -> AbstractContextManager[None]:
    """Run an attack as a process."""
    assert name in ATTACKS
    host, port = address
    return _running("tests.hostile.load.attacks", name, host, str(port))


def neighbouring(address: tuple[str, int], *, tls: bool) -> AbstractContextManager[None]:
    """Run an ordinary neighbour as a process."""
    host, port = address
    certificates = [f"{TLS}/cert.pem"] if tls else []
    return _running("tests.hostile.load.neighbour", host, str(port), *certificates)


@contextmanager
def _running(module: str, *arguments: str) -> Generator[None]:
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE)
    try:
        yield
        if process.poll() is not None:
            raise RuntimeError(f"{module} ended with {process.returncode}: {arguments}")
    finally:
        process.kill()
        process.wait()
