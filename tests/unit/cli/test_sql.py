from __future__ import annotations

import json
from pathlib import Path

import pytest

from keyfold.engine import Engine
from keyfold.wire.server import Server
from tests.unit.cli.program import Run

ITEMS = [
    {"pk": {"S": "U#7"}, "sk": {"S": "O#1"}, "total": {"N": "9.50"}},
    {"pk": {"S": "U#7"}, "sk": {"S": "O#2"}, "tags": {"SS": ["[red]"]}, "raw": {"B": b"hi"}},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with Engine.open(path) as engine:
        engine.execute(
            "CreateTable",
            {
                "TableName": "orders",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [
                    {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")
                ],
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
            },
        )
        for item in ITEMS:
            engine.execute("PutItem", {"TableName": "orders", "Item": item})
    return path


def test_items_are_shown_as_a_table_with_their_cost(run: Run, file: Path) -> None:
    outcome = run("sql", "SELECT * FROM orders WHERE pk = 'U#7'", "--db", file)
    assert (outcome.code, outcome.err) == (0, "2 items, 0.5 capacity units\n")
    lines = [line.split() for line in outcome.out.splitlines() if line.strip()]
    assert lines[0] == ["pk", "sk", "total", "tags", "raw"]
    assert lines[1] == ["U#7", "O#1", "9.5"]
    assert lines[2] == ["U#7", "O#2", '["[red]"]', '"aGk="']


def test_items_too_wide_for_a_table_are_shown_as_lists(run: Run, file: Path) -> None:
    wide = {f"attribute-{place:02}": {"S": f"value {place:02}"} for place in range(20)}
    with Engine.open(file, upkeep_seconds=None) as engine:
        for number in "12":
            item = {"pk": {"S": "wide"}, "sk": {"S": number}, **wide}
            engine.execute("PutItem", {"TableName": "orders", "Item": item})
        long = {"pk": {"S": "wide"}, "sk": {"S": "3"}, "text": {"S": "x" * 150}}
        engine.execute("PutItem", {"TableName": "orders", "Item": long})
    statement = "SELECT * FROM orders WHERE pk = 'wide'"
    outcome = run("sql", statement, "--db", file)
    assert (outcome.code, outcome.err) == (0, "3 items, 0.5 capacity units\n")
    one, other, last = outcome.out.split("\n\n")
    lines = [line.split(maxsplit=1) for line in one.splitlines()]
    assert [(name, text.rstrip()) for name, text in lines] == [
        ("pk", "wide"),
        ("sk", "1"),
        *((f"attribute-{place:02}", f"value {place:02}") for place in range(20)),
    ]
    assert other.splitlines()[1].split() == ["sk", "2"]
    # Long values wrap, and attributes that an item lacks are left out.
    assert [line.split() for line in last.splitlines()] == [
        ["pk", "wide"],
        ["sk", "3"],
        ["text", "x" * 114],
        ["x" * 36],
    ]
    assert max(map(len, outcome.out.splitlines())) <= 120
    result = json.loads(run("sql", statement, "--db", file, "--json").out)
    assert result["items"][2] == long


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM absent",
        """SELECT * FROM "absent"."by_day" WHERE pk = 'U#7'""",
        "INSERT INTO absent VALUE {'pk': 'a', 'sk': 'b'}",
        "UPDATE absent SET n = 1 WHERE pk = 'a' AND sk = 'b'",
        "DELETE FROM absent WHERE pk = 'a' AND sk = 'b'",
    ],
)
def test_the_error_names_a_missing_table(run: Run, file: Path, statement: str) -> None:
    outcome = run("sql", statement, "--db", file)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"keyfold: {file}: there is no table absent. It has orders. `keyfold apply` creates "
        "declared tables. [table-missing]\n"
    )


def test_items_are_printed_as_json_in_the_form_of_the_api(run: Run, file: Path) -> None:
    outcome = run("sql", "SELECT sk, raw FROM orders", "--db", file, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out) == {
        "items": [{"sk": {"S": "O#1"}}, {"sk": {"S": "O#2"}, "raw": {"B": "aGk="}}],
        "next": None,
        "capacity_units": 2.0,
    }


