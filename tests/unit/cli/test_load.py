from __future__ import annotations

import json
from pathlib import Path

from keyfold.engine import Engine
from tests.unit.cli.program import Run
from tests.unit.transfer.shop import open_shop, read_all

SHOP = "tests.unit.transfer.shop:shop"
GOOD = {
    "pk": {"S": "PRODUCT#a"},
    "sk": {"S": "PRODUCT"},
    "name": {"S": "thing"},
    "is_sold": {"BOOL": False},
}


def test_rejected_items_are_written_to_a_file_beside_the_source(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(f"{json.dumps(GOOD)}\nnonsense\n")
    outcome = run("load", file, "--db", tmp_path / "new.db", "--table", SHOP)
    rejects = tmp_path / "items.jsonl.rejected.jsonl"
    assert outcome.code == 1
    assert outcome.err == f"1 item rejected; see {rejects} for the reasons.\n"
    assert json.loads(rejects.read_text())["line"] == "nonsense\n"
    with Engine.open(tmp_path / "new.db") as engine:
        assert read_all(engine) == {"PRODUCT#a PRODUCT": GOOD}
    # An existing rejects file is not overwritten: it may not have been read yet.
    again = run("load", file, "--db", tmp_path / "other.db", "--table", SHOP)
    assert again.code == 2
    assert again.err.endswith("[file-taken]\n")


def test_without_a_declaration_the_table_has_to_exist(run: Run, tmp_path: Path) -> None:
    file, db = tmp_path / "items.jsonl", tmp_path / "shop.db"
    file.write_text(json.dumps(GOOD))
    outcome = run("load", file, "--db", db)
    assert outcome.code == 2
    assert "there is no such file" in outcome.err
    assert not db.exists()
    open_shop(db).close()
    assert run("load", file, "--db", db).code == 0


def test_a_missing_file_is_reported(run: Run, tmp_path: Path) -> None:
    outcome = run("load", tmp_path / "absent", "--db", tmp_path / "new.db", "--table", SHOP)
    assert outcome.code == 2
    assert outcome.err.endswith("no such file or folder. [source-unreadable]\n")


def test_items_are_brought_up_to_date_unless_they_are_loaded_as_they_are(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "items.jsonl"
    old = {name: value for name, value in GOOD.items() if name != "is_sold"}
    file.write_text(f"{json.dumps(GOOD | {'pk': {'S': 'PRODUCT#b'}})}\n{json.dumps(old)}\n")
    for options, found in (([], GOOD), (["--as-is"], old)):
        db = tmp_path / f"{len(options)}.db"
        outcome = run("load", file, "--db", db, "--table", SHOP, *options)
        assert outcome.code == 0
        assert outcome.out.startswith(
            "Shop: loaded 2 items, " if options else "Shop: loaded 2 items (1 brought up to date), "
        )
        with Engine.open(db) as engine:
            assert read_all(engine)["PRODUCT#a PRODUCT"] == found
