"""How SQLite finds the rows of a span."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from keyfold.engine.storage import RowSet, Span
from keyfold.engine.storage.statements import create_statements, walk_statement

ROWS = RowSet(1, 1, ("i0", "i1"))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_page_that_continues_after_an_entry_reads_none_before_it(reverse: bool) -> None:
    span = Span(b"1", b"2", reverse, "i0", (b"1", b"a"))
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in create_statements(ROWS):
            connection.execute(statement)
        query = f"EXPLAIN QUERY PLAN {walk_statement(ROWS, span, sized=True)}"
        ((*_, step),) = connection.execute(query, (b"1",) * 5).fetchall()
    assert step.startswith("SEARCH")
    assert "(i0,h,k)" in step
