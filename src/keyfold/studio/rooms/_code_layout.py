"""Layout of code: members on one line if they fit, otherwise each on its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

WIDTH = 88
_INDENT = "    "


def lay_out(start: str, members: Sequence[str], end: str, width: int = WIDTH) -> str:
    """Return members between brackets.

    >>> print(lay_out("f(", ["one=1", "two=2"], ")"))
    f(one=1, two=2)
    >>> print(lay_out("f(", ["one=1", "two=2"], ")", width=10))
    f(
        one=1,
        two=2,
    )
    """
    line = f"{start}{', '.join(members)}{end}"
    if not members or (len(line) <= width and "\n" not in line):
        return line
    body = "".join(f"{indent(each)},\n" for each in members)
    return f"{start}\n{body}{end}"


def indent(text: str) -> str:
    """Return a text whose lines are indented once."""
    return "\n".join(f"{_INDENT}{line}" if line else line for line in text.split("\n"))


def comment(sentences: Iterable[str], mark: str = "#") -> list[str]:
    """Return sentences as the lines of a comment."""
    lines: list[str] = []
    for sentence in sentences:
        line = mark
        for word in sentence.split():
            if len(line) + len(word) >= WIDTH and line != mark:
                lines.append(line)
                line = mark
            line = f"{line} {word}"
        lines.append(line)
    return lines
