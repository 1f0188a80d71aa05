"""What can be wrong with a table's own declaration, before any entity is known."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from keyfold.model._changes import VIEW_TYPES
from keyfold.model._keys import Index, Key

_match_name = re.compile(r"[a-zA-Z0-9_.-]{3,255}").fullmatch
# As many attributes as one side of an index's key may have.
_MOST_ATTRIBUTES = 4
_LONGEST_NAME = 255
# As many as a table may have, and as many names as its indexes may list.
_MOST_GLOBAL = 20
_MOST_LOCAL = 5
_MOST_PROJECTED = 20
_MOST_PROJECTED_IN_ALL = 100


def find_problems(
    name: Any,
    key: Any,
    indexes: Sequence[Any],
    *,
    attributes: Sequence[tuple[str, Any]],
    naming: Any,
    namings: Collection[str],
    stream: Any,
) -> list[str]:
    """Return everything that is wrong; `attributes` are those of the ttl and the type, if any."""
    shown = name if isinstance(name, str) else repr(name)
    if not isinstance(key, Key):
        return [f"{shown}: its key is a Key, and {key!r:.80} is none."]
    strays = [each for each in indexes if not isinstance(each, Index)]
    if strays:
        return [f"{shown}: its indexes are Index, and {strays[0]!r:.80} is none."]
    return [
        *_check_names(name, indexes),
        *_check_key(shown, key, [index.key for index in indexes]),
        *_check_attributes(shown, key, attributes),
        *_check_naming(shown, naming, namings),
        *_check_stream(shown, stream),
        *chain.from_iterable(_check_index(shown, key, index) for index in indexes),
        *_check_counts(shown, indexes),
    ]


def _check_names(name: Any, indexes: Sequence[Index]) -> Iterator[str]:
    for each in (name, *(index.name for index in indexes)):
        if not isinstance(each, str) or _match_name(each) is None:
            yield (
                f"{each!r} cannot name a table or an index: those have 3 to 255 letters, digits, "
                "'_', '-' and '.'."
            )
    for place, index in enumerate(indexes):
        if index.name in {other.name for other in indexes[:place]}:
            yield f"{name}: index {index.name!r} is declared twice."


def _check_key(name: str, key: Key, others: Sequence[Key]) -> Iterator[str]:
    for each in dict.fromkeys(each for one in (key, *others) for each in one.names):
        if not _is_attribute(each):
            yield (
                f"{name}: {each!r:.80} cannot name a key attribute: those have 1 to 255 characters."
            )
    for one in (key, *others):
        for each, kind in one.types.items():
            if each not in one.names:
                yield f"{name}: {each!r} has the type {kind!r}, and is no attribute of that key."
            elif kind not in ("S", "N", "B"):
                yield f"{name}: key attribute {each!r} is 'S', 'N' or 'B', and not {kind!r}."
    if len(key.partition) != 1 or len(key.sort) > 1:
        yield f"{name}: a table's key has one partition attribute, and one sort at most."
    elif key.partition == key.sort:
        yield f"{name}: its key has {key.names[0]!r} twice."


def _check_attributes(name: str, key: Key, attributes: Sequence[tuple[str, Any]]) -> Iterator[str]:
    taken = dict.fromkeys(key.names, "part of its key")
    for role, attribute in attributes:
        if attribute is None:
            continue
        if not _is_attribute(attribute):
            yield f"{name}: its {role} is the name of an attribute, and not {attribute!r:.80}."
        elif attribute in taken:
            yield f"{name}: its {role} is {attribute!r}, which is {taken[attribute]} already."
        else:
            taken[attribute] = f"its {role}"


def _check_naming(name: str, naming: Any, namings: Collection[str]) -> Iterator[str]:
    if naming not in namings:
        yield f"{name}: there is no naming {naming!r}; there are {', '.join(namings)}."


def _check_stream(name: str, stream: Any) -> Iterator[str]:
    if stream is not None and stream not in VIEW_TYPES:
        known = ", ".join(map(repr, VIEW_TYPES))
        yield f"{name}: there is no stream {stream!r}; there are {known}."


def _check_index(name: str, key: Key, index: Index) -> Iterator[str]:
    subject, sides = f"{name}: index {index.name!r}", (index.key.partition, index.key.sort)
    if index.local and (sides[0] != key.partition or len(sides[1]) != 1 or not key.sort):
        yield (
            f"{subject} is local, so it needs a table with a sort key, whose partition key "
            f"{', '.join(key.partition)} it shares, and one sort attribute of its own."
        )
    if not sides[0] or any(len(side) > _MOST_ATTRIBUTES for side in sides):
        yield (
            f"{subject} has 1 to {_MOST_ATTRIBUTES} attributes in its partition key, and as many "
            "at most in its sort key."
        )
    if len(set(index.key.names)) != len(index.key.names):
        yield f"{subject} has an attribute twice in its key."
    project = index.project
    if isinstance(project, str):
        if project not in ("all", "keys"):
            yield f"{subject} projects {project!r}: that is 'all', 'keys', or a list of names."
        return
    if not project or not all(map(_is_attribute, project)):
        yield (
            f"{subject} projects {list(project)!r:.80}, where at least one name of an attribute is "
            "needed, of 1 to 255 characters."
        )
    if len(set(project)) != len(project):
        yield f"{subject} projects a name twice."
    if len(project) > _MOST_PROJECTED:
        yield f"{subject} projects {len(project)} names, and {_MOST_PROJECTED} go."


def _check_counts(name: str, indexes: Sequence[Index]) -> Iterator[str]:
    local = sum(index.local for index in indexes)
    for count, most, what in (
        (len(indexes) - local, _MOST_GLOBAL, "global indexes"),
        (local, _MOST_LOCAL, "local indexes"),
        (
            sum(len(index.project) for index in indexes if not isinstance(index.project, str)),
            _MOST_PROJECTED_IN_ALL,
            "names that its indexes project",
        ),
    ):
        if count > most:
            yield f"{name}: it has {count} {what}, and {most} go."


def _is_attribute(name: object) -> bool:
    return isinstance(name, str) and 1 <= len(name) <= _LONGEST_NAME
