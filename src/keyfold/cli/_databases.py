"""Databases as commands open them: files and tables are created only on request."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keyfold
from keyfold.connect import open_executor
from keyfold.errors import ResourceNotFoundException, TableMissing, WriteRefused
from keyfold.model import Table
from keyfold.store import Executor, Store

_KEY_BYTES = 32


def open_store(table: Table, db: str, *, creates: bool = False, **options: Any) -> Store:
    """Open a database for a command.

    A missing file or table is created only if `creates` is set; otherwise a mistyped `--db` would
    look like an empty table. Expired items in a file are not deleted while it is open. Raises
    FileUnreachable and TableMissing.
    """
    if "://" in db:
        options.setdefault("cursor_key", keep_cursor_key(os.environ, Path.home()))
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


def keep_cursor_key(environment: Mapping[str, str], home: Path) -> bytes:
    """Return the key that signs the cursors of remote databases, the same for every run.

    A remote database stores no secret for us, so the key is in a file that only this user can
    read. If that file cannot be written, cursors are valid for one run only.
    """
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
        return key
    with os.fdopen(handle, "wb") as opened:
        opened.write(key)
    return key
