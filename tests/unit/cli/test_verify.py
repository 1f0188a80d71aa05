from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from keyfold.engine import Engine, Problem
from tests.unit.cli.program import Run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    Engine.open(path).close()
    return path


def test_an_intact_file_has_no_problems(run: Run, file: Path) -> None:
    outcome = run("verify", file)
    assert (outcome.code, outcome.out, outcome.err) == (0, f"{file}: no problems\n", "")


def test_an_intact_file_has_no_problems_in_json(run: Run, file: Path) -> None:
    outcome = run("verify", file, "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out) == {"file": str(file), "problems": []}


def test_a_missing_file_is_refused_and_not_created(run: Run, tmp_path: Path) -> None:
    missing = tmp_path / "missing.db"
    outcome = run("verify", missing)
    assert outcome.code == 2
    assert outcome.err == (
        f"keyfold: cannot open {missing}: there is no such file. [file-unreachable]\n"
    )
    assert not missing.exists()


def test_an_empty_file_is_refused_and_left_empty(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    outcome = run("verify", empty)
    assert outcome.code == 2
    assert outcome.err.endswith("[file-not-keyfold]\n")
    assert empty.stat().st_size == 0


def test_checking_a_file_deletes_nothing_that_has_expired(run: Run, file: Path) -> None:
    with Engine.open(file, upkeep_seconds=None) as engine:
        engine.execute(
            "CreateTable",
            {
                "TableName": "Things",
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        expiry = {"Enabled": True, "AttributeName": "ttl"}
        engine.execute(
            "UpdateTimeToLive", {"TableName": "Things", "TimeToLiveSpecification": expiry}
        )
        long_ago = {"N": str(int(time.time()) - 1_000_000)}
        engine.execute(
            "PutItem", {"TableName": "Things", "Item": {"id": {"S": "old"}, "ttl": long_ago}}
        )
    assert run("verify", file).code == 0
    with Engine.open(file, upkeep_seconds=None) as engine:
        assert engine.execute("Scan", {"TableName": "Things"})["Count"] == 1


def test_a_file_of_another_kind_is_refused_and_left_alone(run: Run, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear reader, " * 1000)
    outcome = run("verify", letter)
    assert outcome.code == 2
    assert outcome.err.endswith("[file-not-keyfold]\n")
    assert letter.read_text() == "Dear reader, " * 1000


def test_problems_are_listed_and_it_exits_with_one(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = [Problem("table Orders", "has a hole"), Problem("file", "is short")]

    def find_problems(_: Engine) -> list[Problem]:
        return problems

    monkeypatch.setattr(Engine, "verify", find_problems)
    outcome = run("verify", file)
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "table Orders: has a hole",
        "file: is short",
        f"{file}: 2 problems",
    ]
    outcome = run("verify", file, "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["problems"] == [str(problem) for problem in problems]


def test_a_file_too_damaged_to_open_is_reported(run: Run, file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    file.write_bytes(content)
    outcome = run("verify", file)
    assert outcome.code == 1
    assert outcome.out.endswith(f"{file}: 1 problem\n")


def test_a_log_of_another_copy_is_reported(run: Run, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with Engine.open(other, upkeep_seconds=None) as engine:
        engine.keep_secret("name")
        log = other.with_name("other.db-wal").read_bytes()
    file.with_name("shop.db-wal").write_bytes(log)
    outcome = run("verify", file)
    assert outcome.code == 1
    assert "is the log of another copy of this file" in outcome.out
    assert outcome.out.endswith(f"{file}: 1 problem\n")
    assert file.with_name("shop.db-wal").read_bytes() == log


# Unique values.

CLUB = """
from keyfold import Entity, Key, Table

club = Table("Club", key=Key("pk"))

class Member(Entity, table=club, key="M#{name}", unique="email"):
    name: str
    email: str
"""


@pytest.fixture
def club(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with two members, one of whom has no guard."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "club_tables.py").write_text(CLUB)
    assert run("apply", "--table", "club_tables:club", "--db", "club.db").code == 0
    with Engine.open("club.db") as engine:
        for name in ("ada", "bob"):
            item = {"pk": {"S": f"M#{name}"}, "name": {"S": name}, "email": {"S": f"{name}@x"}}
            engine.execute("PutItem", {"TableName": "Club", "Item": item})
    return tmp_path / "club.db"


MISSING = [
    "Member.email 'ada@x': pk='M#ada' has it, but it has no guard.",
    "Member.email 'bob@x': pk='M#bob' has it, but it has no guard.",
]


def test_the_unique_values_of_a_table_are_compared_with_its_guards(run: Run, club: Path) -> None:
    outcome = run("verify", "--table", "club_tables:club", "--db", club)
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        *MISSING,
        "Club: 2 unique values, 2 problems, none repaired",
    ]
    outcome = run("verify", club, "--table", "club_tables:club", "--repair")
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        *(f"{line} Repaired." for line in MISSING),
        "Club: 2 unique values, 2 problems, 2 repaired, 0 left",
    ]
    outcome = run("verify", "--table", "club_tables:club", "--db", club, "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out) == {
        "tables": [
            {
                "table": "Club",
                "values": 2,
                "found": {},
                "repaired": {},
                "problems": [],
                "ok": True,
            }
        ]
    }


def test_repair_says_what_it_leaves(run: Run, club: Path) -> None:
    with Engine.open(club) as engine:
        item = {"pk": {"S": "M#eve"}, "name": {"S": "eve"}, "email": {"S": "ada@x"}}
        engine.execute("PutItem", {"TableName": "Club", "Item": item})
    outcome = run("verify", "--table", "club_tables:club", "--db", club, "--repair")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "Member.email 'ada@x': pk='M#ada' and pk='M#eve' have it.",
        f"{MISSING[1]} Repaired.",
        "Club: 3 unique values, 2 problems, 1 repaired, 1 left",
    ]


@pytest.mark.parametrize("arguments", [["--repair", "club.db"], ["--table", "club_tables:club"]])
def test_what_to_verify_must_be_clear(run: Run, club: Path, arguments: list[str]) -> None:
    assert club.exists()
    assert run("verify", *arguments).code == 2
