"""Names of fields, entities and functions, made from those of attributes and from literals of keys."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Container

from pydantic import BaseModel

from keyfold.model import Entity

_find_words = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+").findall
# Names that a class body of an entity, or a module, has for something else.
_TAKEN = frozenset(dir(Entity)) | frozenset(dir(BaseModel)) | {"table", "index", "self", "cls"}
_BUILT_IN = frozenset(
    {"Any", "Decimal", "UUID", "Literal", "date", "datetime", "str", "int", "bool", "bytes", "list"}
    | {"dict", "frozenset", "attr", "part", "Ulid", "Entity", "Expiry", "Index", "Key", "Table"}
    | {"Get", "Put", "Query", "Delete", "None", "True", "False", "OnDemand", "Provisioned"}
)


def to_snake(name: str) -> str:
    """Return a name for a field or a function.

    >>> to_snake("LinkExpiredDatetime"), to_snake("class"), to_snake("2nd")
    ('link_expired_datetime', 'class_', 'field_2_nd')
    """
    joined = "_".join(word.lower() for word in _find_words(name)) or "field"
    if joined[0].isdigit():
        joined = f"field_{joined}"
    is_taken = keyword.iskeyword(joined) or joined in _TAKEN or joined in _BUILT_IN
    return f"{joined}_" if is_taken or joined.startswith("model_") else joined


def to_class(name: str) -> str:
    """Return a name for a class.

    >>> to_class("letsgo-tenant"), to_class("USER"), to_class("OrderLine")
    ('LetsgoTenant', 'User', 'OrderLine')
    """
    words = [
        each.lower() if each.isupper() and len(each) > 1 else each for each in _find_words(name)
    ]
    joined = "".join(word[:1].upper() + word[1:] for word in words)
    if not joined or joined[0].isdigit():
        joined = f"Entity{joined}"
    return f"{joined}Entity" if joined in _BUILT_IN else joined


def make_unique(name: str, taken: Container[str]) -> str:
    """Return the name, with a number if it is taken."""
    number, made = 1, name
    while made in taken:
        number += 1
        made = f"{name}{number}" if not name.endswith("_") else f"{name}{number}_"
    return made


def pluralise(name: str) -> str:
    """Return the plural of a name in snake_case.

    >>> pluralise("category"), pluralise("address"), pluralise("order_line")
    ('categories', 'addresses', 'order_lines')
    """
    if name.endswith(("s", "x", "ch", "sh")):
        return f"{name}es"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}s"


def singularise(name: str) -> str:
    """Return the singular of a class name, if it is a plain plural.

    >>> singularise("Customers"), singularise("Address"), singularise("Status")
    ('Customer', 'Address', 'Status')
    """
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    is_plural = name.endswith("s") and not name.endswith(("ss", "us", "is"))
    return name[:-1] if is_plural else name


def quote(text: str) -> str:
    """Return the Python literal of a text, in double quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")


def plain(text: str) -> str:
    """Return a text for a docstring: one line, and nothing that ends it."""
    joined = " ".join(text.split())
    return joined.replace("\\", "\\\\").replace('"""', "'''").rstrip('"')
