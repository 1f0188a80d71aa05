"""Every operation of the API answers a minimal request from boto3 and refuses an invalid one.

`scenarios.json` has one of each for every operation in botocore's models. The fixtures that an
operation needs are named in its `setup`, and `{"$take": [fixture, member, …]}` stands for a part of
a fixture's response. The table of operations in docs/compatibility.md is generated from it too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

from keyfold.api import OPERATIONS
from keyfold.engine import Engine
from keyfold.wire.server import Server

SCENARIOS: dict[str, Any] = json.loads(Path(__file__).with_name("scenarios.json").read_text())
FIXTURES: dict[str, list[Any]] = SCENARIOS["fixtures"]
OPERATION_SCENARIOS: dict[str, dict[str, Any]] = {
    name: scenario for group in SCENARIOS["groups"].values() for name, scenario in group.items()
}

NAMES = sorted(OPERATION_SCENARIOS)


@cache
def _session() -> Any:
    """Return one session for all tests: loading botocore's models takes longer than the tests."""
    return import_module("boto3").Session(
        aws_access_key_id="key", aws_secret_access_key="secret", region_name="us-east-1"
    )


class Clients:
    """Calls operations by name, through the client that has them."""

    def __init__(self, url: str) -> None:
        # Invalid requests must reach the service instead of being refused by boto3.
        config = import_module("botocore.config").Config(parameter_validation=False)
        self._clients = [
            _session().client(name, config=config, endpoint_url=url)
            for name in ("dynamodb", "dynamodbstreams")
        ]

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        method = re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()
        (client,) = (each for each in self._clients if hasattr(each, method))
        return getattr(client, method)(**request)

    def close(self) -> None:
        for client in self._clients:
            client.close()


ITEM = '{"Item": {"artist": {"S": "Nina"}, "song": {"S": "Sinnerman"}}}'


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Yield an engine with a bucket that has a file to import."""
    for folder in ("import", "bulk"):
        path = tmp_path / "bucket" / folder / "items.json"
        path.parent.mkdir(parents=True)
        path.write_text(ITEM)
    with Engine.open(":memory:", buckets=tmp_path, upkeep_seconds=None) as engine:
        yield engine
        assert engine.verify() == []


@pytest.fixture
def clients(engine: Engine) -> Iterator[Clients]:
    with Server(engine, port=0).running() as url:
        clients = Clients(url)
        yield clients
        clients.close()


def _model(service_name: str) -> Any:
    session: Any = import_module("botocore.session").get_session()
    return session.get_service_model(service_name)


@cache
def _models() -> dict[str, Any]:
    """Return the model of every operation, by name."""
    found: dict[str, Any] = {}
    for name in ("dynamodb", "dynamodbstreams"):
        model = _model(name)
        found |= {each: model.operation_model(each) for each in model.operation_names}
    return found


def _fill_in(value: Any, answers: dict[str, Any]) -> Any:
    """Return the value with its `$take` references replaced by parts of the responses."""
    if isinstance(value, list):
        return [_fill_in(one, answers) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    entries = cast("dict[str, Any]", value)
    if "$take" in entries:
        fixture, *path = entries["$take"]
        taken = answers[fixture]
        for step in path:
            taken = taken[step]
        return taken
    return {name: _fill_in(one, answers) for name, one in entries.items()}


def _set_up(clients: Clients, scenario: dict[str, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for fixture in scenario.get("setup", []):
        operation, request = FIXTURES[fixture]
        answers[fixture] = clients.call(operation, _fill_in(request, answers))
    return answers


def test_every_operation_of_the_models_has_a_scenario() -> None:
    assert set(OPERATION_SCENARIOS) == set(_models())


def test_every_operation_of_the_models_is_implemented() -> None:
    assert set(OPERATIONS) == set(_models())


@pytest.mark.parametrize("operation", NAMES)
def test_answers_a_minimal_request(clients: Clients, operation: str) -> None:
    scenario = OPERATION_SCENARIOS[operation]
    request = _fill_in(scenario["valid"], _set_up(clients, scenario))
    answer = clients.call(operation, request)
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200


@pytest.mark.parametrize("operation", NAMES)
def test_responses_match_the_model(engine: Engine, clients: Clients, operation: str) -> None:
    scenario = OPERATION_SCENARIOS[operation]
    request = _fill_in(scenario["valid"], _set_up(clients, scenario))
    answer = json.loads(engine.execute_json(operation, json.dumps(request).encode()))
    shape = _models()[operation].output_shape
    assert list(_find_mismatches(answer, shape, operation)) == []


def _find_mismatches(value: Any, shape: Any, place: str) -> Iterator[str]:
    """Yield members of a response that its shape does not have or that have another JSON type."""
    if shape is None:
        # Operations without an output shape return an empty object.
        if value != {}:
            yield place
        return
    match shape.type_name:
        case "structure":
            if not isinstance(value, dict):
                yield place
                return
            for name, member in cast("dict[str, Any]", value).items():
                if name not in shape.members:
                    yield f"{place}.{name}"
                else:
                    yield from _find_mismatches(member, shape.members[name], f"{place}.{name}")
        case "list":
            for at, member in enumerate(value):
                yield from _find_mismatches(member, shape.member, f"{place}[{at}]")
        case "map":
            for name, member in value.items():
                yield from _find_mismatches(member, shape.value, f"{place}.{name}")
        case "string" | "blob":
            if not isinstance(value, str):
                yield place
        case "boolean":
            if not isinstance(value, bool):
                yield place
        case _:
            if isinstance(value, bool) or not isinstance(value, int | float):
                yield place


@pytest.mark.parametrize("operation", NAMES)
def test_refuses_an_invalid_request(clients: Clients, operation: str) -> None:
    scenario = OPERATION_SCENARIOS[operation]
    if scenario["invalid"] is None:
        # The operation has no parameters, so no request is invalid.
        assert not _models()[operation].input_shape.members
        return
    _set_up(clients, scenario)
    client_error: Any = import_module("botocore.exceptions").ClientError
    with pytest.raises(client_error) as caught:
        clients.call(operation, scenario["invalid"])
    assert caught.value.response["Error"]["Code"] == scenario["error"]
    assert caught.value.response["Error"]["Message"]
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
