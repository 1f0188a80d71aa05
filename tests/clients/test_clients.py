"""One scenario, run with every client in its own idiom, against a live server.

The scenario creates a table, uses it as applications do, and makes every kind of mistake.
`scenario.json` has its data and the expected results; `programs/` has a program per client, which
run in the environments that `environments.py` creates. What a client cannot request or does not
show is listed here as what it lacks.
"""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ACCESS_KEY, SECRET, TOKEN
from tests.clients.environments import FOLDER, Unavailable, make_javascript, make_python, own_python

PROGRAMS = FOLDER / "programs"
SCENARIO: dict[str, Any] = json.loads((FOLDER / "scenario.json").read_text())

_TIMEOUT_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Client:
    """A client, its program for the scenario, and the results that it cannot show."""

    name: str
    program: str
    interpreter: Callable[[], str] | None = own_python  # None: JavaScript's
    arguments: tuple[str, ...] = ()
    lacks: frozenset[str] = frozenset()


def _current() -> str:
    return make_python("current")


def _aioboto3() -> str:
    return make_python("aioboto3")


_AIODYNAMO_LACKS = frozenset(
    {
        "tables.indexes",
        "tables.listed",
        "conditions.unmet.item",
        "queries.counts",
        "transactions.absent",  # it expects every item to exist
        "transactions.cancelled.items",
        "errors.syntax",  # it generates the expressions
    }
)

CLIENTS = (
    Client("boto3 client", "boto3_client.py"),
    Client("boto3 resource", "boto3_resource.py"),
    Client("aiobotocore", "aiobotocore_client.py", _current),
    Client("aioboto3", "aioboto3_resource.py", _aioboto3),
    Client(
        "AWS CLI",
        "aws_cli.py",
        _current,
        lacks=frozenset(
            {
                "items.stored.binary",  # it takes binaries as text
                "conditions.unmet.item",
                "transactions.cancelled.reasons",
                "transactions.cancelled.items",
            }
        ),
    ),
    Client(
        "aiodynamo over httpx",
        "aiodynamo_client.py",
        _current,
        arguments=("httpx",),
        lacks=_AIODYNAMO_LACKS,
    ),
    Client(
        "aiodynamo over aiohttp",
        "aiodynamo_client.py",
        _current,
        arguments=("aiohttp",),
        lacks=_AIODYNAMO_LACKS,
    ),
    Client(
        "PynamoDB",
        "pynamodb_models.py",
        _current,
        lacks=frozenset(
            {
                "tables.expiry",
                "tables.deleted",  # it has its own message
                "items.stored.nothing",  # it omits null attributes
                "conditions.unmet.item",
                "errors.syntax",  # it generates the expressions
            }
        ),
    ),
    Client("JavaScript client", "javascript_client.cjs", None),
    Client(
        "JavaScript document client",
        "javascript_document.cjs",
        None,
        lacks=frozenset({"tables.listed", "tables.expiry"}),  # it only handles items
    ),
)


@pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])
def test_a_client_sees_what_the_service_would_show_it(
    client: Client, url: str, tmp_path: Path
) -> None:
    variables = client_variables(url, tmp_path)
    try:
        if client.interpreter is None:
            node, modules = make_javascript()
            interpreter = [node.program, "--no-warnings"]
            variables["NODE_PATH"] = str(modules)
        else:
            interpreter = [client.interpreter(), "-X", "utf8"]
    except Unavailable as reason:
        pytest.skip(f"{client.name}: {reason}")
    table = re.sub(r"\W", "-", client.name)
    seen = subprocess.run(
        [*interpreter, PROGRAMS / client.program, url, table, *client.arguments],
        env=variables,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    assert (seen.returncode, seen.stderr) == (0, "")
    assert json.loads(seen.stdout) == _expected(table, client.lacks)


@pytest.mark.parametrize("program", ["aioboto3_in_process.py", "aioboto3_store.py"])
def test_stores_and_the_testing_service_work_with_aioboto3(
    program: str, url: str, tmp_path: Path
) -> None:
    try:
        interpreter = _aioboto3()
    except Unavailable as reason:
        # Only where the package registry cannot be reached.
        pytest.skip(f"aioboto3: {reason}")
    root = FOLDER.parents[1]
    options = ["-q", "-p", "no:cacheprovider", f"--rootdir={root}"]
    finished = subprocess.run(
        [interpreter, "-m", "pytest", *options, PROGRAMS / program],
        env={**client_variables(url, tmp_path), "PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
        cwd=root,
    )
    assert finished.returncode == 0, finished.stdout
    assert " passed" in finished.stdout
    assert "skipped" not in finished.stdout


def test_results_that_clients_lack_are_part_of_the_scenario() -> None:
    for client in CLIENTS:
        _expected("Table", client.lacks)


def _expected(table: str, lacks: frozenset[str]) -> dict[str, Any]:
    """Return the expected results, without those that the client lacks."""
    expected = copy.deepcopy({**SCENARIO["expected"], "items.stored": SCENARIO["every type"]})
    for name in lacks:
        part, step, *members = name.split(".")
        owner, last = expected, f"{part}.{step}"
        for member in members:
            owner, last = owner[last], member
        del owner[last]
    return json.loads(json.dumps(expected).replace("{table}", table))


def client_variables(url: str, home: Path) -> dict[str, str]:
    """Return variables that point clients to the server, without settings of the user."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "PYTHON", "NODE_")) and "proxy" not in name.lower()
    }
    return kept | {
        "HOME": str(home),
        "AWS_ENDPOINT_URL_DYNAMODB": url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_SESSION_TOKEN": TOKEN,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
