"""Adapters for the user's boto3 clients: responses and errors become those of our own clients.

boto3 retries by its own rules, without reporting the attempts. So its error for a write is
trusted only if no earlier attempt of the write can have been carried out.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from typing import Any, cast

from keyfold.api import find_operation, names_where
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
from keyfold.wire.client._faults import THROTTLED, make_error, outcome_unknown_error
from keyfold.wire.client._repeating import is_read

_FAILED = 500
# Their responses hold no timestamps, and searching them would take as long as the call.
_ITEM_OPERATIONS = names_where(lambda each: each.subject == "items")


class _Translator:
    """Translates calls of synchronous and asynchronous boto3 clients."""

    def __init__(self, client: Any, streams_client: Any = None) -> None:
        _check("client", client, "dynamodb")
        self._client = client
        self._methods = _methods_of(client)
        if streams_client is not None:
            _check("streams_client", streams_client, "dynamodbstreams")
            self._methods = {**_methods_of(streams_client), **self._methods}
        self._exceptions: Any = import_module("botocore.exceptions")
        retries: dict[str, Any] = getattr(client.meta.config, "retries", None) or {}
        self._attempts_once = retries.get("total_max_attempts") == 1

    def __repr__(self) -> str:
        return f"<{type(self._client).__name__} client at {self._client.meta.endpoint_url}>"

    def find_method(self, operation: str) -> Callable[..., Any]:
        """Return the client's method; raises UnknownOperationException, OptionInvalid."""
        method = self._methods.get(operation)
        if method is None:
            if find_operation(operation).is_stream:
                advice = "Streams also need a client from boto3.client('dynamodbstreams')."
                raise OptionInvalid("streams_client", None, advice)
            raise UnknownOperationException
        return method

    def translate(self, operation: str, response: dict[str, Any]) -> dict[str, Any]:
        """Return a response as the engine would give it."""
        response.pop("ResponseMetadata", None)
        return response if operation in _ITEM_OPERATIONS else _with_timestamps(response)

    def translate_error(
        self, operation: str, request: dict[str, Any], error: Exception
    ) -> Exception:
        """Return the error to raise in place of boto3's; errors of others are returned unchanged."""
        kinds = self._exceptions
        if isinstance(error, kinds.ClientError):
            return self._translate_client_error(operation, request, cast("Any", error).response)
        if isinstance(error, kinds.ParamValidationError):
            return ValidationException(str(error))
        if isinstance(error, kinds.NoCredentialsError | kinds.PartialCredentialsError):
            return CredentialsMissing(f"boto3 reports: {error}", "Configure some for its client.")
        if not isinstance(error, kinds.BotoCoreError):
            return error
        detail = str(error).rstrip(".")
        is_unsent = isinstance(
            error,
            kinds.EndpointConnectionError | kinds.ConnectTimeoutError | kinds.ProxyConnectionError,
        )
        if is_read(operation, request) or (is_unsent and self._attempts_once):
            return Unreachable(self._client.meta.endpoint_url, operation, 1, detail)
        return outcome_unknown_error(self._client.meta.endpoint_url, operation, 1, detail)

    def _translate_client_error(
        self, operation: str, request: dict[str, Any], response: dict[str, Any]
    ) -> KeyfoldError:
        details, metadata = response.get("Error", {}), response.get("ResponseMetadata", {})
        fields = {
            name: value
            for name, value in response.items()
            if name not in ("Error", "ResponseMetadata", "message", "Message")
        }
        status = metadata.get("HTTPStatusCode", 400)
        error = make_error(details.get("Code", ""), status, details.get("Message", ""), fields)
        if is_read(operation, request) or find_operation(operation).takes_token:
            return error
        endpoint: str = self._client.meta.endpoint_url
        attempts = 1 + metadata.get("RetryAttempts", 0)
        if status >= _FAILED:
            return outcome_unknown_error(
                endpoint, operation, attempts, f"the service failed ({error})"
            )
        if attempts > 1 and not self._excludes_earlier_success(error):
            return outcome_unknown_error(
                endpoint, operation, attempts, "boto3 has retried it", error
            )
        return error

    def _excludes_earlier_success(self, error: ServiceError) -> bool:
        """Return whether an error proves that no earlier attempt was carried out either."""
        return isinstance(error, TransactionCanceledException) or error.type in THROTTLED


class BotoClient(_Translator):
    """Calls a boto3 client, which the user has to close."""

    def __init__(self, client: Any, streams_client: Any = None) -> None:
        super().__init__(client, streams_client)
        if is_async(client):
            raise OptionInvalid("client", client, "Use open_async for an asynchronous client.")

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation; raises the errors of our own client."""
        method = self.find_method(operation)
        try:
            return self.translate(operation, method(**request))
        except Exception as error:
            raise self.translate_error(operation, request, error) from error


class AsyncBotoClient(_Translator):
    """Calls an aioboto3 or aiobotocore client, which the user has to close."""

    async def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation; raises the errors of our own client."""
        method = self.find_method(operation)
        try:
            return self.translate(operation, await method(**request))
        except Exception as error:
            raise self.translate_error(operation, request, error) from error


def is_async(client: Any) -> bool:
    """Return whether a client's calls are awaited."""
    return hasattr(client, "__aenter__")


def _check(option: str, client: Any, service: str) -> None:
    meta = getattr(client, "meta", None)
    if getattr(getattr(meta, "service_model", None), "service_name", None) != service:
        raise OptionInvalid(option, client, f"Give a client from boto3.client({service!r}).")


def _methods_of(client: Any) -> dict[str, Callable[..., Any]]:
    """Return the client's methods by operation."""
    return {
        operation: getattr(client, method)
        for method, operation in client.meta.method_to_api_mapping.items()
    }


def _with_timestamps(value: Any) -> Any:
    """Return a response with datetimes replaced by seconds since 1970, as in the API's JSON."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: _with_timestamps(member) for name, member in members.items()}
    if isinstance(value, list):
        return [_with_timestamps(member) for member in cast("list[Any]", value)]
    return value.timestamp() if isinstance(value, datetime) else value
