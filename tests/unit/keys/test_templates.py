"""Key templates: what they render, read back and determine, and what they refuse."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import date
from enum import Enum, StrEnum
from typing import Any, Literal
from uuid import UUID

import pytest

from keyfold.errors import (
    IdInvalid,
    KeyfoldError,
    KeyPartInvalid,
    KeyRangeInvalid,
    KeyTemplateInvalid,
    MissingKeyPart,
)
from keyfold.keys import (
    KeyPrefix,
    KeySpan,
    KeyTemplate,
    TemplateField,
    Ulid,
    format_for,
    read_fields,
)


class OrderId(Ulid, prefix="O"): ...


class Status(StrEnum):
    OPEN = "open"
    ON_HOLD = "on-hold"


TYPES: dict[str, object] = {
    "anything": str,
    "base": str,
    "customer": str,
    "day": date,
    "kind": Literal["a", "a!", "b"],
    "line": int,
    "month": str,
    "order": OrderId,
    "owner": UUID,
    "size": Literal["l", "m", "xl"],
    "status": Status,
    "target": str,
    "tp": Literal["order"],
    "user": str,
}
FIRST = OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")
SECOND = OrderId("O#01JZ10H7X367VB2NF4YQ973DXZ")


def template(text: str) -> KeyTemplate:
    return KeyTemplate.from_types(text, TYPES, owner="Thing")


@pytest.mark.parametrize(
    ("text", "values", "key"),
    [
        ("RATE#{base}#{target}", {"base": "USD", "target": "EUR"}, "RATE#USD#EUR"),
        ("/{customer}/{order}", {"customer": "c-1", "order": FIRST}, f"/c-1/{FIRST}"),
        ("{order}#{line:03}", {"order": FIRST, "line": 1}, f"{FIRST}#001"),
        ("U#{user}#O", {"user": "rabinovich"}, "U#rabinovich#O"),
        ("USER", {}, "USER"),
        ("/", {}, "/"),
        ("{anything}", {"anything": "a#b/c d"}, "a#b/c d"),
        ("{{{user}}}", {"user": "x"}, "{x}"),
        ("{{}}", {}, "{}"),
        # The hyphens inside a date are at fixed places, so they are not delimiters.
        ("LOG-{user}-{day}", {"user": "x", "day": date(2024, 1, 2)}, "LOG-x-2024-01-02"),
        ("{day}{user}", {"day": date(2024, 1, 2), "user": "x"}, "2024-01-02x"),
        (
            "{day}{line:02}T{base:3}",
            {"day": date(2024, 1, 2), "line": 3, "base": "EUR"},
            "2024-01-0203TEUR",
        ),
        ("U{user}", {"user": "a-b"}, "Ua-b"),
        ("é{user}", {"user": "é"}, "éé"),
        ("{status}", {"status": Status.ON_HOLD}, "on-hold"),
        ("S#{status}#{user}", {"status": Status.ON_HOLD, "user": "-"}, "S#on-hold#-"),
    ],
)
def test_a_template_renders_and_reads_back(text: str, values: dict[str, Any], key: str) -> None:
    made = template(text)
    assert made.render(values) == key
    assert made.parse(key) == values
    assert made.prefix(values) == KeyPrefix(key, tuple(values), is_whole=True)


class Color(str, Enum):  # noqa: UP042 # as much code has it; it prints as Color.RED
    RED = "red"


def test_a_key_is_a_plain_str_whatever_its_parts_are() -> None:
    assert template("{user}#{base}").render({"user": Color.RED, "base": Color.RED}) == "red#red"
    assert type(template("{order}").render({"order": FIRST})) is str
    assert type(template("{user}").render({"user": Status.OPEN})) is str
    assert (
        template("{user}#{base}")
        .render({"user": Status.OPEN, "base": FIRST[2:]})
        .startswith("open#01JZ")
    )


def test_values_of_other_fields_are_ignored() -> None:
    assert template("U#{user}").render({"line": -1, "user": "x"}) == "U#x"
    assert template("U#{user}").prefix({"line": -1}) == KeyPrefix("U#", (), is_whole=False)


def test_a_template_describes_itself() -> None:
    made = template("U#{user}/{line:03}-")
    assert made.fields == ("user", "line")
    assert made.delimiters == {"#", "/", "-"}
    assert (made.text, made.owner, made.tail) == ("U#{user}/{line:03}-", "Thing", "-")
    assert repr(made) == "<KeyTemplate 'U#{user}/{line:03}-' of Thing>"


def test_the_fields_of_a_text_can_be_read_before_their_types_are_known() -> None:
    assert read_fields("{a}#{b:03}{{c}}", owner="Thing") == (
        TemplateField("a", ""),
        TemplateField("b", "03"),
    )
    assert read_fields("USER", owner="Thing") == ()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("RATE#{base}#{target}", "RATE#USD"),
        ("RATE#{base}#{target}", "RATE#USD#"),
        ("RATE#{base}#{target}", "RATE##EUR"),
        ("RATE#{base}#{target}", "RATE#USD#EUR#x"),
        ("RATE#{base}#{target}", "rate#USD#EUR"),
        ("RATE#{base}#{target}", ""),
        ("{order}#{line:03}", f"{FIRST}#0001"),
        ("{order}#{line:03}", f"{FIRST}#001\n"),
        ("{order}#{line:03}", str(FIRST)),
        ("{day}#{user}", "2024-02-30#x"),
        ("USER", "USER#"),
        ("USER", "user"),
        ("{anything}", ""),
        ("{anything}", "\ud800"),
    ],
)
def test_text_that_does_not_match_has_no_values(text: str, key: str) -> None:
    assert template(text).parse(key) is None
    assert not template(text).matches(key)


def test_a_part_may_contain_a_line_break() -> None:
    assert template("U#{user}").parse("U#a\nb\n") == {"user": "a\nb\n"}


@pytest.mark.parametrize(
    ("text", "values", "part", "fact"),
    [
        ("U#{user}", {"user": "x#O"}, "user", "must not contain '#', which separates"),
        ("U#{user}", {"user": ""}, "user", "must not be empty"),
        ("{anything}", {"anything": ""}, "anything", "must not be empty"),
        (
            "/{customer}/{user}",
            {"customer": "a/b", "user": "x"},
            "customer",
            "must not contain '/'",
        ),
        ("A_{user}", {"user": "a_b"}, "user", "must not contain '_'"),
        ("{user}#{base:3}", {"user": "x", "base": "E#R"}, "base", "must not contain '#'"),
        ("U#{user}", {"user": None}, "user", "must be a str"),
        ("{order}#{line:03}", {"order": FIRST, "line": 1000}, "line", "must be non-negative with"),
    ],
)
def test_a_value_that_cannot_stand_in_the_key_is_refused_by_name(
    text: str, values: dict[str, Any], part: str, fact: str
) -> None:
    made = template(text)
    for ask in (made.render, made.prefix):
        with pytest.raises(KeyPartInvalid) as refused:
            ask(values)
        message = str(refused.value)
        assert message.startswith(f"Thing: part {part!r} of key template {text!r} {fact}")
        assert f"; got {values[part]!r}. " in message
        assert message.endswith(" [key-part-invalid]")


@pytest.mark.parametrize("value", ["#" * 81, list(range(100))])
def test_a_long_value_is_not_repeated(value: object) -> None:
    with pytest.raises(KeyPartInvalid) as refused:
        template("U#{user}").render({"user": value})
    whole = value if isinstance(value, str) else repr(value)
    for text in (str(refused.value), repr(refused.value)):
        assert whole[:60] in text
        assert whole[:61] not in text
    assert f"… ({len(whole)} characters)" in str(refused.value)


def test_a_value_that_cannot_be_shown_is_refused_all_the_same() -> None:
    # Python itself refuses to print that many digits.
    with pytest.raises(KeyPartInvalid, match="at most 3 digits; got <int>"):
        template("{line:03}").render({"line": 10**5000})


def test_a_missing_part_is_named() -> None:
    with pytest.raises(MissingKeyPart) as refused:
        template("{order}#{line:03}").render({"order": FIRST, "user": "x"})
    assert str(refused.value) == (
        "Thing: key template '{order}#{line:03}' needs 'line'; got order, user. [key-missing-part]"
    )


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", "is empty"),
        ("{", "has an unmatched brace"),
        ("U}", "has an unmatched brace"),
        ("{user", "has an unmatched brace"),
        ("{user}}", "has an unmatched brace"),
        ("{user!}", "has an unmatched brace"),
        ("{}", "has {}"),
        ("{0}", "has {0}"),
        ("{user.name}", "has {user.name}"),
        ("{user[0]}", "has {user[0]}"),
        ("{user!r}", "has !r"),
        ("{user}#{user}", "names 'user' twice"),
        ("{nobody}", "names 'nobody', which is not a field"),
        ("\ud800", "is not valid Unicode"),
        ("{user}{base}", "does not show where 'user' ends"),
        ("{user}{line:03}", "does not show where 'user' ends"),
        ("{user}X{base}", "does not show where 'user' ends"),
        ("{user}X#{base}", "does not show where 'user' ends"),
        ("{user}s", "does not show where 'user' ends"),
        ("{size}{user}", "does not show where 'size' ends"),
        ("{status}-{user}", "names 'status', which has the choice 'on-hold', which contains"),
    ],
)
def test_an_invalid_template_is_refused(text: str, fact: str) -> None:
    with pytest.raises(KeyTemplateInvalid) as refused:
        template(text)
    assert str(refused.value).startswith(f"Thing: key template {text!r} {fact}")
    assert str(refused.value).endswith(" [key-template-invalid]")


def test_a_field_without_a_format_is_refused() -> None:
    formats = {"base": format_for(str, "", field="base", owner="Rate")}
    with pytest.raises(
        KeyTemplateInvalid, match=r"names 'target', which is not a field\. The fields"
    ):
        KeyTemplate("RATE#{base}#{target}", formats, owner="Rate")


@pytest.mark.parametrize(
    ("text", "values", "prefix"),
    [
        ("RATE#{base}#{target}", {}, KeyPrefix("RATE#", (), is_whole=False)),
        ("RATE#{base}#{target}", {"base": "USD"}, KeyPrefix("RATE#USD#", ("base",), False)),
        ("RATE#{base}#{target}", {"target": "EUR"}, KeyPrefix("RATE#", (), is_whole=False)),
        ("/{customer}/{user}", {"customer": "a"}, KeyPrefix("/a/", ("customer",), False)),
        ("{day}{user}", {"day": date(2024, 1, 2)}, KeyPrefix("2024-01-02", ("day",), False)),
        ("{anything}", {}, KeyPrefix("", (), is_whole=False)),
        ("USER", {}, KeyPrefix("USER", (), is_whole=True)),
        # The common beginning of all values of the next part is certain, too.
        ("{order}", {}, KeyPrefix("O#", (), is_whole=False)),
        ("{order}#{line:03}", {}, KeyPrefix("O#", (), is_whole=False)),
        ("{user}#{order}", {"user": "x"}, KeyPrefix("x#O#", ("user",), is_whole=False)),
        ("X#{status}", {}, KeyPrefix("X#o", (), is_whole=False)),
        ("X#{tp}", {}, KeyPrefix("X#order", (), is_whole=False)),
    ],
)
def test_known_fields_determine_a_prefix(
    text: str, values: dict[str, Any], prefix: KeyPrefix
) -> None:
    assert template(text).prefix(values) == prefix


@pytest.mark.parametrize(
    ("text", "values", "beginning", "prefix"),
    [
        ("RATE#{base}#{target}", {}, "U", "RATE#U"),
        ("RATE#{base}#{target}", {"base": "USD"}, "E", "RATE#USD#E"),
        ("RATE#{base}#{target}", {"base": "USD"}, "", "RATE#USD#"),
        ("{anything}", {}, "a#/", "a#/"),
        ("{day}#{user}", {}, "2024-01", "2024-01"),
        ("{order}", {}, "O#01JZ", "O#01JZ"),
        ("{status}#{user}", {}, "on-", "on-"),
        ("{base:3}", {}, "EUR", "EUR"),
    ],
)
def test_a_part_may_be_known_by_its_beginning(
    text: str, values: dict[str, Any], beginning: str, prefix: str
) -> None:
    assert template(text).starting_with(values, beginning) == prefix


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("U#{user}", "x#"),
        ("{base:3}", "EURO"),
        ("{day}", "2024/"),
        ("{order}", "01JZ"),
        ("{order}", "O#8"),
        ("{order}", "O#01jz"),
        ("{status}", "x"),
        ("{user}", 5),
    ],
)
def test_a_beginning_that_no_value_has_is_refused(text: str, beginning: Any) -> None:
    with pytest.raises(KeyPartInvalid, match="has no value with this prefix; got "):
        template(text).starting_with({}, beginning)


LAST = "\U0010ffff"


@pytest.mark.parametrize(
    ("text", "values", "low", "high", "span"),
    [
        ("{order}", {}, FIRST, SECOND, KeySpan(FIRST, SECOND)),
        ("{order}", {}, None, SECOND, KeySpan("O#", SECOND)),
        ("{order}", {}, FIRST, None, KeySpan(FIRST, "O$")),
        ("{order}", {}, None, None, KeySpan("O#", "O$")),
        ("{order}#{line:03}", {}, FIRST, SECOND, KeySpan(f"{FIRST}#", f"{SECOND}$")),
        ("{order}#{line:03}", {"order": FIRST}, 2, 9, KeySpan(f"{FIRST}#002", f"{FIRST}#009")),
        ("{order}#{line:03}", {"order": FIRST}, 2, None, KeySpan(f"{FIRST}#002", f"{FIRST}$")),
        ("{order}#{line:03}", {"order": FIRST}, 2, 2, KeySpan(f"{FIRST}#002", f"{FIRST}#002")),
        (
            "{day}{user}",
            {},
            date(2024, 1, 1),
            date(2024, 1, 9),
            KeySpan("2024-01-01", "2024-01-0:"),
        ),
        ("{month:7}#{user}", {}, "2024-01", "2024-06", KeySpan("2024-01#", "2024-06$")),
        ("{anything}", {}, "a", "b", KeySpan("a", "b")),
        ("{anything}", {}, None, "b", KeySpan(None, "b")),
        ("{anything}", {}, "a", None, KeySpan("a", None)),
        ("{anything}", {}, None, None, KeySpan(None, None)),
        ("U#{user}", {}, "a", None, KeySpan("U#a", "U$")),
        ("U#{user}#O", {}, None, None, KeySpan("U#", "U$")),
        ("{base:1}{user}", {}, LAST, LAST, KeySpan(LAST, None)),
        ("{base:2}{user}", {}, "aa", f"b{LAST}", KeySpan("aa", "c")),
        ("{base:1}{user}", {}, "\ud7ff", "\ud7ff", KeySpan("\ud7ff", "\ue000")),
        ("{size}#{user}", {}, "l", "m", KeySpan("l#", "m$")),
    ],
)
def test_a_range_of_a_part_has_limits(
    text: str, values: dict[str, Any], low: Any, high: Any, span: KeySpan
) -> None:
    assert template(text).span(values, low, high) == span


@pytest.mark.parametrize(
    ("ask", "fact"),
    [
        (
            lambda: template("{user}#{base}").span({}, "a", "b"),
            "'{user}#{base}' cannot give a range of 'user': the text after it breaks the sort order",
        ),
        (
            lambda: template("U#{user}#O").span({}, "a"),
            "'U#{user}#O' cannot give a range of 'user'",
        ),
        # "a!#" comes before "a#".
        (
            lambda: template("{kind}#{user}").span({}, "a"),
            "'{kind}#{user}' cannot give a range of 'kind'",
        ),
        (lambda: template("USER").span({}), "'USER' has no part left for a range"),
        (lambda: template("{user}").span({"user": "x"}), "'{user}' has no part left for a range"),
        (
            lambda: template("{user}").starting_with({"user": "x"}, "y"),
            "'{user}' has no part left for a range",
        ),
        (
            lambda: template("{line:03}").span({}, 2, 1),
            "'{line:03}' has no range of 'line' from 2 to 1",
        ),
    ],
)
def test_a_range_that_cannot_be_exact_is_refused(ask: Callable[[], object], fact: str) -> None:
    with pytest.raises(KeyRangeInvalid) as refused:
        ask()
    assert str(refused.value).startswith(f"Thing: key template {fact}")
    assert str(refused.value).endswith(" [key-range-invalid]")


def test_a_range_end_that_cannot_stand_in_the_key_is_refused() -> None:
    with pytest.raises(KeyPartInvalid, match="part 'line' of"):
        template("{line:03}").span({}, high=1000)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: OrderId("x" * 100),
        lambda: template("{user"),
        lambda: template("U#{user}").render({"user": "#" * 100}),
        lambda: template("U#{user}").render({}),
        lambda: template("USER").span({}),
    ],
)
def test_errors_survive_pickling(ask: Callable[[], object]) -> None:
    with pytest.raises(KeyfoldError) as raised:
        ask()
    error = raised.value
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
    assert isinstance(error, ValueError)


def test_an_id_error_shows_what_was_received() -> None:
    with pytest.raises(IdInvalid) as refused:
        OrderId("x")
    assert (refused.value.kind, refused.value.received) == ("OrderId", "'x'")
