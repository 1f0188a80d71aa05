"""Keywords of class statements: unknown ones are refused, with the nearest known one."""

from __future__ import annotations

from collections.abc import Collection as AnyCollection
from collections.abc import Iterable

from keyfold.errors import DeclarationInvalid


def check_keywords(
    owner: str, given: Iterable[str], known: AnyCollection[str], others: Iterable[str] = ()
) -> None:
    """Raise DeclarationInvalid for keywords that are not among the known ones.

    `others` are keywords that someone else takes, and that may have been meant.

    >>> check_keywords("Order", ["tabel"], ["table", "key"])
    Traceback (most recent call last):
    keyfold.errors.DeclarationInvalid: Order: unknown keyword 'tabel'. Did you mean 'table'? [declaration-invalid]
    """
    problems: list[str] = []
    for name in given:
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - loaded with the first mistake

            near = get_close_matches(name, [*known, *others], n=1)
            advice = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
            problems.append(f"{owner}: unknown keyword {name!r}. {advice}")
    if problems:
        raise DeclarationInvalid(tuple(problems))
