"""The two wordings of DynamoDB's errors about requests: today's, and that of all regions in 2025.

Since June 2026, DynamoDB moves its operations to another validation, region by region. It finds the
same faults and words some of them differently: PutItem, UpdateItem and DeleteItem report each fault of
a request inside `1 validation error detected: `, and GetItem, BatchGetItem and Query use its texts
without this envelope. Batch writes, transactions and Scan still have the former one.

Code that finds a fault raises a `ValidationException` with both texts. Code that reads a request
notes which validation its operation has (`set_validation`). `reword` chooses the text, once, where the
error leaves the engine or the gate of a server. So everything else is independent of the wording.
"""

from __future__ import annotations

from typing import Literal

from keyfold.errors import OptionInvalid, ServiceError, ValidationException

Wording = Literal["2025", "2026"]
"""`2026` is today's wording; `2025` is the one of all regions until June 2026."""

ENVELOPE = "1 validation error detected: "


def check_wording(wording: str) -> Wording:
    """Return the name of a wording; raises OptionInvalid for any other text."""
    if wording == "2025" or wording == "2026":  # noqa: PLR1714 - narrows the type
        return wording
    raise OptionInvalid("wording", wording, 'Give "2026", which is today\'s, or "2025".')


def reword(error: ServiceError, wording: Wording) -> ServiceError:
    """Return an error with the text of a wording.

    >>> error = ValidationException("Invalid UpdateExpression: …")
    >>> error.set_validation("enveloped")
    >>> reword(error, "2026").message
    '1 validation error detected: Invalid UpdateExpression: …'
    >>> reword(error, "2025") is error
    True
    """
    if (
        wording == "2025"
        or not isinstance(error, ValidationException)
        or error.validation == "former"
    ):
        return error
    text = error.message if error.current_message is None else error.current_message
    if error.validation == "enveloped" and not error.is_bare:
        text = ENVELOPE + text
    return ValidationException(text, error.fields)
