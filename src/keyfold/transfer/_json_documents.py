"""Splits JSON documents into values: arrays, and objects that follow one another.

A file of lines has an item in each line. A document is any other JSON: an array of items, items
that are printed over several lines, one after another, or the output of a scan, which has its items
in `Items`. It is read piece by piece, so a large array takes no more memory than a small one.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

# An item has at most 400 KB, and JSON escapes one byte as at most six characters.
LONGEST_VALUE = 4 << 20
_CHUNK = 1 << 16
_BLANK = re.compile(r"[\s,\ufeff]*")
_REST_OF_LINE = re.compile(r"[^\n]*")
# The beginning of a scan's output, up to its items.
_SCAN = re.compile(
    r'\{(?:\s*"(?:Scanned)?Count"\s*:\s*\d+\s*,|\s*"ConsumedCapacity"\s*:\s*(?:null|\{[^{}]*\})\s*,)*'
    r'\s*"Items"\s*:\s*\['
)
# A string without an end goes to the end: what follows a quote in it is no string.
_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\]]', re.DOTALL)
# The members of a scan's output.
_SCAN_MEMBERS = frozenset(
    {
        *("Items", "Count", "ScannedCount", "ConsumedCapacity"),
        *("LastEvaluatedKey", "NextToken", "ResponseMetadata"),
    }
)


class JsonText(NamedTuple):
    """The text of a value, and the number of the line that it begins in.

    `problem` says why it is not JSON; None if it is.
    """

    text: str
    line: int
    problem: str | None = None


class ValueTooLong(Exception):
    """A value is longer than any item can be; the argument is the line that it begins in."""


def refuse_constant(name: str) -> Any:
    """Raise ValueError for NaN or an infinity, which Python's JSON parser would accept."""
    raise ValueError(f"{name} is not a number that can be stored")


# To find where a value ends: numbers are left as text, because they are not used.
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=refuse_constant)


