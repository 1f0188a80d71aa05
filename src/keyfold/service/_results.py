"""Results as JSON, as callers may see them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import orjson

from keyfold.service._endpoints import PatternEndpoint
from keyfold.service._running import Outcome
from keyfold.store import Handles


def write_result(
    endpoint: PatternEndpoint, outcome: Outcome, next_link: str | None, handles: Handles | None
) -> bytes:
    """Return the body of a response.

    A page is an object of its items and the link to the next page. End users see handles where
    others see ids.
    """
    value = outcome.value
    if endpoint.is_page:
        value = list(cast("Iterable[Any]", value))
    # As `dump_json`, which passes on all its options.
    body: bytes = endpoint.results.serializer.to_json(value, by_alias=True, warnings=False)
    if handles is not None:
        body = handles.show_encoded(body)
    if not endpoint.is_page:
        return body
    more = orjson.dumps({"next": next_link, "invalid": outcome.invalid})
    return b'{"items":' + body + b"," + more[1:]


def to_json(endpoint: PatternEndpoint, outcome: Outcome, handles: Handles | None) -> Any:
    """Return the value of a result as JSON: the items of a page, or the one value."""
    value = outcome.value
    if endpoint.is_page:
        value = list(cast("Iterable[Any]", value))
    plain = endpoint.results.dump_python(value, mode="json", by_alias=True, warnings=False)
    return plain if handles is None else handles.show_json(plain)


def is_nothing(value: Any) -> bool:
    """Return whether a result has nothing to show: None, or a list of nothing else."""
    if isinstance(value, list):
        return all(each is None for each in cast("list[Any]", value))
    return value is None
