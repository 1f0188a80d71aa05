"""Secrets of items while they are edited: the browser gets a sealed text in the place of each.

A sealed text opens in the same studio, for the same principal and table alone. So an item with secrets can be
compared, saved and undone without being shown. A secret that was typed is sealed in every answer.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from keyfold.model import Table
from keyfold.model._codecs import ModelCodec
from keyfold.model._hidden_attributes import hide_secrets
from keyfold.model._value_codecs import ValueCodec
from keyfold.studio._actions import StudioCall
from keyfold.studio._bodies import StudioBody
from keyfold.studio._problems import StudioProblem
from keyfold.studio._shown_items import find_entity
from keyfold.values import Item, restore_binaries

# What a sealed text begins with.
SEALED = "keyfold-sealed:"
_ITEMS = ("item", "read", "now", "yours", "before", "after")


def with_secrets(run: Callable[[StudioCall], Any]) -> Callable[[StudioCall], Any]:
    """Return an action that gets secrets for sealed texts, and whose answer has sealed texts for secrets."""

    def run_sealed(call: StudioCall) -> Any:
        if not has_secrets(call.table):
            return run(call)
        box = _SecretBox(call)
        body = box.open_body(call.body)
        try:
            return box.seal(run(replace(call, body=body)), body)
        except StudioProblem as error:
            shown = error.problem
            facts = box.seal(dict(shown.facts), body)
            raise StudioProblem(shown.status, shown.code, shown.message, **facts) from None

    return run_sealed


def has_secrets(table: Table) -> bool:
    """Return whether an entity of a table has a secret field."""
    return any(_has_secret(each.codec, set()) for each in table.entities.values())


def _has_secret(codec: ModelCodec, seen: set[int]) -> bool:
    if id(codec) in seen:
        return False
    seen.add(id(codec))
    return any(_is_secret(each.codec, seen) for each in codec.fields.values())


def _is_secret(codec: ValueCodec, seen: set[int]) -> bool:
    inside = [*codec.positions, *codec.options, *([] if codec.members is None else [codec.members])]
    if codec.is_secret or any(_is_secret(each, seen) for each in inside):
        return True
    return codec.model is not None and _has_secret(codec.model, seen)


class _SecretBox:
    """Seals and opens the secrets of one call."""

    def __init__(self, call: StudioCall) -> None:
        self._table = call.table
        self._cipher = call.workspace.remember(("edit secrets",), _make_cipher)
        identity = "" if call.principal is None else call.principal.identity
        self._bound_to = [call.table.name.encode(), identity.encode()]

    def open_body(self, body: StudioBody) -> StudioBody:
        """Return a request with secrets in the place of sealed texts; raises StudioProblem."""
        return StudioBody(_map_texts(dict(body.members), self._open))

    def seal(self, result: Any, body: StudioBody) -> Any:
        """Return an answer with sealed texts in the place of the secrets of its items, and of the request's."""
        secrets = set[str]()
        for item in _find_items([result, body.members]):
            secrets.update(self._find_secrets(item))
        secrets.discard("")
        return _map_texts(result, lambda text: self._seal(text) if text in secrets else text)

    def _find_secrets(self, item: Item) -> Iterator[str]:
        if any(name not in item for name in self._table.key.names):
            return
        schema = find_entity(self._table, restore_binaries(item))
        if schema is not None:
            yield from _differing_texts(item, hide_secrets([schema], item))

    def _seal(self, text: str) -> str:
        sealed: bytes = self._cipher.encrypt(text.encode(), self._bound_to)
        return SEALED + urlsafe_b64encode(sealed).decode()

    def _open(self, text: str) -> str:
        if SEALED not in text:
            return text
        head, *rest = text.split(SEALED)
        return head + "".join(map(self._open_piece, rest))

    def _open_piece(self, piece: str) -> str:
        """Return the secret of a sealed text, and what follows it: a raw item is one long text."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - loaded with the first secret

        end = next((at for at, each in enumerate(piece) if not _is_base64(each)), len(piece))
        try:
            opened: bytes = self._cipher.decrypt(urlsafe_b64decode(piece[:end]), self._bound_to)
        except (InvalidTag, ValueError):
            message = "A sealed secret is of another studio, table or role. Open the item again."
            raise StudioProblem(409, "edit-sealed", message) from None
        text = opened.decode()
        # Within the text of a raw item, quotes and the like have to stay escaped.
        return _escape(text) + piece[end:] if end < len(piece) else text


def _make_cipher() -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # noqa: PLC0415 - loaded with the first secret

    return AESSIV(AESSIV.generate_key(256))


def _is_base64(letter: str) -> bool:
    return letter.isascii() and (letter.isalnum() or letter in "-_=")


def _escape(text: str) -> str:
    import json  # noqa: PLC0415 - few raw items have secrets

    return json.dumps(text, ensure_ascii=False)[1:-1]


def _find_items(result: Any) -> Iterator[Item]:
    """Yield the items in an answer, by the names of its members."""
    if isinstance(result, Mapping):
        for name, value in cast("Mapping[str, Any]", result).items():
            if name in _ITEMS and isinstance(value, dict):
                yield cast("Item", value)
            yield from _find_items(value)
    elif isinstance(result, list | tuple):
        for each in cast("list[Any]", result):
            yield from _find_items(each)


def _differing_texts(value: Any, hidden: Any) -> Iterator[str]:
    """Yield the texts of a value that are masked in another form of it."""
    if value == hidden:
        return
    if isinstance(value, dict) and isinstance(hidden, dict):
        members, others = cast("dict[str, Any]", value), cast("dict[str, Any]", hidden)
        if members.keys() == others.keys():
            for name in members:
                yield from _differing_texts(members[name], others[name])
            return
    if isinstance(value, list) and isinstance(hidden, list):
        listed, masked = cast("list[Any]", value), cast("list[Any]", hidden)
        if len(listed) == len(masked):
            for pair in zip(listed, masked, strict=True):
                yield from _differing_texts(*pair)
            return
    yield from _texts_in(value)


def _texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in cast("dict[str, Any]", value).values():
                yield from _texts_in(each)
        case list():
            for each in cast("list[Any]", value):
                yield from _texts_in(each)
        case _:
            pass


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            members = cast("dict[str, Any]", value).items()
            return {name: _map_texts(each, change) for name, each in members}
        case list() | tuple():
            return [_map_texts(each, change) for each in cast("list[Any]", value)]
        case _:
            return value
