"""The SQL for a log of changes."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


class LogStatements(NamedTuple):
    """The SQL statements that read or write one log."""

    span: str
    time_of: str
    read: str
    count_between: str
    mark: str
    append: str
    trim: str
    drop: str


# Cached, since every write to a table with a log needs them.
@lru_cache(maxsize=1_024)
def log_statements(log: int) -> LogStatements:
    """Return the statements for a log."""
    name = f"c{log}"
    chosen = f"FROM {name} WHERE s > ? AND s <= ? AND k >= ? AND k < ?"
    newest = f"FROM {name} ORDER BY s DESC LIMIT 1"
    return LogStatements(
        span=f"SELECT s, k, (SELECT s {newest}) FROM {name} ORDER BY s LIMIT 1",  # noqa: S608 - every name here is ours
        time_of=f"SELECT t FROM {name} WHERE s >= ? ORDER BY s LIMIT 1",  # noqa: S608
        read=f"SELECT s, t, k, x, o, n {chosen} ORDER BY s LIMIT ?",
        count_between=f"SELECT count(*) {chosen}",
        # A log is never empty: the next number and the minimum time are taken from its newest
        # row, so that no counter has to be written as well.
        mark=f"INSERT INTO {name} VALUES (?, ?, x'', 0, NULL, NULL)",  # noqa: S608
        append=f"INSERT INTO {name} (t, k, x, o, n) VALUES (max(?, (SELECT t {newest})), ?, ?, ?, ?)",  # noqa: S608
        trim=f"DELETE FROM {name} WHERE s < min(? + 1, (SELECT s {newest}), "  # noqa: S608
        f"(SELECT min(s) FROM {name}) + ?)",
        drop=f"DROP TABLE {name}",
    )


def create_log_statement(log: int) -> str:
    """Return the statement that creates a log, without its mark (the row it starts with)."""
    # The images come last, so that skipping a row with long ones reads only the columns before.
    columns = "s INTEGER PRIMARY KEY, t REAL NOT NULL, k BLOB NOT NULL, x INTEGER NOT NULL"
    return f"CREATE TABLE c{log} ({columns}, o BLOB, n BLOB)"
