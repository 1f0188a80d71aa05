"""A boto3 client of the user's in place of ours, its answers and errors made ours.

boto3 tries again by rules of its own, before anything is known of it here. So what it says of a
write is believed only where no earlier try of it can have been carried out.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from typing import Any, cast

from keyfold.errors import (
    CredentialsMissing,
    KeyfoldError,
    OptionInvalid,
    ServiceError,
    TransactionCanceledException,
    UnknownOperationException,
    Unreachable,
    ValidationException,
)
from keyfold.wire.client._calls import is_of_streams
from keyfold.wire.client._faults import THROTTLED, make_error, outcome_unknown_error
from keyfold.wire.client._repeating import carries_token, is_read

_FAILED = 500
# Their answers have no moments; to look for them would take as long as the call.
_ON_ITEMS = {
    "BatchGetItem",
    "BatchWriteItem",
    "DeleteItem",
    "GetItem",
    "PutItem",
    "Query",
    "Scan",
    "TransactGetItems",
    "TransactWriteItems",
    "UpdateItem",
}


class _Translator:
    """What is done with calls of either kind of client, before and after."""

    def __init__(self, client: Any, streams_client: Any = None) -> None:
        _check("client", client, "dynamodb")
        self._client = client
        self._methods = _methods_of(client)
        if streams_client is not None:
            _check("streams_client", streams_client, "dynamodbstreams")
            self._methods = {**_methods_of(streams_client), **self._methods}
        self._exceptions: Any = import_module("botocore.exceptions")
        retries: dict[str, Any] = getattr(client.meta.config, "retries", None) or {}
        self._tries_once = retries.get("total_max_attempts") == 1

    def find_method(self, operation: str) -> Callable[..., Any]:
        """Return what makes a call; raises UnknownOperationException, OptionInvalid."""
        method = self._methods.get(operation)
        if method is None:
            if is_of_streams(operation):
                advice = "Streams need what boto3.client('dynamodbstreams') returns, too."
                raise OptionInvalid("streams_client", None, advice)
            raise UnknownOperationException
        return method

    def translate(self, operation: str, answer: dict[str, Any]) -> dict[str, Any]:
        """Return an answer as the engine would give it."""
        answer.pop("ResponseMetadata", None)
        return answer if operation in _ON_ITEMS else _without_moments(answer)

    def translate_error(
        self, operation: str, request: dict[str, Any], error: Exception
    ) -> Exception:
        """Return the error to raise in place of boto3's; another's is returned as it is."""
        kinds = self._exceptions
        if isinstance(error, kinds.ClientError):
            return self._translate_answer(operation, request, cast("Any", error).response)
        if isinstance(error, kinds.ParamValidationError):
            return ValidationException(str(error))
        if isinstance(error, kinds.NoCredentialsError | kinds.PartialCredentialsError):
            return CredentialsMissing(f"boto3 says: {error}", "Give its client some.")
        if not isinstance(error, kinds.BotoCoreError):
            return error
        detail = str(error).rstrip(".")
        is_unsent = isinstance(
            error,
            kinds.EndpointConnectionError | kinds.ConnectTimeoutError | kinds.ProxyConnectionError,
        )
        if is_read(operation, request) or (is_unsent and self._tries_once):
            return Unreachable(self._client.meta.endpoint_url, operation, 1, detail)
        return outcome_unknown_error(self._client.meta.endpoint_url, operation, 1, detail)

    def _translate_answer(
        self, operation: str, request: dict[str, Any], answer: dict[str, Any]
    ) -> KeyfoldError:
        told, about = answer.get("Error", {}), answer.get("ResponseMetadata", {})
        fields = {
            name: value
            for name, value in answer.items()
            if name not in ("Error", "ResponseMetadata", "message", "Message")
        }
        status = about.get("HTTPStatusCode", 400)
        error = make_error(told.get("Code", ""), status, told.get("Message", ""), fields)
        if is_read(operation, request) or carries_token(operation):
            return error
        where: str = self._client.meta.endpoint_url
        tries = 1 + about.get("RetryAttempts", 0)
        if status >= _FAILED:
            return outcome_unknown_error(where, operation, tries, f"the service failed ({error})")
        if tries > 1 and not self._is_sure(error):
            return outcome_unknown_error(
                where, operation, tries, "boto3 has tried it before", error
            )
        return error

    def _is_sure(self, error: ServiceError) -> bool:
        """Tell whether an error shows that no earlier try was carried out either."""
        return isinstance(error, TransactionCanceledException) or error.type in THROTTLED


class BotoClient(_Translator):
    """Calls a boto3 client, which stays the user's to close."""

    def __init__(self, client: Any, streams_client: Any = None) -> None:
        super().__init__(client, streams_client)
        if is_async(client):
            raise OptionInvalid("client", client, "open_async takes a client that is awaited.")

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation; raises what our own client does."""
        method = self.find_method(operation)
        try:
            return self.translate(operation, method(**request))
        except Exception as error:
            raise self.translate_error(operation, request, error) from error


class AsyncBotoClient(_Translator):
    """Calls an aioboto3 or aiobotocore client, which stays the user's to close."""

    async def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation; raises what our own client does."""
        method = self.find_method(operation)
        try:
            return self.translate(operation, await method(**request))
        except Exception as error:
            raise self.translate_error(operation, request, error) from error


def is_async(client: Any) -> bool:
    """Tell whether a client's calls are awaited."""
    return hasattr(client, "__aenter__")


def _check(option: str, client: Any, service: str) -> None:
    meta = getattr(client, "meta", None)
    if getattr(getattr(meta, "service_model", None), "service_name", None) != service:
        raise OptionInvalid(option, client, f"Give what boto3.client({service!r}) returns.")


def _methods_of(client: Any) -> dict[str, Callable[..., Any]]:
    """Return what makes each call."""
    return {
        operation: getattr(client, method)
        for method, operation in client.meta.method_to_api_mapping.items()
    }


def _without_moments(value: Any) -> Any:
    """Return an answer with the seconds since 1970 in place of datetimes, as JSON has them."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: _without_moments(member) for name, member in members.items()}
    if isinstance(value, list):
        return [_without_moments(member) for member in cast("list[Any]", value)]
    return value.timestamp() if isinstance(value, datetime) else value
