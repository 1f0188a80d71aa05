"""Idempotency keys: a write that is sent again with its `Idempotency-Key` is carried out once.

A record of the request is kept in the table for 24 hours, as one of Keyfold's own items. First it says
that the request is running, then it has the answer. A service that stops in between leaves a record
without an answer; such a request is never run again. `docs/internals/service.md` has the protocol.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from keyfold.errors import (
    AnswerNotKept,
    ConditionalCheckFailedException,
    EarlierOutcomeUnknown,
    IdempotencyKeyInvalid,
    IdempotencyKeyReused,
    KeyfoldError,
    OptionInvalid,
    OutcomeUnknown,
    RequestInProgress,
    ServiceError,
    Unavailable,
)
from keyfold.model import Table
from keyfold.service._http import ServiceResponse
from keyfold.store import AsyncStore
from keyfold.store._own_items import (
    ANSWER,
    EXPIRY,
    IDEMPOTENCY_START,
    LEASE,
    OWNER,
    REQUEST,
    own_key,
)
from keyfold.store._sealing import SealBroken, seal, unseal
from keyfold.values import Item

KEPT_SECONDS = 86_400
# How long a request may take; after that, nobody expects its answer.
LEASE_SECONDS = 60
# An item has up to 400 KB.
_MAX_ANSWER_BYTES = 380_000
_MAX_KEY_LENGTH = 255
_VISIBLE = range(0x21, 0x7F)
_RETRY_SECONDS = 1
# They are about one response, and not of its result.
_NOT_KEPT = frozenset({"keyfold-capacity", "preference-applied"})
REPLAYED = "idempotency-replayed"

_LOG = logging.getLogger("keyfold.service")

Respond = Callable[[AsyncStore], Awaitable[ServiceResponse]]


@dataclass(frozen=True, slots=True)
class _RequestRecord:
    """The record of one request: its key, a hash of the request, and who runs it."""

    key: Item
    request: str
    owner: str


class IdempotencyKeys:
    """Runs writes once for each idempotency key of a principal.

    `store` is the whole store, whose clock is used. Raises OptionInvalid if the store has no key, or
    the table's partition key is not text.
    """

    def __init__(self, store: AsyncStore, table: Table) -> None:
        kinds = table.key_types()
        partition = table.key.partition[0]
        if kinds[partition] != "S":
            fact = f"{table.name}, whose partition key is of type {kinds[partition]}"
            advice = "Records of requests need a partition key of text: serve it without them."
            raise OptionInvalid("idempotency_keys", fact, advice)
        self._store, self._table = store, table
        self._sort_kind = kinds[table.key.sort[0]] if table.key.sort else "S"
        self._hash_key = store.derive_secret("idempotency keys")
        self._seal_key = store.derive_secret("answers of idempotent requests")

    async def run(
        self,
        principal: str,
        key: str,
        endpoint: str,
        request: Sequence[str],
        store: AsyncStore,
        respond: Respond,
    ) -> ServiceResponse:
        """Return the response of `respond`, or the one that an equal request got before.

        `request` has the texts that must be the same for the same key: of the body, which
        `to_canonical_json` returns, the path and preconditions. `respond` is called with a store
        like `store`, the principal's. What it raises is raised; the request may be sent again if
        nothing was written.

        Raises IdempotencyKeyInvalid, IdempotencyKeyReused, RequestInProgress,
        EarlierOutcomeUnknown and AnswerNotKept.
        """
        record = self._make_record(principal, read_key(key), endpoint, request)
        found = await self._begin(record)
        if found is not None:
            return self._replay(record, found)
        watched, watch = store.watching_writes()
        try:
            response = await respond(watched)
        except BaseException as error:
            if not watch.may_have_written:
                await self._forget(record)
            elif isinstance(error, Exception):
                await self._save(record, {})
            raise
        await self._save(record, {ANSWER: {"B": self._seal(record, response)}})
        return response

    # Records.

    def _make_record(
        self, principal: str, key: str, endpoint: str, request: Sequence[str]
    ) -> _RequestRecord:
        named = own_key(
            self._table.key, IDEMPOTENCY_START, self._hash("key", principal, key), self._sort_kind
        )
        hashed = self._hash("request", endpoint, *request)
        return _RequestRecord(named, hashed, secrets.token_hex(16))

    def _hash(self, *texts: str) -> str:
        # As JSON, so that no two lists of texts give the same bytes.
        return hmac.new(self._hash_key, json.dumps(texts).encode(), hashlib.sha256).hexdigest()

    def _item(self, record: _RequestRecord, more: Item) -> Item:
        expiry = {"N": str(int(self._store.clock()) + KEPT_SECONDS)}
        item: Item = {
            **record.key,
            REQUEST: {"S": record.request},
            OWNER: {"S": record.owner},
            EXPIRY: expiry,
            **more,
        }
        if self._table.ttl is not None:
            item[self._table.ttl] = expiry
        return item

    async def _begin(self, record: _RequestRecord) -> Item | None:
        """Write the record of a request that begins; return the one that is there, if there is one."""
        now = int(self._store.clock())
        partition = self._table.key.partition[0]
        request = {
            "TableName": self._table.name,
            "Item": self._item(record, {LEASE: {"N": str(now + LEASE_SECONDS)}}),
            # A table without a TTL attribute keeps expired records; one with it, for a while.
            "ConditionExpression": "attribute_not_exists(#pk) OR #expiry <= :now",
            "ExpressionAttributeNames": {"#pk": partition, "#expiry": EXPIRY},
            "ExpressionAttributeValues": {":now": {"N": str(now)}},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        try:
            await self._store.execute("PutItem", request)
        except (ConditionalCheckFailedException, OutcomeUnknown) as error:
            service = error.error if isinstance(error, OutcomeUnknown) else error
            found = service.fields.get("Item") if isinstance(service, ServiceError) else None
            found = found or await self._read(record)
            # An attempt whose response was lost wrote the record.
            return None if found.get(OWNER, {}).get("S") == record.owner else found
        return None

    async def _read(self, record: _RequestRecord) -> Item:
        request = {"TableName": self._table.name, "Key": record.key, "ConsistentRead": True}
        found: Item | None = (await self._store.execute("GetItem", request)).get("Item")
        if found is None:
            # It was removed just now: the request that had it wrote nothing, and neither did this.
            raise Unavailable("PutItem", 1, "another request with the same key has just ended")
        return found

    async def _save(self, record: _RequestRecord, more: Item) -> None:
        """Write the record of a request that has ended: with its answer, or without a lease.

        A failure is only logged. The record is then as after a crash, and the request did run.
        """
        request = {
            "TableName": self._table.name,
            "Item": self._item(record, more),
            "ConditionExpression": "#owner = :owner",
            "ExpressionAttributeNames": {"#owner": OWNER},
            "ExpressionAttributeValues": {":owner": {"S": record.owner}},
        }
        try:
            await self._store.execute("PutItem", request)
        except KeyfoldError as error:
            _LOG.warning("the answer to a request with an idempotency key is not kept: %s", error)

    async def _forget(self, record: _RequestRecord) -> None:
        """Remove the record of a request that wrote nothing: it may be sent again."""
        request = {
            "TableName": self._table.name,
            "Key": record.key,
            "ConditionExpression": "#owner = :owner",
            "ExpressionAttributeNames": {"#owner": OWNER},
            "ExpressionAttributeValues": {":owner": {"S": record.owner}},
        }
        try:
            await self._store.execute("DeleteItem", request)
        except KeyfoldError as error:
            _LOG.warning("the record of a request that wrote nothing is left: %s", error)

    # Answers.

    def _replay(self, record: _RequestRecord, found: Item) -> ServiceResponse:
        if not hmac.compare_digest(found.get(REQUEST, {}).get("S", ""), record.request):
            raise IdempotencyKeyReused
        sealed: bytes | None = found.get(ANSWER, {}).get("B")
        if sealed is None:
            lease = found.get(LEASE, {}).get("N")
            if lease is not None and float(lease) > self._store.clock():
                raise RequestInProgress(_RETRY_SECONDS)
            raise EarlierOutcomeUnknown
        try:
            response = _unpack(unseal(self._seal_key, sealed, _bind(record)))
        except SealBroken:
            raise EarlierOutcomeUnknown from None
        return replace(response, headers={**response.headers, REPLAYED: "true"})

    def _seal(self, record: _RequestRecord, response: ServiceResponse) -> bytes:
        packed = _pack(response)
        if len(packed) > _MAX_ANSWER_BYTES:
            packed = orjson.dumps([response.status]) + b"\n"
        return seal(self._seal_key, packed, _bind(record))


def _bind(record: _RequestRecord) -> bytes:
    """Return what an answer is sealed for: the key and the request that it belongs to."""
    return repr((sorted(record.key.items()), record.request)).encode()


def _pack(response: ServiceResponse) -> bytes:
    headers = {name: text for name, text in response.headers.items() if name not in _NOT_KEPT}
    return orjson.dumps([response.status, response.content_type, headers]) + b"\n" + response.body


def _unpack(packed: bytes) -> ServiceResponse:
    """Return a kept response; raises AnswerNotKept if only its status was kept."""
    head, _, body = packed.partition(b"\n")
    status, *rest = orjson.loads(head)
    if not rest:
        raise AnswerNotKept(status)
    content_type, headers = rest
    return ServiceResponse(status, body, content_type, headers)


def read_key(text: str) -> str:
    """Return the key that an `Idempotency-Key` header has; it may be quoted, as a string is.

    >>> read_key('"8e03978e-40d5"')
    '8e03978e-40d5'

    Raises IdempotencyKeyInvalid.
    """
    key = text.strip()
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not key:
        raise IdempotencyKeyInvalid("it is empty")
    if len(key) > _MAX_KEY_LENGTH:
        raise IdempotencyKeyInvalid(f"it has {len(key)} characters")
    if any(ord(each) not in _VISIBLE for each in key):
        raise IdempotencyKeyInvalid("it has a space, a control character or one beyond ASCII")
    return key


def to_canonical_json(body: bytes) -> str:
    """Return a body of JSON as a text that is the same for the same JSON, whatever its layout.

    >>> to_canonical_json(b'{"b": 1,  "a": "x"}') == to_canonical_json(b'{"a":"x","b":1}')
    True
    """
    if not body.strip():
        return ""
    # Numbers as they are written: as floats, different ones could become equal.
    parsed: Any = json.loads(body, parse_int=_as_written, parse_float=_as_written)
    return json.dumps(parsed, sort_keys=True)


def _as_written(number: str) -> dict[str, str]:
    """Return a number as an object that no text equals."""
    return {"number": number}
