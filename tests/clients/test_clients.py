"""One scenario, told to every client in its own idiom, against a live server.

The scenario makes a table, does all that applications do with one, and makes every kind of
mistake. `scenario.json` has its data and what a client must see; `programs/` has the programs,
one per client, which run in the environments that `environments.py` makes. What a client has
no way to ask for, or does not show, is listed here as what it lacks.
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

_MOST_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Client:
    """A client, the program that tells it the scenario, and what it cannot show of it."""

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
        "transactions.absent",  # it expects every item to be there
        "transactions.cancelled.items",
        "errors.syntax",  # it writes the expressions
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
                "tables.deleted",  # it says so in its own words
                "items.stored.nothing",  # it leaves such an attribute out
                "conditions.unmet.item",
                "errors.syntax",  # it writes the expressions
            }
        ),
    ),
    Client("JavaScript client", "javascript_client.cjs", None),
    Client(
        "JavaScript document client",
        "javascript_document.cjs",
        None,
        lacks=frozenset({"tables.listed", "tables.expiry"}),  # it is about items
    ),
)


@pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])
def test_a_client_sees_what_the_service_would_show_it(
    client: Client, url: str, tmp_path: Path
) -> None:
    variables = _variables(url, tmp_path)
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
        timeout=_MOST_SECONDS,
        check=False,
    )
    assert (seen.returncode, seen.stderr) == (0, "")
    assert json.loads(seen.stdout) == _expected(table, client.lacks)


@pytest.mark.parametrize("program", ["aioboto3_in_process.py", "aioboto3_store.py"])
def test_what_works_by_clients_of_aioboto3(program: str, url: str, tmp_path: Path) -> None:
    try:
        interpreter = _aioboto3()
    except Unavailable as reason:
        # Only where its packages cannot be had: no registry to ask. That is no fault of ours.
        pytest.skip(f"aioboto3: {reason}")
    root = FOLDER.parents[1]
    options = ["-q", "-p", "no:cacheprovider", f"--rootdir={root}"]
    told = subprocess.run(
        [interpreter, "-m", "pytest", *options, PROGRAMS / program],
        env={**_variables(url, tmp_path), "PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        timeout=_MOST_SECONDS,
        check=False,
        cwd=root,
    )
    assert told.returncode == 0, told.stdout
    assert " passed" in told.stdout
    assert "skipped" not in told.stdout


def test_what_a_client_lacks_is_part_of_the_scenario() -> None:
    for client in CLIENTS:
        _expected("Table", client.lacks)


def _expected(table: str, lacks: frozenset[str]) -> dict[str, Any]:
    """What a client must see that lacks so much."""
    expected = copy.deepcopy({**SCENARIO["expected"], "items.stored": SCENARIO["every type"]})
    for name in lacks:
        part, step, *members = name.split(".")
        owner, last = expected, f"{part}.{step}"
        for member in members:
            owner, last = owner[last], member
        del owner[last]
    return json.loads(json.dumps(expected).replace("{table}", table))


def _variables(url: str, home: Path) -> dict[str, str]:
    """An environment in which clients find the server, and nothing of whoever runs the tests."""
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
