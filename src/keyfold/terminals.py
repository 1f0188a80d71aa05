r"""Text that is safe to print: control characters of a terminal, and of bidirectional text, are escaped.

A stored value may have escape sequences, which change the title, the clipboard or what was printed
before, or marks that show text in another order than it has. Escapes have the form of JSON (`\u001b`),
so that JSON stays JSON, with the same values.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any, TextIO, cast

# C0 but for tab and newline, DEL, C1, the separators of lines and paragraphs, the characters with
# Unicode's property Bidi_Control, and halves of surrogate pairs, which cannot be encoded.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escape_controls(text: str) -> str:
    r"""Return a text with its control characters escaped, except tabs and newlines.

    >>> print(escape_controls("\x1b]0;title\x07"), escape_controls("naïve 🙂"))
    \u001b]0;title\u0007 naïve 🙂
    """
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


class EscapedStream:
    """A text stream that escapes the control characters of everything written to it."""

    def __init__(self, stream: TextIO) -> None:
        # The name by which rich finds the stream below: its styles are control characters, too.
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a text, escaped; return its length."""
        self.rich_proxied_file.write(escape_controls(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts, escaped."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def find_stream(stream: TextIO) -> TextIO:
    """Return the stream below an escaped one, for callers that escape what they write."""
    return stream.rich_proxied_file if isinstance(stream, EscapedStream) else stream


@contextmanager
def escaped_output() -> Generator[None]:
    """Escape what this process prints, for the time of the block.

    That is standard error, with its logs and tracebacks; and standard output if it is a terminal: what
    is piped is data. After an exception, the streams stay escaped, for Python's own traceback.
    """
    before = sys.stdout, sys.stderr
    if sys.stdout.isatty():
        sys.stdout = cast(TextIO, EscapedStream(find_stream(sys.stdout)))
    sys.stderr = cast(TextIO, EscapedStream(find_stream(sys.stderr)))
    try:
        yield
    except Exception:
        raise
    except BaseException:
        sys.stdout, sys.stderr = before
        raise
    else:
        sys.stdout, sys.stderr = before
