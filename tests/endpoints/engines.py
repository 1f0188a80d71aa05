"""Other DynamoDB engines that the tests of stores and designs run on, and how to start them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.clients import environments
from tests.endpoints import dynamodb_local
from tests.endpoints.processes import PORT

FOLDER = Path(__file__).parent

_DYNALITE = FOLDER / "dynalite"
_MOTO = FOLDER / "requirements-moto.txt"


@dataclass(frozen=True, slots=True)
class ForeignEngine:
    """An engine; `install` returns the command that starts it, with a placeholder for its port.

    An engine that is not `is_confined` listens on every address, unless it is started without a
    network.
    """

    name: str
    title: str
    install: Callable[[], list[str]]
    is_confined: bool = True


def _install_local() -> list[str]:
    jars = dynamodb_local.library()
    java = ("-Xmx512m", "-XX:+UseSerialGC")
    return dynamodb_local.make_command(jars, PORT, "-inMemory", java=java)


def _install_moto() -> list[str]:
    python = environments.make_python("moto", _MOTO)
    return [python, "-m", "moto.server", "-H", "127.0.0.1", "-p", PORT]


def find_dynalite() -> Path:
    """Return dynalite's program, installed by npm on the first call; raises Unavailable."""
    _, modules = environments.make_javascript(_DYNALITE)
    return modules / "dynalite" / "cli.js"


def _install_dynalite() -> list[str]:
    node = environments.find_node()
    # Tables take some time to be created, changed and deleted, as they do at AWS.
    delays = [f"--{what}TableMs=20" for what in ("create", "update", "delete")]
    return [node.program, str(find_dynalite()), "--host", "127.0.0.1", "--port", PORT, *delays]


def _version_of_moto() -> str:
    found = re.search(r"^moto(?:\[.*\])?==(\S+)", _MOTO.read_text(), re.MULTILINE)
    assert found is not None  # it is pinned
    return found[1]


def _version_of_dynalite() -> str:
    pinned = json.loads((_DYNALITE / "package.json").read_text())
    return str(pinned["dependencies"]["dynalite"])


ENGINES = {
    engine.name: engine
    for engine in (
        ForeignEngine("dynalite", f"dynalite {_version_of_dynalite()}", _install_dynalite),
        ForeignEngine("dynamodb-local", dynamodb_local.NAME, _install_local, is_confined=False),
        ForeignEngine("moto", f"moto {_version_of_moto()}", _install_moto),
    )
}
