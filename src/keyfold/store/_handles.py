"""Handles: ids that are system keys, as end users see them.

A handle is an id, encrypted and authenticated for one principal: AES-SIV (RFC 5297) over the 128 bits
of a ULID, with the principal and the prefix of the id as associated data. It is deterministic: a
principal sees one handle for an id, in every process that has the store's key.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, cast

from pydantic import ValidationError

from keyfold.errors import (
    AccessDenied,
    DeclarationInvalid,
    HandleInvalid,
    IdInvalid,
    KeyfoldError,
    TransactionFailed,
)
from keyfold.errors._base import TemplatedError
from keyfold.keys import Ulid
from keyfold.keys._ulid import BODY_PATTERN, LENGTH, read_number

_ID_BYTES = 16
# Base64 of the id and the synthetic IV, without padding.
_SEALED_LENGTH = 43
_SEALED_LETTER = "[A-Za-z0-9_-]"
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
# Follows the prefix of a handle. An id has a digit up to 7 there, whatever its separator.
_MARK = "_h"
# A text that was cut off may end within an id. Fewer characters do not tell an id from others.
_MIN_FRAGMENT = 4
# What encoded JSON may have outside of its texts: numbers, true, false, null, NaN and Infinity, and what is
# between them.
_OUTSIDE_TEXTS = frozenset("0123456789+-.eE truefalsenullNaNInfinity,:{}[]")

# A text of JSON. One that does not end goes on to the end of the body, so that no part is read twice.
_ENCODED_TEXT = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)


class Handles:
    """Shows the system keys in texts as handles, and reads handles back, for one principal.

    `kinds` are the types of ids that are system keys. Every text is searched for them, whatever
    the type of its field. The same key, principal and id always give the same handle.
    """

    def __init__(self, kinds: Iterable[type[Ulid]], key: bytes, principal: str = "") -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # noqa: PLC0415 - loaded with the first handles

        self._kinds = {kind.head: kind for kind in kinds}
        self._by_prefix: dict[str, list[type[Ulid]]] = {}
        for kind in self._kinds.values():
            if not kind.prefix:
                fact = f"{kind.__name__}: a system key needs a prefix, by which texts are searched."
                raise DeclarationInvalid((fact,))
            self._by_prefix.setdefault(kind.prefix, []).append(kind)
        self._cipher: Any = AESSIV(key)
        # By the head of an id, what its handles begin with, and what they are bound to.
        self._marks = {head: kind.prefix + _MARK for head, kind in self._kinds.items()}
        self.principal, self._bound_to = principal, _bind(principal, self._kinds)
        prefixes, heads = _any_of(self._by_prefix), _any_of(self._kinds)
        # Whether a handle is part of a longer word, which may as well be some other base64.
        within = rf"(?P<within>(?<={_SEALED_LETTER}))?"
        sealed = rf"(?P<sealed>{_SEALED_LETTER}{{{_SEALED_LENGTH}}})"
        self._handles = re.compile(rf"{within}(?P<prefix>{prefixes}){_MARK}{sealed}")
        self._keys = re.compile(rf"(?P<head>{heads})({BODY_PATTERN})")
        fragment = BODY_PATTERN.replace(f"{{{LENGTH - 1}}}", f"{{{_MIN_FRAGMENT},}}")
        self._mask = re.compile(rf"(?P<head>{heads}){fragment}").sub
        # Whether a system key is found in encoded JSON only where a text has it.
        self._is_found_encoded = not any(
            '"' in head or _OUTSIDE_TEXTS.issuperset(head) for head in self._kinds
        )

    def of(self, principal: str) -> Handles:
        """Return the handles of another principal, with the same key."""
        other = copy(self)
        other.principal, other._bound_to = principal, _bind(principal, self._kinds)  # noqa: SLF001 - of the same class
        return other

    def show(self, text: str) -> str:
        """Return a text with a handle in place of each system key in it."""
        return self._keys.sub(self._show_key, text)

    def read(self, text: str) -> str:
        """Return a text with the id in place of each handle in it.

        Raises HandleInvalid for a handle that is not one of this principal, and for a system key.
        Within a longer word, what only looks like a handle is left as it is.
        """
        key = self._keys.search(text)
        if key is not None:
            raise HandleInvalid(self._kinds[key["head"]].__name__)
        return self._handles.sub(self._read_handle, text)

    def show_json(self, value: Any) -> Any:
        """Return a JSON value with handles in all its texts, including the names of members."""
        return _change_texts(value, self.show)

    def show_encoded(self, data: bytes) -> bytes:
        """Return encoded JSON with handles in all its texts: as `show_json`, by a single search.

        >>> class TaskId(Ulid, prefix="T", is_system_key=True): ...
        >>> handles = Handles([TaskId], bytes(64))
        >>> handles.show_encoded(b'{"task":"T#01JZ10H7X367VB2NF4YQ973DHW"}')
        b'{"task":"T_h..."}'
        """
        # Without escapes, texts are encoded as they are.
        if self._is_found_encoded and b"\\" not in data:
            return self.show(data.decode()).encode()
        changed = self.show_json(json.loads(data))
        return json.dumps(changed, ensure_ascii=False, separators=(",", ":")).encode()

    def read_json(self, value: Any) -> Any:
        """Return a JSON value with ids in place of the handles; raises HandleInvalid."""
        return _change_texts(value, self.read)

    def read_encoded(self, data: bytes) -> bytes:
        """Return encoded JSON with ids in place of the handles: as `read_json`, with numbers as written.

        Raises HandleInvalid, and UnicodeDecodeError for what is not UTF-8. What is not JSON stays so.
        """
        text = data.decode()
        if self._is_found_encoded and "\\" not in text:
            return self.read(text).encode()
        return _ENCODED_TEXT.sub(self._read_encoded_text, text).encode()

    def _read_encoded_text(self, found: re.Match[str]) -> str:
        try:
            text: str = json.loads(found[0])
        except ValueError:
            return found[0]
        return json.dumps(self.read(text))

    def show_error(self, error: KeyfoldError | ValidationError) -> str:
        """Return the message of an error for the principal: it names entities and handles, no keys.

        It is the error's `public` message, with the handles of the items that it is about, and
        without the code. A denial has its full message, which follows from the request alone; a
        validation error of pydantic has its problems, without the values.
        """
        return self._mask("…", self.show(self._describe(error)))

    def _describe(self, error: KeyfoldError | ValidationError) -> str:
        match error:
            case ValidationError():
                listed = error.errors(include_url=False, include_input=False)
                return "; ".join(self._describe_problem(dict(each)) for each in listed) + "."
            case TransactionFailed():
                reasons = dict.fromkeys(self._describe(each) for each in error.reasons if each)
                return " ".join(reasons) or error.public
            case IdInvalid(kind=kind) if kind in {each.__name__ for each in self._kinds.values()}:
                # Its message shows how ids look, and quotes one that was given as a handle.
                return HandleInvalid(kind).public
            case AccessDenied():
                return str(error).removesuffix(f" [{error.code}]")
            case TemplatedError() if {"entity", "key"} <= {*error.__match_args__}:
                facts = dict(zip(error.__match_args__, error.args, strict=True))
                subject = " ".join([facts["entity"], *self._find_handles(facts["key"])])
                return type(error)(**{**facts, "entity": subject}).public
            case _:
                return error.public

    def _describe_problem(self, problem: dict[str, Any]) -> str:
        """Return a problem that a validation found: where it is, and what it is."""
        cause = problem.get("ctx", {}).get("error")
        fact = self._describe(cause) if isinstance(cause, KeyfoldError) else problem["msg"]
        return ": ".join(filter(None, (".".join(map(str, problem["loc"])), fact.rstrip("."))))

    def _find_handles(self, text: str) -> list[str]:
        return list(dict.fromkeys(map(self._show_key, self._keys.finditer(text))))

    def _show_key(self, found: re.Match[str]) -> str:
        # The pattern has checked the id: its type would check it again.
        head, body = found.groups()
        number = read_number(body).to_bytes(_ID_BYTES)
        sealed: bytes = self._cipher.encrypt(number, self._bound_to[head])
        return self._marks[head] + _to_text(sealed)

    def _read_handle(self, found: re.Match[str]) -> str:
        try:
            return self._open(found["prefix"], found["sealed"])
        except HandleInvalid:
            if found["within"] is None:
                raise
            return found[0]

    def _open(self, prefix: str, text: str) -> str:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - loaded with the first handle

        kinds = self._by_prefix[prefix]
        sealed = b64decode(f"{text}=", b"-_")
        # The last base64 character may have unused bits, which could be changed unnoticed.
        if _to_text(sealed) == text:
            for kind in kinds:
                try:
                    opened = self._cipher.decrypt(sealed, self._bound_to[kind.head])
                except InvalidTag:
                    continue
                return kind.from_number(int.from_bytes(opened))
        raise HandleInvalid(kinds[0].__name__)


def derive_handle_key(secret: bytes) -> bytes:
    """Return the encryption key for handles, derived from the secret that also seals cursors."""
    return hashlib.sha512(b"keyfold handle\0" + secret).digest()


def _bind(principal: str, heads: Iterable[str]) -> dict[str, list[bytes]]:
    return {head: [principal.encode(), head.encode()] for head in heads}


def _to_text(sealed: bytes) -> str:
    # As `urlsafe_b64encode`, in half the time: a page may have many handles.
    return b2a_base64(sealed, newline=False).translate(_URL_SAFE, b"=").decode()


def _any_of(texts: Iterable[str]) -> str:
    """Return a pattern for any of some texts, the longest first; without texts, it matches nothing."""
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or r"(?!)"


def _change_texts(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case Mapping():
            members = cast("Mapping[str, Any]", value).items()
            return {change(name): _change_texts(each, change) for name, each in members}
        case list() | tuple():
            return [_change_texts(each, change) for each in cast("list[Any]", value)]
        case _:
            return value
