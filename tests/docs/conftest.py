"""What the examples of the pages must leave as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from keyfold.analysis.lint import _rules
from keyfold.designs.letsgo import shop


@pytest.fixture(autouse=True)
def letsgo_as_it_was() -> Iterator[None]:
    """Take away the categories that an example has declared: the table is every test's."""
    # LetsGo's table. It has the shop's categories before every test, because the demo uses them.
    table = shop.table
    before = dict(table.entities)
    yield
    table.entities.clear()
    table.entities.update(before)


@pytest.fixture(autouse=True)
def lint_rules_as_they_were() -> Iterator[None]:
    """Take away the rules that an example has added: every review would apply them."""
    before = dict(_rules.list_rules())
    yield
    _rules._RULES.clear()
    _rules._RULES.update(before)
