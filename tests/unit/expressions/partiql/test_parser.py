"""Parsing statements into trees, and the errors of invalid statements."""

from __future__ import annotations

import pytest

from keyfold.expressions.partiql.parser import parse_statement
from keyfold.expressions.partiql.trees import (
    Assignment,
    BetweenOperation,
    BinaryOperation,
    Constant,
    DeleteStatement,
    Exists,
    Expression,
    InsertStatement,
    IsType,
    Logical,
    Number,
    PositionalParameter,
    Reference,
    Removal,
    Returning,
    SelectStatement,
    StatementSource,
    Struct,
    Text,
    UnaryOperation,
    UpdateStatement,
)
from tests.unit.expressions.refusals import refusal_of

PREFIX = "Statement wasn't well formed, can't be processed: "


def where_of(text: str) -> Expression:
    statement = parse_statement(f"SELECT * FROM T WHERE {text}").statement
    assert isinstance(statement, SelectStatement)
    assert statement.where is not None
    return statement.where


def refused(text: str) -> str:
    return refusal_of(lambda: parse_statement(text))


def test_a_select_has_columns_a_source_a_clause_and_an_order() -> None:
    parsed = parse_statement('SELECT a.b[0], "c" FROM "T"."I" WHERE a = ? ORDER BY d DESC, e')
    statement = parsed.statement
    assert isinstance(statement, SelectStatement)
    assert statement.source == StatementSource("T", "I")
    assert [column[0] for column in statement.columns or ()] == [("a", "b", 0), ("c",)]
    assert [(each.key[0], each.is_descending) for each in statement.order] == [
        (("d",), True),
        (("e",), False),
    ]
    assert (parsed.parameter_count, parsed.fault) == (1, None)


def test_a_star_selects_everything() -> None:
    statement = parse_statement("SELECT * FROM T").statement
    assert statement == SelectStatement(StatementSource("T", None), None, None, ())


def test_an_insert_has_an_item() -> None:
    statement = parse_statement("INSERT INTO T VALUE {'a': ?}").statement
    pair = (Text("a", "1:22:3"), PositionalParameter(0, "1:27:1"))
    assert statement == InsertStatement(StatementSource("T", None), Struct((pair,), "1:21:1"))


def test_an_update_has_changes_in_their_order() -> None:
    statement = parse_statement(
        "UPDATE T SET a = 1, b = ? REMOVE c[2] SET d = 2 WHERE k = 'x' RETURNING MODIFIED OLD *"
    ).statement
    assert isinstance(statement, UpdateStatement)
    kinds = [(type(change), change.target.steps) for change in statement.changes]
    assert kinds == [
        (Assignment, ("a",)),
        (Assignment, ("b",)),
        (Removal, ("c", 2)),
        (Assignment, ("d",)),
    ]
    assert statement.returning == Returning("MODIFIED", "OLD")


def test_an_update_may_have_its_table_first() -> None:
    first = parse_statement("FROM T WHERE k = 1 SET a = 2 REMOVE b").statement
    later = parse_statement("UPDATE T SET a = 2 REMOVE b WHERE k = 1").statement
    assert isinstance(first, UpdateStatement)
    assert isinstance(later, UpdateStatement)
    assert len(first.changes) == len(later.changes) == 2
    assert first.source == later.source


def test_a_delete_has_a_clause() -> None:
    statement = parse_statement("DELETE FROM T WHERE k = 1 RETURNING ALL OLD *;").statement
    assert isinstance(statement, DeleteStatement)
    assert statement.returning == Returning("ALL", "OLD")


def test_exists_has_a_select() -> None:
    assert isinstance(parse_statement("EXISTS(SELECT * FROM T WHERE k = 1)").statement, Exists)


def test_and_binds_tighter_than_or_and_not_tighter_than_both() -> None:
    where = where_of("a = 1 OR NOT b = 2 AND c = 3")
    assert isinstance(where, Logical)
    assert where.operator == "or"
    right = where.conditions[1]
    assert isinstance(right, Logical)
    assert right.operator == "and"
    assert isinstance(right.conditions[0], UnaryOperation)


def test_a_chain_of_and_is_one_node() -> None:
    where = where_of(" AND ".join(f"a = {n}" for n in range(400)))
    assert isinstance(where, Logical)
    assert len(where.conditions) == 400


def test_the_and_of_between_is_not_a_conjunction() -> None:
    where = where_of("a BETWEEN 1 AND 2 AND b = 3")
    assert isinstance(where, Logical)
    assert isinstance(where.conditions[0], BetweenOperation)


def test_negated_operators_are_parsed_as_not() -> None:
    for text in ("a NOT IN [1]", "a NOT BETWEEN 1 AND 2", "a IS NOT NULL", "a NOT LIKE 'x'"):
        where = where_of(text)
        assert isinstance(where, UnaryOperation)
        assert where.operator == "not"