def is_scan_output(value: Any) -> bool:
    """Return whether a JSON value is the output of a scan or a query, with its items in `Items`."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("Items"), list)  # pyright: ignore[reportUnknownMemberType]
        and _SCAN_MEMBERS.issuperset(value)  # pyright: ignore[reportUnknownArgumentType]
    )


def has_lines(stream: IO[bytes]) -> bool:
    """Return whether a stream has an item in each line; False for a document.

    The first line that is not blank decides. It is a complete JSON value in a file of lines. If it
    is not, the file is a document if it begins with an array, or with a value of several lines.
    """
    first = b""
    while line := stream.readline(LONGEST_VALUE):
        first = line.removeprefix(codecs.BOM_UTF8).strip()
        if first:
            break
    if not first.startswith(b"{"):
        return not first.startswith(b"[")
    try:
        return not is_scan_output(json.loads(first))
    except (ValueError, RecursionError):
        pass
    stream.seek(0)
    try:
        value = next(split_values(stream))
    except (UnicodeDecodeError, ValueTooLong):
        return True
    return value.problem is not None


@dataclass(slots=True)
class _Buffer:
    """The part of a stream that was read and not used yet, from `place` on."""

    stream: IO[bytes]
    decoder: codecs.IncrementalDecoder
    text: str = ""
    place: int = 0
    line: int = 1
    is_ended: bool = False

    def fill(self) -> bool:
        """Read more, at least as much as there is; return whether there was any."""
        if self.is_ended:
            return False
        left = self.text[self.place :]
        data = self.stream.read(max(_CHUNK, len(left)))
        self.is_ended = not data
        self.text, self.place = left + self.decoder.decode(data, final=not data), 0
        return True

    def take(self, end: int) -> str:
        """Return the text up to a place, and go there."""
        taken = self.text[self.place : end]
        self.place = end
        self.line += taken.count("\n")
        return taken

    def skip_blanks(self) -> bool:
        """Go to the next character that is not a separator; return whether there is one."""
        while True:
            found = _BLANK.match(self.text, self.place)
            assert found is not None  # it matches nothing, too
            self.take(found.end())
            if self.place < len(self.text):
                return True
            if not self.fill():
                return False

    @property
    def size(self) -> int:
        return len(self.text) - self.place


def split_values(stream: IO[bytes]) -> Iterator[JsonText]:
    """Yield the values of a document, in order: the elements of arrays, and other values.

    Text that is not JSON is yielded with the problem: an object that has an error, or the rest of a
    line. Raises ValueTooLong, and UnicodeDecodeError for text that is not UTF-8.
    """
    buffer = _Buffer(stream, codecs.getincrementaldecoder("utf-8")())
    is_inside = is_scan = False
    while buffer.skip_blanks():
        begins = buffer.text[buffer.place]
        if begins == "[" and not is_inside:
            buffer.take(buffer.place + 1)
            is_inside = True
        elif begins == "]" and is_inside:
            buffer.take(buffer.place + 1)
            is_inside = False
            if is_scan:
                yield from _leave_scan(buffer)
                is_scan = False
        else:
            found = _take_value(buffer, may_be_scan=not is_inside)
            if found is None:
                is_inside = is_scan = True
            else:
                yield found
    if is_inside:
        yield JsonText("", buffer.line, "the array has no end")


def _take_value(buffer: _Buffer, *, may_be_scan: bool) -> JsonText | None:
    """Return the next value; None if it is a scan's output, whose items are the next values."""
    line, problem, value, end = buffer.line, "", None, None
    while True:
        try:
            value, end = _DECODER.raw_decode(buffer.text, buffer.place)
        except RecursionError:
            problem = "it is nested too deeply"
        except ValueError as error:
            problem = f"it is not JSON: {describe_error(error)}"
        # A number may go on after what was read.
        if end is not None and (end < len(buffer.text) or buffer.text[end - 1] in '}]"'):
            break
        if buffer.size > LONGEST_VALUE or not buffer.fill():
            break
    # What is too long for an item may still be a scan's output.
    is_scan = is_scan_output(value) if end is not None else not buffer.is_ended
    scan = _SCAN.match(buffer.text, buffer.place) if may_be_scan and is_scan else None
    if scan is not None:
        buffer.take(scan.end())
        return None
    return _take_invalid(buffer, problem) if end is None else JsonText(buffer.take(end), line)


def _take_invalid(buffer: _Buffer, problem: str) -> JsonText:
    """Return text that is not JSON: an object up to its closing bracket, or the rest of a line."""
    line = buffer.line
    if buffer.text[buffer.place] in "{[":
        end = _find_closing(buffer.text, buffer.place)
        if end is None and not buffer.is_ended:
            raise ValueTooLong(line)
        return JsonText(buffer.take(len(buffer.text) if end is None else end), line, problem)
    found = _REST_OF_LINE.match(buffer.text, buffer.place)
    assert found is not None  # it matches nothing, too
    return JsonText(buffer.take(found.end()), line, problem)


def _find_closing(text: str, place: int) -> int | None:
    depth = 0
    for found in _BRACKET.finditer(text, place):
        if found[0] in "{[":
            depth += 1
        elif found[0] in "}]":
            depth -= 1
            if depth == 0:
                return found.end()
    return None


def _leave_scan(buffer: _Buffer) -> Iterator[JsonText]:
    """Go past the other members of a scan's output; yield them if they are something else."""
    line = buffer.line
    while buffer.size <= LONGEST_VALUE and buffer.fill():
        pass
    rest = buffer.text[buffer.place :]
    try:
        value, end = _DECODER.raw_decode(f'{{"Items":[]{rest}')
    except (ValueError, RecursionError) as error:
        yield JsonText(
            buffer.take(len(buffer.text)), line, f"it is not JSON: {describe_error(error)}"
        )
        return
    text = buffer.take(buffer.place + end - len('{"Items":[]'))
    if not is_scan_output(value):
        yield JsonText(text, line, "it follows a list of items, and is not part of a scan's output")


def describe_error(error: Exception) -> str:
    """Return what is wrong with a JSON text, and where."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at {error.doc[error.pos : error.pos + 20]!r}"
    return str(error)
