"""Keys as pieces: the separators of a table's keys, and the texts between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from keyfold.imports._texts import TextKind, kind_of, match_whole

# Characters that hardly occur in ids, and those that are separators only if there is none of these.
_STRONG = "#|/~^\\"
_WEAK = ":_-."
_MIN_SHARE = 0.05
# A weak separator needs a few words before it, such as `user-1` and `order-7`.
_MAX_HEADS_SHARE = 0.1
_MIN_HEADS = 3


@dataclass(frozen=True, slots=True)
class SplitText:
    """The text of a key attribute: pieces, and the separators between them."""

    pieces: tuple[str, ...]
    separators: tuple[str, ...]


def find_separators(texts: Sequence[str]) -> str:
    """Return the characters that separate the pieces of keys.

    >>> find_separators(["USER#a-b", "USER#c-d", "ORDER#7"])
    '#'
    """
    strong = "".join(each for each in _STRONG if _share_of(each, texts) >= _MIN_SHARE)
    if strong:
        return strong
    return next((each for each in _WEAK if _separates(each, texts)), "")


def _share_of(separator: str, texts: Sequence[str]) -> float:
    found = sum(len(split_text(text, separator).pieces) > 1 for text in texts)
    return found / len(texts) if texts else 0.0


def _separates(separator: str, texts: Sequence[str]) -> bool:
    if _share_of(separator, texts) < _MIN_SHARE:
        return False
    split = [split_text(text, separator).pieces for text in texts]
    heads = {pieces[0] for pieces in split if len(pieces) > 1}
    are_words = all(kind_of(head) is TextKind.WORD for head in heads)
    return are_words and len(heads) <= max(_MIN_HEADS, len(texts) * _MAX_HEADS_SHARE)


def split_text(text: str, separators: Iterable[str]) -> SplitText:
    """Return the pieces of a text. Times, URLs and UUIDs are one piece.

    >>> split_text("U#eve#O", "#")
    SplitText(pieces=('U', 'eve', 'O'), separators=('#', '#'))
    """
    known = frozenset(separators)
    pieces: list[str] = []
    found: list[str] = []
    start = 0
    while True:
        whole = match_whole(text, start)
        end = start if whole is None else whole.end()
        if whole is not None and end < len(text) and text[end] not in known:
            end = start
        while end < len(text) and text[end] not in known:
            end += 1
        pieces.append(text[start:end])
        if end >= len(text):
            return SplitText(tuple(pieces), tuple(found))
        found.append(text[end])
        start = end + 1
