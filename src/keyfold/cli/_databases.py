"""Databases as commands open them: files and tables are created only on request."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keyfold
from keyfold.connect import open_executor
from keyfold.connect._opening import find_kept_key
from keyfold.errors import ResourceNotFoundException, TableMissing, WriteRefused
from keyfold.model import Table
from keyfold.store import Executor, Store

# The environment variable with the key for cursors and handles.
CURSOR_KEY = "KEYFOLD_CURSOR_KEY"
_KEY_BYTES = 32


def open_store(
    table: Table, db: str, *, creates: bool = False, needs_lasting_key: bool = False, **options: Any
) -> Store:
    """Open a database for a command.

    A missing file or table is created only if `creates` is set; otherwise a mistyped `--db` would
    look like an empty table. Expired items in a file are not deleted while it is open. If no key
    for cursors can be kept, they are valid for one run, unless it `needs_lasting_key`: then the
    store has none. Raises FileUnreachable and TableMissing.
    """
    if "://" in db:
        key = find_cursor_key(os.environ, Path.home())
        if key is None and not needs_lasting_key:
            key = os.urandom(_KEY_BYTES)
        options.setdefault("cursor_key", key)
    else:
        options.setdefault("upkeep_seconds", None)
        if not creates and db != ":memory:":
            with open_executor(db, keeps_expired=True) as database:
                require_table(database, table.name, db)
    return keyfold.open(table, db, **options)


def create_empty_table(store: Store, table: Table) -> None:
    """Create a table for a demonstration; raise WriteRefused if it exists and has items."""
    store.create_table(table)
    if store.run(table.scan().include_expired().first()) is not None:
        advice = "Give a database without the designs' tables."
        raise WriteRefused(table.name, "it already has items", advice)


def require_table(database: Executor, name: str, db: str) -> None:
    """Raise TableMissing if a database does not have a table."""
    try:
        database.execute("DescribeTable", {"TableName": name})
    except ResourceNotFoundException:
        names: list[str] = database.execute("ListTables", {"Limit": 20})["TableNames"]
        known = ", ".join(names) or "none"
        advice = f"It has {known}. `keyfold apply` creates declared tables."
        raise TableMissing(db, f"there is no table {name}", advice) from None


def find_state_folder(environment: Mapping[str, str], home: Path) -> Path:
    """Return the folder for the program's state, such as the shell's history."""
    state = environment.get("XDG_STATE_HOME", "")
    # The XDG specification says to ignore relative paths.
    folder = Path(state) if state.startswith("/") else home / ".local" / "state"
    return folder / "keyfold"


def find_cursor_key(environment: Mapping[str, str], home: Path) -> bytes | None:
    """Return the key that seals the cursors and handles of remote databases, on every run the same.

    It is the text of KEYFOLD_CURSOR_KEY. Without it, the key is in a file that only this user can
    read: a remote database keeps no secret for us. None if that file cannot be written.
    """
    given = environment.get(CURSOR_KEY)
    if given:
        return given.encode()
    file = find_state_folder(environment, home) / "cursor-key"
    try:
        key = file.read_bytes()
    except OSError:
        key = b""
    if len(key) == _KEY_BYTES:
        return key
    key = os.urandom(_KEY_BYTES)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return None
    with os.fdopen(handle, "wb") as opened:
        opened.write(key)
    return key


def find_session_key(executor: Executor, db: str) -> bytes | None:
    """Return the key of `open_store` for a database that is open already; None if none lasts."""
    return find_cursor_key(os.environ, Path.home()) if "://" in db else find_kept_key(executor)
