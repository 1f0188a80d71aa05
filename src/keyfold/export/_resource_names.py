"""Names of tables in deployment files: in CamelCase for CloudFormation, in snake_case for others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from keyfold.model import Table

_find_words = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+").findall


def to_camel(name: str) -> str:
    """Return a name in CamelCase.

    >>> to_camel("my-shop.v2"), to_camel("ExchangeRates")
    ('MyShopV2', 'ExchangeRates')
    """
    return "".join(word[:1].upper() + word[1:] for word in _find_words(name))


def to_snake(name: str) -> str:
    """Return a name in snake_case, which starts with a letter or an underscore.

    >>> to_snake("ExchangeRates"), to_snake("2nd-shop")
    ('exchange_rates', '_2_nd_shop')
    """
    joined = "_".join(word.lower() for word in _find_words(name))
    return f"_{joined}" if not joined or joined[0].isdigit() else joined


def name_tables(tables: Iterable[Table], make: Callable[[str], str]) -> dict[str, Table]:
    """Return the tables by the names that `make` gives them; a number tells equal ones apart."""
    named: dict[str, Table] = {}
    for table in tables:
        name = base = make(table.name)
        number = 1
        while name in named:
            number += 1
            name = f"{base}{number}"
        named[name] = table
    return named
