"""The size of update expressions. What each clause counts is in the cases of UpdateItem."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keyfold.expressions.parser import parse_update
from keyfold.expressions.placeholders import Placeholders
from keyfold.expressions.statement_sizes import may_be_too_large, statement_size_bytes
from keyfold.expressions.updates import bind_update
from keyfold.values import MAX_ITEM_BYTES

_CLAUSES = (
    "a{n} = :v",
    "#n{n} = :v",
    "a{n} = if_not_exists(#n{n}, :v)",
    "a{n} = a{n}.#n{n}[{n}].#n{n} + :i",
    "a{n} = list_append(if_not_exists(a{n}, :l), :l)",
)


@given(
    clauses=st.lists(st.sampled_from(_CLAUSES), min_size=1, max_size=40),
    name=st.text("abcé", min_size=1, max_size=9_000),
    value=st.text("abcé", max_size=9_000),
)
def test_an_expression_that_is_not_measured_is_below_the_limit(
    clauses: list[str], name: str, value: str
) -> None:
    text = "SET " + ",".join(each.format(n=number) for number, each in enumerate(clauses))
    names = {f"#n{number}": f"{number}{name}" for number in range(len(clauses))}
    values = {":v": {"S": value}, ":i": {"N": "1"}, ":l": {"L": [{"S": value}]}}
    placeholders = Placeholders(names, values)
    size = statement_size_bytes(parse_update(text), placeholders)
    assert may_be_too_large(text, placeholders) or size <= MAX_ITEM_BYTES


def test_only_an_expression_that_may_be_too_large_is_measured() -> None:
    small = Placeholders(None, {":v": {"S": "x"}})
    assert bind_update("SET a = :v", small).statement_bytes == 0
    large = Placeholders(None, {":v": {"S": "x" * 50_000}})
    assert bind_update("SET a = :v", large).statement_bytes == 3 + 19 + 1 + 50_000
