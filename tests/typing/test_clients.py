"""Clients of services type-check, with pyright and mypy in strict mode, and are formatted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from keyfold.service import export_client
from keyfold.service._endpoints import to_snake
from tests.exports.tables import DESIGNS
from tests.unit.service.awkward import awkward
from tests.unit.service.test_app import notes

USE = """
from datetime import datetime
from decimal import Decimal
from typing import assert_type

from market_client import CallFailed, Cart, CartLine, MarketClient, Order, UserProfile
from notes_client import Note, NotesClient, Results, etag_of


def use(client: MarketClient, cart: Cart) -> None:
    assert_type(client.user_profile("ada"), UserProfile | None)
    for order in client.last_orders("ada", 10, page_size=5):
        assert_type(order, Order)
        assert_type(order.total, Decimal | None)
    cart.lines["I#1"] = CartLine(seller="bob", quantity=2)
    try:
        client.change_user("ada", changes="")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    except CallFailed as failed:
        assert_type(failed.code, str)


def take_notes(client: NotesClient) -> None:
    assert_type(client.notes_of("ada", tagged=["x"]), Results[Note])
    note = client.write_note(Note(user="ada", number=1, price=Decimal("1.25")), if_match="*")
    assert_type(note.at, datetime | None)
    assert_type(etag_of(note), str | None)
    Note(user="ada")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
"""


def test_clients_type_check_and_are_formatted(tmp_path: Path) -> None:
    for table in (*DESIGNS, notes, awkward):
        file = tmp_path / f"{to_snake(table.name)}_client.py"
        file.write_text(export_client(table).to_text(), "utf-8")
    (tmp_path / "use.py").write_text(USE.lstrip(), "utf-8")
    settings = {
        "typeCheckingMode": "strict",
        "reportUnnecessaryTypeIgnoreComment": "error",
        # Such comments are for mypy here.
        "enableTypeIgnoreComments": False,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    ruff = ["--isolated", "--line-length", "100", "."]
    for command in (
        ["pyright", "--pythonpath", sys.executable, "--project", "."],
        ["mypy", "--strict", "--cache-dir", "cache", "."],
        ["ruff", "check", "--select", "E,F,I", "--ignore", "E501", *ruff],
        ["ruff", "format", "--check", "--exclude", "use.py", *ruff],
    ):
        checked = subprocess.run(
            [sys.executable, "-m", *command],
            capture_output=True,
            check=False,
            text=True,
            cwd=tmp_path,
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr
