"""What a store reports about its calls: to its hooks, and to the log.

The logger `keyfold.store` has calls at DEBUG and retries at INFO. Neither shows keys or values.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from keyfold.errors import KeyfoldError, OptionInvalid, ServiceError

LOG = logging.getLogger("keyfold.store")


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call of DynamoDB's API, as passed to hooks.

    A call that a client retries is reported once per attempt: `attempt` counts them, and `error`
    is the error of each that failed. boto3's internal retries are not reported.
    `request` is what was sent. The store may modify it for the next call, so a hook that keeps it
    must copy it.
    `is_lookup` is true for a call that looks for an item on behalf of a principal, by `lookup_then`.
    It may read items of other tenants, so what it consumed is not for the principal to know.
    """

    operation: str
    tables: tuple[str, ...]
    seconds: float
    consumed: float
    attempt: int
    error: KeyfoldError | None = None
    request: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    is_lookup: bool = False


Hook = Callable[[CallRecord], None]


def list_hooks(on_call: Hook | Sequence[Hook]) -> tuple[Hook, ...]:
    """Return the hooks of the option `on_call`, which is one or several; raises OptionInvalid."""
    given: Any = on_call
    hooks = tuple(cast(Sequence[Any], given)) if isinstance(given, Sequence) else (given,)
    for hook in hooks:
        if not callable(hook):
            advice = "Give a function that takes a CallRecord, or several."
            raise OptionInvalid("on_call", hook, advice)
    return hooks


# Whether calls are logged. Not a function of ours, since stores ask before every request.
is_logged = partial(LOG.isEnabledFor, logging.DEBUG)


def log_call(record: CallRecord) -> None:
    """Log one attempt of a call; a hook."""
    details = [f"{record.seconds * 1_000:.2f} ms"]
    if record.consumed:
        details.append(f"{record.consumed:g} capacity units")
    if record.attempt > 1:
        details.append(f"attempt {record.attempt}")
    if record.error is not None:
        # Not its message, which may quote keys and values.
        details.append(f"failed with {name_error(record.error)}")
    LOG.debug("%s: %s", _name_call(record.operation, record.tables), ", ".join(details))


def log_retry(
    operation: str, request: Mapping[str, Any], attempt: int, reason: str, pause_seconds: float
) -> None:
    """Log that a call is retried after a pause."""
    if LOG.isEnabledFor(logging.INFO):
        LOG.info(
            "%s: attempt %d failed (%s); retrying in %.2f s",
            _name_call(operation, tables_in(request)),
            attempt,
            reason,
            pause_seconds,
        )


def name_error(error: KeyfoldError) -> str:
    """Return the service's type of an error, or the name of its class."""
    return error.type if isinstance(error, ServiceError) else type(error).__name__


def tables_in(request: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the tables that a call is for."""
    if "TableName" in request:
        return (request["TableName"],)
    if "RequestItems" in request:
        return tuple(request["RequestItems"])
    bodies = [body for member in request.get("TransactItems", ()) for body in member.values()]
    return tuple(dict.fromkeys(body["TableName"] for body in bodies))


def _name_call(operation: str, tables: Sequence[str]) -> str:
    return f"{operation} on {', '.join(tables)}" if tables else operation
