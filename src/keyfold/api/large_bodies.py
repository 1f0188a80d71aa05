"""Parses large bodies in slices, so that other threads get a turn in between.

The parser holds the interpreter's lock from the first byte to the last: half a second for 16 MB of
small values. Here, a body is cut after commas, and each slice is completed to a JSON text of its own:
with the brackets that are open where it begins, and those that close what is open where it ends. The
result of each is attached to what has been read before. Each slice is parsed by the same parser, so
what is valid JSON, and what it means, is the same.
"""

from __future__ import annotations

import gc
import threading
from typing import Any, cast
from uuid import uuid4

import orjson

from keyfold.api.disposal import free_in_parts
from keyfold.errors import SerializationException

# About a millisecond's work.
SLICE_BYTES = 1 << 15
# The service allows values 32 levels deep, each with two brackets, and puts a few around them.
MAX_DEPTH = 128
# The objects and arrays of a body. 16 MB of numbers, one digit each, have 1.7 million.
MAX_CONTAINERS = 2_000_000
# A text in an item has at most 400 KB, each of which JSON may write as six bytes.
MAX_TEXT_BYTES = 5 << 19

_TEXT_TOO_LONG = (
    "A text of the request has more than 2.5 MB of JSON. An item has at most 400 KB: "
    "split the text, or store it elsewhere"
)
# Strings without a comma between them are names of nested objects, or not JSON.
_MAX_PARTS = 4 * MAX_DEPTH
_EXCEPT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SPACE = b" \t\r\n"

# Collections are paused for as long as any thread parses: each would go through all that has been
# parsed so far, with the lock held, and find nothing.
_pausing = threading.Lock()
_paused = 0


def parse_in_slices(body: bytes) -> Any:
    """Return the JSON of a body, as `parse_body` does; raises SerializationException.

    Also raises it for a body that is nested deeper than MAX_DEPTH, or that has more objects and
    arrays than MAX_CONTAINERS, or a text longer than MAX_TEXT_BYTES: no valid request has. The time
    it takes is proportional to the body's size.

    >>> parse_in_slices(b'{"TableName": "Music"}')
    {'TableName': 'Music'}
    """
    _pause_collections()
    parser = _SliceParser(body)
    try:
        return parser.parse()
    except orjson.JSONDecodeError:
        parser.discard()
        raise SerializationException from None
    except SerializationException as error:
        parser.discard()
        raise SerializationException(error.message) from None
    finally:
        _resume_collections()


def _pause_collections() -> None:
    global _paused  # noqa: PLW0603 - the collector is global, too
    with _pausing:
        if _paused == 0 and not gc.isenabled():
            return
        _paused += 1
        gc.disable()


def _resume_collections() -> None:
    global _paused  # noqa: PLW0603 - as above
    with _pausing:
        if _paused == 0:
            # Something else has disabled them.
            return
        _paused -= 1
        if _paused > 0:
            return
        # Makes everything old at once: the collector would go through it twice before it is. What a
        # server has frozen gets old as well, which makes full collections longer, but they are rare.
        gc.freeze()
        gc.unfreeze()
        gc.enable()


def _split_strings(text: bytes) -> list[bytes]:
    """Return what is outside of strings, and in them, by turns; `text` begins outside."""
    if b"\\" in text:
        text = text.replace(rb"\\", b"__").replace(rb"\"", b"__")
    return text.split(b'"')


