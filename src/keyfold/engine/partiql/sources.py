"""The table that a statement names."""

from __future__ import annotations

from keyfold.engine.context import EngineContext
from keyfold.engine.partiql.translation import bind_where
from keyfold.engine.tables.table import EngineTable
from keyfold.errors import ResourceNotFoundException
from keyfold.expressions.partiql.trees import Expression
from keyfold.values import AttributeValue


def find_table(
    context: EngineContext,
    name: str,
    where: Expression | None,
    parameters: list[AttributeValue],
) -> EngineTable:
    """Return the table of a statement with a WHERE clause.

    Raises ResourceNotFoundException, or ValidationException if there is no table and the clause is
    invalid in itself: the service checks its operands before it looks for the table.
    """
    try:
        return context.catalog.find(name)
    except ResourceNotFoundException:
        bind_where(where, parameters)
        raise