def test_a_limit_gives_a_page_and_the_token_of_the_next(run: Run, file: Path) -> None:
    statement = "SELECT sk FROM orders WHERE pk = 'U#7'"
    first = json.loads(run("sql", statement, "--db", file, "--limit", 1, "--json").out)
    assert first["items"] == [{"sk": {"S": "O#1"}}]
    outcome = run("sql", statement, "--db", file, "--limit", 5, "--next", first["next"], "--json")
    assert json.loads(outcome.out)["items"] == [{"sk": {"S": "O#2"}}]
    outcome = run("sql", statement, "--db", file, "--limit", 1)
    assert f"There are more items: --next {first['next']}\n" in outcome.err


def test_parameters_are_json_or_values_in_the_form_of_the_api(run: Run, file: Path) -> None:
    statement = "INSERT INTO orders VALUE {'pk': ?, 'sk': ?, 'n': ?, 'm': ?, 's': ?, 'z': ?}"
    parameters = ['"p"', '{"S": "s"}', "1.50", '{"a": [true, 2]}', '{"NS": ["1"]}', "null"]
    given = [word for text in parameters for word in ("--param", text)]
    outcome = run("sql", statement, "--db", file, *given)
    assert (outcome.code, outcome.err) == (0, "done, 1 capacity unit\n")
    read = run("sql", "SELECT * FROM orders WHERE pk = 'p'", "--db", file, "--json")
    assert json.loads(read.out)["items"] == [
        {
            "pk": {"S": "p"},
            "sk": {"S": "s"},
            "n": {"N": "1.5"},
            "m": {"M": {"a": {"L": [{"BOOL": True}, {"N": "2"}]}}},
            "s": {"NS": ["1"]},
            "z": {"NULL": True},
        }
    ]


@pytest.mark.parametrize("text", ["abc", "NaN", "{"])
def test_a_parameter_that_is_not_json_is_refused(run: Run, file: Path, text: str) -> None:
    outcome = run("sql", "SELECT * FROM orders WHERE pk = ?", "--db", file, "--param", text)
    assert outcome.code == 2
    assert f"{text} is not JSON" in outcome.err


def test_a_failed_condition_exits_with_one(run: Run, file: Path) -> None:
    statement = "UPDATE orders SET paid = true WHERE pk = 'U#7' AND sk = 'O#9'"
    outcome = run("sql", statement, "--db", file)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "keyfold: ConditionalCheckFailedException: The conditional request failed\n"
    )
    result = run("sql", statement, "--db", file, "--json")
    assert (result.code, result.err) == (1, "")
    assert json.loads(result.out)["error"]["code"] == "ConditionalCheckFailedException"


def test_an_invalid_statement_is_bad_usage(run: Run, file: Path) -> None:
    outcome = run("sql", "SELECT * FROM", "--db", file)
    assert outcome.code == 2
    assert outcome.err == (
        "keyfold: ValidationException: Statement wasn't well formed, can't be processed: "
        "Unexpected term\n"
    )


def test_a_missing_file_is_refused_and_not_created(run: Run, tmp_path: Path) -> None:
    missing = tmp_path / "missing.db"
    outcome = run("sql", "SELECT * FROM orders", "--db", missing)
    assert outcome.code == 2
    assert outcome.err.endswith("there is no such file. [file-unreachable]\n")
    assert not missing.exists()


def test_statements_run_on_a_remote_database_too(run: Run, file: Path) -> None:
    with Engine.open(file) as engine, Server(engine).running() as url:
        outcome = run("sql", "SELECT * FROM orders WHERE pk = 'U#7'", "--db", url)
    assert (outcome.code, outcome.err) == (0, "2 items, 0.5 capacity units\n")
    unknown = run("sql", "SELECT * FROM orders", "--db", "ftp://localhost:8000")
    assert unknown.code == 2
    assert unknown.err.endswith("[url-unknown]\n")