def test_a_sign_is_a_part_of_its_number() -> None:
    where = where_of("a = - - 5")
    assert isinstance(where, BinaryOperation)
    assert where.right == Number("5", "1:31:1")
    assert isinstance(where_of("a = -b"), BinaryOperation)


def test_parentheses_group_and_several_members_are_a_list() -> None:
    assert where_of("(a)") == Reference(("a",), "1:24:1")
    where = where_of("a IN (1)")
    assert isinstance(where, BinaryOperation)
    assert where.right[0] == "list"


@pytest.mark.parametrize(
    ("type_", "name"),
    [("bool", "BOOLEAN"), ("int4", "INTEGER4"), ("character varying", "CHARACTER_VARYING")],
)
def test_types_have_aliases(type_: str, name: str) -> None:
    assert where_of(f"a IS {type_}") == IsType(Reference(("a",), "1:23:1"), name, "1:25:2")


def test_constants_are_case_insensitive() -> None:
    where = where_of("a = Null")
    assert isinstance(where, BinaryOperation)
    assert isinstance(where.right, Constant)
    assert where.right.value == "null"


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", "Unexpected term"),
        ("SELECT", "Unexpected term"),
        ("SELECT a, FROM T", "Expected data manipulation"),
        ("SELECT a T", "Expected FROM after SELECT list"),
        (
            "SELECT a, * FROM T",
            (
                "Other expressions may not be present in the select list when '*' is used "
                "without dot notation."
            ),
        ),
        ("SELECT a[*] FROM T", "Invalid use of * in select list"),
        ("SELECT a AS 1 FROM T", "Expected identifier for AS-alias"),
        ("SELECT a FROM T WHERE a.1 = 1", "Unexpected token after expression"),
        ("SELECT a FROM T WHERE a.'x' = 1", "Invalid path dot component"),
        ("SELECT a FROM T WHERE user = 1", "Unexpected keyword"),
        ("SELECT a FROM T WHERE a BETWEEN 1 OR 2", "Expected AND after BETWEEN"),
        ("SELECT a FROM T WHERE (a = 1", "Expected RIGHT_PAREN"),
        ("SELECT a FROM T WHERE a IN [1", "Expected RIGHT_BRACKET"),
        ("SELECT a FROM T WHERE a = <<1", "Expected RIGHT_DOUBLE_ANGLE_BRACKET"),
        ("SELECT a FROM T WHERE a = {'b' 1}", "Expected COLON"),
        ("SELECT a FROM T WHERE a = ()", "Expression group cannot be empty"),
        ("SELECT a FROM T ORDER a", "Expected BY"),
        ("INSERT T VALUE {}", "Unexpected keyword"),
        ("INSERT INTO T VALUES (1)", "Expected LEFT_PAREN for row value constructor"),
        ("INSERT INTO T VALUE {} ON CONFLICT DO NOTHING", "invalid ON CONFLICT syntax"),
        ("UPDATE T", "Expected data manipulation"),
        ("UPDATE T SET a WHERE k = 1", "Expected '='"),
        (
            "UPDATE T SET a = 1 RETURNING *",
            "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.",
        ),
        ("DELETE T WHERE k = 1", "Expected FROM after DELETE"),
        ("FROM T", "Expected data manipulation"),
        ("CREATE VIEW v", "Unexpected token following CREATE"),
    ],
)
def test_syntax_errors_have_a_detail(text: str, detail: str) -> None:
    assert refused(text) == PREFIX + detail


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM T WHERE " + "(" * 4_000,
        "SELECT * FROM T WHERE " + "NOT " * 1_900 + "a = 1",
        "SELECT * FROM T WHERE a = " + "[" * 4_000,
        "SELECT * FROM T WHERE a = " + "- " * 3_000 + "b",
        "UPDATE T SET a = b" + " + 1" * 1_900 + " WHERE k = 1",
        "SELECT * FROM T WHERE a" + " = 1" * 1_900,
    ],
    ids=["parentheses", "negations", "lists", "signs", "sums", "comparisons"],
)
def test_deep_nesting_is_refused_without_a_crash(text: str) -> None:
    assert refused(text).startswith(PREFIX)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("foo", "VariableReference"),
        ("foo.bar", "Path"),
        ("'x'", "Literal"),
        ("[1]", "Seq"),
        ("{'a': 1}", "Struct"),
        ("?", "Parameter"),
        ("1 + 1", "NAry"),
        ("DROP INDEX i ON t", "DropIndex"),
    ],
)
def test_the_error_names_statements_that_are_not_supported(text: str, kind: str) -> None:
    assert refused(text) == f"Unsupported operation: {kind}"


def test_the_first_unsupported_clause_is_recorded_for_later() -> None:
    parsed = parse_statement("SELECT DISTINCT a AS b FROM T, U GROUP BY a HAVING b LIMIT 1")
    assert parsed.fault == "Unsupported token in expression: DISTINCT"
