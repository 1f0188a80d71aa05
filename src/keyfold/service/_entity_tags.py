"""Entity tags (RFC 9110): which state of an entity a client has seen, and writes that depend on it.

A tag is the version of an entity, or a hash of its item if it has no version. `If-Match` makes a write
of one item conditional: the tag is checked by the condition of the write itself, not before it.
"""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from keyfold.errors import AlreadyExists, ConditionFailed, PreconditionFailed, PreconditionInvalid
from keyfold.expressions import Comparison, Condition, FunctionCall, Or, Path, join_all
from keyfold.model import Delete, Entity, Put, Request, Update
from keyfold.model._any_values import encode_any
from keyfold.model._operands import to_literal
from keyfold.model._requests import Mapped
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._upserts import Upsert
from keyfold.model._writes import Presence, entity_exists
from keyfold.service._running import Metering, Outcome, run_request
from keyfold.store import AsyncStore
from keyfold.store._canonical_items import to_canonical
from keyfold.store._decoding import is_expired
from keyfold.values import Item, normalise_item

IF_MATCH, IF_NONE_MATCH = "if-match", "if-none-match"
_DIGEST_BYTES = 18
# A list of tags, each weak or strong; their characters are those of RFC 9110.
_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
_LIST = re.compile(rf"[ \t,]*{_TAG.pattern}(?:[ \t]*,[ \t,]*{_TAG.pattern})*[ \t,]*")
_VERSION = re.compile(r"v(0|[1-9][0-9]{0,37})")
_MAX_TAGS = 50

_SingleWrite = Put[Any] | Update[Any] | Delete[Any]


@dataclass(frozen=True, slots=True)
class TagList:
    """The tags that a header names, without quotes; `is_any` for `*`."""

    strong: frozenset[str] = frozenset()
    weak: frozenset[str] = frozenset()
    is_any: bool = False

    def has_strong(self, tag: str) -> bool:
        """Return whether it names a tag, by the strong comparison: weak tags equal none."""
        return self.is_any or tag.strip('"') in self.strong

    def has(self, tag: str) -> bool:
        """Return whether it names a tag, by the weak comparison: for reads."""
        return self.has_strong(tag) or tag.strip('"') in self.weak


@dataclass(frozen=True, slots=True)
class Preconditions:
    """The conditions that the headers of a request name; None for a header that is absent."""

    if_match: TagList | None = None
    if_none_match: TagList | None = None

    def holds_for_read(self, tag: str | None) -> bool:
        """Return whether an entity is to be sent; False if the client has it already (304).

        `tag` is None for a result that has no tag, which fits `*` only. Raises PreconditionFailed.
        """
        if self.if_match is not None and not (
            self.if_match.is_any if tag is None else self.if_match.has_strong(tag)
        ):
            raise PreconditionFailed(IF_MATCH, "the item has another entity tag")
        if self.if_none_match is None:
            return True
        return not (self.if_none_match.is_any if tag is None else self.if_none_match.has(tag))


def read_preconditions(headers: Mapping[str, str]) -> Preconditions | None:
    """Return the preconditions of a request; None if it has none. Raises PreconditionInvalid."""
    if IF_MATCH not in headers and IF_NONE_MATCH not in headers:
        return None
    lists = [
        None if name not in headers else read_tags(name, headers[name])
        for name in (IF_MATCH, IF_NONE_MATCH)
    ]
    return Preconditions(*lists)


def read_tags(header: str, text: str) -> TagList:
    """Return the tags that a header names.

    >>> sorted(read_tags("if-match", '"v1", "v2"').strong)
    ['v1', 'v2']

    Raises PreconditionInvalid.
    """
    if text.strip(" \t") == "*":
        return TagList(is_any=True)
    if _LIST.fullmatch(text) is None:
        advice = 'Send `*`, or tags as an ETag header has them, such as "v1".'
        raise PreconditionInvalid(header, "it is not a list of entity tags", advice)
    found = _TAG.findall(text)
    if len(found) > _MAX_TAGS:
        raise PreconditionInvalid(header, f"it names {len(found)} tags", f"Send up to {_MAX_TAGS}.")
    return TagList(
        frozenset(tag for weak, tag in found if not weak),
        frozenset(tag for weak, tag in found if weak),
    )


