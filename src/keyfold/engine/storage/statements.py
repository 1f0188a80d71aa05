"""The SQL for one set of rows, built once and cached on the RowSet."""

from __future__ import annotations

from dataclasses import dataclass, field

from keyfold.engine.storage.protocol import RowSet, Span

# The SQL function that evaluates a condition on a stored item; a View registers it.
HOLDS = "keyfold_holds"

# How a span is read: the column (None for the rows' own keys), and whether it is reversed,
# resumed after an entry, and read with sizes.
Walk = tuple[str | None, bool, bool, bool]


def table_name(rows: RowSet) -> str:
    """Return the name of a row set's SQLite table, which changes with the version.

    A statement of a process that knows only an older version therefore fails, instead of leaving
    out columns that the process does not know.
    """
    return f"r{rows.number}v{rows.version}"


def index_name(rows: RowSet, column: str) -> str:
    """Return the name of a column's SQLite index, which stays the same across versions."""
    return f"r{rows.number}_{column}"


@dataclass(slots=True)
class Statements:
    """The SQL statements that read or write the rows of one row set."""

    get: str
    upsert: str
    overwrite: str
    upsert_if: str
    overwrite_if: str
    replace_if: str
    revise_if: str
    delete: str
    count: str
    sum_sizes: str
    entries: str
    by_walk: dict[Walk, str] = field(default_factory=dict["Walk", str])


def statements_of(rows: RowSet) -> Statements:
    """Return the statements for `rows`."""
    prepared: Statements | None = rows.prepared
    if prepared is None:
        prepared = _write_statements(rows)
        object.__setattr__(rows, "prepared", prepared)
    return prepared


def _write_statements(rows: RowSet) -> Statements:
    table, columns = table_name(rows), rows.columns
    fields = ("k", "v", "n", *(("h", *columns) if columns else ()))
    names, marks = ", ".join(fields), ", ".join("?" * len(fields))
    updates = ", ".join(f"{name} = excluded.{name}" for name in fields[1:])
    same = " AND ".join(f"{column} IS excluded.{column}" for column in columns)
    numbered = [f"{name} = ?{place}" for place, name in enumerate(fields[1:], start=2)]
    same_numbered = "".join(
        f" AND {column} IS ?{place}" for place, column in enumerate(columns, start=5)
    )
    counts = "".join(
        f", count({column}), total(CASE WHEN {column} IS NOT NULL THEN n END)" for column in columns
    )
    return Statements(
        get=f"SELECT v, n FROM {table} WHERE k = ?",  # noqa: S608 - every name here is ours
        upsert=f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT (k) DO UPDATE SET {updates}",  # noqa: S608
        # For a new item, or one whose index keys stay the same: SQLite need not touch its indexes
        # then, and compares with the old row itself, at half the cost of reading it first. An
        # item that moves in an index is left unchanged, and `upsert` follows.
        overwrite=f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT (k) "  # noqa: S608
        f"DO UPDATE SET v = excluded.v, n = excluded.n WHERE {same}",
        # SQLite calls our function with the row that it has at hand anyway: neither a read
        # beforehand nor a transaction around the two is needed.
        upsert_if=f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT (k) "  # noqa: S608
        f"DO UPDATE SET {updates} WHERE {HOLDS}({table}.v)",
        overwrite_if=f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT (k) "  # noqa: S608
        f"DO UPDATE SET v = excluded.v, n = excluded.n WHERE {HOLDS}({table}.v) AND {same}",
        replace_if=f"UPDATE {table} SET {', '.join(numbered)} WHERE k = ?1 AND {HOLDS}(v)",  # noqa: S608
        revise_if=f"UPDATE {table} SET {', '.join(numbered[:2])} "  # noqa: S608
        f"WHERE k = ?1 AND {HOLDS}(v){same_numbered}",
        delete=f"DELETE FROM {table} WHERE k = ?",  # noqa: S608
        count=f"SELECT count(*), total(n){counts} FROM {table}",  # noqa: S608
        sum_sizes=f"SELECT total(n) FROM {table} WHERE k >= ? AND k < ?",  # noqa: S608
        entries=f"SELECT {names} FROM {table} WHERE k >= ? ORDER BY k LIMIT ?",  # noqa: S608
    )


def walk_statement(rows: RowSet, span: Span, *, sized: bool) -> str:
    """Return the statement that reads the values of a span, with the sizes if `sized`."""
    by_walk = statements_of(rows).by_walk
    walk = (span.column, span.reverse, span.after is not None, sized)
    statement = by_walk.get(walk)
    if statement is None:
        statement = by_walk[walk] = _write_walk(rows, *walk)
    return statement


def _write_walk(rows: RowSet, column: str | None, reverse: bool, resumed: bool, sized: bool) -> str:  # noqa: FBT001 - the parts of a walk
    table, fields, order = table_name(rows), "v, n" if sized else "v", " DESC" if reverse else ""
    if column is None:
        return f"SELECT {fields} FROM {table} WHERE k >= ? AND k < ? ORDER BY k{order} LIMIT ?"  # noqa: S608 - every name here is ours
    # The place after which to continue stands instead of a bound, not beside it: SQLite would start
    # at the bound, and read all entries up to the place.
    place = f"({column}, h, k) {'<' if reverse else '>'} (?, ?, ?)"
    low = place if resumed and not reverse else f"{column} >= ?"
    high = place if resumed and reverse else f"{column} < ?"
    return (
        f"SELECT {fields} FROM {table} INDEXED BY {index_name(rows, column)} "  # noqa: S608
        f"WHERE {low} AND {high} ORDER BY {column}{order}, h{order}, k{order} LIMIT ?"
    )


def create_statements(rows: RowSet) -> list[str]:
    """Return the statements that create an empty row set."""
    columns = "".join(f", {column} BLOB" for column in rows.columns)
    fields = f"k BLOB PRIMARY KEY, v BLOB NOT NULL, n INTEGER NOT NULL, h BLOB{columns}"
    return [
        f"CREATE TABLE {table_name(rows)} ({fields}) WITHOUT ROWID",
        *(_create_index(rows, column) for column in rows.columns),
    ]


def change_statements(rows: RowSet, changed: RowSet) -> list[str]:
    """Return the statements that change the columns of `rows` to those of `changed`.

    A removed column stays in the SQLite table, since dropping it would rewrite every row; only
    its index is dropped. Column names are never reused, so it cannot be taken for a new one.
    """
    new = [column for column in changed.columns if column not in rows.columns]
    gone = [column for column in rows.columns if column not in changed.columns]
    return [
        f"ALTER TABLE {table_name(rows)} RENAME TO {table_name(changed)}",
        *(f"DROP INDEX {index_name(rows, column)}" for column in gone),
        *(f"ALTER TABLE {table_name(changed)} ADD COLUMN {column} BLOB" for column in new),
        *(_create_index(changed, column) for column in new),
    ]


def _create_index(rows: RowSet, column: str) -> str:
    return (
        f"CREATE INDEX {index_name(rows, column)} ON {table_name(rows)} "
        f"({column}, h, k) WHERE {column} IS NOT NULL"
    )