class _SliceParser:
    """Parses one body."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        # The brackets that are open, and the lists and dicts that they began.
        self._open = b""
        self._containers: list[Any] = []
        self._seen = 0
        # What stands for earlier and later values in a slice; nobody can guess it.
        self._before, self._after = uuid4().hex, uuid4().hex

    def parse(self) -> Any:
        body, place = self._body, 0
        while True:
            end, outside = self._cut(place)
            piece = body[place:end]
            is_last = end == len(body)
            self._check_ends(piece, is_last=is_last)
            start = self._reopen()
            kept = self._count_brackets(outside)
            if is_last is bool(self._open):
                raise SerializationException
            parsed = orjson.loads(start + piece + self._close())
            inner = self._find_open(parsed)
            if self._containers:
                self._attach(parsed)
            else:
                self._containers = [parsed]
            if is_last:
                return self._containers[0]
            self._containers = self._containers[:kept] + inner[kept:]
            # Without the comma.
            place = end + 1

    def discard(self) -> None:
        """Free what has been parsed."""
        del self._containers[1:]
        free_in_parts(self._containers)

    def _cut(self, place: int) -> tuple[int, bytes]:
        """Return where a slice ends, and what it has outside of strings.

        It ends before a comma that is not in a string, or at the end of the body.
        """
        body, size = self._body, SLICE_BYTES
        while place + size < len(body):
            parts = _split_strings(body[place : place + size])
            end = place + size
            for index in range(len(parts) - 1, -1, -1):
                part = parts[index]
                end -= len(part)
                comma = part.rfind(b",") if index % 2 == 0 else -1
                if comma >= 0:
                    return end + comma, b"".join((*parts[:index:2], part[:comma]))
                # The quote before it.
                end -= 1
            if len(parts) > _MAX_PARTS:
                raise SerializationException
            # A long text, unless it is space.
            if size > MAX_TEXT_BYTES and body[place + size // 2 : place + size].strip(_SPACE):
                raise SerializationException(_TEXT_TOO_LONG)
            size *= 2
        return len(body), b"".join(_split_strings(body[place:])[::2])

    def _check_ends(self, piece: bytes, *, is_last: bool) -> None:
        """Check that there are values before and after the commas where the body was cut."""
        if self._open and piece.lstrip(_SPACE)[:1] in (b"", b"]", b"}", b","):
            raise SerializationException
        if not is_last and piece.rstrip(_SPACE)[-1:] in (b"", b"[", b"{", b",", b":"):
            raise SerializationException

    def _count_brackets(self, outside: bytes) -> int:
        """Open and close the brackets of a slice; return how many were open throughout."""
        rest = outside.translate(None, _EXCEPT_BRACKETS)
        self._seen += rest.count(b"[") + rest.count(b"{")
        if self._seen > MAX_CONTAINERS:
            raise SerializationException
        for _ in range(MAX_DEPTH):
            size = len(rest)
            rest = rest.replace(b"[]", b"").replace(b"{}", b"")
            if len(rest) == size:
                break
        closed = len(rest) - len(rest.lstrip(b"]}"))
        kept = len(self._open) - closed
        self._open = self._open[: max(kept, 0)] + rest[closed:]
        if kept < 0 or len(self._open) > MAX_DEPTH or self._open.strip(b"[{"):
            raise SerializationException
        return kept

    def _reopen(self) -> bytes:
        """Return the brackets that are open, with something in them for all but the last."""
        name = b'"%b":' % self._before.encode()
        opened = [b"[" if each == ord("[") else b"{" + name for each in self._open[:-1]]
        return b"".join(opened) + self._open[-1:]

    def _close(self) -> bytes:
        """Return the end of a slice: a last member in everything that is open, and its bracket."""
        name = self._after.encode()
        ends = {ord("["): b',"%b"]' % name, ord("{"): b',"%b":0}' % name}
        return b"".join(ends[each] for each in reversed(self._open))

    def _find_open(self, parsed: Any) -> list[Any]:
        """Return the containers of a slice that are still open, without their last member."""
        found: list[Any] = []
        for each in self._open:
            if found:
                parsed = self._find_open_child(found[-1])
            if each == ord("["):
                parsed.pop()
            else:
                del parsed[self._after]
            found.append(parsed)
        return found

    def _find_open_child(self, container: Any) -> Any:
        if isinstance(container, list):
            return cast("list[Any]", container)[-1]
        # Not always the last value: a repeated name stays where it was first.
        values = reversed(cast("dict[str, Any]", container).values())
        return next(each for each in values if self._is_open(each))

    def _is_open(self, value: Any) -> bool:
        if isinstance(value, list):
            return cast("list[Any]", value)[-1:] == [self._after]
        return isinstance(value, dict) and self._after in value

    def _attach(self, parsed: Any) -> None:
        """Add the members of a slice to the containers that were open where it begins."""
        innermost = len(self._containers) - 1
        for depth, container in enumerate(self._containers):
            child: Any = None
            if isinstance(container, list):
                child = parsed[0] if depth < innermost else None
                cast("list[Any]", container).extend(parsed[depth < innermost :])
            else:
                child = parsed.pop(self._before, None)
                cast("dict[str, Any]", container).update(parsed)
            parsed = child
