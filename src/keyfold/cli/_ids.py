"""Parsing of a principal's ids, given as `--id user=ada`."""

from __future__ import annotations

from collections.abc import Iterable

import typer


def read_ids(words: Iterable[str]) -> dict[str, str]:
    """Return ids by name; raises BadParameter.

    >>> read_ids(["user=ada"])
    {'user': 'ada'}
    """
    ids: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise typer.BadParameter(f"{word!r:.80} is not NAME=VALUE.", param_hint="--id")
        if name in ids:
            raise typer.BadParameter(f"{name} is given twice.", param_hint="--id")
        ids[name] = value
    return ids
