"""Numbers: one text for each value, 38 digits, and arithmetic that never rounds."""

from __future__ import annotations

import re

import pytest

from keyfold.errors import ValidationException
from keyfold.values import (
    add_numbers,
    compare_numbers,
    is_plain_number,
    normalise_number,
    number_size_bytes,
    subtract_numbers,
)

OVERFLOW = (
    "Number overflow. Attempting to store a number with magnitude larger than supported range"
)
UNDERFLOW = (
    "Number underflow. Attempting to store a number with magnitude smaller than supported range"
)
TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"
NINES = "9" * 38


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("+0.000", "0"),
        ("0e999", "0"),
        ("00", "0"),
        ("7", "7"),
        ("007", "7"),
        ("+7", "7"),
        ("-7", "-7"),
        ("7.", "7"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1.50", "1.5"),
        ("100", "100"),
        ("1e2", "100"),
        ("1E+2", "100"),
        ("1.5e1", "15"),
        ("1.5e0", "1.5"),
        ("15e-1", "1.5"),
        ("15e-4", "0.0015"),
        ("0.00100", "0.001"),
        ("1e125", "1" + "0" * 125),
        ("1e-130", "0." + "0" * 129 + "1"),
        (NINES, NINES),
        (f"{NINES}e88", NINES + "0" * 88),
        (f"-0.{NINES}", f"-0.{NINES}"),
        ("0" * 300 + "1", "1"),
        ("1" + "0" * 125, "1" + "0" * 125),
        ("1." + "0" * 300, "1"),
    ],
)
def test_a_number_is_printed_without_exponent_and_needless_zeros(text: str, printed: str) -> None:
    assert normalise_number(text) == printed
    assert normalise_number(printed) == printed


@pytest.mark.parametrize(
    "text",
    [
        *(" 1", "1 ", "1_0", "x", "1x", "--1", "+-1", "1e", "e1", ".", "-", "1.2.3"),
        *("NaN", "Infinity", "0x10", "1,5", "1e1.5", "\uff11", "1\n"),
    ],
)
def test_text_that_is_not_a_number_is_named_in_the_error(text: str) -> None:
    message = f"The parameter cannot be converted to a numeric value: {text}"
    with pytest.raises(ValidationException, match=f"{re.escape(message)}$") as refused:
        normalise_number(text)
    assert refused.value.message == message


def test_empty_text_is_not_a_number() -> None:
    with pytest.raises(ValidationException, match=r"to a numeric value$"):
        normalise_number("")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e126", OVERFLOW),
        ("-1e126", OVERFLOW),
        ("10e125", OVERFLOW),
        (f"{NINES}9e100", OVERFLOW),
        ("1e" + "9" * 60, OVERFLOW),
        ("1e-131", UNDERFLOW),
        ("-0.1e-130", UNDERFLOW),
        ("1e-" + "9" * 60, UNDERFLOW),
        ("1" * 39, TOO_PRECISE),
        ("0." + "1" * 39, TOO_PRECISE),
        ("1" + "0" * 37 + ".5", TOO_PRECISE),
    ],
)
def test_a_number_out_of_range_is_refused_with_the_services_message(
    text: str, message: str
) -> None:
    with pytest.raises(ValidationException, match=message):
        normalise_number(text)


@pytest.mark.parametrize("text", ["0", "1", "-1", "10", NINES, f"-{NINES}", "0.5", "-1.05", "12.3"])
def test_a_plain_number_is_printed_unchanged(text: str) -> None:
    assert is_plain_number(text)
    assert normalise_number(text) == text


@pytest.mark.parametrize(
    "text",
    ["-0", "00", "01", "1.0", "1.", ".1", "+1", "1e1", "1" * 39, "", "1\n", "-0.0", "\u0661"],
)
def test_a_number_that_would_be_printed_differently_is_not_plain(text: str) -> None:
    assert not is_plain_number(text)


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("0.1", "0.2", "0.3", "-0.1"),
        ("1", "-1", "0", "2"),
        ("0", "0", "0", "0"),
        (NINES, "0", NINES, NINES),
        ("1" + "0" * 125, "1" + "0" * 125, "2" + "0" * 125, "0"),
        ("99999999999999999999", "1", "100000000000000000000", "99999999999999999998"),
        (NINES, "1", "1" + "0" * 38, "9" * 37 + "8"),
        ("1.5", "2.50", "4", "-1"),
    ],
)
def test_sums_and_differences_are_exact(left: str, right: str, total: str, difference: str) -> None:
    assert add_numbers(left, right) == total
    assert subtract_numbers(left, right) == difference


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1" + "0" * 125, "1"),
        (NINES, "0.1"),
        (NINES + "0" * 88, NINES + "0" * 88),
        ("1" + "0" * 38, "0." + "0" * 129 + "1"),
    ],
)
def test_a_sum_of_too_many_digits_overflows(left: str, right: str) -> None:
    with pytest.raises(ValidationException, match=OVERFLOW):
        add_numbers(left, right)
    with pytest.raises(ValidationException, match=OVERFLOW):
        subtract_numbers(left, f"-{right}")


def test_numbers_are_compared_by_value_not_as_text() -> None:
    assert compare_numbers("9", "10") == -1
    assert compare_numbers("-9", "-10") == 1
    assert compare_numbers("0.5", "0.5") == 0
    assert compare_numbers(NINES, f"{NINES[:-1]}8") == 1


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 1),
        ("1", 2),
        ("12", 2),
        ("123", 3),
        ("1234", 3),
        (NINES, 20),
        ("100", 2),
        ("1010", 3),
        ("0.0000001", 2),
        ("1E125", 2),
        ("1E-100", 2),
        ("1.5", 3),
        ("15", 2),
        ("1.200", 3),
        ("1.234", 4),
        ("3.14159", 5),
        ("123456", 4),
        ("-1", 3),
        ("-0.5", 3),
        ("-123.4", 5),
        ("10.5", 3),
        ("-0", 1),
    ],
)
def test_a_number_counts_half_a_byte_a_digit(text: str, size: int) -> None:
    assert number_size_bytes(normalise_number(text)) == size