class EntityTags:
    """Makes the tags of entities, and runs writes on the condition that a tag is still the same.

    `secret` keys the hashes: an item cannot be guessed by its tag.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def tag_of(self, value: object) -> str | None:
        """Return the entity tag of an entity, in quotes; None for a value of another type."""
        if not isinstance(value, Entity):
            return None
        schema = type(value).keyfold_schema()
        version = schema.version_field
        if version is not None:
            return f'"v{getattr(value, version.name)}"'
        item = normalise_item(schema.encode(value))[0]
        digest = hashlib.blake2b(
            to_canonical(item), key=self._secret, digest_size=_DIGEST_BYTES
        ).digest()
        return f'"{urlsafe_b64encode(digest).decode()}"'

    async def run(
        self,
        store: AsyncStore,
        request: Request[Any],
        preconditions: Preconditions,
        charge: Callable[[float], None],
    ) -> Outcome:
        """Run a write on its preconditions, and return its result with what it consumed.

        `charge` is called with the units, also those of a read before the write. Raises
        PreconditionFailed, and PreconditionInvalid for a request that does not write one item.
        """
        write, rebuild = _find_write(request, IF_MATCH if preconditions.if_match else IF_NONE_MATCH)
        with Metering() as meter:
            try:
                write = await self._add_condition(store, write, preconditions)
            finally:
                if meter.read_units:
                    charge(meter.read_units)
        try:
            return await run_request(store, rebuild(write), charge)
        except ConditionFailed as error:
            self._explain(error, preconditions)
            raise

    async def _add_condition(
        self, store: AsyncStore, write: _SingleWrite, preconditions: Preconditions
    ) -> _SingleWrite:
        if preconditions.if_none_match is not None:
            write = _must_not_exist(write, preconditions.if_none_match)
        tags = preconditions.if_match
        if tags is None:
            return write
        if isinstance(write, Put) and write.presence is Presence.MUST_NOT_EXIST:
            raise PreconditionFailed(
                IF_MATCH, "the request creates an item, which has no entity tag yet"
            )
        if tags.is_any:
            return write.where(entity_exists(write.schema))
        if write.schema.version_field is not None:
            return write.where(_has_version(write.schema, tags))
        return write.where(await self._is_unchanged(store, write, tags))

    async def _is_unchanged(
        self, store: AsyncStore, write: _SingleWrite, tags: TagList
    ) -> Condition:
        """Return the condition that an item is as it is now, if it has one of the tags.

        Raises PreconditionFailed.
        """
        schema, table = write.schema, write.table
        request = {
            "TableName": table.name,
            "Key": write.item_key,
            "ConsistentRead": True,
            "ReturnConsumedCapacity": "TOTAL",
        }
        item: Item = (await store.execute("GetItem", request)).get("Item") or {}
        ttl = table.ttl
        if not item or (ttl is not None and is_expired(item, ttl, int(store.clock()))):
            raise PreconditionFailed(IF_MATCH, "there is no such item")
        try:
            found = schema.decode(item) if schema.fits(item) else None
        except ItemMismatch:
            found = None
        tag = self.tag_of(found)
        if tag is None or not tags.has_strong(tag):
            raise PreconditionFailed(IF_MATCH, "the item has another entity tag")
        keys = table.key.names
        same = [
            Comparison("=", Path((name,)), value)
            for name, value in item.items()
            if name not in keys
        ]
        absent = [
            FunctionCall("attribute_not_exists", (Path((name,)),))
            for name in sorted(_find_absent(schema, item))
        ]
        whole = join_all(entity_exists(schema), *same, *absent)
        assert whole is not None  # it has at least one part
        return whole

    def _explain(self, error: ConditionFailed, preconditions: Preconditions) -> None:
        """Raise PreconditionFailed if a write failed because of its preconditions."""
        if preconditions.if_none_match is not None and isinstance(error, AlreadyExists):
            raise PreconditionFailed(IF_NONE_MATCH, "the item exists") from error
        tags = preconditions.if_match
        if tags is None:
            return
        if error.found is None:
            raise PreconditionFailed(
                IF_MATCH, "there is no such item, or it was changed"
            ) from error
        if not tags.has_strong(self.tag_of(error.found) or ""):
            raise PreconditionFailed(IF_MATCH, "the item has another entity tag") from error


def is_deletion(request: Request[Any]) -> bool:
    """Return whether a request deletes the entity that it returns, which has no tag then."""
    while isinstance(request, Mapped):
        request = request.request
    return isinstance(request, Delete)


def _find_write(
    request: Request[Any], header: str
) -> tuple[_SingleWrite, Callable[[_SingleWrite], Request[Any]]]:
    """Return the write of one item that a request is, and what makes the request of it again.

    Raises PreconditionInvalid.
    """
    if isinstance(request, Mapped):
        write, rebuild = _find_write(request.request, header)
        return write, lambda changed: replace(request, request=rebuild(changed))
    if isinstance(request, Put | Update | Delete) and not isinstance(request, Upsert):
        return cast("_SingleWrite", request), lambda changed: changed
    fact = "the request is not a write of one existing item, so it has no entity tag"
    raise PreconditionInvalid(header, fact, "Send it without the header.")


def _must_not_exist(write: _SingleWrite, tags: TagList) -> _SingleWrite:
    if not tags.is_any or not isinstance(write, Put):
        fact = "writes take only `*`, for an item that must not exist yet"
        raise PreconditionInvalid(IF_NONE_MATCH, fact, "Use If-Match.")
    if write.presence is Presence.MUST_EXIST:
        raise PreconditionFailed(IF_NONE_MATCH, "the request replaces an item that exists")
    return replace(write, presence=Presence.MUST_NOT_EXIST)


def _has_version(schema: EntitySchema, tags: TagList) -> Condition:
    """Return the condition that an entity has one of the versions; raises PreconditionFailed."""
    field = schema.version_field
    assert field is not None  # asked before
    path = Path((field.stored,))
    matches = [_VERSION.fullmatch(tag) for tag in tags.strong]
    versions = sorted({int(each[1]) for each in matches if each is not None})
    if not versions:
        raise PreconditionFailed(IF_MATCH, "the item has another entity tag")
    conditions: list[Condition] = [
        Comparison("=", path, to_literal(version, encode_any))
        if version
        else FunctionCall("attribute_not_exists", (path,))
        for version in versions
    ]
    any_version = conditions[0] if len(conditions) == 1 else Or(tuple(conditions))
    return entity_exists(schema) & any_version


def _find_absent(schema: EntitySchema, item: Item) -> set[str]:
    """Return the declared attributes that an item lacks, but for those it has under a former name."""
    renamed = {
        field.stored
        for field in schema.fields.values()
        if any(name in item for name in field.former)
    }
    return (
        set(schema.declared_names)
        - item.keys()
        - renamed
        - {part.attribute for part in schema.keys}
    )
