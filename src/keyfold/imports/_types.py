"""Types of attributes, as the Python source of annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from keyfold.imports._texts import TextKind, common_kind, kind_of
from keyfold.values import AttributeValue

_BY_KIND = {
    TextKind.ULID: "Ulid",
    TextKind.UUID: "UUID",
    TextKind.DATE: "date",
    TextKind.DATETIME: "datetime",
}
_SETS = {"SS": "S", "NS": "N", "BS": "B"}


def annotate_text(texts: Sequence[str], ids: Mapping[str, str]) -> str:
    """Return the type of texts; `ids` has the classes of typed ids by their prefixes.

    >>> annotate_text(["2026-01-31", "2026-02-01"], {}), annotate_text(["a", "2026-02-01"], {})
    ('date', 'str')
    """
    prefixes = {text.rpartition("#")[0] for text in texts}
    if len(prefixes) == 1 and (prefix := prefixes.pop()) in ids:
        rest = [text[len(prefix) + 1 :] for text in texts]
        if common_kind(rest) is TextKind.ULID:
            return ids[prefix]
    return _BY_KIND.get(common_kind(texts), "str")


def annotate(values: Iterable[AttributeValue], ids: Mapping[str, str]) -> str:
    """Return the type of the values of an attribute; `Any` for those of several types.

    >>> annotate([{"N": "1"}, {"N": "2.5"}], {}), annotate([{"L": [{"S": "a"}]}], {})
    ('Decimal', 'list[str]')
    """
    found: dict[str, list[Any]] = {}
    for value in values:
        for kind, data in value.items():
            found.setdefault(kind, []).append(data)
    found.pop("NULL", None)
    if len(found) != 1:
        return "Any"
    [(kind, data)] = found.items()
    match kind:
        case "S":
            return annotate_text(data, ids)
        case "N":
            return _annotate_numbers(data)
        case "BOOL":
            return "bool"
        case "B":
            return "bytes"
        case "L":
            return f"list[{_annotate_members(data, ids)}]"
        case "M":
            return "dict[str, Any]"
        case _:
            members = [{_SETS[kind]: each} for members in data for each in members]
            return f"frozenset[{annotate(members, ids)}]"


def _annotate_members(lists: Sequence[Sequence[AttributeValue]], ids: Mapping[str, str]) -> str:
    members = [each for members in lists for each in members]
    is_plain = bool(members) and not any("NULL" in each for each in members)
    return annotate(members, ids) if is_plain else "Any"


def _annotate_numbers(numbers: Sequence[str]) -> str:
    is_whole = all(each.lstrip("-").isdigit() for each in map(str, numbers))
    return "int" if is_whole else "Decimal"


def has_null(values: Iterable[AttributeValue]) -> bool:
    """Return whether one of the values is DynamoDB's NULL."""
    return any("NULL" in value for value in values)


def find_width(texts: Sequence[str]) -> int | None:
    """Return the width of numbers with leading zeros; None for other texts.

    >>> find_width(["001", "112"]), find_width(["1", "12"]), find_width(["2025", "2026"])
    (3, None, None)
    """
    widths = {len(text) for text in texts}
    is_padded = any(text.startswith("0") and len(text) > 1 for text in texts)
    is_number = all(kind_of(text) is TextKind.NUMBER for text in texts)
    return widths.pop() if is_number and is_padded and len(widths) == 1 else None
