"""Validation of a table's own declaration, before any entity is declared."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from keyfold.model._changes import VIEW_TYPES
from keyfold.model._keys import Index, Key

_match_name = re.compile(r"[a-zA-Z0-9_.-]{3,255}").fullmatch
# DynamoDB's limit on the attributes of an index's partition key, and of its sort key.
_MAX_ATTRIBUTES = 4
_MAX_NAME_LENGTH = 255
# DynamoDB's limits on the indexes of a table, and on the attribute names that they project.
_MAX_GLOBAL = 20
_MAX_LOCAL = 5
_MAX_PROJECTED = 20
_MAX_PROJECTED_IN_ALL = 100


def find_problems(
    name: Any,
    key: Any,
    indexes: Sequence[Any],
    *,
    attributes: Sequence[tuple[str, Any]],
    naming: Any,
    namings: Collection[str],
    stream: Any,
    reserved: Sequence[Any],
) -> list[str]:
    """Return every problem of a declaration; `attributes` has `ttl` and `type_attribute`."""
    shown = name if isinstance(name, str) else repr(name)
    if not isinstance(key, Key):
        return [f"{shown}: its key must be a Key; got {key!r:.80}."]
    invalid = [each for each in indexes if not isinstance(each, Index)]
    if invalid:
        return [f"{shown}: its indexes must be Index objects; got {invalid[0]!r:.80}."]
    return [
        *_check_names(name, indexes),
        *_check_key(shown, key, [index.key for index in indexes]),
        *_check_attributes(shown, key, attributes),
        *_check_naming(shown, naming, namings),
        *_check_stream(shown, stream),
        *_check_reserved(shown, reserved),
        *chain.from_iterable(_check_index(shown, key, index) for index in indexes),
        *_check_counts(shown, indexes),
    ]


def _check_names(name: Any, indexes: Sequence[Index]) -> Iterator[str]:
    for each in (name, *(index.name for index in indexes)):
        if not isinstance(each, str) or _match_name(each) is None:
            yield (
                f"{each!r} is not a valid name of a table or index: use 3 to 255 letters, digits, "
                "'_', '-' and '.'."
            )
    for position, index in enumerate(indexes):
        if index.name in {other.name for other in indexes[:position]}:
            yield f"{name}: index {index.name!r} is declared twice."


def _check_key(name: str, key: Key, others: Sequence[Key]) -> Iterator[str]:
    for each in dict.fromkeys(each for one in (key, *others) for each in one.names):
        if not _is_attribute(each):
            yield (
                f"{name}: {each!r:.80} is not a valid name of a key attribute: use 1 to 255 "
                "characters."
            )
    for one in (key, *others):
        for each, kind in one.types.items():
            if each not in one.names:
                yield f"{name}: types has {each!r}, which is not an attribute of that key."
            elif kind not in ("S", "N", "B"):
                yield f"{name}: key attribute {each!r} must be 'S', 'N' or 'B', not {kind!r}."
    if len(key.partition) != 1 or len(key.sort) > 1:
        yield f"{name}: a table's key has one partition attribute and at most one sort attribute."
    elif key.partition == key.sort:
        yield f"{name}: its key has {key.names[0]!r} twice."


def _check_attributes(name: str, key: Key, attributes: Sequence[tuple[str, Any]]) -> Iterator[str]:
    taken = dict.fromkeys(key.names, "part of its key")
    for role, attribute in attributes:
        if attribute is None:
            continue
        if not _is_attribute(attribute):
            yield f"{name}: its {role} must be the name of an attribute, not {attribute!r:.80}."
        elif attribute in taken:
            yield f"{name}: its {role} is {attribute!r}, which is already {taken[attribute]}."
        else:
            taken[attribute] = f"its {role}"


def _check_naming(name: str, naming: Any, namings: Collection[str]) -> Iterator[str]:
    if naming not in namings:
        yield f"{name}: naming is {naming!r}; it must be one of {', '.join(namings)}."


def _check_reserved(name: str, reserved: Sequence[Any]) -> Iterator[str]:
    for each in reserved:
        if not isinstance(each, str) or not each:
            yield f"{name}: reserved has {each!r:.80}; it must have prefixes of partition keys."


def _check_stream(name: str, stream: Any) -> Iterator[str]:
    if stream is not None and stream not in VIEW_TYPES:
        known = ", ".join(map(repr, VIEW_TYPES))
        yield f"{name}: stream is {stream!r}; it must be one of {known}."


def _check_index(name: str, key: Key, index: Index) -> Iterator[str]:
    subject, sides = f"{name}: index {index.name!r}", (index.key.partition, index.key.sort)
    if index.local and (sides[0] != key.partition or len(sides[1]) != 1 or not key.sort):
        yield (
            f"{subject} is local, so it must have the table's partition key "
            f"{', '.join(key.partition)} and one sort attribute, in a table with a sort key."
        )
    if not sides[0] or any(len(side) > _MAX_ATTRIBUTES for side in sides):
        yield (
            f"{subject} must have 1 to {_MAX_ATTRIBUTES} attributes in its partition key, and at "
            f"most {_MAX_ATTRIBUTES} in its sort key."
        )
    if len(set(index.key.names)) != len(index.key.names):
        yield f"{subject} has an attribute twice in its key."
    project = index.project
    if isinstance(project, str):
        if project not in ("all", "keys"):
            yield f"{subject} projects {project!r}; pass 'all', 'keys' or a list of names."
        return
    if not project or not all(map(_is_attribute, project)):
        yield (
            f"{subject} projects {list(project)!r:.80}; pass at least one attribute name, each of "
            "1 to 255 characters."
        )
    if len(set(project)) != len(project):
        yield f"{subject} projects a name twice."
    if len(project) > _MAX_PROJECTED:
        yield f"{subject} projects {len(project)} names; the maximum is {_MAX_PROJECTED}."


def _check_counts(name: str, indexes: Sequence[Index]) -> Iterator[str]:
    local = sum(index.local for index in indexes)
    for count, limit, what in (
        (len(indexes) - local, _MAX_GLOBAL, "global indexes"),
        (local, _MAX_LOCAL, "local indexes"),
        (
            sum(len(index.project) for index in indexes if not isinstance(index.project, str)),
            _MAX_PROJECTED_IN_ALL,
            "names projected by its indexes",
        ),
    ):
        if count > limit:
            yield f"{name}: it has {count} {what}; the maximum is {limit}."


def _is_attribute(name: object) -> bool:
    return isinstance(name, str) and 1 <= len(name) <= _MAX_NAME_LENGTH
