"""What every client of a service has: connections, retries, pages and problems.

`keyfold export client` copies this module into the clients that it writes. So it imports nothing of
Keyfold, and its names are those that users of a client see.
"""

from __future__ import annotations

import json
import random
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Generic, Self, TypeVar, cast
from urllib.parse import parse_qsl, quote, urlencode, urlsplit
from uuid import uuid4

from pydantic import (
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    model_serializer,
)
from pydantic_core import to_jsonable_python

# The default of a field whose value the service chooses.
UNSET: Any = None

_T = TypeVar("_T")
_FIRST_WAIT = 0.2
_TOO_MANY, _UNAVAILABLE, _NOT_FOUND, _FIRST_ERROR = 429, 503, 404, 400


class ServiceModel(BaseModel):
    """A value that the service reads or returns; fields that nobody has set are not sent."""

    # Not a private attribute of pydantic: those make values differ.
    __slots__ = ("_etag",)
    model_config = ConfigDict(
        populate_by_name=True,
        protected_namespaces=(),
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the value as JSON; lists and maps that were filled in place count as set."""
        filled = {name for name, value in self if isinstance(value, list | dict | set) and value}
        self.model_fields_set.update(filled)
        return cast("dict[str, Any]", write(self))


def etag_of(value: ServiceModel) -> str | None:
    """Return the entity tag that a value was read with, for `if_match`; None if it had none."""
    return getattr(value, "_etag", None)


class CallFailed(Exception):
    """The service answered with a problem: its `code` is stable, its `detail` is for people."""

    def __init__(
        self, status: int, code: str, detail: str, errors: Sequence[Mapping[str, str]] = ()
    ) -> None:
        super().__init__(status, code, detail, errors)
        self.status, self.code, self.detail = status, code, detail
        # Which arguments are invalid, and why.
        self.errors = tuple(errors)

    def __str__(self) -> str:
        found = "; ".join(f"{each.get('argument')}: {each.get('message')}" for each in self.errors)
        return f"{self.detail} {found} [{self.code}]" if found else f"{self.detail} [{self.code}]"


class ResultPage(BaseModel, Generic[_T]):
    """One page of results; `next` leads to the following one, and is None for the last."""

    items: list[_T]
    next: str | None
    # How many stored items do not fit their declaration.
    invalid: int


class Results(Generic[_T]):
    """The results of a pattern, over all pages; a page is read when its first item is needed."""

    def __init__(self, read: Callable[[str | None], ResultPage[_T]], resume: str | None) -> None:
        self._read, self._resume = read, resume

    def __iter__(self) -> Iterator[_T]:
        for page in self.pages():
            yield from page.items

    def pages(self) -> Iterator[ResultPage[_T]]:
        """Yield page after page."""
        page = self.page()
        yield page
        while page.next is not None:
            page = self._read(page.next)
            yield page

    def page(self) -> ResultPage[_T]:
        """Return the first page only."""
        return self._read(self._resume)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def to_problem(self) -> CallFailed:
        try:
            found: Any = json.loads(self.body)
            return CallFailed(self.status, found["code"], found["detail"], found.get("errors", ()))
        except (ValueError, TypeError, KeyError, AttributeError):
            # Something between the client and the service has answered.
            detail = f"The answer has status {self.status}, and is not one of the service."
            return CallFailed(self.status, f"http-{self.status}", detail)

    def find_wait(self, attempt: int) -> float | None:
        """Return how long to wait before the request is sent again; None if that would not help."""
        after = self.headers.get("retry-after", "")
        seconds = float(after) if after.isdecimal() else _back_off(attempt)
        if self.status in (_TOO_MANY, _UNAVAILABLE):
            return seconds
        # The same request, whose connection was lost, is still running.
        return seconds if b'"request-in-progress"' in self.body else None


class PatternClient:
    """Calls the patterns of a service; threads may share it.

    `token` is a bearer token, or a function that returns one before each request. A request that is
    refused because the service is busy, or whose connection is lost, is sent again up to `retries`
    times. A write has an idempotency key, so that it is done once; without `idempotency_keys`, for
    services that keep none, a write whose connection is lost is not sent again.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | Callable[[], str] | None = None,
        api_key: str | None = None,
        timeout_seconds: float = 30.0,
        retries: int = 3,
        max_wait_seconds: float = 30.0,
        idempotency_keys: bool = True,
        ssl_context: ssl.SSLContext | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        found = urlsplit(url)
        if found.scheme not in ("http", "https") or found.hostname is None:
            raise ValueError(f"the URL of a service is like https://api.example, not {url!r}")
        self._host, self._port, self._root = found.hostname, found.port, found.path.rstrip("/")
        self._is_secure = found.scheme == "https"
        self._token, self._api_key = token, api_key
        self._timeout, self._retries, self._max_wait = timeout_seconds, retries, max_wait_seconds
        self._has_keys = idempotency_keys
        self._ssl_context, self._sleep = ssl_context, sleep
        self._idle: deque[HTTPConnection] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        while self._idle:
            self._idle.pop().close()

    def _list(
        self,
        path: str,
        adapter: TypeAdapter[ResultPage[_T]],
        arguments: Mapping[str, object],
        page_size: int | None,
        resume: str | None,
    ) -> Results[_T]:
        headers = {} if page_size is None else {"prefer": f"maxpagesize={page_size}"}

        def read(link: str | None) -> ResultPage[_T]:
            query = _write_query(arguments) if link is None else parse_qsl(urlsplit(link).query)
            return adapter.validate_json(self._get(path, query, headers).body)

        return Results(read, resume)

    def _find(
        self, path: str, adapter: TypeAdapter[_T], arguments: Mapping[str, object]
    ) -> _T | None:
        try:
            return self._read(path, adapter, arguments)
        except CallFailed as problem:
            if (problem.status, problem.code) == (_NOT_FOUND, "not-found"):
                return None
            raise

    def _find_all(
        self, path: str, adapter: TypeAdapter[list[_T]], arguments: Mapping[str, object]
    ) -> list[_T]:
        return self._find(path, adapter, arguments) or []

    def _read(self, path: str, adapter: TypeAdapter[_T], arguments: Mapping[str, object]) -> _T:
        return _parse(adapter, self._get(path, _write_query(arguments), {}))

    def _get(
        self, path: str, query: Sequence[tuple[str, str]], headers: Mapping[str, str]
    ) -> _Answer:
        target = f"{path}?{urlencode(query)}" if query else path
        return self._call("GET", target, headers, None)

    def _write(
        self,
        path: str,
        adapter: TypeAdapter[_T],
        arguments: Mapping[str, object],
        idempotency_key: str | None,
        if_match: str | None = None,
    ) -> _T:
        answer = self._post(path, arguments, idempotency_key, if_match)
        return _parse(adapter, answer)

    def _change(
        self,
        path: str,
        adapter: TypeAdapter[_T],
        arguments: Mapping[str, object],
        idempotency_key: str | None,
        if_match: str | None = None,
    ) -> _T | None:
        answer = self._post(path, arguments, idempotency_key, if_match)
        return _parse(adapter, answer) if answer.body else None

    def _change_all(
        self,
        path: str,
        adapter: TypeAdapter[list[_T]],
        arguments: Mapping[str, object],
        idempotency_key: str | None,
    ) -> list[_T]:
        # A list of nothing is answered with nothing.
        return self._change(path, adapter, arguments, idempotency_key) or []

    def _post(
        self,
        path: str,
        arguments: Mapping[str, object],
        idempotency_key: str | None,
        if_match: str | None,
    ) -> _Answer:
        headers = {"content-type": "application/json"}
        if idempotency_key is None and self._has_keys:
            idempotency_key = uuid4().hex
        if idempotency_key is not None:
            headers["idempotency-key"] = idempotency_key
        if if_match is not None:
            headers["if-match"] = if_match
        body = json.dumps(_to_json(arguments), ensure_ascii=False).encode()
        return self._call("POST", path, headers, body)

    def _call(
        self, method: str, target: str, given: Mapping[str, str], body: bytes | None
    ) -> _Answer:
        may_repeat = body is None or "idempotency-key" in given
        attempt = 0
        while True:
            headers = {**given, **self._authenticate()}
            wait: float | None = None
            try:
                answer = self._exchange(method, self._root + target, headers, body, may_repeat)
            except (OSError, HTTPException):
                if not may_repeat or attempt >= self._retries:
                    raise
                wait = _back_off(attempt)
            else:
                wait = answer.find_wait(attempt)
                if wait is None or wait > self._max_wait or attempt >= self._retries:
                    if answer.status >= _FIRST_ERROR:
                        raise answer.to_problem()
                    return answer
            attempt += 1
            self._sleep(wait)

    def _authenticate(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        if self._token is not None:
            token = self._token if isinstance(self._token, str) else self._token()
            headers["authorization"] = f"Bearer {token}"
        if self._api_key is not None:
            headers["x-api-key"] = self._api_key
        return headers

    @staticmethod
    def _given(**arguments: object) -> dict[str, object]:
        """Return the arguments that are given: for the others, the pattern has defaults."""
        return {name: value for name, value in arguments.items() if value is not None}

    @staticmethod
    def _segment(value: object) -> str:
        """Return a value as a segment of a path."""
        return quote(_to_text(_to_json(value)), safe="")

    def _exchange(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None,
        may_repeat: bool,  # noqa: FBT001 - private
    ) -> _Answer:
        if not may_repeat:
            # One that was idle may have been closed by the service meanwhile.
            with closing(self._connect()) as connection:
                return _exchange_on(connection, method, target, headers, body)
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        is_new = connection.sock is None
        try:
            answer = _exchange_on(connection, method, target, headers, body)
        except (OSError, HTTPException) as error:
            connection.close()
            if is_new or isinstance(error, TimeoutError):
                raise
            # The service has closed a connection that was idle.
            connection = self._connect()
            answer = _exchange_on(connection, method, target, headers, body)
        self._idle.append(connection)
        return answer

    def _connect(self) -> HTTPConnection:
        if self._is_secure:
            context = self._ssl_context
            return HTTPSConnection(self._host, self._port, timeout=self._timeout, context=context)
        return HTTPConnection(self._host, self._port, timeout=self._timeout)


def _exchange_on(
    connection: HTTPConnection,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes | None,
) -> _Answer:
    try:
        connection.request(method, target, body, dict(headers))
        response = connection.getresponse()
        named = {name.lower(): value for name, value in response.getheaders()}
        return _Answer(response.status, named, response.read())
    except BaseException:
        connection.close()
        raise


def _parse(adapter: TypeAdapter[_T], answer: _Answer) -> _T:
    value = adapter.validate_json(answer.body)
    if isinstance(value, ServiceModel):
        object.__setattr__(value, "_etag", answer.headers.get("etag"))
    return value


def _write_query(arguments: Mapping[str, object]) -> list[tuple[str, str]]:
    query: list[tuple[str, str]] = []
    for name, value in arguments.items():
        plain = _to_json(value)
        if isinstance(value, list | tuple | set | frozenset):
            query += [(name, _to_text(each)) for each in plain]
        elif plain is not None:
            query.append((name, _to_text(plain)))
    return query


def _to_text(plain: Any) -> str:
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _to_json(value: object) -> Any:
    """Return a value as JSON has it, without the fields that nobody has set."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {_to_text(_to_json(name)): _to_json(each) for name, each in members.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_json(each) for each in cast("Sequence[object]", value)]
    return to_jsonable_python(value, bytes_mode="base64")


def _back_off(attempt: int) -> float:
    return _FIRST_WAIT * (1 << attempt) * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
