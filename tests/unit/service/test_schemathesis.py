"""Each design's service, attacked by its own OpenAPI document with random requests, valid and not.

No request gets a 500, every response fits its schema, and what is refused has a code.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import (
    positive_data_acceptance,  # pyright: ignore[reportUnknownVariableType] - of any schema
)

import keyfold
from keyfold.designs import exchange_rates, letsgo, market, pantry
from keyfold.service import Caller, FixedCaller, ServiceSettings, create_app

CALLERS = [
    (exchange_rates, Caller(("publisher",), {})),
    (letsgo, Caller(("tenant-member",), {"tenant_id": "ten-f8a1"})),
    (market, Caller(("customer", "seller"), {"user": "rabinovich"})),
    (market, Caller(("fulfilment", "registration", "support"), {})),
    (pantry, Caller(("service",), {})),
]
# The host of the requests.
HOST = "testserver"
EXAMPLES = 5


@pytest.mark.parametrize(
    ("design", "caller"), CALLERS, ids=lambda value: getattr(value, "principal", "")
)
def test_nothing_fails(design: Any, caller: Caller, tmp_path: Path) -> None:
    path = str(tmp_path / "service.db")
    with keyfold.open(design.table, path, durability="process") as store:
        for entity in design.table.example_entities():
            store.run(entity.put())
    app = create_app(
        design.table,
        path,
        ServiceSettings(authenticator=FixedCaller(caller), allow_host=[HOST]),
        durability="process",
    )
    schema: Any = schemathesis.openapi.from_asgi("/openapi.json", app)
    statuses: Counter[int] = Counter()
    # The stream of changes has no end.
    for found in schema.exclude(path="/changes").get_all_operations():
        _attack(found.ok(), statuses)
    assert statuses.total() > EXAMPLES
    assert not any(status >= 500 for status in statuses)


def _attack(operation: Any, statuses: Counter[int]) -> None:
    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
    )
    def attack(case: Any) -> None:
        response = case.call()
        statuses[response.status_code] += 1
        # Validators in Python, such as that of currencies, are not in the document.
        case.validate_response(response, excluded_checks=[positive_data_acceptance])
        if response.status_code >= 400:
            assert response.json()["code"]

    attack()
